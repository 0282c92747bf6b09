"""The table that says where a session stands for one of its ends."""

from __future__ import annotations

import pytest

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.tables.endpoint import ATTACHED_AGAIN, COMMAND, ENDPOINT, EXCEPTION, KEPT, OVER, TRANSPORT
from amqp_sansio.tables.session import ATTACH, ATTACHED, CLIENT, DETACH, EXPECTED, SERVER

BOTH = [(CLIENT, SERVER), (SERVER, CLIENT)]


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_the_states_that_session_names_are_all_there_is(own: str, other: str) -> None:
    table = ENDPOINT[own]
    assert set(table.states) == {"detached", "attaching", "resuming", "attached", "refused", "detaching", "ended"}
    assert {row.speaker for row in table.rows} == {own, other, TRANSPORT}


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_a_session_is_attached_refused_and_over(own: str, other: str) -> None:
    machine = Machine(ENDPOINT[own])
    for speaker, verb, state in [
        (own, ATTACH, "attaching"),
        (other, ATTACHED, "attached"),
        (own, COMMAND, "attached"),
        (TRANSPORT, KEPT, "detached"),
        (own, ATTACH, "attaching"),
        (other, ATTACHED_AGAIN, "resuming"),
        (other, COMMAND, "resuming"),
        (other, EXPECTED, "attached"),
        (other, EXCEPTION, "refused"),
        (TRANSPORT, OVER, "ended"),
    ]:
        assert machine.step(speaker, verb) is None
        assert machine.state == state
    assert machine.legal == ()


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_the_end_that_was_asked_attaches_at_once(own: str, other: str) -> None:
    for word, state in ((ATTACHED, "attached"), (ATTACHED_AGAIN, "resuming")):
        machine = Machine(ENDPOINT[own])
        assert machine.step(own, word) is None
        assert machine.state == state


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_an_end_says_commands_only_while_attached_and_nothing_after_its_detach(own: str, other: str) -> None:
    """An end that waits for an answer, was refused or has said detach says nothing; until it is over the other end counts."""
    table = ENDPOINT[own]
    assert [state for state in table.states if Machine(table, (state,)).can(own, COMMAND)] == ["attached"]
    heard = {state for state in table.states if Machine(table, (state,)).can(other, COMMAND)}
    assert heard == {"attached", "resuming", "refused"}
    for state in ("refused", "detaching", "ended"):
        assert not [row for row in table.rows if row.state == state and row.speaker == own]
    assert Machine(table, ("attached",)).can(own, DETACH)


@pytest.mark.parametrize(("own", "other"), BOTH)
def test_every_attachment_can_be_over(own: str, other: str) -> None:
    table = ENDPOINT[own]
    for state in ("attaching", "resuming", "attached", "refused", "detaching"):
        assert table.moves[state, TRANSPORT, KEPT] == "detached"
        assert table.moves[state, TRANSPORT, OVER] == "ended"
    assert table.moves["detached", TRANSPORT, OVER] == "ended"
