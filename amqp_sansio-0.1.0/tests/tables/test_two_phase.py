"""The rows of one branch in a two-phase commit."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables import two_phase as t

M, P = t.MANAGER, t.PARTICIPANT


@pytest.mark.parametrize("state", sorted(t.AWAITED))
def test_no_answer_can_be_wrong_where_one_is_awaited(state: str) -> None:
    answers = t.ANSWERS if state != t.LISTING else (t.LISTED, t.NOT_LISTED, t.REFUSED, t.LOST)
    for answer in answers:
        assert Machine(t.TWO_PHASE, (state,)).step(P, answer) is None


@pytest.mark.parametrize("state", t.TWO_PHASE.states)
def test_a_state_is_final_or_somebody_goes_on_from_it(state: str) -> None:
    speakers = {row.speaker for row in t.TWO_PHASE.rows if row.state == state}
    if state in t.TWO_PHASE.final:
        assert speakers == set()
    else:
        assert speakers == ({P} if state in t.AWAITED else {M})


def test_what_was_prepared_is_never_rolled_back_for_want_of_an_answer() -> None:
    """The only answers that take a commit away are the participant's own word that it broke its promise."""
    for state in (t.COMMITTING, t.COMMITTING_AGAIN):
        for answer in (t.LOST, t.REFUSED):
            machine = Machine(t.TWO_PHASE, (state,))
            machine.step(P, answer)
            assert {row.verb for row in t.TWO_PHASE.rows if row.state == machine.state} >= {t.COMMIT}


def test_the_usual_way() -> None:
    machine = Machine(t.TWO_PHASE)
    for speaker, verb in ((M, t.PREPARE), (P, t.OK), (M, t.COMMIT), (P, t.LOST), (M, t.COMMIT), (P, t.NO_SUCH)):
        assert machine.step(speaker, verb) is None
    assert machine.state == t.COMMITTED
    assert machine.finished
