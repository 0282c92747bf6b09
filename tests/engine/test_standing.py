"""Where a session stands: its states, and what the engine asks of its memory."""

from __future__ import annotations

import pytest
from tests.carriers import attached_session

from amqp_sansio.engine.carrier import Role
from amqp_sansio.engine.standing import Standing, State
from amqp_sansio.errors import ConnectionClosedError, SessionDetachedError
from amqp_sansio.events import CommandReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import execution, queue
from amqp_sansio.spec import session as c
from amqp_sansio.tables.endpoint import ENDPOINT
from amqp_sansio.tables.session import EXPECTED

STATES: dict[State, tuple[bool, bool]] = {
    "detached": (False, False),
    "attaching": (False, False),
    "resuming": (True, False),
    "attached": (True, True),
    "refused": (True, False),
    "detaching": (False, False),
    "ended": (False, False),
}


def walk(standing: Standing, state: State) -> None:
    """Says the fewest words of its table that lead to the state."""
    moves = ENDPOINT[standing.role].moves
    ways: dict[str, list[tuple[str, str]]] = {standing.state: []}
    while state not in ways:
        for (before, speaker, verb), after in moves.items():
            if before in ways and after not in ways:
                ways[after] = [*ways[before], (speaker, verb)]
    for speaker, verb in ways[state]:
        standing._step(speaker, verb)


@pytest.mark.parametrize("state", STATES)
def test_a_state_tells_which_side_it_takes_and_whether_it_sends(state: State) -> None:
    standing = Standing(b"s", "client")
    walk(standing, state)
    assert standing.state == state
    assert (standing._hears, standing._speaks) == STATES[state]
    assert bool(standing.legal) == (state in ("detached", "attaching", "resuming", "attached"))


def test_a_word_that_its_table_refuses_is_a_fault_of_the_engine() -> None:
    standing = Standing(b"s", "client")
    with pytest.raises(AssertionError, match=EXPECTED):
        standing._step("server", EXPECTED)
    assert standing.state == "detached"


@pytest.mark.parametrize(
    ("timeout", "state", "resumable"), [(0, "detached", False), (9, "detached", True), (None, "ended", False)]
)
def test_what_may_be_resumed(timeout: int | None, state: State, resumable: bool) -> None:
    standing = Standing(b"s", "client", timeout=timeout)
    walk(standing, state)
    assert standing.resumable is resumable


@pytest.mark.parametrize(
    ("role", "timeout", "most", "granted"),
    [("client", 5, 0, 5), ("client", 5, 9, 9), ("server", 5, 0, 0), ("server", 5, 9, 9), ("client", None, 0, None)],
)
def test_what_is_granted_at_most(role: Role, timeout: int | None, most: int, granted: int | None) -> None:
    """A client that says nothing else grants what it asks for itself; a server grants nothing unless told."""
    assert Standing(b"s", role, timeout=timeout, max_timeout=most)._max_timeout == granted


def test_the_codes_of_a_command_under_way() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Query("q"))
    assert session.codes_of(0) == (8, 4)
    assert session.codes_of(1) == session.codes_of(None) == (None, None)


def test_touched_once_and_told_once() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), queue.Declare("r"))
    session._complete_now(RangeSet.of(0))
    session._complete_now(RangeSet.of(1))
    assert [said for said in carrier.said() if isinstance(said, c.Completed)] == [c.Completed(RangeSet([(0, 1)]))]
    assert carrier.said() == []


def test_commands_wait_while_it_resumes_and_nothing_else_does() -> None:
    carrier, session = attached_session("server")
    event = CommandReceived(b"s", 0, queue.Declare("q"))
    walk(session, "resuming")
    session._emit_command(event)
    assert carrier.happened() == []
    session._held_octets = 7
    session._emit_held()
    assert session._held_octets == 0
    assert carrier.happened() == [event]
    walk(session, "attached")
    session._emit_command(event)
    assert carrier.happened() == [event]
    assert session._held == []


def test_it_may_be_spoken_on_only_while_attached_and_open() -> None:
    carrier, session = attached_session("client")
    session.check_speak("anything")
    carrier._closed_cause = "gone"
    with pytest.raises(ConnectionClosedError, match="gone"):
        session.check_speak("anything")
    walk(session, "detaching")
    with pytest.raises(SessionDetachedError):
        session.check_speak("anything")


def test_one_command_completed_without_a_set() -> None:
    carrier, session = attached_session("server")
    carrier.hear(queue.Declare("q"), execution.Sync(), queue.Declare("r"))
    session._complete_one(0)
    session._complete_one(2)
    assert not session._inbound.outstanding
    assert not session._inbound.owed
    assert [said for said in carrier.said() if isinstance(said, c.Completed)] == [c.Completed(RangeSet([(0, 2)]))]
