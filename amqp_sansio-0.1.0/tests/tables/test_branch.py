"""Every cell of the table of branches."""

from __future__ import annotations

import pytest
from tests.tables.branch_cells import EXPECTED, Expected

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.rules import RULES
from amqp_sansio.tables import branch as b

WORDS = {
    "ok": XaStatus.XA_OK,
    "rb": XaStatus.XA_RBROLLBACK,
    "rbtime": XaStatus.XA_RBTIMEOUT,
    "rdonly": XaStatus.XA_RDONLY,
    "told": b.DECIDED,
    "": None,
}
ALLOWED: dict[str, set[XaStatus | None]] = {
    "start": {XaStatus.XA_OK, XaStatus.XA_RBROLLBACK, XaStatus.XA_RBTIMEOUT},
    "end": {XaStatus.XA_OK, XaStatus.XA_RBROLLBACK, XaStatus.XA_RBTIMEOUT},
    "prepare": {XaStatus.XA_OK, XaStatus.XA_RDONLY, XaStatus.XA_RBROLLBACK, XaStatus.XA_RBTIMEOUT},
    "commit": {*XaStatus} - {XaStatus.XA_RDONLY},
    "rollback": {*XaStatus} - {XaStatus.XA_RDONLY},
    "forget": {None},
    "get-timeout": {None},
    "set-timeout": {None},
}


@pytest.mark.parametrize("expected", EXPECTED, ids=lambda cell: cell.id)
def test_a_cell(expected: Expected) -> None:
    cell = b.CELLS[expected.state, expected.verb]
    if expected.spec is not None:
        assert isinstance(cell.answer, b.Fault)
        assert (cell.answer.spec, cell.answer.qpid) == (expected.spec, expected.qpid)
        assert cell.effect is b.Effect.NONE
    else:
        assert cell.answer is WORDS[expected.status]
    assert cell.next_state == expected.next_state


def test_every_verb_in_every_state_is_expected_once() -> None:
    assert len({cell.id for cell in EXPECTED}) == len(EXPECTED) == len(b.CELLS) == len(b.STANDINGS) * len(b.VERBS)


@pytest.mark.parametrize("cell", b.CELLS.values(), ids=lambda cell: f"{cell.state.name}/{cell.verb}")
def test_a_command_answers_with_its_own_statuses_and_rules_only(cell: b.Cell) -> None:
    command = b.command(cell.verb)
    if not isinstance(cell.answer, b.Fault):
        assert cell.answer in ALLOWED[command]
    elif cell.answer.rule:
        assert cell.answer.rule.startswith(f"dtx.{command}.")
        assert RULES[cell.answer.rule].error == cell.answer.spec


def test_the_rows_of_a_branch_that_is_prepared_and_committed() -> None:
    machine = Machine(b.BRANCH)
    for verb in (b.START, b.END_SUSPEND, b.START_RESUME, b.END, b.PREPARE, b.COMMIT):
        assert machine.step(b.SESSION, verb) is None
    assert machine.finished


def test_time_and_the_end_of_a_session_leave_a_prepared_branch_alone() -> None:
    prepared = Machine(b.BRANCH, (b.PREPARED.name,))
    assert not prepared.can(b.CLOCK, b.TIME_OUT)
    assert not prepared.can(b.SESSION, b.SESSION_ENDED)
    assert prepared.step(b.ADMINISTRATOR, b.COMPLETE) is None
    assert prepared.state == b.HEURISTIC.name


def test_what_is_legal_is_listed() -> None:
    assert b.legal(b.PREPARED) == (b.COMMIT, b.ROLLBACK, b.GET_TIMEOUT, b.SET_TIMEOUT)
    assert b.legal(b.UNKNOWN) == (b.START,)


def test_a_cell_stands_once_and_none_is_missing() -> None:
    with pytest.raises(ValueError, match="two cells for start in state unknown"):
        b.cells((*b.ROWS, ((b.UNKNOWN,), (b.START,), None, None, b.Effect.NONE)))
    with pytest.raises(ValueError, match=r"no cell for \['forget in state heuristic'\]"):
        b.cells(b.ROWS[:-1])
