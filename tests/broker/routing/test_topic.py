"""Topic exchanges look at the words of the key."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import message

from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.topic import Topic, Trie

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
