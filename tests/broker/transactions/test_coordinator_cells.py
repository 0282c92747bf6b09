"""Every cell of table 6.3, said to a coordinator, in both profiles of error codes."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.broker.transactions.stage import ME, XID, YOU, Stage
from tests.tables.branch_cells import EXPECTED, Expected

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions.error_column import COLUMNS, code_of
from amqp_sansio.broker.model.owner import SESSION, Owner
from amqp_sansio.broker.transactions.coordinator import standing
from amqp_sansio.config import ErrorCodes
from amqp_sansio.engine.demarcation import key_of
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.tables import branch as b
from amqp_sansio.tables.branch import Phase, Relation

STATUS = {
    "ok": XaStatus.XA_OK,
    "rb": XaStatus.XA_RBROLLBACK,
    "rbtime": XaStatus.XA_RBTIMEOUT,
    "rdonly": XaStatus.XA_RDONLY,
    "told": XaStatus.XA_HEURMIX,
}


def reach(stage: Stage, state: b.Standing, nothing: bool) -> None:
    """Brings the branch there, with some work in it unless it is to hold nothing back."""
    c = stage.coordinator
    if state.phase is Phase.UNKNOWN:
        return
    assert c.start(YOU, XID).status is XaStatus.XA_OK
    if not nothing or state in (b.PREPARED, b.HEURISTIC):
        stage.publish(b"in the branch", owner=YOU)
        stage.work(YOU).accept([stage.put(b"accepted")])
    if state.relation in (Relation.HERE, Relation.SUSPENDED):
        c.start(ME, XID, join=True)
        if state.relation is Relation.SUSPENDED:
            c.end(ME, XID, suspend=True)
    if state.relation is not Relation.ELSEWHERE:
        c.end(YOU, XID)
    if state.phase is Phase.ROLLBACK_ONLY:
        third = Owner(SESSION)
        c.start(third, XID, join=True)
        c.end(third, XID, fail=True)
    elif state.phase is Phase.TIMED_OUT:
        c.tick(0.0)
        c.tick(c.default_timeout)
    elif state in (b.PREPARED, b.HEURISTIC):
        c.prepare(XID)
        if state == b.HEURISTIC:
            c.complete(XID, XaStatus.XA_HEURMIX)


def say(stage: Stage, verb: str) -> object:
    c = stage.coordinator
    said: dict[str, Callable[[], object]] = {
        b.START: lambda: c.start(ME, XID),
        b.START_JOIN: lambda: c.start(ME, XID, join=True),
        b.START_RESUME: lambda: c.start(ME, XID, resume=True),
        b.START_JOIN_RESUME: lambda: c.start(ME, XID, True, True),
        b.END: lambda: c.end(ME, XID),
        b.END_SUSPEND: lambda: c.end(ME, XID, suspend=True),
        b.END_FAIL: lambda: c.end(ME, XID, fail=True),
        b.END_SUSPEND_FAIL: lambda: c.end(ME, XID, True, True),
        b.PREPARE: lambda: c.prepare(XID),
        b.PREPARE_NOTHING: lambda: c.prepare(XID),
        b.COMMIT: lambda: c.commit(XID),
        b.COMMIT_ONE_PHASE: lambda: c.commit(XID, one_phase=True),
        b.ROLLBACK: lambda: c.rollback(XID),
        b.FORGET: lambda: c.forget(XID),
        b.GET_TIMEOUT: lambda: c.get_timeout(XID),
        b.SET_TIMEOUT: lambda: c.set_timeout(XID, 3600),
        b.SET_TIMEOUT_TOO_LONG: lambda: c.set_timeout(XID, 3601),
    }
    return said[verb]()


def stands(stage: Stage) -> b.Standing:
    return standing(stage.coordinator.branches.get(key_of(XID)), ME)


@pytest.mark.parametrize("codes", ["qpid", "spec"])
@pytest.mark.parametrize("expected", EXPECTED, ids=lambda cell: cell.id)
@pytest.mark.rule(
    "dtx.start.illegal-state",
    "dtx.start.already-known",
    "dtx.start.join-and-resume",
    "dtx.start.xid.unknown-xid",
    "dtx.end.illegal-state",
    "dtx.end.suspend-and-fail",
    "dtx.end.success",
    "dtx.end.xid.not-associated",
    "dtx.end.fail.failure",
    "dtx.end.suspend.resume",
    "dtx.commit.illegal-state",
    "dtx.commit.xid.unknown-xid",
    "dtx.commit.xid.not-disassociated",
    "dtx.commit.one-phase.one-phase",
    "dtx.commit.one-phase.two-phase",
    "dtx.forget.illegal-state",
    "dtx.forget.xid.unknown-xid",
    "dtx.forget.xid.not-disassociated",
    "dtx.get-timeout.xid.unknown-xid",
    "dtx.prepare.illegal-state",
    "dtx.prepare.xid.unknown-xid",
    "dtx.prepare.xid.not-disassociated",
    "dtx.rollback.illegal-state",
    "dtx.rollback.xid.unknown-xid",
    "dtx.rollback.xid.not-disassociated",
    "dtx.set-timeout.xid.unknown-xid",
)
def test_a_cell(expected: Expected, codes: ErrorCodes) -> None:
    nothing = expected.verb == b.PREPARE_NOTHING
    stage = Stage(journal=True)
    reach(stage, expected.state, nothing)
    stage.stored()
    assert stands(stage) == expected.state
    if expected.spec is not None:
        before = repr(stage.coordinator.branches)
        with pytest.raises(Refused) as told:
            say(stage, expected.verb)
        assert code_of(told.value, codes) == (expected.spec if codes == "spec" else expected.qpid)
        assert "legal now: " in told.value.text
        assert repr(stage.coordinator.branches) == before
    else:
        answer = say(stage, expected.verb)
        if expected.status:
            assert isinstance(answer, tuple)
            assert answer[0] is STATUS[expected.status]
    assert stands(stage) == expected.next_state
    stage.stored()
    if expected.next_state == b.UNKNOWN and expected.state.phase not in (Phase.UNKNOWN, Phase.HEURISTIC) and not nothing:
        committed = expected.verb in (b.COMMIT, b.COMMIT_ONE_PHASE) and expected.status == "ok"
        assert stage.on() == ([b"in the branch"] if committed else [b"accepted"])
    elif expected.state.phase in (Phase.OPEN, Phase.ROLLBACK_ONLY, Phase.PREPARED) and not nothing:
        assert stage.on() == []


NAMED_OTHERWISE = {"dtx.commit.illegal-state", "dtx.rollback.illegal-state"}
"""Every wrong moment for these has a name of its own: a session still works on it, one phase for two, two for one."""
PERMITTED = {"dtx.end.success", "dtx.end.fail.failure", "dtx.end.suspend.resume"}
"""What these name is an answer, not a refusal."""


def test_a_rule_that_is_carried_is_that_of_a_cell() -> None:
    """One test carries many paths: each is the rule by which some cell refuses, or one of the above."""
    carried = {path for mark in test_a_cell.pytestmark if mark.name == "rule" for path in mark.args}  # type: ignore[attr-defined]
    refused = {cell.answer.rule for cell in b.CELLS.values() if isinstance(cell.answer, b.Fault)}
    assert carried == refused - {""} | NAMED_OTHERWISE | PERMITTED


def test_every_fault_of_the_table_is_a_row_of_the_errors_of_the_model() -> None:
    from amqp_sansio.broker.transactions.coordinator import condition_of

    for cell in b.CELLS.values():
        if isinstance(cell.answer, b.Fault):
            column = COLUMNS[condition_of(cell.answer, cell.verb)]
            assert (column.rule, column.spec, column.qpid) == (
                cell.answer.rule, cell.answer.spec, cell.answer.qpid,
            )  # fmt: skip
