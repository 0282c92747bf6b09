"""Automata: what they accept, and the smallest of a language."""

from __future__ import annotations

import pytest
from hypothesis import given
from tests.grammar.naive import Expression, accepted, automaton, expressions, said

from amqp_sansio.grammar import walks
from amqp_sansio.grammar.automaton import START, Automaton, explore

PING = Automaton([{"ping": 1}, {"pong": 0}], [0])


def test_reads_one_word_after_the_other() -> None:
    assert PING.accepts([])
    assert PING.accepts(["ping", "pong", "ping", "pong"])
    assert not PING.accepts(["ping"])
    assert PING.run(["ping"]) == 1
    assert PING.run(["pong"]) is None
    assert PING.run(["pong", "ping"]) is None
    assert PING.step(START, "ping") == 1
    assert PING.step(START, "pong") is None


def test_names_its_words_and_moves() -> None:
    assert PING.alphabet == ("ping", "pong")
    assert PING.legal(1) == ("pong",)
    assert PING.transitions == ((0, "ping", 1), (1, "pong", 0))
    assert PING.size == 2
    assert repr(PING) == "<Automaton of 2 states, 2 moves, 1 final>"


@pytest.mark.parametrize(("moves", "finals"), [([], []), ([{"a": 1}], []), ([{}], [1]), ([{}], [-1])])
def test_takes_no_states_that_do_not_exist(moves: list[dict[str, int]], finals: list[int]) -> None:
    with pytest.raises(ValueError, match="states are the numbers"):
        Automaton(moves, finals)


# A minimal automaton accepts the same conversations, and no automaton of the same language is smaller or looks otherwise.
@given(expressions)
def test_minimal_is_the_same_language(expression: Expression) -> None:
    language = automaton(expression)
    finals = [*language.finals, *[each + language.size for each in language.finals]]
    doubled = Automaton([*language.moves, *language.moves], finals)
    assert doubled.minimal() == language.minimal()
    assert hash(doubled.minimal()) == hash(language.minimal())
    assert accepted(language.minimal()) == said(expression)


def test_minimal_joins_states_and_drops_dead_ends() -> None:
    wide = Automaton([{"a": 1, "b": 2}, {"c": 3}, {"c": 3}, {}, {"a": 3}], [3])
    assert wide.minimal() == Automaton([{"a": 1, "b": 1}, {"c": 2}, {}], [2])
    assert Automaton([{"a": 1}, {"b": 1}], [0]).minimal() == Automaton([{}], [0])
    assert Automaton([{"a": 1}, {"b": 1}], []).minimal() == Automaton([{}], [])
    assert Automaton([{"a": 1}, {"b": 1}], []).empty
    assert Automaton([{}, {}], [1]).empty
    assert not PING.empty


# The prefixes are exactly the beginnings of the conversations.
@given(expressions)
def test_prefixes_are_all_beginnings(expression: Expression) -> None:
    language = automaton(expression)
    beginnings = accepted(language.prefixes())
    for words in said(expression):
        assert {words[:length] for length in range(len(words) + 1)} <= beginnings
    for words in beginnings:
        state = language.run(words)
        assert state is not None
        assert walks.shortest_to_each(language, state).keys() & language.finals
    assert PING.prefixes() == Automaton([{"ping": 1}, {"pong": 0}], [0, 1])


def test_explores_states_of_any_kind_in_the_order_of_the_shortest_way() -> None:
    counter = explore(7, lambda n: {"down": n - 1} if n > 5 else {}, lambda n: n == 5)
    assert counter == Automaton([{"down": 1}, {"down": 2}, {}], [2])
    assert counter.reachable() == [0, 1, 2]
    assert counter != "counter"
