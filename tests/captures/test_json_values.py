"""Decoded values as JSON."""

from __future__ import annotations

import json
from decimal import Decimal
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures.json_values import Json, compact, fields, plain, struct
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.connection import SecureOk, StartOk
from amqp_sansio.spec.message import Accept, DeliveryProperties, ReplyTo, Subscribe
from amqp_sansio.spec.values import Array, Boolean, Float, Int8, List, Map, OpaqueValue, Str8, UnknownStruct, Vbin8

UID = UUID("00010203-0405-0607-0809-0a0b0c0d0e0f")


@pytest.mark.parametrize(
    ("value", "json_"),
    [
        (None, None),
        (True, True),
        (-5, -5),
        ("text", "text"),
        (Int8(-5), -5),
        (Boolean(7), 7),
        (Str8("é"), "é"),
        (b"\x00\xff", "00ff"),
        (Vbin8(b"a"), "61"),
        (1.5, 1.5),
        (Float(0.5), 0.5),
        (float("nan"), "NaN"),
        (float("inf"), "Infinity"),
        (float("-inf"), "-Infinity"),
        (Decimal("1.20"), "1.20"),
        (UID, str(UID)),
        (RangeSet([(1, 3), (9, 9)]), [[1, 3], [9, 9]]),
        (RangeSet(), []),
        (Map({"a": List([1, Map({"b": b"x"})])}), {"a": [1, {"b": "78"}]}),
        (Array(0x95, ("x", "y")), ["x", "y"]),
        (OpaqueValue(0x0A, b"\x07"), {"type": "0x0a", "octets": "07"}),
        (UnknownStruct(4, 99, b"\x01\x02"), {"struct": "4.99", "octets": "0102"}),
        (ReplyTo("e", "k"), {"struct": "message.reply-to", "exchange": "e", "routing_key": "k"}),
    ],
)
def test_a_value(value: object, json_: Json) -> None:
    found = plain(value)
    assert found == json_
    assert type(found) is type(json_)
    json.dumps(found, allow_nan=False)


def test_fields_that_are_there() -> None:
    assert fields(Subscribe("q", "d", 0, None, True)) == {
        "queue": "q",
        "destination": "d",
        "accept_mode": 0,
        "exclusive": True,
    }
    assert fields(Accept(RangeSet.of(7))) == {"transfers": [[7, 7]]}
    assert struct(DeliveryProperties(routing_key="k")) == {"struct": "message.delivery-properties", "routing_key": "k"}


def test_secrets_are_given_as_their_length_unless_asked_for() -> None:
    assert fields(StartOk(None, "PLAIN", b"\0a\0hush", "en_US"), secrets=False) == {
        "mechanism": "PLAIN",
        "response": 7,
        "locale": "en_US",
    }
    assert fields(SecureOk(b"hush"), secrets=False) == {"response": 4}
    assert fields(SecureOk(b"hush")) == {"response": b"hush".hex()}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=12,
)  # fmt: skip


@given(JSON)
def test_compact_json_is_what_the_standard_library_writes(value: Json) -> None:
    """Every JSON value is written as json.dumps does without spaces and without escapes for letters."""
    assert compact(value) == json.dumps(value, separators=(",", ":"), ensure_ascii=False)
