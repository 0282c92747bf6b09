"""Conversations taken from automata: shortest, random, and what they cover."""

from __future__ import annotations

from collections import Counter
from random import Random

from hypothesis import given
from hypothesis import strategies as st
from tests.grammar.naive import LONGEST, Expression, all_words, automaton, expressions, said

from amqp_sansio.grammar import walks
from amqp_sansio.grammar.algebra import one_of, optional, repeated, sequence

TALK = sequence("open", repeated(one_of("say", sequence("ask", "answer"))), "close")


def test_shortest_way_to_each_state() -> None:
    ways = walks.shortest_to_each(TALK)
    assert sorted(ways.values()) == [(), ("open",), ("open", "ask"), ("open", "close")]
    assert all(TALK.run(way) == state for state, way in ways.items())


# The way to a state is the shortest of all conversations that lead there, and only states that cannot be reached have none.
@given(expressions)
def test_no_way_to_a_state_is_shorter(expression: Expression) -> None:
    language = automaton(expression)
    ways = walks.shortest_to_each(language)
    found: dict[int, tuple[str, ...]] = {}
    for words in sorted(all_words(4), key=lambda words: (len(words), words)):
        state = language.run(words)
        if state is not None:
            found.setdefault(state, words)
    assert {state: way for state, way in ways.items() if len(way) <= 4} == found


# What a number of conversations covers are the states and moves that each goes through before the first word that is refused.
@given(expressions, st.lists(st.sampled_from(all_words(4)), max_size=6))
def test_coverage_is_what_was_gone_through(expression: Expression, said_: list[tuple[str, ...]]) -> None:
    language = automaton(expression)
    moves: set[tuple[int, str]] = set()
    states = {0}
    for words in said_:
        for end in range(1, len(words) + 1):
            before, behind = language.run(words[: end - 1]), language.run(words[:end])
            if before is not None and behind is not None:
                moves.add((before, words[end - 1]))
                states.add(behind)
    coverage = walks.Coverage(language, said_)
    assert (coverage.moves, coverage.states) == (moves, states)
    assert coverage.refused == sum(language.run(words) is None for words in said_)
    assert (
        set(coverage.missing)
        == {(state, word) for state, word, _ in language.transitions if state in language.reachable()} - moves
    )
    assert coverage.complete == (not coverage.missing)


# No conversation of a language is shorter than the shortest.
@given(expressions)
def test_shortest_is_the_shortest(expression: Expression) -> None:
    found = walks.shortest(automaton(expression))
    every = said(expression)
    assert found is None or found in every
    assert (found is None) == (not every)
    if found is not None:
        assert (len(found), found) == min((len(each), each) for each in every)


# The shortest difference is a conversation of exactly one of the two, and there is one unless they are the same.
@given(expressions, expressions)
def test_shortest_difference(one: Expression, other: Expression) -> None:
    found = walks.shortest_difference(automaton(one), automaton(other))
    differing = said(one) ^ said(other)
    if found is None:
        assert not differing
    else:
        assert automaton(one).accepts(found.conversation) == found.in_first
        assert automaton(other).accepts(found.conversation) != found.in_first
        assert all(len(found.conversation) <= len(each) for each in differing)


def test_difference_names_the_side() -> None:
    found = walks.shortest_difference(TALK, sequence("open", "close"))
    assert found == walks.Difference(("open", "say", "close"), True)


def test_one_conversation_for_every_move() -> None:
    each = walks.transition_words(TALK)
    assert len(each) == len(TALK.transitions)
    assert walks.Coverage(TALK, each.values()).complete


# A sampler counts the conversations of a length, and gives only those.
@given(expressions)
def test_sampler_counts(expression: Expression) -> None:
    sampler = walks.Sampler(automaton(expression))
    lengths = Counter(len(each) for each in said(expression))
    random = Random(1)
    for length in range(LONGEST + 1):
        assert sampler.count(length) == lengths[length]
        word = sampler.word(length, random.randrange)
        assert (word is None) == (not lengths[length])
        assert word is None or (len(word) == length and word in said(expression))


def test_every_conversation_of_a_length_is_as_likely_as_any_other() -> None:
    language = one_of(sequence("a", optional("b")), sequence("c", one_of("d", "e", "f")))
    sampler = walks.Sampler(language)
    assert sampler.count(2) == 4
    drawn = Counter(sampler.word(2, Random(seed).randrange) for seed in range(400))
    assert set(drawn) == {("a", "b"), ("c", "d"), ("c", "e"), ("c", "f")}
    assert min(drawn.values()) > 60


def test_coverage_counts_states_and_moves() -> None:
    coverage = walks.Coverage(TALK)
    coverage.add(("open", "say", "close"))
    assert coverage.refused == 0
    assert [word for _, word in coverage.missing] == ["ask", "answer"]
    coverage.add(("open", "answer"))
    assert coverage.refused == 1
    coverage.add(("open", "ask", "answer"))
    assert not coverage.missing
    assert repr(coverage) == "<Coverage: 4 of 4 states, 5 of 5 moves>"
