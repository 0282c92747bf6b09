"""Why a session is over, and who is to hear that of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from tests.conversation.stage import Stage, refuse, staged

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.pending_commands import CONTENT
from amqp_sansio.conversation.properties import HEADERS, SessionProperties
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.session_core import SessionEnd
from amqp_sansio.conversation.ticket import Ticket, seen
from amqp_sansio.errors import (
    ConnectionLost,
    EncodeError,
    LimitError,
    LocalProtocolError,
    MessageReturned,
    NoResult,
    SessionFailed,
    SessionLost,
    SessionReopened,
    SharedSessionFailed,
    TransactionFailed,
)
from amqp_sansio.events import Origin, SessionDetached, TransferReceived
from amqp_sansio.kernel.serials import EMPTY, RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec import file, message, queue, stream
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_control

DETACHED = SessionDetached(b"s", 1, Origin.PEER, 0, "gone", None, EMPTY, True)


def test_a_refusal_is_the_fault_of_the_one_whose_command_it_names() -> None:
    failure = SessionEnd()
    assert [failure.for_others] == [None]
    failure.error = error = SessionFailed(b"s", 404, "no", "queue.delete")
    assert failure.for_others is error  # nobody knows whose it was
    failure.id = 7
    shared = failure.for_others
    assert isinstance(shared, SharedSessionFailed)
    assert (shared.code, shared.command, shared.text) == (404, "queue.delete", "no")
    assert failure.for_whom(7) is error
    assert type(failure.for_whom(8)) is type(failure.for_whom(None)) is SharedSessionFailed


def test_seeing_the_error_of_the_others_is_seeing_the_failure() -> None:
    failure = SessionEnd()
    assert [failure.seen] == [True]
    failure.error, failure.id = SessionFailed(b"s", 404, "no"), 7
    assert [failure.seen] == [False]
    assert failure.for_others is not None
    seen(failure.for_others)
    assert failure.seen


def test_a_call_that_comes_too_late_has_sent_nothing() -> None:
    failure = SessionEnd()
    failure.must_live()
    failure.error, failure.id = SessionFailed(b"s", 404, "no"), 7
    with pytest.raises(SharedSessionFailed, match="which was not sent") as caught:
        failure.must_live()
    assert (caught.value.sent, caught.value.__cause__) == (False, failure.error)
    assert failure.seen


def test_what_depends_on_the_refused_command_fails_with_its_refusal() -> None:
    failure, other = SessionEnd(), SessionLost(b"s", "lost", EMPTY)
    assert failure.of(7, other) is other
    failure.error, failure.id = SessionFailed(b"s", 404, "no"), 7
    assert failure.of(7, other) is failure.error
    assert failure.of(8, other) is failure.of(None, other) is other


def test_a_detach_is_a_failure_unless_it_was_wanted_or_follows_a_refusal() -> None:
    failure = SessionEnd()
    failure.ended(b"s", DETACHED, True)
    assert [failure.error] == [None]
    failure.ended(b"s", DETACHED, False)
    assert isinstance(failure.error, SessionLost)
    failure.error = error = SessionFailed(b"s", 404, "no")
    failure.ended(b"s", DETACHED, False)
    assert failure.error is error


def test_exclusive_queues_end_with_the_session() -> None:
    failure = SessionEnd()
    for said in (
        queue.Declare("a", exclusive=True),
        queue.Declare("b"),
        queue.Declare("c", exclusive=True),
        queue.Declare("d", exclusive=True, passive=True),
        queue.Delete("c"),
    ):
        failure.said(said)
    failure.check(b"s")
    assert failure.over() == ("a",)
    with pytest.raises(SessionReopened, match="no longer owns its exclusive queues: 'a'"):
        failure.check(b"s")
    failure.check(b"s")
    assert failure.over() == ()


def test_commands_are_answered() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    stage.get(core.publish("", "q", b"one", {}))
    answer = stage.get(core.execute(queue.Query("q")))
    assert isinstance(answer, QueueQueryResult)
    assert answer.message_count == 1
    assert stage.get(core.sync()) is None


def test_a_refused_command_fails_its_ticket_and_everything_behind_it() -> None:
    stage = staged(retry=NEVER)
    core = stage.open()
    before = core.execute(queue.Query("q"))
    refused, behind = core.execute(queue.Delete("nowhere")), core.sync()
    stage.run()
    assert before.error is None
    for ticket in (refused, core.ended):
        assert type(ticket.error) is SessionFailed
    assert refused.error is not None
    assert "404 to queue.delete" in str(refused.error)
    assert type(behind.error) is SharedSessionFailed
    assert "404 to queue.delete" in str(behind.error)
    assert "not this call's command" in str(behind.error)
    assert core.name not in stage.client.cores


@pytest.mark.parametrize("retry", [NEVER, RetryPolicy()])
def test_the_end_of_a_refused_subscription_raises_its_refusal(retry: RetryPolicy) -> None:
    stage = staged(retry=retry)
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    other, refused = core.subscribe("q"), core.subscribe("nowhere")
    ends = [other.cancel(), refused.cancel()]
    stage.run()
    assert [type(each.error) for each in ends] == [SharedSessionFailed, SessionFailed]


@pytest.mark.parametrize("retry", [NEVER, RetryPolicy()])
def test_receiving_from_a_refused_subscription_raises_its_refusal(retry: RetryPolicy) -> None:
    stage = staged(retry=retry)
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    other, refused = core.subscribe("q"), core.subscribe("nowhere")
    waiting, receiving = other.more, refused.more
    stage.run()
    errors = [other.error, refused.error] if retry is NEVER else [waiting.error, receiving.error]
    assert [type(error) for error in errors] == [SharedSessionFailed, SessionFailed]
    assert "404 to message.subscribe" in str(errors[1])


def test_a_refused_subscription_is_not_tried_again_with_the_next_session() -> None:
    stage = staged()
    core = stage.open()
    refused = core.subscribe("nowhere")
    stage.run()
    for _ in range(2):
        with pytest.raises(SessionFailed, match=r"404 to message\.subscribe"):
            refused.take()
    core.open_again()
    stage.run()
    stage.get(core.execute(queue.Declare("q")))
    assert core.remade == 1
    stage.get(refused.cancel())
    stage.get(core.sync())
    assert core.remade == 1


@pytest.mark.parametrize("failed", [True, False])
def test_a_subscription_made_while_the_session_is_not_open_starts_as_soon_as_it_is(failed: bool) -> None:
    stage = staged()
    core = stage.open(timeout=0 if failed else 60)
    stage.get(core.execute(queue.Declare("q")))
    if failed:
        core.execute(queue.Delete("nowhere"))
        stage.run()
    else:
        stage.cut()
    inbox, other = core.subscribe("q"), core.subscribe("q")
    stage.get(other.cancel())
    if failed:
        assert not inbox.more.done  # it opens the session again
        stage.run()
    else:
        stage.connect()
    assert core.remade == failed
    stage.get(core.publish("", "q", b"one", {}))
    stage.run()
    message = inbox.take()
    assert message is not None
    assert message.body == b"one"
    assert stage.get(core.execute(queue.Query("q"))).subscriber_count == 1


def test_with_a_retry_policy_a_session_that_failed_is_opened_again_by_the_next_call() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    inbox = core.subscribe("q")
    waiting, refused = inbox.more, core.execute(queue.Delete("nowhere"))
    sent = core.publish("", "q", b"one", {})
    stage.run()
    assert type(refused.error) is SessionFailed
    assert type(waiting.error) is type(sent.error) is SharedSessionFailed
    assert not core.ended.done
    core.open_again()
    stage.run()
    assert core.opened.done
    stage.get(core.publish("", "q", b"two", {}))
    stage.run()
    message = inbox.take()
    assert message is not None
    assert message.body == b"two"


def test_the_call_that_finds_the_session_open_again_raises_once_what_did_not_come_back() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("mine", exclusive=True)))
    stage.get(core.execute(queue.Declare("all")))
    mine, others = core.subscribe("mine"), core.subscribe("all")
    core.execute(queue.Delete("nowhere"))
    stage.run()
    core.open_again()
    stage.run()
    with pytest.raises(SessionReopened) as told:
        core.execute(queue.Declare("mine", exclusive=True))
    assert told.value.queues == ("mine",)
    assert mine.closed
    with pytest.raises(SessionReopened):
        mine.take()
    assert not others.closed
    stage.get(core.execute(queue.Declare("mine", exclusive=True)))


def test_commands_in_a_transaction_whose_session_failed_are_refused() -> None:
    stage = staged()
    core = stage.open()
    core.transactions.begin()
    core.execute(queue.Delete("nowhere"))
    stage.run()
    core.open_again()
    stage.run()
    with pytest.raises(TransactionFailed, match="rolled back"):
        core.publish("", "q", b"", {})


def test_a_session_that_failed_may_be_left_without_opening_it_again() -> None:
    for look in (False, True):
        stage = staged()
        core = stage.open()
        refused = core.execute(queue.Delete("nowhere"))
        stage.run()
        if look:
            with pytest.raises(SessionFailed):
                refused.result()
        ended = core.close()
        assert (ended.error is None) is look
        assert core.remade == 0


def test_a_message_that_nobody_takes_fails_its_own_ticket_only() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    tickets = [core.publish("", key, b"", {"mandatory": True}) for key in ("q", "nowhere", "q")]
    stage.get(core.sync())
    assert [type(ticket.error) for ticket in tickets] == [type(None), MessageReturned, type(None)]
    assert core.in_flight == 0
    assert str(tickets[1].error).startswith("unroutable")


def test_the_end_reports_what_nobody_asked_about() -> None:
    stage = staged()
    core = stage.open()
    heard = core.publish("", "nowhere", b"", {"mandatory": True})
    stage.run()
    with pytest.raises(MessageReturned):
        heard.result()
    core.pending.unheard()
    core.publish("", "nowhere", b"", {"mandatory": True})
    stage.run()
    with pytest.raises(MessageReturned):
        core.pending.unheard()
    core.pending.unheard()


@pytest.mark.parametrize("retry", [NEVER, RetryPolicy()])
@pytest.mark.parametrize("look", [True, False])
def test_a_session_failure_that_a_call_raised_is_raised_once(look: bool, retry: RetryPolicy) -> None:
    stage = staged(retry=retry)
    core = stage.open()
    refused = core.execute(queue.Delete("nowhere"))
    core.publish("", "q", b"in doubt", {})
    other = core.execute(queue.Declare("q"))
    stage.run()
    with pytest.raises(SessionFailed):
        refused.result()
    if look:
        with pytest.raises(SharedSessionFailed):
            other.result()
        core.pending.unheard()
    else:
        with pytest.raises(SharedSessionFailed):
            core.pending.unheard()
    core.pending.unheard()


@pytest.mark.parametrize("retry", [NEVER, RetryPolicy()])
@pytest.mark.parametrize("detached", [True, False])
def test_the_session_reports_a_refused_message_once_whatever_other_calls_raised(detached: bool, retry: RetryPolicy) -> None:
    """Before its session is opened again, and before it is detached, too."""
    stage = staged(retry=retry)
    core = stage.open()
    stage.get(core.sync())
    core.publish("", "q", b"in doubt", {})
    message = core.publish("nowhere", "q", b"refused", {})
    other = core.sync()
    if detached:
        stage.run()
    else:
        core.failure.error = refusal = SessionFailed(core.name, 404, "no", "message.transfer")
        core.failure.id = next(id for id, (ticket, _, _) in core.pending._tickets.items() if ticket is message)
        message.fail(refusal)
        other.fail(core.failure.for_others or refusal)
    with pytest.raises(SharedSessionFailed):
        other.result()
    with pytest.raises(SessionFailed, match=r"404 to message.transfer") as told:
        core.pending.lost_before()
    assert not isinstance(told.value, SharedSessionFailed)
    core.pending.lost_before()
    core.pending.unheard()


@pytest.mark.parametrize("look", [True, False])
def test_a_loss_that_a_call_raised_is_raised_once(look: bool) -> None:
    stage = staged(retry=NEVER)
    core = stage.open()
    sent, other = core.publish("", "q", b"in doubt", {}), core.publish("", "q", b"too", {})
    stage.client.give_up(ConnectionLost("the octets ended"))
    with pytest.raises(SessionLost, match=r"in doubt: \{0-1\}"):
        (sent.result if look else core.pending.unheard)()
    core.pending.unheard()
    assert not other.heard


def test_a_failed_commit_tells_of_the_messages_in_it() -> None:
    stage = staged()
    core = stage.open()
    core.transactions.begin()
    core.publish("", "q", b"one", {})
    core.publish("nowhere", "q", b"two", {})
    committed = core.transactions.finish()
    stage.run()
    with pytest.raises(TransactionFailed, match=r"404 to message.transfer"):
        committed.result()
    core.pending.unheard()


def test_no_more_is_in_flight_than_may_be() -> None:
    stage = staged()
    core = stage.open()
    core.most_in_flight = 3
    for _ in range(3):
        assert core.has_room
        core.publish("", "q", b"", {})
    assert not core.has_room
    with pytest.raises(LimitError, match="most_in_flight"):
        core.publish("", "q", b"", {})
    room = core.room
    assert not room.done
    stage.get(room)
    assert core.has_room


def test_no_more_octets_are_in_flight_than_may_be() -> None:
    stage = staged()
    core = stage.open()
    core.most_in_flight_octets = 10
    core.publish("", "q", b"x" * 100, {})  # one message may be larger
    with pytest.raises(LimitError, match="most_in_flight_octets"):
        core.publish("", "q", b"x", {})
    stage.get(core.room)
    core.publish("", "q", b"x", {})


def test_a_publisher_that_never_waits_is_confirmed_as_it_goes() -> None:
    """Every so often a message asks for its completion by itself, so that room comes back without a wait for it."""
    stage = staged()
    core = stage.open()
    core.most_in_flight = 8
    for _ in range(100):
        if not core.has_room:
            stage.get(core.room)
        core.publish("", "q", b"", {})
        stage.run()
        assert core.in_flight <= 2


def test_room_on_a_session_that_is_over_is_no_wait_for_ever() -> None:
    stage = staged()
    core = stage.open()
    core.most_in_flight = 1
    core.publish("", "q", b"", {})
    room = core.room
    core.close()
    stage.run()
    assert isinstance(room.error, SessionLost)
    assert isinstance(core.room.error, SessionLost)


def test_a_detached_session_has_ended_well() -> None:
    stage = staged()
    core = stage.open()
    assert stage.get(core.close()) is None
    assert core.opened.error is not None
    assert stage.client.cores == {}
    assert core.close().done


def test_a_session_that_was_never_attached_can_be_left() -> None:
    stage = staged()
    core = stage.client.open_session("x")
    assert repr(core).startswith("<SessionCore b'x'")
    stage.get(core.close())


def test_a_session_has_no_words_before_there_is_a_connection() -> None:
    from amqp_sansio.config import ClientConfig
    from amqp_sansio.conversation.client import Client

    core = Client(ClientConfig(), prefix="p").open_session()
    assert not core.speakable
    assert not core.has_room
    with pytest.raises(LocalProtocolError, match="not attached yet"):
        core.sync()
    assert core.close().result() is None


def test_a_session_that_is_kept_is_resumed_and_replayed() -> None:
    """What was said and not confirmed when the connection was lost is there once, and nobody heard of a loss."""
    stage = staged()
    core = stage.open(timeout=600)
    stage.get(core.execute(queue.Declare("q")))
    tickets = [core.publish("", "q", str(number).encode(), {}) for number in range(10)]
    stage.cut()
    assert not core.speakable
    assert not core.opened.done
    assert [ticket.done for ticket in tickets] == [False] * 10
    stage.connect()
    stage.get(core.sync())
    for ticket in tickets:
        ticket.result()
    assert (stage.depth("q"), core.remade) == (10, 0)


def test_a_lost_session_is_made_again_and_reports_what_is_in_doubt() -> None:
    stage = staged()
    core = stage.open(timeout=0)
    stage.get(core.execute(queue.Declare("q")))
    sure = core.publish("", "q", b"sure", {})
    stage.get(core.sync())
    doubtful = core.publish("", "q", b"doubtful", {})
    stage.cut()
    error = doubtful.error
    assert isinstance(error, SessionLost)
    assert error.in_doubt
    stage.connect()
    assert (core.remade, core.speakable) == (1, True)
    stage.get(core.publish("", "q", b"again", {}))
    assert sure.result() is None
    assert stage.depth("q") == 2


def test_a_session_that_the_other_side_did_not_keep_is_made_again() -> None:
    stage = staged(server=ServerConfig(session_timeout=5))
    core = stage.open(timeout=600)
    stage.get(core.execute(queue.Declare("q")))
    inbox = core.subscribe("q")
    stage.run()
    ticket = core.publish("", "q", b"x", {})
    stage.cut()
    assert not ticket.done
    stage.broker.tick(stage.now)
    stage.now = 10.0
    stage.broker.tick(stage.now)
    stage.connect()
    assert isinstance(ticket.error, SessionLost)
    assert core.remade == 1
    stage.get(core.publish("", "q", b"y", {}))
    message = inbox.take()
    assert message is not None
    assert message.body == b"y"


def test_nobody_comes_back_for_a_session_that_was_left_meanwhile() -> None:
    stage = staged()
    core = stage.open(timeout=600)
    stage.cut()
    assert core.close().done
    stage.connect()
    assert stage.client.cores == {}
    assert not core.speakable


def test_a_session_over_which_everybody_gives_up_fails_everybody() -> None:
    stage = staged()
    core = stage.open(timeout=600)
    core.transactions.begin()
    waiting = [core.execute(queue.Declare("q")), core.transactions.commit(), core.publish("", "q", b"", {})]
    asked = core.execute(queue.Query("q"))
    inbox = core.subscribe("q")
    stage.cut()
    stage.client.give_up(OSError("gone"))
    everybody: list[Ticket[Any]] = [*waiting, asked, core.ended, core.opened, core.room]
    assert [each for each in everybody if each.error is None] == []
    with pytest.raises(SessionLost, match="gone"):
        inbox.take()


def test_commands_between_a_refusal_and_its_detach_fail_as_the_session_did() -> None:
    """The engine says that it is too late; the user is told why."""
    stage = staged(retry=NEVER)
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    refuse(stage, core)
    assert core.opened.done
    said: list[Callable[[], object]] = [
        core.open_again,
        lambda: core.execute(queue.Declare("q")),
        lambda: core.execute(queue.Query("q")),
        lambda: core.publish("", "q", b"", {}),
        lambda: core.subscribe("q"),
        lambda: core.room,
    ]
    for each in said:
        with pytest.raises(SessionFailed, match="542"):
            each()


def test_what_carries_a_content_is_known() -> None:
    assert LAYOUT.segments == CONTENT


@pytest.mark.parametrize("command", [message.Transfer(), file.Stage(), stream.Publish()])
def test_executing_a_command_with_a_content_raises_and_sends_nothing(command: Command) -> None:
    stage = staged()
    core = stage.open()
    before = core.session._outbound.next_id
    with pytest.raises(LocalProtocolError, match=rf"execute {command.VERB} .*it carries a content.*legal now: publish"):
        core.execute(command)
    assert core.session._outbound.next_id == before


def test_executing_gives_the_result_where_there_is_one() -> None:
    stage = staged()
    core = stage.open()
    declared: None = stage.get(core.execute(queue.Declare("q")))
    found: queue.QueueQueryResult = stage.get(core.execute(queue.Query("q")))
    assert (declared, found.queue) == (None, "q")


def test_the_caller_learns_that_the_broker_completed_its_command_without_a_result() -> None:
    stage = staged()
    core = stage.open()
    asked = core.execute(queue.Query("q"))
    id = core.session._outbound.next_id - 1
    stage.client.machine.data_to_send()  # the model broker would answer
    channel = core.session._channel
    assert channel is not None
    said = LAYOUT.encode_control(controls.Completed(RangeSet.of(id)))
    stage.client.receive_data(frame_control(channel.number, said))
    stage.client.tick(stage.now)
    with pytest.raises(NoResult, match=rf"queue.query \(command id {id}\)"):
        asked.result()


@pytest.mark.parametrize("retry", [NEVER, RetryPolicy(first=0.0, jitter=0.0)])
def test_calls_on_a_session_that_was_refused_and_never_detached_raise_the_refusal_in_time(retry: RetryPolicy) -> None:
    """The exception is followed by the session's end; a broker that leaves that out is waited for so long and no longer."""
    stage = staged(retry=retry, config=ClientConfig(heartbeat=0, limits=Limits(detach_seconds=5)))
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    stage.run()
    receiving = core.subscribe("q").more
    refuse(stage, core)
    stage.client.machine.data_to_send()
    waiting = core.pending.completion(1000, "queue.purge")  # said before the refusal came
    due = stage.client.due
    assert due == stage.now + 5
    stage.client.tick(stage.now + 4)
    assert not waiting.done
    stage.now += 5
    stage.client.tick(stage.now)
    assert stage.client.due is None
    for ticket in (waiting, receiving) if retry is not NEVER else (waiting, core.ended):
        with pytest.raises(SessionFailed, match="542"):
            ticket.result()
    assert core.ended.done == (retry is NEVER)
    if retry is NEVER:
        return
    core.open_again()
    stage.run()
    assert stage.get(core.sync()) is None
    assert core.remade == 1


def test_a_session_that_is_detached_in_time_is_not_waited_for() -> None:
    stage = staged(retry=NEVER, config=ClientConfig(heartbeat=0))
    core = stage.open()
    core.execute(queue.Delete("nowhere"))
    stage.run()
    assert core.ended.done
    assert stage.client.due is None


def test_a_refused_session_that_is_lost_with_its_connection_is_not_waited_for() -> None:
    stage = staged(retry=NEVER, config=ClientConfig(heartbeat=0))
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    refuse(stage, core)
    assert stage.client.awaits_end
    stage.cut()
    assert core.ended.done
    assert stage.client.due is None
    stage.connect()
    assert stage.client.due is None


def test_what_was_asked_is_not_answered_by_nothing_when_the_session_was_refused() -> None:
    stage = staged(retry=NEVER)
    core = stage.open()
    refuse(stage, core)
    id = 1000
    asked = core.pending.result(id, "queue.query")  # asked before the refusal came
    core._completed(RangeSet.of(id))
    assert not asked.done
    stage.client.give_up(ConnectionLost("the octets ended"))
    with pytest.raises(SessionFailed, match="542"):
        asked.result()


def test_an_error_that_is_raised_again_and_again_is_never_its_own_cause() -> None:
    """Whoever walks from an error to what it comes from, by __cause__ and __context__, comes to an end."""
    stage = staged(retry=NEVER)
    core = stage.open()
    failed, shared = core.execute(queue.Delete("nowhere")), core.sync()
    stage.run()
    caught: BaseException | None = None
    try:
        shared.result()
    except SharedSessionFailed:
        for ticket in (failed, core.ended, shared, failed):
            try:
                ticket.result()
            except SessionFailed as error:
                caught = error
    assert caught is not None
    assert caught not in chain(caught)


def chain(error: BaseException) -> list[BaseException]:
    """All that an error comes from, the nearest first."""
    found: list[BaseException] = []
    waiting = [error]
    while waiting:
        each = waiting.pop(0)
        for origin in (each.__cause__, each.__context__):
            if origin is not None:
                assert len(found) < 100, "it never ends"
                found.append(origin)
                waiting.append(origin)
    return found


@pytest.mark.parametrize("wrong", [{"prefetch": 0}, {"prefetch": "x"}, {"prefetch": 1 << 32}, {"octets": 0}, {"octets": -1}])
def test_what_is_no_prefetch_is_refused_before_anything_is_sent(wrong: Any) -> None:
    stage = staged()
    core = stage.open()
    stage.run()
    (name,) = wrong
    with pytest.raises(LocalProtocolError, match=f"{name} of 1 to 4294967295"):
        core.subscribe("q", **wrong)
    assert (core.session.subscriptions, stage.client.machine.data_to_send()) == ({}, b"")


def test_what_is_no_command_is_not_executed() -> None:
    with pytest.raises(EncodeError, match=r"a command of amqp_sansio\.spec, not str"):
        staged().open().execute("queue.declare")  # type: ignore[arg-type]


@pytest.mark.parametrize("attempts", [0, 5])
def test_a_pending_attach_that_is_cut_off_gets_its_outcome(attempts: int) -> None:
    """The connection is lost between attach and attached: nobody waits for ever."""
    stage = Stage(retry=RetryPolicy(attempts=attempts, first=0.0, jitter=0.0))
    stage.connect()
    core = stage.client.open_session()
    waited = core.opened
    stage.cut()
    if attempts:
        assert not waited.done
        stage.connect()
        waited.result()
    else:
        stage.client.give_up(ConnectionLost("the octets ended"))
        with pytest.raises(SessionLost):
            waited.result()


def test_a_pending_call_sends_a_barrier() -> None:
    """A broker may answer session.flush with what is done by then, which is nothing yet, and say no more: Broker-J does."""
    stage = staged()
    core = stage.open()
    waited_for = core.publish("", "q", b"", {})
    said = core.session._outbound.next_id
    for _ in range(2):
        core.prompt()
        assert core.session._outbound.next_id == said + 1  # execution.sync, once
    assert stage.get(waited_for) is None


def test_a_header_that_is_remembered_is_as_if_written_anew() -> None:
    """With properties and without, again and again, for more routing keys than are remembered: octet for octet."""
    remembering, forgetful = staged().open(), staged().open()
    keys: list[str | None] = [None, "", "q", *[f"key {number}" for number in range(HEADERS + 2)], "q"]
    given: list[SessionProperties] = [{}, {"persistent": True}, {"message_id": UUID(int=1), "mandatory": True}, {}]
    for key in keys:
        for properties in given:
            for sync in (False, True):
                remembering.publish("", key, b"x", properties, sync)
                forgetful._headers._made.clear()
                forgetful.publish("", key, b"x", properties, sync)
    ours, theirs = remembering._session, forgetful._session
    assert ours is not None
    assert theirs is not None
    assert ours._place.carrier.data_to_send() == theirs._place.carrier.data_to_send()  # type: ignore[attr-defined]  # a ClientConnection
    assert len(remembering._headers) <= HEADERS
    assert remembering.in_flight == forgetful.in_flight == len(keys) * len(given) * 2


@pytest.mark.parametrize("key", [7, b"q", ["q"], "k" * 256])
def test_what_is_no_routing_key_is_not_remembered(key: Any) -> None:
    core = staged().open()
    for _ in range(2):
        with pytest.raises(EncodeError):
            core.publish("", key, b"x", {})
    assert not core.in_flight
    assert not core._headers


def test_a_quarter_of_what_may_be_in_flight_asks_for_completion() -> None:
    """So the next ones need not wait for all of it."""
    stage = staged()
    core = stage.open()
    core.most_in_flight = 12
    for _ in range(12):
        core.publish("", "q", b"x", {})
    assert stage.peer is not None
    stage.peer.receive_data(stage.client.machine.data_to_send())
    stage.broker.tick(stage.now)
    came = [event.sync for _, event in stage.broker.events() if isinstance(event, TransferReceived)]
    assert came == [False, False, True] * 4


@pytest.mark.parametrize("timeout", [0, None])
def test_a_session_without_a_lifetime_says_so(timeout: int | None) -> None:
    """To a broker that keeps sessions of whoever asks for nothing."""
    stage = staged()
    core = stage.client.open_session(timeout=timeout)
    assert stage.peer is not None
    stage.peer.receive_data(stage.client.machine.data_to_send())
    stage.broker.tick(stage.now)
    list(stage.broker.events())
    stage.client.receive_data(stage.peer.data_to_send())
    stage.client.tick(stage.now)
    assert core.opened.done
    said = LAYOUT.encode_control(controls.RequestTimeout(0)) in stage.client.machine.data_to_send()
    assert said == (timeout == 0)


def test_a_session_is_resumed_though_the_broker_believes_that_the_lost_connection_lives() -> None:
    stage = staged()
    core = stage.open(timeout=600)
    stage.client.receive_eof()
    stage.client.tick(stage.now)
    stage.connect()  # the broker has not heard of the end of the first one
    assert (core.speakable, core.remade) == (True, 0)
