"""PendingReplies of one side, and which of them an answer is for."""

from __future__ import annotations

import pytest

from amqp_sansio.ledger.pending_replies import AnsweredRequest, PendingReplies


def test_answers_come_in_the_order_of_the_questions() -> None:
    asked = PendingReplies[int]()
    for number, verb in enumerate(("queue.declare", "basic.get", "queue.declare")):
        asked.ask(verb, number)
    assert (asked.waiting, asked.oldest, asked.kept) == (3, "queue.declare", [0, 1, 2])
    assert asked.answer("queue.declare-ok") == AnsweredRequest("queue.declare", 0, "")
    assert asked.answer("queue.declare-ok") == AnsweredRequest("queue.declare", 2, "basic.get")
    assert asked.answer("basic.get-empty") == AnsweredRequest("basic.get", 1, "")
    assert asked.answer("basic.get-ok") is None
    assert (asked.waiting, asked.oldest, asked.kept) == (0, "", [])


def test_an_answer_that_nobody_waits_for_changes_nothing() -> None:
    asked = PendingReplies[str]()
    asked.ask("queue.bind", "kept")
    assert asked.answer("queue.unbind-ok") is None
    assert (asked.waiting, asked.kept) == (1, ["kept"])


def test_what_is_answered_at_any_time_holds_nobody_up() -> None:
    asked = PendingReplies[int]()
    asked.ask("message.transfer", 0)
    asked.ask("queue.declare", 1)
    assert asked.answer("queue.declare-ok") == AnsweredRequest("queue.declare", 1, "")
    asked.ask("queue.declare", 2)
    assert asked.answer("message.ok") == AnsweredRequest("message.transfer", 0, "")
    asked.clear()
    assert (asked.waiting, asked.oldest) == (0, "")


@pytest.mark.parametrize("more", [0, 1])
def test_at_the_bound_the_oldest_goes(more: int) -> None:
    asked = PendingReplies[int]()
    for number in range(2 + more):
        asked.ask("queue.declare" if number else "basic.get", number)
    assert (asked.bound(2), asked.kept, asked.waits("basic.get")) == (bool(more), [1, 2] if more else [0, 1], not more)
