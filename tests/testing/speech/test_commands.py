"""The voices of commands: what they name is there."""

from __future__ import annotations

from amqp_sansio.grammar import tx
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.execution import Result
from amqp_sansio.spec.message import Acquired
from amqp_sansio.testing.speech.blame import spoken
from amqp_sansio.testing.speech.commands import TRANSFERS, ModelVoice, TxVoice
from amqp_sansio.testing.speech.parts import PARTS
from amqp_sansio.testing.speech.step import Step


def test_what_is_deleted_was_declared() -> None:
    said = spoken(PARTS["exchange"], ["client:exchange.unbind", "client:exchange.delete"]).said
    assert [step.verb for step in said] == [
        "queue.declare", "exchange.declare", "exchange.bind", "exchange.unbind",
        "exchange.declare", "exchange.delete",  # for it went with its last binding
    ]  # fmt: skip
    voice = ModelVoice()
    assert [type(step.said) for step in voice.say("client:queue.purge")] == [queue.Declare, queue.Purge]
    assert [type(step.said) for step in voice.say("client:exchange.bound")] == [exchange.Bound]


def test_branches_are_suspended_and_resumed_by_name() -> None:
    words = ["client:dtx.select", "client:dtx.start", "client:dtx.end suspend of the associated xid", "client:dtx.start"]
    words += ["client:dtx.end of the associated xid", "client:dtx.start resume of a suspended xid"]
    said = [step.said for step in spoken(PARTS["dtx: demarcation"], words).said]
    starts = [each for each in said if isinstance(each, dtx.Start)]
    assert starts[0].xid == starts[2].xid != starts[1].xid
    assert starts[2].resume


def test_an_acquire_is_answered_by_its_result() -> None:
    words = ["sender:message.transfer not-acquired", "recipient:message.acquire", "sender:message.acquired"]
    last = spoken(PARTS["message: explicit, not-acquired"], words)[-1].said
    assert isinstance(last, Result)
    assert isinstance(last.value, Acquired)
    assert last.value.transfers


def test_transfers_are_heard_by_their_mode() -> None:
    voice = TRANSFERS[0, 1]()
    assert voice.hear(Step("server", message.Transfer("d", 0, 1), 1)) == "sender:message.transfer not-acquired"


def test_a_subscription_without_accepts() -> None:
    (step,) = TxVoice().say(tx.SUBSCRIBE)
    assert isinstance(step.said, message.Subscribe)
    assert step.said.accept_mode == 1
