"""Application headers as texts, and what people give."""

from __future__ import annotations

import datetime
from decimal import Decimal
from uuid import UUID

import pytest

from amqp_sansio.spark.live.headers import headers_from, texts_of
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Array, List, Map, OpaqueValue, Uint8
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.types import decode_map


def test_every_type_has_a_text() -> None:
    headers = Map({
        "text": "Grüße", "yes": True, "number": Uint8(7), "half": 0.5, "octets": b"\xff", "none": None,
        "id": UUID(int=1), "price": Decimal("1.50"), "map": Map({"a": 1, "b": b"\x01", "c": None}),
        "list": List([1, "x", True, 2.5]), "array": Array(0x22, [1, 2]),
        "to": ReplyTo("e", "k"), "odd": OpaqueValue(0x9F, b"z"),
    })  # fmt: skip
    assert dict(texts_of(headers)) == {
        "text": "Grüße", "yes": "true", "number": "7", "half": "0.5", "octets": "/w==", "none": None,
        "id": "00000000-0000-0000-0000-000000000001", "price": "1.50", "map": '{"a":1,"b":"AQ==","c":null}',
        "list": '[1,"x",true,2.5]', "array": "[1,2]", "to": '{"exchange":"e","routing_key":"k"}', "odd": '"eg=="',
    }  # fmt: skip


def test_maps_and_structs_become_headers() -> None:
    assert headers_from([("a", "1"), ("b", None)]) == {"a": "1", "b": None}
    given = {"n": 1, "f": 0.5, "m": [("x", 1)], "l": [1, 2], "t": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC)}
    given["d"] = datetime.date(2026, 1, 2)
    made = headers_from(given)
    back = decode_map(encode_map(made), 0, len(encode_map(made)))[0]
    assert back == {"n": 1, "f": 0.5, "m": {"x": 1}, "l": (1, 2), "t": "2026-01-02T00:00:00+00:00", "d": "2026-01-02"}
    with pytest.raises(ValueError, match="of a type that no header has: set"):
        headers_from({"x": {1}})
    with pytest.raises(ValueError, match="at most 255 octets"):
        headers_from({"x" * 256: 1})
