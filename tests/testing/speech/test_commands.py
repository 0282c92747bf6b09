"""The voices of commands: what they name is there."""

from __future__ import annotations

from amqp_sansio.grammar import transactions
from amqp_sansio.grammar.message import ACQUIRE, GOT, LOST
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.execution import Result
from amqp_sansio.spec.message import Acquired
from amqp_sansio.spec.session import Completed
from amqp_sansio.testing.speech.blame import blamed, nearly, spoken
from amqp_sansio.testing.speech.commands import BranchVoice, ModelVoice, SubscriptionVoice, TransferVoice, TxVoice, frame
from amqp_sansio.testing.speech.parts import PARTS
from amqp_sansio.testing.speech.step import Step
from amqp_sansio.testing.speech.word_encoder import Setting


def test_what_is_deleted_was_declared() -> None:
    said = spoken(PARTS["exchange"], ["client:exchange.unbind", "client:exchange.delete"]).said
    assert [step.verb for step in said] == [
        "queue.declare", "exchange.declare", "exchange.bind", "exchange.unbind",
        "exchange.declare", "exchange.delete",  # for it went with its last binding
    ]  # fmt: skip
    voice = ModelVoice(Setting())
    assert [type(step.said) for step in voice.say("client:queue.purge")] == [queue.Declare, queue.Purge]
    assert [type(step.said) for step in voice.say("client:exchange.bound")] == [exchange.Bound]


def test_what_exists_is_not_declared_again() -> None:
    """What was declared or bound, by the word itself or for another one, exists until it is deleted."""
    words = [f"client:exchange.{verb}" for verb in ("bind", "bind", "unbind", "declare", "delete", "bind")]
    said = spoken(PARTS["exchange"], words).said
    assert [step.verb for step in said] == [
        "queue.declare", "exchange.declare", "exchange.bind", "exchange.bind", "exchange.unbind",
        "exchange.declare", "exchange.delete", "exchange.declare", "exchange.bind",
    ]  # fmt: skip


def test_branches_are_suspended_and_resumed_by_name() -> None:
    words = ["client:dtx.select", "client:dtx.start", "client:dtx.end suspend of the associated xid", "client:dtx.start"]
    words += ["client:dtx.end of the associated xid", "client:dtx.start resume of a suspended xid"]
    said = [step.said for step in spoken(PARTS["dtx: demarcation"], words).said]
    starts = [each for each in said if isinstance(each, dtx.Start)]
    assert starts[0].xid == starts[2].xid != starts[1].xid
    assert starts[2].resume


def test_each_subscription_of_a_branch_has_a_destination_of_its_own() -> None:
    voice = PARTS["dtx: demarcation"].voice(Setting())
    said = [step.said for _ in range(3) for step in voice.heard(voice.say(transactions.SUBSCRIBE))]
    assert [getattr(each, "destination", None) for each in said] == ["d0", "d1", "d2"]


def test_commands_about_queues_and_exchanges_have_ids_as_all_others_do() -> None:
    voice = ModelVoice(Setting())
    voice.heard(voice.say("client:exchange.bind"))
    assert voice.halves["client"].next_id == 3
    assert [step.said for step in voice.feedback("server")] == [Completed(RangeSet([(0, 2)]))]


def test_an_acquire_is_answered_by_its_result() -> None:
    words = ["sender:message.transfer not-acquired", "recipient:message.acquire", "sender:message.acquired"]
    last = spoken(PARTS["message: explicit, not-acquired"], words)[-1].said
    assert isinstance(last, Result)
    assert isinstance(last.value, Acquired)
    assert last.value.transfers


def test_transfers_count_by_their_mode() -> None:
    voice = TransferVoice(Setting(), 0, 1)
    assert voice.hear(Step("server", message.Transfer("d", 0, 1), 1)) == "sender:message.transfer not-acquired"


def test_a_subscription_without_accepts() -> None:
    (step,) = TxVoice(Setting()).say(transactions.SUBSCRIBE)
    assert isinstance(step.said, message.Subscribe)
    assert step.said.accept_mode == 1


def test_a_consumer_that_is_to_lose_a_message_has_a_rival_and_one_that_is_to_get_it_has_none() -> None:
    """What is planned of acquires decides whether a second consumer takes the message before, or gives it back."""
    voice = TransferVoice(Setting(), 0, 1)
    voice.foresee([ACQUIRE, LOST, ACQUIRE, LOST, ACQUIRE, GOT, ACQUIRE, LOST])
    taken = voice.heard(voice.ahead(ACQUIRE))
    assert [step.verb for step in taken] == ["message.subscribe", "message.set-flow-mode", "message.flow", "message.flow"]
    theirs = Step("server", message.Transfer("rival", 0, 0), 1)
    assert voice.hear(theirs) is None
    voice.told(theirs)
    assert voice.ahead(ACQUIRE) == []
    (given_back,) = voice.ahead(ACQUIRE)
    assert given_back.said == message.Release(RangeSet.of(0))
    again = voice.ahead(ACQUIRE)
    assert [step.said for step in again] == [message.Flow("rival", 0, 1), message.Flow("rival", 1, 0xFFFFFFFF)]
    assert voice.ahead(ACQUIRE) == [], "nothing more is planned"


def test_the_voice_takes_the_result_of_an_acquire_with_or_without_the_message() -> None:
    """The result of any other command is no word of a transfer's life."""
    voice = TransferVoice(Setting(), 0, 1)
    voice.told(Step("server", message.Transfer("d", 0, 1), 1))
    voice.told(Step("client", queue.Query("q"), 1))
    voice.heard(voice.say(ACQUIRE))
    for command_id, ids, word in ((1, RangeSet.of(0), GOT), (1, RangeSet(), LOST), (0, RangeSet.of(0), None)):
        assert voice.hear(Step("server", Result(command_id, Acquired(ids)), 1)) == word


def test_a_branch_that_is_to_be_read_only_has_no_work() -> None:
    """A message is published in a branch unless prepare is planned to find nothing to keep."""
    for words, count in ((["session:prepare(read-only)"], 1), (["session:prepare"], 2)):
        voice = BranchVoice(Setting())
        voice.foresee(words)
        assert len(voice.say("session:start")) == count


def test_the_completion_of_a_command_that_takes_no_credit_back_is_no_word() -> None:
    voice = SubscriptionVoice(Setting())
    voice.heard(voice.say("client:message.subscribe"))
    assert voice.hear(Step("server", Completed(RangeSet.of(0)), 1)) is None


def test_what_takes_credit_back_is_a_command_like_others_and_is_completed_by_its_id() -> None:
    voice = SubscriptionVoice(Setting())
    for word in ("client:message.subscribe", "client:message.stop"):
        for step in voice.say(word):
            voice.told(step)
    assert voice.halves["client"].next_id == 2
    (step,) = voice.say("server:message.stop completed")
    assert voice.hear(step) == "server:message.stop completed"
    assert isinstance(step.said, Completed)
    assert step.said.commands == RangeSet.of(1)


PART = PARTS["assembly: commands"]


def test_a_command_in_many_frames_is_whole() -> None:
    said = spoken(PART, ["client:command Bb", "client:command B", "client:command Be", "client:header be", "client:body Ebe"])
    assert blamed(said) is None


def test_a_frame_at_the_wrong_place() -> None:
    found = nearly(PART, ["client:command Bbe", "client:command BEbe"])
    assert found is not None
    assert found[0].breaks == found[1].rule


def test_flags() -> None:
    assert frame(1, "body", "Ee", b"x") == bytes.fromhex("05 03 000d 00 01 0001 00000000") + b"x"


def test_content_has_its_header() -> None:
    said = spoken(PARTS["file: staging"], ["client:file.open", "server:file.open-ok", "client:file.stage"])
    assert said[-1].header
    assert said[-1].body
    assert spoken(PARTS["stream: publishing"], ["client:stream.publish"])[-1].header


def test_deliveries_are_numbered() -> None:
    words = ["client:stream.consume nowait", "server:stream.deliver", "server:stream.deliver"]
    tags = [getattr(step.said, "delivery_tag", None) for step in spoken(PARTS["stream: consumer"], words).said]
    assert tags == [None, 1, 2]


def test_what_was_delivered_is_completed_by_its_id() -> None:
    voice = PARTS["file: delivery"].voice(Setting())
    for step in (*voice.prepare(), *voice.say("server:file.deliver")):
        voice.told(step)
    (step,) = voice.say("client:session.completed")
    assert isinstance(step.said, Completed)
    assert step.said.commands == RangeSet.of(voice.halves["server"].next_id - 1)
