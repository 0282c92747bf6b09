"""Rows as messages, and messages as rows: the columns of the sink, which options may override, and those of the source."""

from __future__ import annotations

import base64
import datetime
import json
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs
import pyarrow as pa

from amqp_sansio.conversation.json_values import plain
from amqp_sansio.errors import AmqpError, DecodeError
from amqp_sansio.spark.errors import LiveSetupError
from amqp_sansio.spark.live.spool import read
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.spec.values import OpaqueValue, Value
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.layouts.layout import decode_headers
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


PERSISTENT: Final = 2
_UTC: Final = pa.timestamp("us", tz="UTC")
_NO_DELIVERY: Final = DeliveryProperties()
_NO_MESSAGE: Final = MessageProperties()


class SourceRow(NamedTuple):
    """What a row is made from."""

    delivery: DeliveryProperties
    message: MessageProperties
    error: str | None


class SourceColumn(NamedTuple):
    """A column of the source; `of` computes its value, None for columns stored in a segment."""

    name: str
    ddl: str
    what: str
    of: Callable[[SourceRow], Any] | None = None


def _time(seconds: int | None) -> datetime.datetime | None:
    """Converts a broker's time; None for one that no calendar has."""
    if seconds is None:
        return None
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _headers(row: SourceRow) -> list[tuple[str, str | None]] | None:
    found = row.message.application_headers
    return None if found is None else texts_of(found)


def _headers_raw(row: SourceRow) -> bytes | None:
    found = row.message.application_headers
    return None if found is None else encode_map(found)


def _reply(row: SourceRow) -> dict[str, str | None] | None:
    to = row.message.reply_to
    return None if to is None else {"exchange": to.exchange, "routing_key": to.routing_key}


_ARROW: Final = {
    "string": pa.string(),
    "binary": pa.binary(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "boolean": pa.bool_(),
    "timestamp": _UTC,
    "map<string,string>": pa.map_(pa.string(), pa.string()),
    "struct<exchange:string,routing_key:string>": pa.struct([("exchange", pa.string()), ("routing_key", pa.string())]),
}
"""Arrow's types, by Spark's names."""

COLUMNS: Final = (
    SourceColumn("queue", "string", "the queue that it was taken from"),
    SourceColumn("body", "binary", "the content"),
    SourceColumn("exchange", "string", 'the exchange that it was published to, "" for the default exchange',
           lambda row: row.delivery.exchange or ""),
    SourceColumn("routing_key", "string", "the key that it was published with",
           lambda row: row.delivery.routing_key),
    SourceColumn("headers", "map<string,string>",
           "the application headers as texts: octets in base64, what is nested as JSON", _headers),
    SourceColumn("headers_raw", "binary", "the same as octets of AMQP, with all their types", _headers_raw),
    SourceColumn("message_id", "string", "what the sender calls it, a UUID",
           lambda row: None if row.message.message_id is None else str(row.message.message_id)),
    SourceColumn("correlation_id", "binary", "what it answers", lambda row: row.message.correlation_id),
    SourceColumn("reply_to", "struct<exchange:string,routing_key:string>", "where an answer is awaited", _reply),
    SourceColumn("content_type", "string", "the MIME type of the body", lambda row: row.message.content_type),
    SourceColumn("content_encoding", "string", "the encoding of the body", lambda row: row.message.content_encoding),
    SourceColumn("user_id", "binary", "who sent it", lambda row: row.message.user_id),
    SourceColumn("app_id", "binary", "the application that sent it", lambda row: row.message.app_id),
    SourceColumn("priority", "int", "0 to 9; 4 where the publisher set none",
           lambda row: 4 if row.delivery.priority is None else int(row.delivery.priority)),
    SourceColumn("persistent", "boolean", "whether the broker keeps it on disk",
           lambda row: row.delivery.delivery_mode == PERSISTENT),
    SourceColumn("redelivered", "boolean", "whether somebody may have had it before",
           lambda row: bool(row.delivery.redelivered)),
    SourceColumn("ttl", "bigint", "milliseconds for which it is of use",
           lambda row: None if row.delivery.ttl is None else min(row.delivery.ttl, 2**63 - 1)),
    SourceColumn("timestamp", "timestamp", "when it came to the broker", lambda row: _time(row.delivery.timestamp)),
    SourceColumn("expiration", "timestamp", "when it is of no more use", lambda row: _time(row.delivery.expiration)),
    SourceColumn("received", "timestamp", "when it came here"),
    SourceColumn("segment", "bigint", "the segment that it was taken in"),
    SourceColumn("position", "int", "its place in that segment; both together name it"),
    SourceColumn("header_error", "string", "why its properties could not be read; null for nearly all",
           lambda row: row.error),
)  # fmt: skip
"""All columns, in order."""
NAMES: Final = tuple([column.name for column in COLUMNS])
DDL: Final = ", ".join([f"{column.name} {column.ddl}" for column in COLUMNS])


def picked(names: Sequence[tuple[str, str]]) -> tuple[SourceColumn, ...]:
    """Returns columns by name and type, for a schema given by the user.  Raises LiveSetupError for an unknown one."""
    known = {column.name: column for column in COLUMNS}
    found = []
    for name, kind in names:
        column = known.get(name)
        if column is None:
            raise LiveSetupError(f"there is no column {name}; there are {', '.join(NAMES)}")
        if column.ddl.replace(" ", "") != kind.replace(" ", ""):
            raise LiveSetupError(f"column {name} is {column.ddl}, not {kind}")
        found.append(column)
    return tuple(found)


def rows_of(path: Path, segment: int, columns: Sequence[SourceColumn]) -> Iterator[Any]:
    """Yields the rows of a segment (Any: RecordBatch).  Raises LiveError when it cannot be read."""
    schema = pa.schema([(column.name, _ARROW[column.ddl]) for column in columns])
    made = [column for column in columns if column.of is not None]
    for first, batch in read(path):
        rows = [_row(octets) for octets in batch.column("header").to_pylist()] if made else []
        arrays = []
        for column, kind in zip(columns, schema.types, strict=True):
            if column.of is not None:
                arrays.append(pa.array([column.of(row) for row in rows], kind))
            elif column.name == "segment":
                arrays.append(pa.array([segment] * batch.num_rows, kind))
            elif column.name == "position":
                arrays.append(pa.array(range(first, first + batch.num_rows), kind))
            elif column.name == "received":
                arrays.append(batch.column("received").cast(pa.timestamp("us")).cast(_UTC))
            else:
                arrays.append(batch.column(column.name).cast(kind))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _row(header: bytes) -> SourceRow:
    """Returns the properties of a message; one with a malformed header keeps its body, with the error."""
    delivery, message = _NO_DELIVERY, _NO_MESSAGE
    error = None
    try:
        structs = decode_headers(header, 0, len(header))
    except AmqpError as failure:
        structs = ()
        error = str(failure)
    for struct in structs:
        if type(struct) is DeliveryProperties and delivery is _NO_DELIVERY:
            delivery = struct
        elif type(struct) is MessageProperties and message is _NO_MESSAGE:
            message = struct
    return SourceRow(delivery, message, error)


def texts_of(headers: Mapping[str, Value]) -> list[tuple[str, str | None]]:
    """Returns each header as a text: true and false, numbers, octets in base64, nested values as JSON; None for null."""
    return [(name, _text(value)) for name, value in headers.items()]


def _text(value: Value) -> str | None:
    made = plain(value, _base64)
    if made is None or (isinstance(made, str) and not isinstance(value, OpaqueValue)):
        return made
    return json.dumps(made, ensure_ascii=False, separators=(",", ":"))


def _base64(octets: bytes) -> str:
    return base64.b64encode(octets).decode()


def headers_from(given: object) -> dict[str, Value]:
    """Converts a map of Spark (pairs) or a struct (a mapping) to headers.  Raises ValueError for what no header can be."""
    pairs: Iterable[tuple[Any, Any]]
    pairs = given.items() if isinstance(given, Mapping) else given  # type: ignore[assignment]  # as Arrow gives it
    headers: dict[str, Value] = {}
    for name, value in pairs:
        if not isinstance(name, str) or len(name.encode()) > 255:
            raise ValueError(f"the name of a header is a text of at most 255 octets, not {name!r:.60}")
        headers[name] = _value(name, value)
    return headers


def _value(name: str, value: Any) -> Value:
    if value is None or isinstance(value, bool | int | float | str | bytes | Decimal):
        return value
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return headers_from(value)  # type: ignore[return-value]  # mappings are encoded as maps
    if isinstance(value, list) and value and all(isinstance(each, tuple) and len(each) == 2 for each in value):
        return headers_from(value)  # type: ignore[return-value]
    if isinstance(value, list | tuple):
        return [_value(name, each) for each in value]  # type: ignore[return-value]  # lists are encoded as lists
    raise ValueError(f"header {name!r} is of a type that no header has: {type(value).__name__}")
