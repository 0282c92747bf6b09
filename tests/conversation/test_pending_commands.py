"""Who waits for an answer, and what is in flight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear, steps

from amqp_sansio.conversation.pending_commands import IN_FLIGHT, PendingCommands
from amqp_sansio.errors import MessageReturned, NoResult
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.queue import QueueQueryResult


def test_a_message_is_in_flight_until_it_is_complete() -> None:
    pending = PendingCommands()
    one, two = pending.message(0, 100), pending.message(1, 0)
    said = pending.completion(2, "queue.declare")
    assert (pending.messages, pending.octets) == (2, 100)
    seen: list[tuple[int, int]] = []
    one.on_done(lambda: seen.append((pending.messages, pending.octets)))
    pending.completed(RangeSet([(0, 0), (2, 9)]), b"s")
    assert seen == [(1, 0)]  # there is room already when somebody is told
    assert (one.done, two.done, said.done) == (True, False, True)
    pending.completed(RangeSet([(0, 9)]), b"s")
    assert (pending.messages, two.done) == (0, True)


def test_a_result_comes_before_its_completion_or_not_at_all() -> None:
    """Nothing is never an answer: who is completed too early, or answered without a value, has no result."""
    pending = PendingCommands()
    asked, mute, empty = (
        pending.result(0, "queue.query"),
        pending.result(1, "exchange.query"),
        pending.result(2, "queue.query"),
    )
    found = QueueQueryResult("q")
    pending.resulted(0, found, b"s")
    pending.resulted(2, None, b"s")
    pending.resulted(7, None, b"s")
    pending.completed(RangeSet([(0, 1)]), b"s")
    pending.resulted(1, found, b"s")  # too late
    assert asked.result() == found
    for ticket, verb, id in ((mute, "exchange.query", 1), (empty, "queue.query", 2)):
        with pytest.raises(NoResult, match=rf"{verb} \(command id {id}\) .* \(execution\.result\)") as failed:
            ticket.result()
        assert (failed.value.session, failed.value.command, failed.value.id) == (b"s", verb, id)


def test_commands_are_known_by_name() -> None:
    pending = PendingCommands()
    pending.message(0, 1)
    pending.completion(1, "execution.sync")
    pending.result(2, "queue.query")
    assert [pending.verb(id) for id in (0, 1, 2, 3, None)] == ["message.transfer", "execution.sync", "queue.query", None, None]


def test_the_same_message_returned_again_costs_nothing() -> None:
    """However often the other side names the messages in flight, and whatever else, each one is looked at once."""

    def returning(size: int) -> Callable[[], object]:
        pending = PendingCommands()
        for id in range(IN_FLIGHT):
            pending.message(id, 1)
        every = RangeSet([(0, 2**31)])

        def work() -> None:
            for _ in range(size):
                pending.returned(every, 1, "no queue")

        return work

    work = returning(1)
    work()
    assert steps(work) < 200
    assert_linear(lambda size: returning(size), 2000)


def test_messages_are_returned_whenever_they_were_sent() -> None:
    pending = PendingCommands()
    told: list[int] = []
    for id in (2**32 - 2, 2**32 - 1, 0, 1, 2):
        pending.message(id, 1).on_done(lambda id=id: told.append(id))  # type: ignore[misc]
        if id == 0:
            pending.returned(RangeSet([(2**32 - 1, 2**32 - 1)]), 1, "no queue")
            pending.completed(RangeSet([(2**32 - 2, 2**32 - 2)]), b"s")
    pending.returned(RangeSet([(2**32 - 10, 2**32 - 1), (0, 1)]), 1, "no queue")
    assert told == [2**32 - 1, 2**32 - 2, 0, 1]
    assert pending._returnable.freeze() == RangeSet([(2, 2)])
    pending.completed(RangeSet([(1, 2)]), b"s")
    assert not pending._returnable, "what is complete is forgotten"
    pending.returned(RangeSet([(0, 9)]), 1, "no queue")  # nothing was said since
    assert not pending._returnable
    pending.lost(KeyError("gone"))
    pending.message(0, 1).on_done(lambda: told.append(0))  # another session, that begins again
    pending.returned(RangeSet([(0, 9)]), 1, "no queue")
    assert told[-2:] == [2, 0]


def test_a_message_that_nobody_took_is_in_flight_and_told_once() -> None:
    pending = PendingCommands()
    heard, unheard = pending.message(0, 1, "x", "k"), pending.message(1, 1)
    pending.returned(RangeSet([(0, 5)]), 1, "no queue")
    with pytest.raises(MessageReturned, match="unroutable: no queue: exchange 'x', routing key 'k'") as caught:
        heard.result()
    assert (caught.value.exchange, caught.value.routing_key) == ("x", "k")
    assert pending.messages == 2
    pending.completed(RangeSet([(0, 1)]), b"s")
    assert pending.messages == 0
    with pytest.raises(MessageReturned, match="routing key None"):
        pending.unheard()
    pending.unheard()
    assert unheard.heard


def test_with_the_session_everything_fails_and_of_messages_it_is_remembered() -> None:
    pending = PendingCommands()
    said, sent, asked = pending.completion(0, "execution.sync"), pending.message(1, 5), pending.result(2, "queue.query")
    pending.lost(KeyError("lost"))
    assert (said.done, sent.done, asked.done) == (True, True, True)
    assert (pending.messages, pending.octets, pending.verb(0)) == (0, 0, None)
    with pytest.raises(KeyError):
        pending.unheard()
    pending.unheard()
