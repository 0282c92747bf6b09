"""Grammars as they are written."""

from __future__ import annotations

import pytest
from tests.grammar.naive import equivalent

from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence, words
from amqp_sansio.grammar.notation import Grammar, Question

TEXT = """\
whole = C:a.open [ S:a.warn ] *use ( C:a.close / S:a.close )
use = C:a.ask ( S:a.yes content
    / S:a.no ) / C:a.ask+nowait / {other} C:b.tell content / rest
rest = S:c.say
"""


def test_a_rule_is_a_language() -> None:
    use = one_of(
        words("client:a.ask", "server:a.yes"), words("client:a.ask", "server:a.no"), "client:a.ask nowait", "server:c.say"
    )
    ends = one_of("client:a.close", "server:a.close")
    grammar = Grammar(TEXT)
    assert grammar.rules == ("whole", "use", "rest")
    assert equivalent(grammar.language("whole"), sequence("client:a.open", optional("server:a.warn"), repeated(use), ends))
    assert equivalent(grammar.language("use", "other"), one_of(use, "client:b.tell"))


def test_the_questions_of_a_rule() -> None:
    assert Grammar(TEXT).questions("use") == (
        Question("client:a.ask", ("server:a.yes", "server:a.no")),
        Question("client:a.ask nowait", ()),
        Question("client:b.tell", (), "other"),
        Question("server:c.say", ()),
    )
    assert Grammar(TEXT).contents("use") == ("server:a.yes", "client:b.tell")


@pytest.mark.parametrize(
    "text", ["no rule", "a = C:x\na = C:y", "a = ?", "a = C:x )", "a = ( C:x", "a = [ C:x )", "a = none", "a = C:x / X:y"]
)
def test_what_is_no_grammar(text: str) -> None:
    with pytest.raises(ValueError, match=r"rule|closed"):
        Grammar(text).language("a")
