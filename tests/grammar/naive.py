"""Languages the slow way: expressions, and the set of all their conversations up to a length."""

from __future__ import annotations

from itertools import product

from hypothesis import strategies as st

from amqp_sansio.grammar import algebra
from amqp_sansio.grammar.automaton import Automaton

LONGEST = 5
LETTERS = ("a", "b", "c")


def equivalent(left: Automaton, right: Automaton) -> bool:
    """Whether both are the same language."""
    return algebra.either(left, right).empty


Expression = tuple[object, ...]
Conversations = set[tuple[str, ...]]

expressions: st.SearchStrategy[Expression] = st.recursive(
    st.sampled_from([("word", letter) for letter in LETTERS] + [("silence",), ("nothing",)]),
    lambda inner: st.one_of(
        st.tuples(st.sampled_from(["sequence", "one_of", "interleaved"]), inner, inner),
        st.tuples(st.sampled_from(["repeated", "optional"]), inner),
    ),
    max_leaves=5,
)


def shuffles(one: tuple[str, ...], other: tuple[str, ...]) -> Conversations:
    if not one or not other:
        return {one + other}
    return {(one[0], *rest) for rest in shuffles(one[1:], other)} | {(other[0], *rest) for rest in shuffles(one, other[1:])}


def said(expression: Expression) -> Conversations:
    """All conversations of the expression with at most LONGEST words."""
    kind, *parts = expression
    if kind == "word":
        return {(str(parts[0]),)}
    if kind == "silence":
        return {()}
    if kind == "nothing":
        return set()
    sets = [said(part) for part in parts if isinstance(part, tuple)]
    if kind == "one_of":
        return sets[0] | sets[1]
    if kind == "optional":
        return sets[0] | {()}
    if kind == "repeated":
        found: Conversations = {()}
        while True:
            more = {a + b for a in found for b in sets[0] if len(a) + len(b) <= LONGEST} | found
            if more == found:
                return found
            found = more
    pairs = [(a, b) for a, b in product(*sets) if len(a) + len(b) <= LONGEST]
    if kind == "sequence":
        return {a + b for a, b in pairs}
    return {mixed for a, b in pairs for mixed in shuffles(a, b)}


def automaton(expression: Expression) -> Automaton:
    """The automaton of the same expression."""
    kind, *parts = expression
    if kind == "word":
        return algebra.word(str(parts[0]))
    if kind == "silence":
        return algebra.SILENCE
    if kind == "nothing":
        return algebra.NOTHING
    made = [automaton(part) for part in parts if isinstance(part, tuple)]
    if kind == "one_of":
        return algebra.one_of(*made)
    if kind == "optional":
        return algebra.optional(*made)
    if kind == "repeated":
        return algebra.repeated(*made)
    return algebra.sequence(*made) if kind == "sequence" else algebra.interleaved(*made)


def all_words(longest: int = LONGEST) -> list[tuple[str, ...]]:
    return [words for length in range(longest + 1) for words in product(LETTERS, repeat=length)]


def accepted(language: Automaton) -> Conversations:
    return {words for words in all_words() if language.accepts(words)}
