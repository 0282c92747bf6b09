"""Messages as rows: every property in its column."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.segment import Taken, write
from amqp_sansio.spark.live.source_columns import COLUMNS, NAMES, Column, picked, rows_of
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.types import decode_map

BARE = dict.fromkeys(NAMES) | {
    "queue": "q", "body": b"body", "exchange": "", "priority": 4, "persistent": False, "redelivered": False,
    "received": datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), "segment": 5, "position": 0,
}  # fmt: skip


def rows(place: Path, *headers: bytes, columns: tuple[Column, ...] = COLUMNS) -> list[dict[str, Any]]:
    write(place / "s", [Taken("q", 0, header, b"body") for header in headers])
    return [row for batch in rows_of(place / "s", 5, columns) for row in batch.to_pylist()]


def test_every_property_has_its_column(tmp_path: Path) -> None:
    header = encode_struct32(DeliveryProperties(
        redelivered=True, priority=7, delivery_mode=2, ttl=1500, timestamp=1_700_000_000, expiration=1_700_000_001,
        exchange="e", routing_key="k",
    )) + encode_struct32(MessageProperties(
        message_id=UUID(int=5), correlation_id=b"c", reply_to=ReplyTo("x", "y"), content_type="t", content_encoding="z",
        user_id=b"u", app_id=b"a", application_headers={"n": 1, "s": "x"},
    ))  # fmt: skip
    (row,) = rows(tmp_path, header)
    raw = row.pop("headers_raw")
    assert decode_map(raw, 0, len(raw))[0] == {"n": 1, "s": "x"}
    assert row == {
        "queue": "q", "body": b"body", "exchange": "e", "routing_key": "k", "headers": [("n", "1"), ("s", "x")],
        "message_id": str(UUID(int=5)), "correlation_id": b"c", "reply_to": {"exchange": "x", "routing_key": "y"},
        "content_type": "t", "content_encoding": "z", "user_id": b"u", "app_id": b"a", "priority": 7, "persistent": True,
        "redelivered": True, "ttl": 1500, "timestamp": datetime.datetime.fromtimestamp(1_700_000_000, datetime.UTC),
        "expiration": datetime.datetime.fromtimestamp(1_700_000_001, datetime.UTC), "received": BARE["received"], "segment": 5,
        "position": 0, "header_error": None,
    }  # fmt: skip


def test_what_is_not_there_and_what_cannot_be_read(tmp_path: Path) -> None:
    never = encode_struct32(DeliveryProperties(timestamp=2**63, ttl=2**64 - 1))
    bare, broken, late = rows(tmp_path, b"", b"\xff" * 9, never)
    assert bare == BARE
    assert broken.pop("header_error")
    assert broken == {name: value for name, value in BARE.items() if name != "header_error"} | {"position": 1}
    assert (late["timestamp"], late["ttl"]) == (None, 2**63 - 1)


def test_columns_are_chosen_by_a_schema(tmp_path: Path) -> None:
    chosen = picked([("body", "binary"), ("position", "int")])
    assert rows(tmp_path, b"\xff" * 9, b"", columns=chosen) == [
        {"body": b"body", "position": 0},
        {"body": b"body", "position": 1},
    ]
    with pytest.raises(LiveSetupError, match="there is no column colour"):
        picked([("colour", "string")])
    with pytest.raises(LiveSetupError, match="column body is binary, not string"):
        picked([("body", "string")])
