"""Operations added up."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.steps import assert_linear

from amqp_sansio.broker.durable_fold import FoldedState, HostLedger
from amqp_sansio.broker.journal import (
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
    Marks,
    MessageStored,
    Opened,
    Operation,
    QueueDeclared,
    QueueDeleted,
    Unbound,
)
from amqp_sansio.errors import RestoreError

Q, R = QueueDeclared("h", "q"), QueueDeclared("h", "r")
ONE, TWO = MessageStored("h", 1, b"", b"one"), MessageStored("h", 2, b"", b"two")
XID = (1, b"g", b"b")


def ledger(*operations: Operation) -> HostLedger:
    made = FoldedState()
    made.add((Q, R, *operations), "test")
    return made.hosts["h"]


def test_a_message_is_forgotten_when_it_has_left_its_last_place() -> None:
    there = ledger(ONE, Enqueued("h", "q", 1), Enqueued("h", "r", 1), Dequeued("h", "q", 1))
    assert (list(there.messages), there.contents) == ([1], {"q": {}, "r": {1: False}})
    there.apply(BranchPrepared("h", XID, [(1, ("q",))]))
    there.apply(QueueDeleted("h", "r"))
    assert list(there.messages) == [1]
    there.apply(BranchEnded("h", XID))
    assert there.messages == {}


def test_a_queue_goes_with_its_bindings_its_messages_and_its_part_in_branches() -> None:
    there = ledger(
        Bound("h", "amq.direct", "q", "k"), Bound("h", "amq.direct", "r", "k"), ONE, TWO, Enqueued("h", "q", 1),
        Enqueued("h", "q", 2), Enqueued("h", "r", 2), BranchPrepared("h", XID, [(2, ("q", "r"))], [("q", 1), ("r", 2)], 60),
        QueueDeleted("h", "q"),
    )  # fmt: skip
    assert there.operations() == (
        R, Bound("h", "amq.direct", "r", "k"), TWO, Enqueued("h", "r", 2),
        BranchPrepared("h", XID, [(2, ("r",))], [("r", 2)], 60),
    )  # fmt: skip


def test_a_branch_has_nothing_on_a_queue_that_was_declared_after_it_under_a_name_that_it_knew() -> None:
    there = ledger(ONE, BranchPrepared("h", XID, [(1, ("q", "r"))]), QueueDeleted("h", "q"), Q)
    later = (1, b"g", b"later")
    there.apply(BranchPrepared("h", later, [(1, ("q",))]))
    assert [each.published for each in there.branches.values()] == [((1, ("r",)),), ((1, ("q",)),)]


JOURNALS: dict[str, Callable[[int], list[Operation]]] = {
    "exchanges are declared, bound and deleted beside many bindings": lambda n: [
        *[Bound("h", "amq.direct", "q", str(number)) for number in range(n)],
        *[
            operation
            for _ in range(n)
            for operation in (
                ExchangeDeclared("h", "x", "topic"),
                Bound("h", "x", "q", ""),
                Bound("h", "x", "r", ""),
                ExchangeDeleted("h", "x"),
            )
        ],
    ],
    "queues are declared and deleted beside many prepared branches": lambda n: [
        ONE,
        *[BranchPrepared("h", (1, b"g", b"%d" % number), [(1, ("q",))]) for number in range(n)],
        *[operation for _ in range(n) for operation in (QueueDeclared("h", "s"), QueueDeleted("h", "s"))],
    ],
    "the queues of one large branch are deleted": lambda n: [
        ONE,
        *[QueueDeclared("h", str(number)) for number in range(n)],
        BranchPrepared("h", XID, [(1, tuple([str(number) for number in range(n)]))]),
        *[QueueDeleted("h", str(number)) for number in range(n)],
    ],
}


@pytest.mark.parametrize("name", JOURNALS)
def test_a_journal_twice_as_long_takes_twice_the_steps(name: str) -> None:
    def prepared(size: int) -> Callable[[], object]:
        operations = JOURNALS[name](size)
        return lambda: ledger(*operations).operations()

    assert_linear(prepared, 100)


def test_an_exchange_goes_with_its_bindings() -> None:
    x = ExchangeDeclared("h", "x", "topic")
    there = ledger(x, Bound("h", "x", "q", "k"), Bound("h", "amq.topic", "q", "k"), ExchangeDeleted("h", "x"))
    assert there.operations() == (Q, R, Bound("h", "amq.topic", "q", "k"))
    there.apply(Unbound("h", "amq.topic", "q", "k"))
    assert there.operations() == (Q, R)


def test_a_branch_that_was_decided_is_known_until_it_is_forgotten() -> None:
    there = ledger(ONE, BranchPrepared("h", XID, [(1, ("q",))], [], 7), BranchDecided("h", XID, 4))
    assert there.operations()[2:] == (BranchPrepared("h", XID, timeout=7), BranchDecided("h", XID, 4))
    there.apply(BranchEnded("h", XID))
    assert there.operations() == (Q, R)


def test_the_owner_of_a_queue_matters_where_the_queue_goes_with_its_owner() -> None:
    there = HostLedger("h")
    there.apply(QueueDeclared("h", "a", exclusive=True))
    there.apply(QueueDeclared("h", "b", exclusive=True, auto_delete=True))
    assert [queue.exclusive for queue in there.queues.values()] == [False, True]


def test_what_it_makes_of_an_empty_host_is_the_same() -> None:
    x = ExchangeDeclared("h", "x", "topic")
    there = ledger(
        x, Bound("h", "x", "q", "k", {"a": 1}), ONE, TWO, Enqueued("h", "q", 2), Enqueued("h", "q", 1, True),
        BranchPrepared("h", XID, [(1, ("q",))], [("q", 2)]), BranchPrepared("h", (2, b"", b"")), BranchDecided("h", XID, 5),
    )  # fmt: skip
    again = FoldedState()
    again.add(there.operations(), "test")
    assert again.hosts["h"] == there
    assert again.last_message == 2
    again.add([Dequeued("h", "q", 1)], "test")
    assert again.hosts["h"] != there


@pytest.mark.parametrize(
    ("operation", "words"),
    [
        (Q, "QueueDeclared does not match the restored state: queue 'q' is there already"),
        (QueueDeleted("h", "gone"), "QueueDeleted .* there is no 'gone'"),
        (Bound("h", "amq.direct", "gone", "k"), "there is no 'gone'"),
        (Unbound("h", "amq.direct", "q", "k"), "there is no"),
        (ExchangeDeleted("h", "gone"), "there is no 'gone'"),
        (Enqueued("h", "q", 9), "there is no 'message 9'"),
        (Enqueued("h", "gone", 1), "there is no 'gone'"),
        (Dequeued("h", "q", 1), "there is no 1"),
        (ONE, "message 1 is there already"),
        (BranchPrepared("h", XID, [(9, ("q",))]), "there is no 9"),
        (BranchDecided("h", XID, 4), "there is no"),
        (BranchEnded("h", XID), "there is no"),
        (Marks("h", "q", [1]), "there is no 'message 1'"),
        (Marks("h", "gone"), "there is no 'gone'"),
        (Operation("h"), "not an operation of this version"),
    ],
)
def test_what_cannot_follow_is_reported(operation: Operation, words: str) -> None:
    there = FoldedState()
    there.add((Q, ONE), "before")
    with pytest.raises(RestoreError, match=words) as told:
        there.add([operation], "journal entry 3")
    assert told.value.what == "journal entry 3"


def test_a_clean_end_says_all_marks_anew_and_counts_as_long_as_it_is_the_last() -> None:
    there = FoldedState()
    there.enter(Entry(1, [Q, R, ONE, TWO, Enqueued("h", "q", 1, True), Enqueued("h", "q", 2), Enqueued("h", "r", 1, True)]))
    said = [there.closed]
    there.enter(Entry(2, [Marks("h", "q", [2]), Closed("")]))
    assert there.hosts["h"].contents == {"q": {1: False, 2: True}, "r": {1: True}}
    said.append(there.closed)
    there.enter(Entry(3, [Opened("")]))
    assert [*said, there.closed] == [False, True, False]


def test_entries_follow_one_another() -> None:
    there = FoldedState(number=4)
    assert not there.enter(Entry(4, [Q]))
    assert there.enter(Entry(5, [Q]))
    with pytest.raises(RestoreError, match="journal entry 7: entry 6 comes first"):
        there.enter(Entry(7, [R]))
    assert (there.number, list(there.hosts["h"].queues)) == (5, ["q"])


def test_what_a_snapshot_lends_to_a_session_may_be_stored_once_more_and_no_other() -> None:
    """The session's transaction holds it back: its commit stores it."""
    there = ledger(ONE, TWO, Enqueued("h", "q", 2))
    there.lend()
    there.apply(ONE)
    there.apply(Enqueued("h", "r", 1))
    assert there.contents == {"q": {2: False}, "r": {1: False}}
    for again in (ONE, TWO):
        with pytest.raises(ValueError, match="is there already"):
            there.apply(again)
