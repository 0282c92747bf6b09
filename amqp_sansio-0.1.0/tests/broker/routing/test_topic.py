"""Topic exchanges look at the words of the key."""

from __future__ import annotations

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import message
from tests.steps import MOST, steps

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.exchange import STEPS
from amqp_sansio.broker.routing.topic import Topic, Trie, plain_words
from amqp_sansio.kernel.build import COMPILED

WORDS = st.sampled_from(["a", "b", "", "ab"])
KEYS = st.lists(WORDS, min_size=1, max_size=6).map(".".join)
PATTERNS = st.lists(WORDS | st.sampled_from(["*", "#", "#"]), min_size=1, max_size=6).map(".".join)


def matches(pattern: str, key: str) -> bool:
    """The same said as a regular expression over words that each begin with a dot."""
    parts = {"*": r"\.[^.]*", "#": r"(?:\.[^.]*)*"}
    said = "".join([parts.get(word, re.escape("." + word)) for word in pattern.split(".")])
    return re.fullmatch(said, "." + key) is not None


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("a.b", ["a.b"], ["a", "a.b.c", "a.c", "A.b"]),
        ("*", ["a", ""], ["a.b"]),
        ("a.*", ["a.b", "a."], ["a", "a.b.c", "b.b"]),
        ("*.b", ["a.b", ".b"], ["b", "a.c"]),
        ("#", ["", "a", "a.b.c"], []),
        ("a.#", ["a", "a.b", "a.b.c"], ["b", "ab"]),
        ("#.c", ["c", "a.c", "a.b.c"], ["a.b", "c.a"]),
        ("a.#.c", ["a.c", "a.b.c", "a.b.b.c", "a.c.c"], ["a", "c", "a.b"]),
        ("#.#", ["", "a", "a.b"], []),
        ("*.#", ["", "a", "a.b"], []),
        ("#.*.#", ["", "a.b.c"], []),
        ("*.*", ["a.b"], ["a", "a.b.c"]),
        ("a#", ["a#"], ["a", "ab"]),
        ("", [""], ["a", "."]),
    ],
)
def test_words(pattern: str, yes: list[str], no: list[str]) -> None:
    exchange, queue = Topic("x"), Queue("q")
    exchange.bind(queue, pattern)
    assert [key for key in yes if list(exchange.route(message(key))) != [queue]] == []
    assert [key for key in no if exchange.route(message(key))] == []
    assert [key for key in yes if not matches(pattern, key)] + [key for key in no if matches(pattern, key)] == []


# Whatever was bound and unbound, a key finds exactly the queues of which a pattern matches it as a regular expression.
@given(st.lists(st.tuples(PATTERNS, st.integers(0, 4)), max_size=12), st.data(), st.lists(KEYS, min_size=1, max_size=6))
def test_the_trie_finds_what_regular_expressions_find(
    bound: list[tuple[str, int]], data: st.DataObject, keys: list[str]
) -> None:
    exchange = Topic("x")
    queues = [Queue(f"q{n}") for n in range(5)]
    for pattern, n in bound:
        exchange.bind(queues[n], pattern)
    gone = data.draw(st.sets(st.sampled_from(bound)) if bound else st.just(set()))
    for pattern, n in gone:
        exchange.unbind(queues[n], pattern)
    left = [each for each in bound if each not in gone]
    for key in keys:
        found = [queue.name for queue in exchange.route(message(key))]
        assert len(found) == len(set(found))
        assert set(found) == {f"q{n}" for pattern, n in left if matches(pattern, key)}


# What is taken away leaves no node behind.
@given(st.lists(st.tuples(PATTERNS, st.integers(0, 2)), unique=True))
def test_an_empty_trie_is_as_it_was(patterns: list[tuple[str, int]]) -> None:
    trie = Trie()
    queues = [Queue(f"q{n}") for n in range(3)]
    for pattern, n in patterns:
        trie.add(pattern, queues[n])
    for pattern, n in patterns:
        trie.remove(pattern, queues[n])
    assert trie._root.empty


@pytest.mark.rule("exchange.bind.multiple-bindings")
def test_a_message_comes_once_however_many_bindings_match() -> None:
    exchange, queue = Topic("x"), Queue("q")
    for pattern in ("animals.*", "animals.#", "#", "animals.dogs", "*.dogs"):
        exchange.bind(queue, pattern)
    assert list(exchange.route(message("animals.dogs"))) == [queue]


def test_a_pattern_made_to_be_slow_is_not() -> None:
    """Sets of nodes, not paths: 127 words against a pattern of 127 many-words ends."""
    exchange, queue = Topic("x"), Queue("q")
    exchange.bind(queue, ".".join(["#", "a"] * 60 + ["b"]))
    key = ".".join(["a"] * 127)
    assert list(exchange.route(message(key))) == []


# The form that a pattern is kept in matches what the pattern matches, and no two forms match the same keys.
@given(PATTERNS, KEYS)
def test_wildcards_in_one_form(pattern: str, key: str) -> None:
    words = plain_words(pattern)
    assert matches(".".join(words), key) == matches(pattern, key)
    assert not [pair for pair in itertools.pairwise(words) if pair in (("#", "#"), ("#", "*"))]


@pytest.mark.skipif(COMPILED, reason="the steps of compiled code cannot be counted")
def test_twice_the_patterns_that_all_match_a_long_key_cost_no_more_than_the_limit() -> None:
    """ "#." and every word of {*, a}^k, key a.a.a…: as many nodes are reached as there are patterns, by every word."""
    costs, refusals = [], list[str]()
    for k in (8, 9):
        exchange, asked = Topic("x"), message(".".join("a" * 127))
        for words in itertools.product("*a", repeat=k):
            exchange.bind(Queue("q"), "#." + ".".join(words))

        def work(exchange: Topic = exchange, asked: Message = asked) -> None:
            try:
                exchange.route(asked)
            except Refused as refused:
                refusals.append(str(refused))

        costs.append(steps(work))
    assert ["routing_steps" in text for text in refusals] == [True, True]
    assert costs[1] <= MOST * costs[0]
    assert costs[1] <= 40 * STEPS


@pytest.mark.skipif(COMPILED, reason="the steps of compiled code cannot be counted")
def test_what_a_short_key_reaches_does_not_grow_with_the_patterns() -> None:
    """Whatever the patterns: there are only so many forms of wildcards that two words can reach."""
    costs, asked = [], message("a.a")
    for most in (5, 6):
        patterns = [".".join(words) for n in range(1, most + 1) for words in itertools.product("#*a", repeat=n)]
        exchange, queue = Topic("x"), Queue("q")
        for pattern in patterns:
            exchange.bind(queue, pattern)
        costs.append(steps(lambda exchange=exchange: exchange.route(asked)))  # type: ignore[misc]
    assert costs[1] <= 1.1 * costs[0]


def test_one_pattern_alone_is_never_too_much() -> None:
    """127 words are the most that a key or a pattern has; each word of a key can reach each word of a pattern."""
    exchange, queue = Topic("x"), Queue("q")
    for pattern in (".".join(["#", "a"] * 63 + ["#"]), ".".join(["#", "a"] * 63)):
        exchange.bind(queue, pattern)
        assert list(exchange.route(message(".".join("a" * 128)))) == [queue]
        exchange.unbind(queue, pattern)
