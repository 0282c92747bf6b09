"""Languages made of languages, against the sets of conversations that they stand for."""

from __future__ import annotations

from hypothesis import given
from tests.grammar.naive import Expression, accepted, all_words, automaton, equivalent, expressions, said

from amqp_sansio.grammar import algebra
from amqp_sansio.grammar.automaton import Automaton


# An expression's automaton accepts exactly the conversations of the expression.
@given(expressions)
def test_expressions_accept_what_they_say(expression: Expression) -> None:
    assert accepted(automaton(expression)) == said(expression)


# Difference, symmetric difference and (over one alphabet) product are those of the sets.
@given(expressions, expressions)
def test_operations_are_those_of_sets(one: Expression, other: Expression) -> None:
    first, second = automaton(one), automaton(other)
    assert accepted(algebra.difference(first, second)) == said(one) - said(other)
    assert accepted(algebra.either(first, second)) == said(one) ^ said(other)
    assert equivalent(first, second) == (first.minimal() == second.minimal())
    if first.alphabet == second.alphabet:
        assert accepted(algebra.together(first, second)) == said(one) & said(other)


# A product hears a word on both sides where both know it, on one side else.
@given(expressions, expressions)
def test_a_product_accepts_what_each_part_accepts_of_its_own_words(one: Expression, other: Expression) -> None:
    first, second = automaton(one), automaton(other)
    both = algebra.together(first, second)
    for words in all_words(4):
        ours = [word for word in words if word in first.alphabet]
        theirs = [word for word in words if word in second.alphabet]
        known = all(word in first.alphabet or word in second.alphabet for word in words)
        assert both.accepts(words) == (known and first.accepts(ours) and second.accepts(theirs))


def test_words_one_behind_the_other() -> None:
    assert algebra.words("a", "b") == algebra.sequence("a", "b")
    assert algebra.words() == algebra.SILENCE
    assert algebra.sequence() == algebra.SILENCE
    assert algebra.one_of() == algebra.NOTHING
    assert algebra.interleaved("a", "b") == algebra.one_of(algebra.words("a", "b"), algebra.words("b", "a"))


def test_renamed_words_and_words_not_heard_any_more() -> None:
    language = algebra.words("client:open", "noise", "server:open-ok")
    heard = algebra.renamed(language, lambda word: None if word == "noise" else word.partition(":")[2])
    assert heard == algebra.words("open", "open-ok")
    either = algebra.one_of(algebra.words("a", "x"), algebra.words("b", "y"))
    merged = algebra.renamed(either, lambda word: "w" if word in "ab" else word)
    assert merged == algebra.sequence("w", algebra.one_of("x", "y"))
    assert algebra.renamed(algebra.words("noise"), lambda _: None) == algebra.SILENCE


def test_equivalent() -> None:
    star = algebra.repeated("a")
    assert equivalent(star, algebra.repeated(star))
    assert not equivalent(star, algebra.optional("a"))
    assert equivalent(Automaton([{"a": 1}, {"a": 0}], [0, 1]), star)


def test_questions_that_none_need_be_answered() -> None:
    legal = algebra.answered("p", "a", "n", most=2).prefixes()
    assert legal.accepts(["p", "p", "a", "p", "n"])
    assert not legal.accepts(["p", "a", "n"])
    assert not legal.accepts(["p", "p", "p"])
