"""Values are compared by octets that no peer can make collide."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from tests.steps import assert_linear
from tests.wire.strategies import values

from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.routing.headers import Headers
from amqp_sansio.broker.routing.likeness import likeness
from amqp_sansio.spec.values import Array, Boolean, List, Map, OpaqueValue, Str8, Uint8, Value


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
        exchange, queue = Headers("x"), Queue("q")
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
        exchange, queue = Headers("x"), Queue("q")
        ids: list[dict[str, Any]] = [{"id": UUID(int=number * (2**61 - 1))} for number in range(size)]
        given = [Map({"x-match": "any", **each}) for each in ids]
        assert len({hash(each["id"]) for each in given}) == 1

        def work() -> None:
            for number, arguments in enumerate(given):
                exchange.bind(queue, f"{number}", arguments)

        return work

    assert_linear(binding, 200)
