"""The book of a session's transactions, by itself.  (Every cell of its rows, for each of the three: tests/engine.)"""

from __future__ import annotations

import pytest

from amqp_sansio.ledger.demarcation import Demarcation, key_of
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command

X, Y, Z = (dtx.Xid(1, b"g", name) for name in (b"x", b"y", b"z"))


def words(demarcation: Demarcation, *said: Command) -> list[str]:
    """The rules that were broken."""
    broken = []
    for id, command in enumerate(said):
        verb = demarcation.verb(command)
        assert verb is not None
        cell = demarcation.refusal(verb)
        if cell is None:
            demarcation.said(verb, command, id)
        else:
            broken.append(cell.rule)
    return broken


def late() -> Demarcation:
    demarcation = Demarcation()
    demarcation.lost()
    return demarcation


@pytest.mark.parametrize(
    "said",
    [
        (tx.Commit(), tx.Rollback()),
        (tx.Select(), tx.Commit()),
        (dtx.End(X), dtx.End(Y), dtx.End(Z), dtx.Start(X)),
        (dtx.End(X, suspend=True), dtx.Start(Y, resume=True), dtx.End(Z), dtx.End(Y), dtx.Start(X, resume=True)),
        (dtx.Start(X), dtx.End(Y), dtx.End(X), dtx.End(Z, fail=True)),
        (dtx.Select(), dtx.End(X)),
    ],
)
def test_a_late_observer_holds_nobody_to_what_it_missed(said: tuple[Command, ...]) -> None:
    assert words(late(), *said) == []


@pytest.mark.parametrize(
    ("said", "rule"),
    [
        ((tx.Commit(), tx.Select()), "tx.select.exactly-once"),
        ((tx.Commit(), dtx.End(X)), "dtx.end.illegal-state"),
        ((tx.Commit(), dtx.Start(X, resume=True)), "dtx.start.illegal-state"),
        ((tx.Commit(), dtx.End(X, suspend=True, fail=True)), "dtx.end.illegal-state"),
        ((dtx.Start(X), dtx.Start(Y)), "dtx.start.illegal-state"),
        ((dtx.Start(X), dtx.End(Y, suspend=True)), "dtx.end.xid.not-associated"),
        ((dtx.Start(X), tx.Commit()), "tx.commit.select-required"),
    ],
)
def test_a_late_observer_knows_what_came_since(said: tuple[Command, ...], rule: str) -> None:
    assert words(late(), *said) == [rule]


@pytest.mark.parametrize(
    "value",
    [
        (),
        (("none",), None, None, ()),
        (("elsewhere",), None, None, (), False),
        ((), None, None, (), False),
        (("none",), "x", None, (), False),
        (("none",), (0, "x", b""), None, (), False),
        (("none",), None, "1", (), False),
        (("none",), None, None, (("x", 1),), False),
        (("none",), None, None, (), 1),
    ],
)
def test_what_is_no_snapshot(value: tuple[object, ...]) -> None:
    with pytest.raises((TypeError, ValueError)):
        Demarcation.restore(value)


def test_what_is_left_out_counts_as_nothing() -> None:
    assert key_of(dtx.Xid(None, None, None)) == key_of(dtx.Xid(0, b"", b"")) == key_of(None)
    assert key_of(dtx.Xid(1, b"g", b"b")) == (1, b"g", b"b")


def test_a_branch_that_is_resumed_or_ended_is_suspended_no_more() -> None:
    demarcation = Demarcation()
    both = [dtx.Start(X), dtx.End(X, suspend=True), dtx.Start(Y), dtx.End(Y, suspend=True)]
    assert words(demarcation, dtx.Select(), *both) == []
    assert list(demarcation.suspended) == [key_of(X), key_of(Y)]
    assert words(demarcation, dtx.Start(X, resume=True)) == []
    assert list(demarcation.suspended) == [key_of(Y)]
    assert words(demarcation, dtx.End(X), dtx.End(Y)) == []
    assert list(demarcation.suspended) == []
