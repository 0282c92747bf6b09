"""Exchanges: what all have in common, what each type matches, and filters of bindings."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import product
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import message, publish, read, refusal
from tests.steps import MOST, assert_linear, steps
from tests.wire.strategies import values

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions.commands import bound_result
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.model.exchange import (
    STEP,
    STEPS,
    X_MATCH,
    Binding,
    BindingFilter,
    Direct,
    Exchange,
    Fanout,
    HeadersExchange,
    Topic,
    Trie,
    likeness,
    plain_words,
)
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Envelope, Message
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import CONNECTION, Owner
from amqp_sansio.broker.selectors.parser import Selector
from amqp_sansio.broker.selectors.properties import Selectable
from amqp_sansio.broker.snapshot import Rebuilding, survey
from amqp_sansio.config import ErrorCodes
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spec.message import MessageProperties, Transfer
from amqp_sansio.spec.values import Array, Boolean, List, Map, OpaqueValue, Str8, Uint8, Value
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.layouts.properties import write_properties


@pytest.mark.rule("exchange.bind.duplicates")
def test_a_second_binding_of_the_same_key_is_none_and_its_arguments_do_not_count() -> None:
    exchange, queue = Direct("x"), Queue("q")
    first = exchange.bind(queue, "k", Map({"a": 1}))
    assert first is not None
    assert exchange.bind(queue, "k", Map({"a": 2})) is None
    assert [(binding.key, binding.arguments) for binding in exchange] == [("k", Map({"a": 1}))]
    assert len(exchange) == 1
    assert "'k'" in repr(first)


def test_what_there_is() -> None:
    exchange, a, b, c = Direct("x"), Queue("a"), Queue("b"), Queue("c")
    one, two = Map({"n": 1}), Map({"n": 2})
    exchange.bind(a, "k", one)
    exchange.bind(a, "l", two)
    exchange.bind(b, "k")
    yes = [
        (None, None, None), (a, None, None), (None, "k", None), (a, "l", None), (a, "k", one), (a, None, two),
        (None, "l", two), (None, None, one), (b, "k", Map()),
    ]  # fmt: skip
    no = [
        (c, None, None), (None, "z", None), (b, "l", None), (a, "k", two), (b, None, one), (None, "k", two), (c, "k", one),
        (None, None, Map({"n": 3})),
    ]  # fmt: skip
    assert [exchange.has(*each) for each in yes] == [True] * len(yes)
    assert [exchange.has(*each) for each in no] == [False] * len(no)
    assert (a in exchange, c in exchange) == (True, False)


def test_an_unbound_queue_leaves_nothing_behind() -> None:
    exchange, a, b = Direct("x"), Queue("a"), Queue("b")
    exchange.bind(a, "k")
    exchange.bind(b, "k")
    assert exchange.unbind(a, "z") is None
    for queue in (a, b):
        removed = exchange.unbind(queue, "k")
        assert removed is not None
        assert not queue.bindings
    assert not exchange.has(None, None, None)
    assert not exchange.has(None, "k", None)
    assert exchange.was_bound


def test_a_type_says_how_it_routes() -> None:
    base = Exchange("x")
    assert bool(base)
    with pytest.raises(NotImplementedError):
        base.route(message())
    with pytest.raises(NotImplementedError):
        base.bind(Queue("q"), "k")
    (binding,) = base
    with pytest.raises(NotImplementedError):
        base.removed(binding)


# What is found by what is counted is what a look at all bindings finds, also when some of them are no more.
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from("kl"), st.sampled_from([None, 1, "1", (1,), {"n": None}])), max_size=8
    ),
    st.integers(0, 8),
)
def test_what_is_bound_with_arguments(bindings: list[tuple[str, str, object]], removed: int) -> None:
    exchange = Direct("x")
    queues = {name: Queue(name) for name in "abc"}
    given_ = [Map({"v": wired(value)}) for value in (None, 1, "1", (1,), {"n": None}, 2)]
    for name, key, value in bindings:
        exchange.bind(queues[name], key, Map({"v": wired(value)}))
    for binding in list(exchange)[:removed]:
        exchange.unbind(binding.queue, binding.key)
    for queue, asked, arguments in product((None, *queues.values()), (None, "k", "l", "m"), given_):
        found = [
            binding
            for binding in exchange
            if queue in (None, binding.queue) and asked in (None, binding.key) and binding.arguments == arguments
        ]
        assert exchange.has(queue, asked, arguments) == bool(found)


def wired(value: object) -> Value:
    return List(value) if isinstance(value, tuple) else Map(value) if isinstance(value, dict) else value  # type: ignore[return-value]


def test_a_question_about_arguments_looks_at_no_binding() -> None:
    """One who asks all the time must not hold the others up."""

    class Blind(Direct):
        def __iter__(self) -> Iterator[Binding]:
            raise AssertionError("looks at all bindings")

    exchange, queue = Blind("x"), Queue("q")
    for number in range(3):
        exchange.bind(queue, f"k{number}", Map({"n": number}))
    exchange._bindings.clear()
    assert exchange.has(queue, None, Map({"n": 2}))
    assert exchange.has(None, None, Map({"n": 2}))
    assert exchange.has(None, "k2", Map({"n": 2}))
    assert not exchange.has(queue, None, Map({"n": 3}))


JMS = "x-filter-jms-selector"
KINDS = ["direct", "fanout", "topic", "headers"]


def arguments(kind: str, selector: str) -> dict[str, str]:
    return {JMS: selector, **({"x-match": "all"} if kind == "headers" else {})}


def scene(kind: str) -> VirtualHost:
    host = VirtualHost()
    host.declare_exchange("x", kind)
    host.declare_queue("q")
    return host


def found(host: VirtualHost, **headers: object) -> list[str]:
    return [queue.name for queue in publish(host, "x", "k", application_headers=headers).queues]


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_gets_what_the_selector_of_its_binding_selects(kind: str) -> None:
    host = scene(kind)
    host.bind("q", "x", "k", arguments(kind, "n > 1"))
    assert [found(host, n=1), found(host, n=2), found(host)] == [[], ["q"], []]
    host.unbind("q", "x", "k")
    assert found(host, n=2) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_binding_without_a_selector_lets_pass_what_another_does_not(kind: str) -> None:
    host = scene(kind)
    keys = ("k", "k") if kind == "direct" else ("k", "#")
    host.declare_queue("other")
    host.bind("q", "x", keys[0], arguments(kind, "n > 1"))
    host.bind("other" if kind == "direct" else "q", "x", keys[1], {"x-match": "all"} if kind == "headers" else None)
    one = "other" if kind == "direct" else "q"
    assert found(host, n=1) == [one]
    assert sorted(found(host, n=2)) == sorted({one, "q"})
    host.unbind(one, "x", keys[1])
    assert [found(host, n=1), found(host, n=2)] == [[], ["q"]]


@pytest.mark.parametrize("kind", KINDS)
def test_an_empty_selector_is_none(kind: str) -> None:
    host = scene(kind)
    host.bind("q", "x", "k", arguments(kind, ""))
    assert found(host) == ["q"]


def test_a_selector_is_no_header_that_a_message_must_have() -> None:
    host = scene("headers")
    host.bind("q", "x", "k", {"x-match": "any", "color": "red", JMS: "n = 1"})
    assert [found(host, color="red", n=1), found(host, color="red"), found(host, n=1)] == [["q"], [], []]
    assert host.binding_words == 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_binding_that_is_not_local_lets_pass_nothing_that_the_connection_of_the_queue_published(kind: str) -> None:
    host = VirtualHost()
    host.declare_exchange("x", kind)
    host.declare_queue("q", exclusive=True, owner=Owner(CONNECTION, 5))
    host.bind("q", "x", "k", {"x-qpid-no-local": True, **arguments(kind, "n > 1")}, owner=host.queues["q"].owner)

    def queues(publisher: int, n: int) -> list[str]:
        header = write_properties(routing_key="k", application_headers=Map({"n": n}))
        sent = read(host.intake, Transfer("x", 0, 0), header, b"", publisher=publisher)
        return [queue.name for queue in host.route(host.destination("x"), sent).queues]

    assert [queues(publisher, 2) for publisher in (5, 6, 0)] == [[], ["q"], ["q"]]
    assert queues(6, 1) == []


def test_a_binding_that_may_be_local_has_no_filter() -> None:
    host = scene("direct")
    host.bind("q", "x", "k", {"x-qpid-no-local": False})
    (binding,) = host.exchanges["x"]
    assert binding.filter is None
    assert bound_result(host, "x", "q", "k", {"x-qpid-no-local": True}).args_not_matched


def test_a_selector_that_cannot_be_read_is_refused_with_the_place() -> None:
    host = scene("topic")
    refused = refusal(host.bind, "q", "x", "k", {JMS: "n > "})
    assert refused.condition is conditions.BIND_SELECTOR
    assert JMS in refused.text
    assert "at character 5" in refused.text
    assert (host.bindings, host.argument_octets) == (0, 0)


def test_arguments_that_are_known_are_refused_in_no_profile() -> None:
    host = VirtualHost(error_codes="spec")
    host.declare_queue("q")
    host.bind("q", "amq.topic", "k", {JMS: "n > 1"})
    refused = refusal(host.bind, "q", "amq.topic", "l", {JMS: "n > 1", "odd": 1})
    assert refused.condition is conditions.BIND_ARGUMENT
    assert "'odd'" in refused.text


@pytest.mark.parametrize("codes", ["qpid", "spec"])
@pytest.mark.rule("exchange.bind.arguments.unknown-argument")
def test_a_bind_with_an_unknown_argument_is_refused_but_a_headers_exchange_takes_it_as_a_header(codes: ErrorCodes) -> None:
    host = VirtualHost(error_codes=codes)
    host.declare_queue("q")
    for name in ("amq.direct", "amq.topic", "amq.fanout"):
        for argument in ("odd", "x-match", "qpid.exclusive-binding"):
            refused = refusal(host.bind, "q", name, "k", {argument: "all"})
            assert (refused.condition, repr(argument) in refused.text) == (conditions.BIND_ARGUMENT, True)
    host.bind("q", "amq.match", "k", {"x-match": "all", "odd": 1})
    assert host.bindings == 1


def test_what_was_bound_before_a_restart_is_bound_behind_it_whatever_its_arguments() -> None:
    host = VirtualHost()
    host.declare_queue("q", durable=True)
    host.bind("q", "amq.direct", "k", {"odd": 1}, restored=True)
    ledger = survey(host)
    then = VirtualHost()
    Rebuilding(then, False, 0.0, {}).build(ledger)
    assert then.queues["q"].bindings.keys() == {(then.exchanges["amq.direct"], "k")}


def test_a_changed_selector_is_another_binding_to_exchange_bound() -> None:
    host = scene("topic")
    host.bind("q", "x", "k", {JMS: "n > 1"})
    assert host.bind("q", "x", "k", {JMS: "n > 2"}) == 0
    assert not bound_result(host, "x", "q", "k", {JMS: "n > 1"}).args_not_matched
    assert bound_result(host, "x", "q", "k", {JMS: "n > 2"}).args_not_matched
    assert [found(host, n=2), found(host, n=1)] == [["q"], []]


def test_a_mandatory_message_that_no_selector_selects_reaches_no_queue() -> None:
    host = scene("fanout")
    host.bind("q", "x", "k", {JMS: "n > 1"})
    assert publish(host, "x", "k", application_headers={"n": 1}).reject is not None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("kl"), st.none() | st.integers(0, 3)), max_size=8))
def test_a_queue_gets_a_message_once_if_one_of_its_bindings_lets_it_pass(bindings: list[tuple[str, str, int | None]]) -> None:
    host = VirtualHost()
    host.declare_exchange("x", "fanout")
    made: dict[tuple[str, str], int | None] = {}
    for name, key, least in bindings:
        host.declare_queue(name)
        host.bind(name, "x", key, None if least is None else {JMS: f"n >= {least}"})
        made.setdefault((name, key), least)
    for n in range(4):
        assert sorted(found(host, n=n)) == sorted({name for (name, _), least in made.items() if least is None or n >= least})


def refused_at(exchange: Direct, most: int) -> bool:
    try:
        exchange.route(message("k", application_headers={"n": 1}), most)
    except Refused as refused:
        return f"routing_steps is {most};" in str(refused)
    return False


@pytest.mark.parametrize(("text", "steps"), [("n = 2", 1), ("n = 2".ljust(STEP), 2), ("n = 1", 0), ("n = 1".ljust(STEP), 1)])
def test_selectors_that_are_asked_are_steps_of_routing(text: str, steps: int) -> None:
    """A short one costs nothing when the queue gets the message, else 1; a longer one costs more."""
    exchange = Direct("x")
    for number in range(3):
        exchange.bind(Queue(f"{number}"), "k", filter=BindingFilter(Selector(text), Selectable()))
    most = 3 * steps
    assert [refused_at(exchange, limit) for limit in (max(most - 1, 0), most, most + 1)] == [most > 0, False, False]


def test_the_key_is_that_of_the_binding() -> None:
    exchange, a, b = Direct("x"), Queue("a"), Queue("b")
    exchange.bind(a, "k")
    exchange.bind(b, "k")
    exchange.bind(b, "l")
    exchange.bind(b, "")
    assert list(exchange.route(message("k"))) == [a, b]
    assert list(exchange.route(message("l"))) == [b]
    assert list(exchange.route(message(""))) == [b]
    assert list(exchange.route(message("*"))) == []
    exchange.unbind(a, "k")
    exchange.unbind(b, "l")
    assert list(exchange.route(message("k"))) == [b]
    assert list(exchange.route(message("l"))) == []


@pytest.mark.rule("exchange.bind.multiple-bindings")
def test_every_queue_gets_it_once() -> None:
    exchange, a, b = Fanout("x"), Queue("a"), Queue("b")
    for key in ("", "k", "l"):
        exchange.bind(a, key)
    exchange.bind(b, "m")
    assert list(exchange.route(message("whatever"))) == [a, b]
    exchange.unbind(a, "k")
    exchange.unbind(b, "m")
    assert list(exchange.route(message())) == [a]


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


def wants(x_match: str, **tests: Any) -> Map:
    return Map({X_MATCH: x_match, **tests})


def routed(arguments: dict[str, Any], headers: dict[str, Any] | None) -> bool:
    exchange, queue = HeadersExchange("x"), Queue("q")
    exchange.bind(queue, "", Map(arguments))
    return bool(exchange.route(message(application_headers=headers)))


@pytest.mark.parametrize(
    ("arguments", "headers", "expected"),
    [
        ({"x-match": "all", "a": 1, "b": 2}, {"a": 1, "b": 2, "c": 3}, True),
        ({"x-match": "all", "a": 1, "b": 2}, {"a": 1}, False),
        ({"x-match": "all", "a": 1, "b": 2}, {"a": 1, "b": 3}, False),
        ({"x-match": "any", "a": 1, "b": 2}, {"a": 1}, True),
        ({"x-match": "any", "a": 1, "b": 2}, {"a": 2, "c": 1}, False),
        ({"x-match": "all", "a": None}, {"a": 7}, True),
        ({"x-match": "all", "a": None}, {"a": None}, True),
        ({"x-match": "all", "a": None}, {"b": 7}, False),
        ({"x-match": "any", "a": None, "b": 2}, {"a": "x"}, True),
        ({"x-match": "all", "a": None, "b": 2}, {"a": "x"}, False),
        ({"x-match": "all"}, {"a": 1}, True),
        ({"x-match": "all"}, None, True),
        ({"x-match": "any"}, {"a": 1}, False),
        ({"x-match": "any", "a": 1}, None, False),
        ({"x-match": b"all", "a": 1}, {"a": 1}, True),
        ({"x-match": Str8("any"), "a": "v"}, {"a": Str8("v")}, True),
        ({"x-match": "all", "a": 4}, {"a": Uint8(4)}, True),
        ({"x-match": "all", "a": True}, {"a": 1}, False),
        ({"x-match": "all", "a": 1}, {"a": 1.0}, True),
        ({"x-match": "all", "a": "1"}, {"a": 1}, False),
        ({"x-match": "all", "a": Map({"b": 1})}, {"a": Map({"b": 1})}, True),
        ({"x-match": "all", "a": 1}, {"a": 1, "x-match": "any"}, True),
    ],
)
def test_headers(arguments: dict[str, Any], headers: dict[str, Any] | None, expected: bool) -> None:
    assert routed(arguments, headers) is expected


@pytest.mark.parametrize("arguments", [{}, {"a": 1}, {"x-match": "some"}, {"x-match": 1}, {"x-match": None}])
def test_a_binding_says_all_or_any(arguments: dict[str, Any]) -> None:
    exchange = HeadersExchange("x")
    refused = refusal(exchange.bind, Queue("q"), "", Map(arguments))
    assert refused.condition is conditions.BIND_NO_X_MATCH
    assert len(exchange) == 0


NAMES = st.sampled_from(["a", "b", "c"])
VALUES = st.sampled_from([1, 2, True, "x", None])
HEADERS = st.dictionaries(NAMES, VALUES, max_size=3)


def binding(match: str, tests: dict[str, Any]) -> Map:
    arguments: dict[str, Any] = {"x-match": match, **tests}
    return Map(arguments)


def naive(match: str, arguments: dict[str, Any], headers: dict[str, Any]) -> bool:
    met = [
        name in headers and (value is None or (headers[name] == value and type(headers[name]) is type(value)))
        for name, value in arguments.items()
    ]
    return all(met) if match == "all" else any(met)


# Whatever was bound and unbound before, exactly the queues get a message of which a binding is met, looked at one by one.
@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["all", "any"]), HEADERS), max_size=10),
    st.data(),
    st.lists(HEADERS, min_size=1, max_size=4),
)
def test_the_index_finds_what_looking_at_all_finds(
    bound: list[tuple[int, str, dict[str, Any]]], data: st.DataObject, sent: list[dict[str, Any]]
) -> None:
    exchange = HeadersExchange("x")
    queues = [Queue(f"q{n}") for n in range(4)]
    for at, (n, match, arguments) in enumerate(bound):
        exchange.bind(queues[n], f"{at}", binding(match, arguments))
    gone = data.draw(st.sets(st.integers(0, len(bound) - 1)) if bound else st.just(set()))
    for at in gone:
        exchange.unbind(queues[bound[at][0]], f"{at}")
    left = [each for at, each in enumerate(bound) if at not in gone]
    for headers in sent:
        found = [queue.name for queue in exchange.route(message(application_headers=headers))]
        assert len(found) == len(set(found))
        assert set(found) == {f"q{n}" for n, match, arguments in left if naive(match, arguments, headers)}


# Whatever values of whatever types come, a message has the headers that it has, and nothing is raised.
@given(st.dictionaries(st.sampled_from(["a", "b"]), values(), min_size=1, max_size=2))
def test_values_of_every_type(headers: dict[str, Any]) -> None:
    sent = message(application_headers=headers)
    exchange, same, there = HeadersExchange("x"), Queue("same"), Queue("there")
    exchange.bind(same, "", binding("all", dict(sent.application_headers)))
    exchange.bind(there, "", binding("all", dict.fromkeys(headers)))
    found = exchange.route(sent)
    assert there in found
    if sent.application_headers == message(application_headers=headers).application_headers:  # NaN is not
        assert same in found


def test_headers_that_cannot_be_read_are_refused() -> None:
    exchange = HeadersExchange("x")
    exchange.bind(Queue("q"), "", binding("any", {"a": 1}))
    header = encode_headers([MessageProperties(application_headers={"a": "b"})])[:-1]
    assert refusal(exchange.route, Message(1, Envelope(FORM, header), b"")).condition is conditions.TRANSFER_HEADER


@pytest.mark.skipif(COMPILED, reason="the steps of compiled code cannot be counted")
def test_bindings_that_nearly_match_cost_no_more_than_the_limit() -> None:
    """Each wants two headers that the message has and one that it has not, and no header is rare."""
    costs, refusals = [], list[str]()
    for size in (4000, 8000):
        exchange, queue = HeadersExchange("x"), Queue("q")
        names = [f"h{n}" for n in range(200)]
        for number in range(size):
            one, other = names[number % 200], names[(number // 200 + number + 1) % 200]
            exchange.bind(queue, f"{number}", wants("all", **{one: 1, other: 1, f"z{number % 8}": 1}))
        asked = message(application_headers=dict.fromkeys(names, 1))

        def work(exchange: HeadersExchange = exchange, asked: Message = asked) -> None:
            try:
                exchange.route(asked, 3000)
            except Refused as refused:
                refusals.append(str(refused))

        costs.append(steps(work))
    assert ["routing_steps" in text for text in refusals] == [True, True]
    assert costs[1] <= MOST * costs[0]
    assert costs[1] < 60 * 3000


@pytest.mark.skipif(COMPILED, reason="the steps of compiled code cannot be counted")
def test_many_bindings_of_one_queue_with_the_same_tests_are_looked_at_once() -> None:
    costs = []
    asked = message(application_headers={"a": 1, "b": 5})
    for size in (100, 200):
        exchange, queue = HeadersExchange("x"), Queue("q")
        for number in range(size):
            exchange.bind(queue, f"{number}", wants("all", a=1, b=number % 2))
        exchange.route(asked)  # the first message of all makes what is made once
        costs.append(steps(lambda exchange=exchange: exchange.route(asked)))  # type: ignore[misc]
    assert costs[0] == costs[1]


def test_as_many_queues_as_match_get_the_message() -> None:
    """The limit is on what is in vain, not on what is found: here one group that wants two headers."""
    exchange = HeadersExchange("x")
    queues = [Queue(f"q{n}") for n in range(50)]
    for queue in queues:
        exchange.bind(queue, "", wants("any", a=1))
        exchange.bind(queue, "2", wants("all", a=1, x=queue.name))
    assert list(exchange.route(message(application_headers={"a": 1}), 2)) == queues


@pytest.mark.rule("exchange.bind.multiple-bindings")
def test_a_message_comes_once_however_many_groups_of_bindings_match() -> None:
    exchange, queue = HeadersExchange("x"), Queue("q")
    for number, arguments in enumerate((wants("any", a=1, b=2), wants("any", a=1), wants("all", a=1, b=2), wants("all"))):
        exchange.bind(queue, f"{number}", arguments)
    assert list(exchange.route(message(application_headers={"a": 1, "b": 2}))) == [queue]


# Whatever a value holds, its likeness is that of itself in a map, and tells it from what is not equal.
@given(values(), values())
def test_equal_values_are_alike_and_others_are_not(one: Any, other: Any) -> None:
    assert likeness(one) == likeness(one)
    assert likeness(Map({"a": one, "b": 1})) == likeness(Map({"b": 1, "a": one}))
    if likeness(one) == likeness(other):
        assert repr(one) == repr(other) or one == other or bool(one) == bool(other)
    elif not isinstance(one, bool | Boolean | tuple | Map) and not isinstance(other, bool | Boolean | tuple | Map):
        assert one != other


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (1, Uint8(1)),
        (1, 1.0),
        (1, Decimal("1.00")),
        (0.5, Decimal("0.5")),
        ("x", Str8("x")),
        (List([1, "x"]), Array(0x02, [1, "x"])),
        (True, Boolean(7)),
        (Map({"a": 1, "b": -2}), Map({"b": -2, "a": 1})),
        (math.inf, math.inf),
    ],
)
def test_what_is_the_same(one: Value, other: Value) -> None:
    assert likeness(one) == likeness(other)


def test_what_is_not_the_same() -> None:
    unlike: list[Value] = [
        None, True, False, 1, 0, -1, -2, 0.5, math.inf, -math.inf, Decimal(7), "1", b"1", "", b"",
        UUID(int=1), List(), List([List()]), List(["a", "b"]), List(["ab"]), Map(), Map({"a": 1}), Map({"a": -1}),
        Map({"a": List([1, 2])}), Map({"a": List([12])}), OpaqueValue(0x0F, b"1"),
    ]  # fmt: skip
    assert len({likeness(each) for each in unlike}) == len(unlike)


# Binding with arguments whose hashes as Python values are all one costs what any arguments cost.
def test_arguments_made_to_collide_do_not() -> None:
    def binding(size: int) -> Any:
        exchange, queue = HeadersExchange("x"), Queue("q")
        tests: list[dict[str, Any]] = [{f"k{bit}": -1 - (number >> bit & 1) for bit in range(10)} for number in range(size)]
        given = [Map({"x-match": "all", **each}) for each in tests]
        assert len({hash(tuple(each.values())[1:]) for each in given}) == 1

        def work() -> None:
            for number, arguments in enumerate(given):
                exchange.bind(queue, f"{number}", arguments)
                assert exchange.has(None, None, arguments)

        return work

    assert_linear(binding, 200)


# Headers that are UUIDs with one hash among them are found at once, each by itself.
def test_headers_made_to_collide_do_not() -> None:
    def binding(size: int) -> Any:
        exchange, queue = HeadersExchange("x"), Queue("q")
        ids: list[dict[str, Any]] = [{"id": UUID(int=number * (2**61 - 1))} for number in range(size)]
        given = [Map({"x-match": "any", **each}) for each in ids]
        assert len({hash(each["id"]) for each in given}) == 1

        def work() -> None:
            for number, arguments in enumerate(given):
                exchange.bind(queue, f"{number}", arguments)

        return work

    assert_linear(binding, 200)
