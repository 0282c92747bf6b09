"""Two-phase commit over several brokers."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from amqp_sansio.engine.two_phase import Action, Ask, Decide, Decision, TwoPhase, presumed_aborts
from amqp_sansio.errors import DecodeError, EncodeError, LocalProtocolError
from amqp_sansio.events import BranchAnswered, BranchesRecovered, TransactionOutcome
from amqp_sansio.spec import dtx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.xids import xid

A, B, C = (xid(0, b"g", name) for name in (b"a", b"b", b"c"))
COMMITTED, ROLLED_BACK, UNKNOWN = TransactionOutcome
OK, RDONLY = XaStatus.XA_OK, XaStatus.XA_RDONLY


def two() -> TwoPhase:
    return TwoPhase({"a": A, "b": B})


def prepared() -> TwoPhase:
    """Both have voted ok, and the decision is durable."""
    machine = two()
    machine.take()
    machine.answered("a", OK)
    machine.answered("b", OK)
    machine.take()
    machine.durable()
    return machine


def both(one: Command, other: Command) -> tuple[Action, ...]:
    return Ask("a", one), Ask("b", other)


def test_commit() -> None:
    machine = two()
    assert machine.take() == both(dtx.Prepare(A), dtx.Prepare(B))
    assert machine.take() == ()
    assert machine.awaited == ("a", "b")
    machine.answered("a", OK)
    assert machine.take() == ()
    undecided = machine.outcome
    assert undecided is None
    machine.answered("b", OK)
    decision = Decision((("a", A), ("b", B)))
    assert machine.take() == (Decide(decision),)
    assert machine.take() == ()
    machine.durable()
    assert [machine.outcome, machine.finished] == [COMMITTED, False]
    assert machine.take() == both(dtx.Commit(A), dtx.Commit(B))
    machine.answered("b", OK)
    machine.answered("a", OK)
    assert machine.finished
    assert machine.take() == ()
    assert machine.heuristics == {}


def test_nothing_is_committed_before_the_decision_is_durable() -> None:
    machine = two()
    for step in ("to be prepared", "preparing", "prepared"):
        with pytest.raises(LocalProtocolError, match="handed out"):
            machine.durable()
        if step == "to be prepared":
            machine.take()
        else:
            machine.answered(machine.awaited[0], OK)
    with pytest.raises(LocalProtocolError, match="handed out"):
        machine.durable()
    machine.take()
    assert machine.take() == ()
    machine.durable()
    with pytest.raises(LocalProtocolError):
        machine.durable()


@pytest.mark.parametrize(
    ("status", "refused", "asked"),
    [
        (XaStatus.XA_RBROLLBACK, None, [dtx.Rollback(A), dtx.Rollback(B)]),
        (XaStatus.XA_RBTIMEOUT, None, [dtx.Rollback(B)]),  # the branch is forgotten with it
        (None, 404, [dtx.Rollback(B)]),
        (None, 409, [dtx.Rollback(A), dtx.Rollback(B)]),
        (None, None, [dtx.Rollback(A), dtx.Rollback(B)]),  # lost: it may be prepared
    ],
)
def test_one_vote_against_rolls_all_back(status: XaStatus | None, refused: int | None, asked: list[Command]) -> None:
    machine = two()
    machine.take()
    machine.answered("b", OK)
    machine.answered("a", status, refused)
    assert machine.outcome is ROLLED_BACK
    assert [action.command for action in machine.take() if isinstance(action, Ask)] == asked
    for name in machine.awaited:
        machine.answered(name, OK)
    assert machine.finished
    assert machine.heuristics == {}


def test_a_vote_that_comes_late_is_rolled_back_too() -> None:
    machine = two()
    machine.take()
    machine.answered("a", XaStatus.XA_RBTIMEOUT)
    assert machine.take() == ()
    machine.answered("b", OK)
    assert machine.take() == (Ask("b", dtx.Rollback(B)),)


def test_a_participant_that_only_read_takes_no_part_in_the_second_phase() -> None:
    machine = two()
    machine.take()
    machine.answered("a", RDONLY)
    machine.answered("b", OK)
    assert machine.take() == (Decide(Decision((("b", B),))),)
    machine.durable()
    assert machine.take() == (Ask("b", dtx.Commit(B)),)


def test_where_all_only_read_nothing_is_decided() -> None:
    machine = two()
    machine.take()
    machine.answered("a", RDONLY)
    machine.answered("b", RDONLY)
    assert machine.take() == ()
    assert machine.finished
    assert machine.outcome is COMMITTED


@pytest.mark.parametrize(
    ("status", "refused", "outcome", "done"),
    [
        (OK, None, COMMITTED, True),
        (RDONLY, None, COMMITTED, True),
        (XaStatus.XA_RBROLLBACK, None, ROLLED_BACK, True),
        (XaStatus.XA_RBTIMEOUT, None, ROLLED_BACK, True),
        (None, 404, ROLLED_BACK, True),
        (None, 409, ROLLED_BACK, False),
        (None, None, None, False),
        (XaStatus.XA_HEURCOM, None, COMMITTED, False),
        (XaStatus.XA_HEURRB, None, ROLLED_BACK, False),
        (XaStatus.XA_HEURMIX, None, UNKNOWN, False),
    ],
)
def test_a_single_participant_is_committed_in_one_phase(
    status: XaStatus | None, refused: int | None, outcome: TransactionOutcome | None, done: bool
) -> None:
    machine = TwoPhase({"a": A})
    assert machine.take() == (Ask("a", dtx.Commit(A, True)),)
    assert machine.outcome is None
    machine.answered("a", status, refused)
    assert (machine.outcome, machine.finished) == (outcome, done)


def test_a_single_participant_whose_answer_was_lost_is_asked_again_and_may_not_know_any_more() -> None:
    for status, refused, outcome in ((OK, None, COMMITTED), (None, 404, UNKNOWN), (None, 503, None)):
        machine = TwoPhase({"a": A})
        machine.take()
        machine.lost("a")
        assert machine.take() == (Ask("a", dtx.Commit(A, True)),)
        machine.answered("a", status, refused)
        assert machine.outcome is outcome


@pytest.mark.parametrize("status", [XaStatus.XA_HEURCOM, XaStatus.XA_HEURRB, XaStatus.XA_HEURMIX, XaStatus.XA_HEURHAZ])
def test_a_heuristic_outcome_is_reported_and_forgotten(status: XaStatus) -> None:
    machine = prepared()
    machine.take()
    machine.answered("a", OK)
    machine.answered("b", status)
    assert machine.heuristics == {"b": status}
    assert machine.take() == (Ask("b", dtx.Forget(B)),)
    machine.lost("b")
    assert machine.take() == (Ask("b", dtx.Forget(B)),)
    machine.answered("b", None, 540)  # qpidd cannot: it was told
    assert machine.finished
    assert machine.outcome is COMMITTED


@pytest.mark.parametrize(
    ("status", "refused", "told"),
    [
        (XaStatus.XA_RBROLLBACK, None, XaStatus.XA_HEURRB),
        (XaStatus.XA_RBTIMEOUT, None, XaStatus.XA_HEURRB),
        (None, 404, XaStatus.XA_HEURHAZ),
    ],
)
def test_a_promise_that_was_not_kept_is_reported_as_a_heuristic(
    status: XaStatus | None, refused: int | None, told: XaStatus
) -> None:
    machine = prepared()
    machine.take()
    machine.answered("a", OK)
    machine.answered("b", status, refused)
    assert machine.heuristics == {"b": told}
    assert machine.finished


def test_a_commit_that_got_lost_is_sent_again() -> None:
    machine = prepared()
    machine.take()
    for _ in range(3):
        machine.lost("a")
        assert machine.take() == (Ask("a", dtx.Commit(A)),)
    machine.answered("a", None, 404)  # it had been carried out
    machine.answered("b", None, 503)
    assert machine.take() == (Ask("b", dtx.Commit(B)),)
    machine.answered("b", OK)
    assert machine.finished
    assert machine.heuristics == {}


def test_abort() -> None:
    machine = two()
    machine.abort()
    assert machine.take() == both(dtx.Rollback(A), dtx.Rollback(B))
    machine = two()
    machine.take()
    machine.answered("a", OK)
    machine.abort()
    assert machine.take() == (Ask("a", dtx.Rollback(A)),)
    alone = TwoPhase({"a": A})
    alone.abort()
    assert alone.take() == (Ask("a", dtx.Rollback(A)),)


def test_it_is_too_late_to_abort() -> None:
    alone = TwoPhase({"a": A})
    alone.take()
    for machine in (prepared(), alone):
        with pytest.raises(LocalProtocolError):
            machine.abort()


def test_what_nobody_asked_for() -> None:
    machine = two()
    calls: list[Callable[[], None]] = [
        lambda: machine.answered("a", OK),
        lambda: machine.lost("a"),
        lambda: machine.recovered("a", ()),
        lambda: machine.answered("z", OK),
    ]
    for call in calls:
        before = machine.snapshot()
        with pytest.raises(LocalProtocolError):
            call()
        assert machine.snapshot() == before
    machine.take()
    with pytest.raises(LocalProtocolError):
        machine.recovered("a", ())


def test_what_are_no_branches() -> None:
    with pytest.raises(EncodeError):
        TwoPhase({})
    for branches in ({"a": None}, {1: A}):
        with pytest.raises(EncodeError):
            TwoPhase(branches)  # type: ignore[arg-type]  # what a caller may do


def test_events_of_a_session_are_answers() -> None:
    machine = two()
    machine.take()
    ok = BranchAnswered(b"s", 1, "dtx.prepare", A, OK)
    assert not machine.hear("b", ok)  # another branch
    assert not machine.hear("z", ok)
    assert not machine.hear("a", BranchAnswered(b"s", 0, "dtx.end", A, OK))
    assert not machine.hear("a", BranchesRecovered(b"s", 1, (A,)))
    assert machine.hear("a", ok)
    assert not machine.hear("a", ok)
    assert machine.hear("b", BranchAnswered(b"s", 1, "dtx.prepare", B, None, 404))
    assert machine.outcome is ROLLED_BACK


# --- after a crash ------------------------------------------------------------------------------------------------------------


def test_a_stored_decision_is_carried_out() -> None:
    stored = Decision((("a", A), ("b", B))).plain
    machine = TwoPhase.recover(Decision.of(pickle.loads(pickle.dumps(stored))))
    assert machine.outcome is COMMITTED
    assert machine.take() == both(dtx.Recover(), dtx.Recover())
    assert not machine.hear("a", BranchAnswered(b"s", 1, "dtx.commit", A, OK))
    assert machine.hear("a", BranchesRecovered(b"s", 1, (C,)))  # committed before the crash
    assert machine.hear("b", BranchesRecovered(b"s", 1, None))
    assert machine.take() == (Ask("b", dtx.Recover()),)
    machine.recovered("b", (A, B))
    assert machine.take() == (Ask("b", dtx.Commit(B)),)
    machine.answered("b", OK)
    assert machine.finished


def test_a_server_that_cannot_list_is_asked_to_commit() -> None:
    machine = TwoPhase.recover(Decision((("a", A),)))
    machine.take()
    machine.answered("a", None, 540)
    assert machine.take() == (Ask("a", dtx.Commit(A)),)
    machine.answered("a", None, 404)
    assert machine.finished
    assert machine.heuristics == {}


def test_without_a_decision_it_counts_as_rolled_back() -> None:
    other, foreign = xid(0, b"h", b"a"), xid(9, b"i", b"")
    lists = {"a": (A, other, foreign), "b": (B,)}
    rest = presumed_aborts(lists, [Decision((("a", other),))], lambda each: each.format_ == 0)
    (machine,) = rest
    assert machine.outcome is ROLLED_BACK
    assert machine.take() == both(dtx.Rollback(A), dtx.Rollback(B))
    machine.answered("a", OK)
    machine.answered("b", None, 404)
    assert machine.finished


def test_several_branches_of_one_transaction_at_one_participant() -> None:
    rest = presumed_aborts({"a": (A, B, C)}, (), lambda _: True)
    said = [action.command for machine in rest for action in machine.take() if isinstance(action, Ask)]
    assert said == [dtx.Rollback(A), dtx.Rollback(B), dtx.Rollback(C)]


def test_a_snapshot_is_plain() -> None:
    machine = two()
    machine.take()
    machine.answered("a", OK)
    again = TwoPhase.restore(pickle.loads(pickle.dumps(machine.snapshot())))
    assert again.snapshot() == machine.snapshot()
    assert repr(again) == repr(machine)
    again.answered("b", OK)
    (decide,) = again.take()
    assert isinstance(decide, Decide)
    again = TwoPhase.restore(again.snapshot())
    assert again.take() == (decide,)  # it is not known whether it was stored


@pytest.mark.parametrize(
    "snapshot",
    [
        (),
        (0, "voting", ()),
        (1, "elsewhere", ()),
        (1, "voting", ()),
        (1, "voting", [("a", (0, b"g", b""), "ended", None)]),
        (1, "voting", (("a", (0, b"g", b""), "nowhere", None),)),
        (1, "voting", (("a", (0, b"g"), "ended", None),)),
        (1, "voting", (("a", (0, "g", b""), "ended", None),)),
        (1, "voting", ((1, (0, b"g", b""), "ended", None),)),
        (1, "voting", (("a", (0, b"g", b""), "ended", 99),)),
    ],
)
def test_what_is_no_snapshot(snapshot: tuple[object, ...]) -> None:
    with pytest.raises(DecodeError):
        TwoPhase.restore(snapshot)


def test_what_is_no_decision() -> None:
    for plain in ((("a", 0, b"g"),), ((1, 0, b"g", b""),), (("a", 0, "g", b""),), (1,)):
        with pytest.raises(DecodeError):
            Decision.of(plain)  # type: ignore[arg-type]  # what may be stored
