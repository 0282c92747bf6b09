"""Converts rows to messages: by columns, which options may override."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final, NamedTuple

import attrs

from amqp_sansio.errors import DecodeError
from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.headers import headers_from
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.types import decode_map

WRITTEN: Final[dict[str, tuple[str, ...]]] = {
    "body": ("binary", "string"),
    "exchange": ("string",),
    "routing_key": ("string",),
    "headers": ("map", "struct"),
    "headers_raw": ("binary",),
    "message_id": ("string",),
    "correlation_id": ("binary", "string"),
    "reply_to": ("struct",),
    "content_type": ("string",),
    "content_encoding": ("string",),
    "user_id": ("binary", "string"),
    "app_id": ("binary", "string"),
    "priority": ("tinyint", "smallint", "int", "bigint"),
    "persistent": ("boolean",),
    "ttl": ("tinyint", "smallint", "int", "bigint"),
}
"""The columns that make a message, and their types."""
LEFT_OUT: Final = frozenset([
    "queue", "redelivered", "timestamp", "expiration", "received", "segment", "position", "header_error",
])  # fmt: skip
"""Columns of the source about a message's history instead of its content; the sink ignores them."""


class Outgoing(NamedTuple):
    """A message to be published: `properties` are those of `Session.send`."""

    exchange: str
    routing_key: str
    body: bytes
    properties: dict[str, Any]


@attrs.frozen(kw_only=True)
class RowMapping:
    """How rows become messages.  Options override columns, as in other sinks of Spark."""

    exchange: str | None = None
    routing_key: str | None = None
    persistent: bool = True
    mandatory: bool = True
    ids: bytes | None = None
    """The seed of message ids for rows without one; None: such messages have no id."""

    def check(self, columns: Sequence[tuple[str, str]]) -> None:
        """Raises LiveSetupError when rows with these columns (name and Spark type) cannot be messages."""
        names = Counter([name for name, _ in columns])
        for name, times in names.items():
            if times > 1:
                raise LiveSetupError(f"column {name} is there {times} times")
        for name, kind in columns:
            if name in LEFT_OUT:
                continue
            if name not in WRITTEN:
                raise LiveSetupError(f"column {name} says nothing about a message; there are {', '.join(WRITTEN)}")
            if kind.partition("<")[0] not in WRITTEN[name]:
                raise LiveSetupError(f"column {name} is {' or '.join(WRITTEN[name])}, not {kind}")
        if "body" not in names:
            raise LiveSetupError("column body is missing")
        if not self.routing_key and not self.exchange and (self.routing_key == "" or "routing_key" not in names):
            raise LiveSetupError("nothing says where messages go: option routingKey (a queue), or column routing_key")

    def messages(self, batches: Iterator[Any], partition: int = 0) -> Iterator[Outgoing]:
        """Yields the messages of batches of rows (Any: RecordBatch).  Raises LiveSetupError for an invalid row."""
        seen: Counter[bytes] = Counter()
        number = 0
        for batch in batches:
            names = [name for name in batch.schema.names if name in WRITTEN]
            columns = [batch.column(name).to_pylist() for name in names]
            for values in zip(*columns, strict=True):
                row = {name: value for name, value in zip(names, values, strict=True) if value is not None}
                try:
                    made = self._message(row)
                except (ValueError, DecodeError) as error:
                    raise LiveSetupError(f"row {number} of partition {partition} is not a message: {error}") from None
                number += 1
                if self.ids is not None and "message_id" not in made.properties:
                    made.properties["message_id"] = self._id(made, partition, seen)
                yield made

    def _message(self, row: dict[str, Any]) -> Outgoing:
        if "body" not in row:
            raise ValueError("its body is null; coalesce(body, '') is one without octets")
        body = row["body"]
        key = row.get("routing_key", "") if self.routing_key is None else self.routing_key
        exchange = row.get("exchange", "") if self.exchange is None else self.exchange
        if len(key.encode()) > 255 or len(exchange.encode()) > 255:
            raise ValueError("an exchange and a routing key have at most 255 octets")
        if not key and not exchange:
            raise ValueError("nothing says where it goes: it has no routing_key, which the default exchange needs")
        properties: dict[str, Any] = {"persistent": row.get("persistent", True) if self.persistent else False}
        if self.mandatory:
            properties["mandatory"] = True
        for name in ("content_type", "content_encoding"):
            if name in row:
                properties[name] = row[name]
        for name in ("correlation_id", "user_id", "app_id"):
            if name in row:
                properties[name] = _octets(row[name])
        if "priority" in row:
            if not 0 <= row["priority"] <= 9:
                raise ValueError(f"priority is 0 to 9, not {row['priority']}")
            properties["priority"] = row["priority"]
        if "ttl" in row:
            if row["ttl"] < 0:
                raise ValueError(f"ttl is milliseconds from 0 on, not {row['ttl']}")
            properties["ttl"] = row["ttl"]
        if "message_id" in row:
            properties["message_id"] = _uuid(row["message_id"])
        if "reply_to" in row:
            properties["reply_to"] = _reply_to(row["reply_to"])
        if "headers_raw" in row:
            properties["headers"] = _raw(row["headers_raw"])
        elif "headers" in row:
            properties["headers"] = headers_from(row["headers"])
        return Outgoing(exchange, key, _octets(body), properties)

    def _id(self, made: Outgoing, partition: int, seen: Counter[bytes]) -> uuid.UUID:
        """Returns the same id for the same row of the same epoch in every attempt, but different ids for equal rows."""
        told = repr((partition, made.exchange, made.routing_key, made.body, made.properties))
        digest = sha256((self.ids or b"") + told.encode("utf-8", "surrogatepass")).digest()
        seen[digest] += 1
        return uuid.UUID(bytes=sha256(digest + seen[digest].to_bytes(8, "big")).digest()[:16], version=5)


def _octets(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _uuid(text: str) -> uuid.UUID:
    try:
        return uuid.UUID(text)
    except ValueError:
        raise ValueError(f"message_id is a UUID, not {text!r:.60}") from None


def _raw(octets: bytes) -> Mapping[str, Value]:
    try:
        headers, end = decode_map(octets, 0, len(octets))
    except DecodeError as error:
        raise ValueError(f"headers_raw: {error}") from None
    if end != len(octets):
        raise ValueError(f"headers_raw: {len(octets) - end} octets follow its map")
    return headers


def _reply_to(value: Mapping[str, Any]) -> ReplyTo:
    return ReplyTo(value.get("exchange") or "", value.get("routing_key") or "")
