"""The rows of demarcation and the cells that are none."""

from __future__ import annotations

import itertools

import pytest

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.spec.rules import RULES
from amqp_sansio.tables import demarcation as t
from amqp_sansio.tables.session import COMMAND_SPEAKERS

VERBS = [
    t.TX_SELECT, t.TX_SELECT_BESIDE, t.TX_COMMIT, t.TX_ROLLBACK, t.SUBSCRIBE_NONE, t.DTX_SELECT, t.START, t.RESUME,
    t.RESUME_OTHER, t.JOIN_AND_RESUME, t.END, t.SUSPEND, t.END_SUSPENDED, t.SUSPEND_AGAIN, t.SUSPEND_AND_FAIL, t.END_OTHER,
]  # fmt: skip

IMPOSSIBLE = {
    *itertools.product((t.NO_TRANSACTIONS, t.TX), (t.RESUME, t.END_SUSPENDED, t.SUSPEND_AGAIN, t.SUSPEND_AND_FAIL)),
    *itertools.product((t.NO_TRANSACTIONS, t.TX, t.DTX_IDLE), (t.END, t.SUSPEND)),
}
"""Cells that no memory leads to: nothing is associated or suspended there, so the verb would be another one."""


@pytest.mark.parametrize(("state", "verb"), list(itertools.product(t.DEMARCATION.states, VERBS)), ids="/".join)
def test_a_cell_is_a_row_or_forbidden_or_impossible_and_only_one_of_them(state: str, verb: str) -> None:
    row = (state, t.CLIENT, verb) in t.DEMARCATION.moves
    assert [row, (state, verb) in t.FORBIDDEN, (state, verb) in IMPOSSIBLE].count(True) == 1


def test_no_row_says_a_verb_that_is_not_tried_here() -> None:
    assert {row.verb for row in t.DEMARCATION.rows} | {verb for _, verb in t.FORBIDDEN} == set(VERBS)
    assert {row.speaker for row in t.DEMARCATION.rows} == {t.CLIENT}


@pytest.mark.parametrize("cell", t.FORBIDDEN.values(), ids=lambda cell: f"{cell.state}/{cell.verb}")
def test_a_forbidden_cell_names_a_rule_of_the_specification_and_the_code_that_goes_with_it(cell: t.Forbidden) -> None:
    if cell.rule == "dtx.select":  # the one that the specification has no name for
        assert (cell.spec, cell.qpid) == (409, 409)
    else:
        assert cell.spec == RULES[cell.rule].error
    assert cell.qpid in (None, 409, 503, 530)
    assert cell.passed in t.DEMARCATION.states
    assert cell.qpid is None or (cell.passed == cell.state) == ((cell.state, cell.verb) not in t.HANDED_ON)


def test_a_session_may_end_in_every_state() -> None:
    assert t.DEMARCATION.final == set(t.DEMARCATION.states)


def test_what_coordinates_belongs_to_the_client_and_to_no_row() -> None:
    assert {COMMAND_SPEAKERS[verb] for verb in t.COORDINATION} == {t.CLIENT}
    verbs = {verb.split()[0] for verb in VERBS} | set(t.COORDINATION)
    assert {verb for verb in COMMAND_SPEAKERS if verb.startswith(("tx.", "dtx."))} <= verbs


@pytest.mark.parametrize(
    "said",
    [
        (t.TX_SELECT, t.TX_COMMIT, t.TX_ROLLBACK, t.TX_COMMIT),
        (t.DTX_SELECT, t.DTX_SELECT, t.START, t.DTX_SELECT, t.END, t.START, t.END),
        (t.DTX_SELECT, t.START, t.SUSPEND, t.RESUME, t.END),
        (t.DTX_SELECT, t.START, t.SUSPEND, t.START, t.END_SUSPENDED, t.SUSPEND, t.END_SUSPENDED),
    ],
)
def test_conversations(said: tuple[str, ...]) -> None:
    machine = Machine(t.DEMARCATION)
    for verb in said:
        assert machine.step(t.CLIENT, verb) is None, verb
