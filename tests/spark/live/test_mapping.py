"""From rows to messages."""

from __future__ import annotations

import datetime
import uuid
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spark.errors import LiveSetupError
from amqp_sansio.spark.live.mapping import (
    COLUMNS,
    NAMES,
    Outgoing,
    RowMapping,
    SourceColumn,
    headers_from,
    picked,
    rows_of,
    texts_of,
)
from amqp_sansio.spark.live.spool import RawMessage, write
from amqp_sansio.spec.message import Acquired, DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.spec.values import Array, List, Map, OpaqueValue, Uint8
from amqp_sansio.wire.encoding import encode_map, encode_struct32
from amqp_sansio.wire.types import decode_map

PLAIN = RowMapping(mandatory=False)


def made(rows: list[dict[str, Any]], mapping: RowMapping = PLAIN, partition: int = 0) -> list[Outgoing]:
    batch = pa.RecordBatch.from_pylist([{"routing_key": "k", **row} for row in rows])
    return list(mapping.messages(iter([batch]), partition))


def test_columns_say_what_a_message_is() -> None:
    (message,) = made([{
        "body": "text", "exchange": "e", "routing_key": "k", "headers": {"a": 1}, "message_id": str(uuid.UUID(int=5)),
        "correlation_id": b"c", "reply_to": {"exchange": "x", "routing_key": "y"}, "content_type": "t", "user_id": "u",
        "app_id": b"app", "priority": 9, "persistent": False, "ttl": 1000, "queue": "left out",
    }])  # fmt: skip
    assert message == Outgoing("e", "k", b"text", {
        "persistent": False, "content_type": "t", "correlation_id": b"c", "user_id": b"u", "app_id": b"app", "priority": 9,
        "ttl": 1000, "message_id": uuid.UUID(int=5), "reply_to": ReplyTo("x", "y"), "headers": {"a": 1},
    })  # fmt: skip


def test_options_win_over_columns() -> None:
    mapping = RowMapping(exchange="", routing_key="q", persistent=False)
    (message,) = made([{"body": b"", "exchange": "e", "routing_key": "k", "persistent": True}], mapping)
    assert message == Outgoing("", "q", b"", {"persistent": False, "mandatory": True})


def test_raw_headers_keep_their_types() -> None:
    raw = encode_map({"n": 7, "b": b"\x00"})
    (message,) = made([{"body": b"", "headers": {"n": "7"}, "headers_raw": raw}])
    assert message.properties["headers"] == {"n": 7, "b": b"\x00"}


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ({"body": None}, "its body is null"),
        ({"priority": 10}, "priority is 0 to 9, not 10"),
        ({"ttl": -1}, "ttl is milliseconds from 0 on, not -1"),
        ({"message_id": "x"}, "message_id is a UUID, not 'x'"),
        ({"headers_raw": b"\x00"}, "headers_raw: map at octet 0"),
        ({"headers_raw": encode_map({}) + b"zz"}, "headers_raw: 2 octets follow"),
        ({"routing_key": "k" * 256}, "at most 255 octets"),
        ({"routing_key": None}, "it has no routing_key"),
    ],
)
def test_a_row_that_is_no_message_is_reported(row: dict[str, Any], told: str) -> None:
    with pytest.raises(LiveSetupError, match="row 1 of partition 5 is not a message: .*" + told):
        made([{**dict.fromkeys(row), "body": b"", "routing_key": "k"}, {"body": b"", **row}], partition=5)


def test_ids_are_the_same_for_the_same_rows_and_different_for_equal_ones() -> None:
    """Tried again, in whatever order, a partition's rows have the ids that they had; no two rows of an epoch have the same."""
    rows = [{"body": b"%d" % (number % 3)} for number in range(9)]
    mapping = RowMapping(ids=b"epoch 1")
    ids = [each.properties["message_id"] for each in made(rows, mapping)]
    assert len(set(ids)) == 9
    assert {each.properties["message_id"] for each in made(rows[::-1], mapping)} == set(ids)
    assert not set(ids) & {each.properties["message_id"] for each in made(rows, mapping, 1)}
    assert not set(ids) & {each.properties["message_id"] for each in made(rows, RowMapping(ids=b"epoch 2"))}
    own = str(uuid.UUID(int=9))
    assert made([{"body": b"", "message_id": own}], mapping)[0].properties["message_id"] == uuid.UUID(own)


def test_columns_are_looked_at_before_anything_is_published() -> None:
    named = RowMapping(routing_key="q")
    named.check([("body", "string"), ("headers", "map<string,int>")])
    named.check([(each.name, each.ddl) for each in COLUMNS])
    for columns, told in (
        ([("body", "int")], "column body is binary or string"),
        ([("routing_key", "string")], "column body is missing"),
        ([("body", "string"), ("colour", "string")], "column colour says nothing"),
        ([("body", "string"), ("body", "binary")], "column body is there 2 times"),
    ):
        with pytest.raises(LiveSetupError, match=told):
            named.check(columns)
    for nowhere in (RowMapping(), RowMapping(routing_key=""), RowMapping(exchange="", routing_key="")):
        with pytest.raises(LiveSetupError, match="nothing says where messages go"):
            nowhere.check([("body", "string")])
    RowMapping(exchange="amq.fanout").check([("body", "string")])


BARE = dict.fromkeys(NAMES) | {
    "queue": "q", "body": b"body", "exchange": "", "priority": 4, "persistent": False, "redelivered": False,
    "received": datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC), "segment": 5, "position": 0,
}  # fmt: skip


def rows(place: Path, *headers: bytes, columns: tuple[SourceColumn, ...] = COLUMNS) -> list[dict[str, Any]]:
    write(place / "s", [RawMessage("q", 0, header, b"body") for header in headers])
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


def test_every_type_has_a_text() -> None:
    headers = Map({
        "text": "Grüße", "yes": True, "number": Uint8(7), "half": 0.5, "octets": b"\xff", "none": None,
        "id": UUID(int=1), "price": Decimal("1.50"), "map": Map({"a": 1, "b": b"\x01", "c": None}),
        "list": List([1, "x", True, 2.5]), "array": Array(0x22, [1, 2]),
        "to": ReplyTo("e", "k"), "odd": OpaqueValue(0x9F, b"z"), "ids": Acquired(RangeSet.of(1, 3)),
        "far": List([float("inf"), UUID(int=1)]), "nan": float("nan"), "big": 1e22,
    })  # fmt: skip
    assert dict(texts_of(headers)) == {
        "text": "Grüße", "yes": "true", "number": "7", "half": "0.5", "octets": "/w==", "none": None,
        "id": "00000000-0000-0000-0000-000000000001", "price": "1.50", "map": '{"a":1,"b":"AQ==","c":null}',
        "list": '[1,"x",true,2.5]', "array": "[1,2]", "to": '{"exchange":"e","routing_key":"k"}', "odd": '"eg=="',
        "ids": '{"transfers":[[1,1],[3,3]]}', "far": '["inf","00000000-0000-0000-0000-000000000001"]', "nan": "nan",
        "big": "1e+22",
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
