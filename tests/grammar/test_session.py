"""The grammars of class session: attachment, a stream of commands, its feedback, and a session at one of its ends."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar import session
from amqp_sansio.grammar.algebra import difference, together
from amqp_sansio.grammar.automaton import Word
from amqp_sansio.grammar.session import endpoint

C, S = "client", "server"


def said(text: str) -> list[Word]:
    """ "c attach" and "s attached": a word each, apart by commas."""
    found: list[Word] = []
    for each in text.split(", "):
        who, verb = each.split()
        found.append(f"{C if who == 'c' else S}:{verb if verb == 'other' else 'session.' + verb}")
    return found


HELD = "c attach, s attached"


@pytest.mark.parametrize(
    "text",
    [
        f"{HELD}, c other, s other, c detach, s other, s detached",
        f"{HELD}, c attach, s attached, s detach, c other, c detached",
        f"{HELD}, c detach, s detach, c detached, s detached, s attach, c detached",
        f"{HELD}, s detached, c attach, s detached",
    ],
)
def test_whole_sessions(text: str) -> None:
    assert session.sessions().accepts(said(text))


def test_what_a_client_may_not_say() -> None:
    half = session.attachment(C, S).prefixes()
    for wrong in (
        "c other", "c attached", "c attach, c other", "c attach, s detached, c other", f"{HELD}, c detach, c other",
        f"{HELD}, c detach, c attach", f"{HELD}, s detach, c detached, c other", "s attach, c other",
    ):  # fmt: skip
        *before, last = said(wrong)
        assert half.accepts(before)
        assert not half.accepts([*before, last])


def test_what_was_on_its_way_is_legal() -> None:
    half = session.attachment(C, S).prefixes()
    for crossing in (
        f"{HELD}, s detach, c other, c attach, c detach, s detached", f"{HELD}, s detached, c other, c detach, c attach",
        f"{HELD}, c detach, s attach, s other, c detached", "c detach", "c detached", "s other, s attached, s detached",
    ):  # fmt: skip
        assert half.accepts(said(crossing))


def test_a_half_hears_everything_at_any_time() -> None:
    for speaker, other in ((C, S), (S, C)):
        half = session.attachment(speaker, other).prefixes()
        for state in range(half.size):
            assert {f"{other}:{verb}" for verb in session.VERBS} <= set(half.legal(state))


# Every undisturbed conversation is legal for both speakers.
def test_halves_take_the_whole() -> None:
    halves = together(session.attachment(C, S).prefixes(), session.attachment(S, C).prefixes())
    assert difference(session.sessions().prefixes(), halves).empty


POINT, COMMAND = "client:session.command-point", "client:command"


def test_no_command_before_a_point() -> None:
    stream = session.stream("client")
    controls = [f"client:{verb}" for verb in session.CONTROLS]
    assert stream.accepts([*controls, POINT, COMMAND, *controls, POINT, COMMAND])
    assert not stream.accepts([*controls, COMMAND])
    assert stream.accepts([])


def test_the_feedback_is_legal_at_any_time() -> None:
    half = session.commands("client", "server")
    sets = ["server:session.completed", "server:session.confirmed"]
    assert half.accepts([*sets, POINT, *sets, COMMAND, *sets])
    assert not half.accepts([POINT, "server:session.expected"])
    assert half.accepts(["client:session.flush expected", POINT, "server:session.expected"])


ASK, TELL = "s:session.flush expected", "r:session.expected"


def test_expected_is_an_answer() -> None:
    assert not session.expected("r", "s").accepts([TELL])
    assert session.expected("r", "s").accepts([ASK, TELL, TELL, ASK])
    two = session.expected("r", "s", 2)
    assert two.accepts([ASK, ASK, TELL, ASK, TELL, TELL])
    assert not two.accepts([ASK, TELL, TELL])
    assert not two.prefixes().accepts([ASK, ASK, ASK])
    with pytest.raises(ValueError, match="at least 1"):
        session.expected("r", "s", 0)


# However many may be unanswered: what counts them takes nothing that the language without a bound does not.
def test_counting_only_forbids() -> None:
    for most in range(1, 6):
        assert difference(session.expected("r", "s", most).prefixes(), session.expected("r", "s")).empty


def test_sets() -> None:
    assert session.sets("r").accepts(["r:session.completed", "r:session.confirmed", "r:session.completed"])


def test_the_life_of_a_command_id() -> None:
    done, sure, known = "r:session.completed", "r:session.confirmed", "s:session.known-completed"
    life = session.life("s", "r")
    assert life.accepts(["s:command", sure, done, done, sure, known, known])
    assert not life.accepts(["s:command", sure])
    assert not life.prefixes().accepts(["s:command", known])
    assert not life.prefixes().accepts(["s:command", done, known, done])
    asked = session.life("s", "r", result=True)
    assert asked.accepts(["s:command", sure, "r:execution.result", done])
    assert not asked.prefixes().accepts(["s:command", done])
    assert asked.accepts(["s:command", "r:execution.exception"])


WORDS = {
    "attach": "session.attach",
    "attached": "session.attached",
    "again": "session.attached again",
    "detach": "session.detach",
    "expected": "session.expected",
    "exception": "execution.exception",
    "command": "any command",
    "kept": "kept",
    "over": "over",
}


def lived(text: str) -> list[str]:
    """ "c attach, s attached": a word each."""
    speakers = {"c": "client", "s": "server", "t": "transport"}
    return [f"{speakers[who]}:{WORDS[verb]}" for who, verb in (each.split() for each in text.split(", "))]


@pytest.mark.parametrize(
    "text",
    [
        "c attach, s attached, c command, s command, c detach, t over",
        "c attach, t kept, c attach, s attached, t kept, c attach, s again, s command, s expected, c command, t over",
        "c attach, s attached, s exception, s command, t over",
        "c attached, c exception, t kept, t over",
        "c attach, c attach, c detach, t over",
    ],
)
def test_whole_lives(text: str) -> None:
    assert endpoint("client", "server").accepts(lived(text))


@pytest.mark.parametrize(
    "text",
    [
        "c command",
        "c attach, c command",
        "c attach, s again, c command",
        "c attach, s attached, s exception, c command",
        "c attach, s attached, c detach, c command",
        "c attach, s attached, t over, c attach",
    ],
)
def test_what_an_end_may_not_say(text: str) -> None:
    assert not endpoint("client", "server").prefixes().accepts(lived(text))
