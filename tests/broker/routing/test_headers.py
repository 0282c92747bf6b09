"""Headers exchanges look at application headers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.model.things import message, refusal
from tests.wire.strategies import values

from amqp_sansio.broker import conditions
from amqp_sansio.broker.model.message import Envelope, Message
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.headers import Headers
from amqp_sansio.spec.message import MessageProperties
from amqp_sansio.spec.values import Map, Str8, Uint8
from amqp_sansio.wire.headers import encode_headers


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
    assert refusal(exchange.route, Message(1, Envelope(header), b"")).condition is conditions.TRANSFER_HEADER
