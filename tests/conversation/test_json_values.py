"""Whatever can be decoded becomes something that JSON can carry."""

from __future__ import annotations

import json
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from tests.wire.strategies import values

from amqp_sansio.conversation.json_values import Json, plain
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Array, Datetime, Map, OpaqueValue, Str8, Vbin8


@pytest.mark.parametrize(
    ("value", "becomes"),
    [
        (True, True), (None, None), (7, 7), (Datetime(7), 7), (1.5, 1.5), (float("nan"), "nan"), (float("inf"), "inf"),
        ("x", "x"), (Str8("x"), "x"), (b"text", "text"), (Vbin8(b"\xff\0"), "ff00"), (UUID(int=7), str(UUID(int=7))),
        (Decimal("1.50"), "1.50"), (Map({"a": Array(0x22, [1])}), {"a": [1]}), ([1, (2,)], [1, [2]]),
        (ReplyTo("e", "k"), {"exchange": "e", "routing_key": "k"}), (OpaqueValue(0x11, b"\1"), "01"),
    ],
)  # fmt: skip
def test_what_becomes_of_it(value: object, becomes: Json) -> None:
    found = plain(value)
    assert (found, type(found)) == (becomes, type(becomes))


@given(values())
def test_json_carries_whatever_can_be_decoded(value: object) -> None:
    assert json.loads(json.dumps(plain(value), allow_nan=False)) == plain(value)
