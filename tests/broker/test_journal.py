"""A journal numbers what must survive and holds back what depends on it."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.broker.journal import (
    OPERATIONS,
    Bound,
    BranchDecided,
    BranchEnded,
    BranchPrepared,
    Closed,
    Dequeued,
    Enqueued,
    Entry,
    ExchangeDeclared,
    ExchangeDeleted,
    Journal,
    Marks,
    MessageStored,
    Opened,
    Operation,
    QueueDeclared,
    QueueDeleted,
    SessionLeft,
    Unbound,
)
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.spec.values import List, Map

A = QueueDeclared("", "a")
B = QueueDeleted("", "a")


def test_entries_are_numbered_from_one_and_handed_out_once() -> None:
    journal = Journal(enabled=True)
    assert [journal.write(A, B), journal.write(A)] == [1, 2]
    assert journal.take() == (Entry(1, (A, B)), Entry(2, (A,)))
    assert journal.take() == ()
    assert journal.write(B) == 3
    assert journal.take() == (Entry(3, (B,)),)


def test_a_journal_that_goes_on_counts_on() -> None:
    journal = Journal(enabled=True, last=7)
    assert (journal.last, journal.done) == (7, 7)
    assert journal.write(A) == 8


def test_nothing_durable_is_no_entry() -> None:
    journal = Journal(enabled=True)
    assert journal.write() == 0
    assert journal.take() == ()


def test_a_journal_that_is_not_wanted_keeps_nothing_and_nothing_waits() -> None:
    journal = Journal()
    happened: list[str] = []
    assert journal.write(A) == 0
    journal.after(0, lambda: happened.append("at once"))
    assert happened == ["at once"]
    assert journal.take() == ()


def test_what_waits_happens_in_the_order_of_the_entries_and_then_of_asking() -> None:
    journal = Journal(enabled=True)
    happened: list[str] = []
    one, two, three = journal.write(A), journal.write(B), journal.write(A)
    journal.after(two, lambda: happened.append("2a"))
    journal.after(one, lambda: happened.append("1"))
    journal.after(three, lambda: happened.append("3"))
    journal.after(two, lambda: happened.append("2b"))
    journal.take()
    assert (happened, journal.last - journal.done) == ([], 3)
    journal.journalled(two)
    assert (happened, journal.last - journal.done) == (["1", "2a", "2b"], 1)
    journal.journalled(two)
    journal.journalled(one)
    assert happened == ["1", "2a", "2b"]
    journal.after(one, lambda: happened.append("late"))
    assert happened[-1] == "late"
    journal.journalled(three)
    assert happened[-1] == "3"


def test_what_happens_may_write_and_wait_again() -> None:
    journal = Journal(enabled=True)
    happened: list[int] = []

    def then() -> None:
        number = journal.write(B)
        journal.after(number, lambda: happened.append(number))

    journal.after(journal.write(A), then)
    journal.take()
    journal.journalled(1)
    assert happened == []
    assert journal.take() == (Entry(2, (B,)),)
    journal.journalled(2)
    assert happened == [2]


@pytest.mark.parametrize("number", [-1, 2, 1.0, None])
def test_what_was_never_taken_is_not_journalled(number: int) -> None:
    journal = Journal(enabled=True)
    journal.write(A)
    journal.take()
    journal.write(B)
    with pytest.raises(LocalProtocolError, match=r"journalled\("):
        journal.journalled(number)
    assert journal.done == 0


XID = (1, b"global", b"branch")
SAMPLES: tuple[Operation, ...] = (
    QueueDeclared("h", "q", "alternate", True, False, {"qpid.max_count": 3}),
    QueueDeleted("h", "q"),
    ExchangeDeclared("h", "x", "topic", "", True, {"a": List([1, Map({"b": b"c"})])}),
    ExchangeDeleted("h", "x"),
    Bound("h", "x", "q", "key", {"x-match": "all", "void": None}),
    Unbound("h", "x", "q", "key"),
    MessageStored("h", 5, b"header", b"secret body", 12.5),
    Enqueued("h", "q", 5),
    Dequeued("h", "q", 5),
    BranchPrepared("h", XID, [(5, ("q", "r"))], [("q", 4)], 60),
    BranchDecided("h", XID, 4),
    BranchEnded("h", XID),
    SessionLeft("h", "me", b"session"),
    Opened(""),
    Marks("h", "q", [5, 7]),
    Closed(""),
)


def test_there_is_a_sample_of_each() -> None:
    assert tuple([type(sample) for sample in SAMPLES]) == OPERATIONS


@pytest.mark.parametrize("operation", SAMPLES, ids=lambda operation: type(operation).__name__)
def test_an_operation_is_a_value(operation: Operation) -> None:
    again = pickle.loads(pickle.dumps(operation))
    assert again == operation
    assert hash(again) == hash(operation)


def test_a_message_shows_no_content() -> None:
    shown = repr(Entry(1, SAMPLES))
    assert "secret" not in shown
    assert "<11 octets>" in shown
