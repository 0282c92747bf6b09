"""What is captured of a peer costs no more than what it said: twice as much of it, at most 2.2 times the steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.captures.replay.books import ByHand, Line
from tests.captures.replay.made import ids, message
from tests.captures.replay.test_rows import command
from tests.steps import assert_linear

from amqp_sansio.captures.replay.recorder import Attachment
from amqp_sansio.captures.replay.rows import Half, Rows
from amqp_sansio.captures.replay.transactions import ENDING, Branches, TransactionRecords, name_of
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.dtx import Start, Xid
from amqp_sansio.spec.message import Cancel, Flow, Flush, Subscribe

BILLIONS = ids((1 << 20, 1 << 30))
"""Ids that are not there."""


def again(count: int, work: Callable[[], None]) -> None:
    for _ in range(count):
        work()


def half(count: int, commands: bool) -> Half:
    """One in whose lists so many are open."""
    made = Half(Rows(), True)
    for id in range(count):
        if commands:
            made.say(id, command(id))
        else:
            made.send(message(id))
    return made


def completed(count: int, commands: bool) -> Callable[[], object]:
    one = half(count, commands)
    return lambda: [one.completed(BILLIONS, 1) for _ in range(count)]


def settled(count: int) -> Callable[[], object]:
    one = half(count, False)
    return lambda: [one.settle(BILLIONS, "accepted", 1, None, None, None, None) for _ in range(count)]


def a_few_at_a_time(count: int) -> Callable[[], object]:
    """What is there, too, in ranges that hold much which is not."""
    one = half(2 * count, False)
    asked = [ids((2 * id + 1, 2 * id + 1), (1 << 20, 1 << 30)) for id in range(count)]
    return lambda: [one.settle(each, "accepted", 1, None, None, None, None) for each in asked]


def windows(count: int) -> Callable[[], object]:
    line = Line()
    line.hear(1, 0, Subscribe(queue="q", destination="d"))
    line.hear(2, 1, Flow("d", 0, 1 << 20))
    line.hear(3, 2, Flow("d", 1, INFINITE))
    for id in range(count):
        line.delivered(4, id, "d", 1)
    return lambda: again(count, lambda: line.completed(BILLIONS, 5))


def flushes(count: int) -> Callable[[], object]:
    line = Line()
    for id in range(count):
        line.hear(1, 3 * id, Subscribe(queue="q", destination="d"))
        line.hear(2, 3 * id + 1, Flush("d"))
        line.hear(3, 3 * id + 2, Cancel("d"))
    return lambda: again(count, lambda: line.carried_out(BILLIONS))


def commits(count: int) -> Callable[[], object]:
    one = TransactionRecords(Rows(), ("s", 0), Half(Rows(), True))
    for id in range(count):
        one.ends(1, id, True)
    return lambda: again(count, lambda: one.completed(BILLIONS, 2))


def about_branches(count: int) -> Callable[[], object]:
    rows = Rows()
    session = Attachment(rows, Branches(rows), ByHand(), 0, b"s", 0, True, (True, True))
    for id in range(count):
        session._of_branch(id, Start(Xid(1, b"%d" % id, b"")), 1)
    return lambda: again(count, lambda: session.completed("S", BILLIONS, 2))


def losses(count: int) -> Callable[[], object]:
    branches = Branches(Rows())
    for id in range(count):
        branches.said(Start(Xid(1, b"%d" % id, b"")), 1)
    return lambda: again(count, lambda: branches.lost())


ATTACKS: dict[str, Callable[[int], Callable[[], object]]] = {
    "commands that are not there completed": lambda count: completed(count, True),
    "messages that are not there completed": lambda count: completed(count, False),
    "messages that are not there settled": settled,
    "every second one settled": a_few_at_a_time,
    "windows moved by what is not there": windows,
    "flushes of cancelled subscriptions": flushes,
    "commits that are not complete": commits,
    "commands about branches": about_branches,
    "octets lost while branches are open": losses,
}


@pytest.mark.parametrize("name", ATTACKS)
def test_twice_the_capture_costs_twice_the_steps(name: str) -> None:
    assert_linear(ATTACKS[name], 300)


def test_a_loss_leaves_no_branch_out() -> None:
    """What is said of a branch between two losses is in doubt after the second."""
    rows = Rows()
    one = Branches(rows)
    for _ in range(2):
        one.said(Start(XID), 1)
        assert one.of(name_of(XID), 1).outcome == "active"
        one.lost()
        assert one.of(name_of(XID), 1).outcome == "unknown"


XID = Xid(1, b"x", b"")


def test_commits_that_nobody_completes_leave_in_the_end() -> None:
    rows = Rows()
    one = TransactionRecords(rows, ("s", 0), Half(rows, True))
    for id in range(ENDING + 2):
        one.ends(1, id, True)
    assert len(rows.by_table["transactions"]) == 2
    assert len(one._ending) == ENDING
