"""Headers exchanges look at application headers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import message, refusal
from tests.steps import MOST, steps
from tests.wire.strategies import values

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.model.message import Envelope, Message
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.headers import X_MATCH, Headers
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.spec.message import MessageProperties
from amqp_sansio.spec.values import Map, Str8, Uint8
from amqp_sansio.wire.layouts.layout import encode_headers


def wants(x_match: str, **tests: Any) -> Map:
    return Map({X_MATCH: x_match, **tests})


def routed(arguments: dict[str, Any], headers: dict[str, Any] | None) -> bool:
    exchange, queue = Headers("x"), Queue("q")
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
    exchange = Headers("x")
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
    exchange = Headers("x")
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
    exchange, same, there = Headers("x"), Queue("same"), Queue("there")
    exchange.bind(same, "", binding("all", dict(sent.application_headers)))
    exchange.bind(there, "", binding("all", dict.fromkeys(headers)))
    found = exchange.route(sent)
    assert there in found
    if sent.application_headers == message(application_headers=headers).application_headers:  # NaN is not
        assert same in found


def test_headers_that_cannot_be_read_are_refused() -> None:
    exchange = Headers("x")
    exchange.bind(Queue("q"), "", binding("any", {"a": 1}))
    header = encode_headers([MessageProperties(application_headers={"a": "b"})])[:-1]
    assert refusal(exchange.route, Message(1, Envelope(FORM, header), b"")).condition is conditions.TRANSFER_HEADER


@pytest.mark.skipif(COMPILED, reason="the steps of compiled code cannot be counted")
def test_bindings_that_nearly_match_cost_no_more_than_the_limit() -> None:
    """Each wants two headers that the message has and one that it has not, and no header is rare."""
    costs, refusals = [], list[str]()
    for size in (4000, 8000):
        exchange, queue = Headers("x"), Queue("q")
        names = [f"h{n}" for n in range(200)]
        for number in range(size):
            one, other = names[number % 200], names[(number // 200 + number + 1) % 200]
            exchange.bind(queue, f"{number}", wants("all", **{one: 1, other: 1, f"z{number % 8}": 1}))
        asked = message(application_headers=dict.fromkeys(names, 1))

        def work(exchange: Headers = exchange, asked: Message = asked) -> None:
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
        exchange, queue = Headers("x"), Queue("q")
        for number in range(size):
            exchange.bind(queue, f"{number}", wants("all", a=1, b=number % 2))
        exchange.route(asked)  # the first message of all makes what is made once
        costs.append(steps(lambda exchange=exchange: exchange.route(asked)))  # type: ignore[misc]
    assert costs[0] == costs[1]


def test_as_many_queues_as_match_get_the_message() -> None:
    """The limit is on what is in vain, not on what is found: here one group that wants two headers."""
    exchange = Headers("x")
    queues = [Queue(f"q{n}") for n in range(50)]
    for queue in queues:
        exchange.bind(queue, "", wants("any", a=1))
        exchange.bind(queue, "2", wants("all", a=1, x=queue.name))
    assert list(exchange.route(message(application_headers={"a": 1}), 2)) == queues


@pytest.mark.rule("exchange.bind.multiple-bindings")
def test_a_message_comes_once_however_many_bindings_match() -> None:
    exchange, queue = Headers("x"), Queue("q")
    for number, arguments in enumerate((wants("any", a=1, b=2), wants("any", a=1), wants("all", a=1, b=2), wants("all"))):
        exchange.bind(queue, f"{number}", arguments)
    assert list(exchange.route(message(application_headers={"a": 1, "b": 2}))) == [queue]
