"""The grammar of feedback."""

from __future__ import annotations

import pytest

from amqp_sansio.grammar import feedback
from amqp_sansio.grammar.algebra import difference

ASK, TELL = "s:session.flush expected", "r:session.expected"


def test_expected_is_an_answer() -> None:
    assert not feedback.expected("r", "s").accepts([TELL])
    assert feedback.expected("r", "s").accepts([ASK, TELL, TELL, ASK])
    two = feedback.expected("r", "s", 2)
    assert two.accepts([ASK, ASK, TELL, ASK, TELL, TELL])
    assert not two.accepts([ASK, TELL, TELL])
    assert not two.prefixes().accepts([ASK, ASK, ASK])
    with pytest.raises(ValueError, match="at least 1"):
        feedback.expected("r", "s", 0)


# However many may be unanswered: what counts them takes nothing that the language without a bound does not.
def test_counting_only_forbids() -> None:
    for most in range(1, 6):
        assert difference(feedback.expected("r", "s", most).prefixes(), feedback.expected("r", "s")).empty


def test_sets() -> None:
    assert feedback.sets("r").accepts(["r:session.completed", "r:session.confirmed", "r:session.completed"])


def test_the_life_of_a_command_id() -> None:
    done, sure, known = "r:session.completed", "r:session.confirmed", "s:session.known-completed"
    life = feedback.life("s", "r")
    assert life.accepts(["s:command", sure, done, done, sure, known, known])
    assert not life.accepts(["s:command", sure])
    assert not life.prefixes().accepts(["s:command", known])
    assert not life.prefixes().accepts(["s:command", done, known, done])
    asked = feedback.life("s", "r", result=True)
    assert asked.accepts(["s:command", sure, "r:execution.result", done])
    assert not asked.prefixes().accepts(["s:command", done])
    assert asked.accepts(["s:command", "r:execution.exception"])
