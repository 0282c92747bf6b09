"""From rows to messages."""

from __future__ import annotations

import uuid
from typing import Any

import pyarrow as pa
import pytest

from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.mapping import Outgoing, RowMapping
from amqp_sansio.spark.live.source_columns import COLUMNS
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.wire.encoding import encode_map

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
