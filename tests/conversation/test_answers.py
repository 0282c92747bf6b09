"""Who waits for an answer, and what is in flight."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear, steps

from amqp_sansio.conversation.answers import IN_FLIGHT, Answers
from amqp_sansio.errors import MessageReturned, NoResult
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.queue import QueueQueryResult


def test_a_message_is_in_flight_until_it_is_complete() -> None:
    answers = Answers()
    one, two = answers.message(0, 100), answers.message(1, 0)
    said = answers.completion(2, "queue.declare")
    assert (answers.messages, answers.octets) == (2, 100)
    seen: list[tuple[int, int]] = []
    one.on_done(lambda: seen.append((answers.messages, answers.octets)))
    answers.completed(RangeSet([(0, 0), (2, 9)]), b"s")
    assert seen == [(1, 0)]  # there is room already when somebody is told
    assert (one.done, two.done, said.done) == (True, False, True)
    answers.completed(RangeSet([(0, 9)]), b"s")
    assert (answers.messages, two.done) == (0, True)


def test_a_result_comes_before_its_completion_or_not_at_all() -> None:
    """Nothing is never an answer: who is completed too early, or answered without a value, has no result."""
    answers = Answers()
    asked, mute, empty = (
        answers.result(0, "queue.query"),
        answers.result(1, "exchange.query"),
        answers.result(2, "queue.query"),
    )
    found = QueueQueryResult("q")
    answers.resulted(0, found, b"s")
    answers.resulted(2, None, b"s")
    answers.resulted(7, None, b"s")
    answers.completed(RangeSet([(0, 1)]), b"s")
    answers.resulted(1, found, b"s")  # too late
    assert asked.result() == found
    for ticket, verb, id in ((mute, "exchange.query", 1), (empty, "queue.query", 2)):
        with pytest.raises(NoResult, match=rf"{verb} \(command id {id}\) .* \(execution\.result\)") as failed:
            ticket.result()
        assert (failed.value.session, failed.value.command, failed.value.id) == (b"s", verb, id)


def test_commands_are_known_by_name() -> None:
    answers = Answers()
    answers.message(0, 1)
    answers.completion(1, "execution.sync")
    answers.result(2, "queue.query")
    assert [answers.verb(id) for id in (0, 1, 2, 3, None)] == ["message.transfer", "execution.sync", "queue.query", None, None]


def test_the_same_message_returned_again_costs_nothing() -> None:
    """However often the other side names the messages in flight, and whatever else, each one is looked at once."""

    def returning(size: int) -> Callable[[], object]:
        answers = Answers()
        for id in range(IN_FLIGHT):
            answers.message(id, 1)
        every = RangeSet([(0, 2**31)])

        def work() -> None:
            for _ in range(size):
                answers.returned(every, 1, "no queue")

        return work

    work = returning(1)
    work()
    assert steps(work) < 200
    assert_linear(lambda size: returning(size), 2000)


def test_messages_are_returned_whenever_they_were_sent() -> None:
    answers = Answers()
    told: list[int] = []
    for id in (2**32 - 2, 2**32 - 1, 0, 1, 2):
        answers.message(id, 1).on_done(lambda id=id: told.append(id))  # type: ignore[misc]
        if id == 0:
            answers.returned(RangeSet([(2**32 - 1, 2**32 - 1)]), 1, "no queue")
            answers.completed(RangeSet([(2**32 - 2, 2**32 - 2)]), b"s")
    answers.returned(RangeSet([(2**32 - 10, 2**32 - 1), (0, 1)]), 1, "no queue")
    assert told == [2**32 - 1, 2**32 - 2, 0, 1]
    assert answers._returnable.freeze() == RangeSet([(2, 2)])
    answers.completed(RangeSet([(1, 2)]), b"s")
    assert not answers._returnable, "what is complete is forgotten"
    answers.returned(RangeSet([(0, 9)]), 1, "no queue")  # nothing was said since
    assert not answers._returnable
    answers.lost(KeyError("gone"))
    answers.message(0, 1).on_done(lambda: told.append(0))  # another session, that begins again
    answers.returned(RangeSet([(0, 9)]), 1, "no queue")
    assert told[-2:] == [2, 0]


def test_a_message_that_nobody_took_is_in_flight_and_told_once() -> None:
    answers = Answers()
    heard, unheard = answers.message(0, 1, "x", "k"), answers.message(1, 1)
    answers.returned(RangeSet([(0, 5)]), 1, "no queue")
    with pytest.raises(MessageReturned, match="unroutable: no queue: exchange 'x', routing key 'k'") as caught:
        heard.result()
    assert (caught.value.exchange, caught.value.routing_key) == ("x", "k")
    assert answers.messages == 2
    answers.completed(RangeSet([(0, 1)]), b"s")
    assert answers.messages == 0
    with pytest.raises(MessageReturned, match="routing key None"):
        answers.unheard()
    answers.unheard()
    assert unheard.heard


def test_with_the_session_everything_fails_and_of_messages_it_is_remembered() -> None:
    answers = Answers()
    said, sent, asked = answers.completion(0, "execution.sync"), answers.message(1, 5), answers.result(2, "queue.query")
    answers.lost(KeyError("lost"))
    assert (said.done, sent.done, asked.done) == (True, True, True)
    assert (answers.messages, answers.octets, answers.verb(0)) == (0, 0, None)
    with pytest.raises(KeyError):
        answers.unheard()
    answers.unheard()
