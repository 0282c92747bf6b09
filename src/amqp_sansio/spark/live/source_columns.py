"""The columns of the source, and a segment's messages as Arrow rows."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa

from amqp_sansio.errors import AmqpError
from amqp_sansio.spark.live.errors import LiveSetupError
from amqp_sansio.spark.live.headers import texts_of
from amqp_sansio.spark.live.segment import read
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.wire.encoding import encode_map
from amqp_sansio.wire.headers import decode_headers

PERSISTENT: Final = 2
_UTC: Final = pa.timestamp("us", tz="UTC")
_NO_DELIVERY: Final = DeliveryProperties()
_NO_MESSAGE: Final = MessageProperties()


class Row(NamedTuple):
    """What a row is made from."""

    delivery: DeliveryProperties
    message: MessageProperties
    error: str | None


class Column(NamedTuple):
    """A column of the source; `of` computes its value, None for columns stored in a segment."""

    name: str
    ddl: str
    arrow: Any
    what: str
    of: Callable[[Row], Any] | None = None


def _time(seconds: int | None) -> datetime.datetime | None:
    """Converts a broker's time; None for one that no calendar has."""
    if seconds is None:
        return None
    try:
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    except (OverflowError, ValueError, OSError):
        return None


def _headers(row: Row) -> list[tuple[str, str | None]] | None:
    found = row.message.application_headers
    return None if found is None else texts_of(found)


def _headers_raw(row: Row) -> bytes | None:
    found = row.message.application_headers
    return None if found is None else encode_map(found)


def _reply_to(row: Row) -> dict[str, str | None] | None:
    to = row.message.reply_to
    return None if to is None else {"exchange": to.exchange, "routing_key": to.routing_key}


_REPLY: Final = pa.struct([("exchange", pa.string()), ("routing_key", pa.string())])

COLUMNS: Final = (
    Column("queue", "string", pa.string(), "the queue that it was taken from"),
    Column("body", "binary", pa.binary(), "the content"),
    Column("exchange", "string", pa.string(), 'the exchange that it was published to, "" for the default exchange',
           lambda row: row.delivery.exchange or ""),
    Column("routing_key", "string", pa.string(), "the key that it was published with",
           lambda row: row.delivery.routing_key),
    Column("headers", "map<string,string>", pa.map_(pa.string(), pa.string()),
           "the application headers as texts: octets in base64, what is nested as JSON", _headers),
    Column("headers_raw", "binary", pa.binary(), "the same as octets of AMQP, with all their types", _headers_raw),
    Column("message_id", "string", pa.string(), "what the sender calls it, a UUID",
           lambda row: None if row.message.message_id is None else str(row.message.message_id)),
    Column("correlation_id", "binary", pa.binary(), "what it answers", lambda row: row.message.correlation_id),
    Column("reply_to", "struct<exchange:string,routing_key:string>", _REPLY, "where an answer is awaited", _reply_to),
    Column("content_type", "string", pa.string(), "the MIME type of the body", lambda row: row.message.content_type),
    Column("content_encoding", "string", pa.string(), "the encoding of the body", lambda row: row.message.content_encoding),
    Column("user_id", "binary", pa.binary(), "who sent it", lambda row: row.message.user_id),
    Column("app_id", "binary", pa.binary(), "the application that sent it", lambda row: row.message.app_id),
    Column("priority", "int", pa.int32(), "0 to 9; 4 where the publisher set none",
           lambda row: 4 if row.delivery.priority is None else int(row.delivery.priority)),
    Column("persistent", "boolean", pa.bool_(), "whether the broker keeps it on disk",
           lambda row: row.delivery.delivery_mode == PERSISTENT),
    Column("redelivered", "boolean", pa.bool_(), "whether somebody may have had it before",
           lambda row: bool(row.delivery.redelivered)),
    Column("ttl", "bigint", pa.int64(), "milliseconds for which it is of use",
           lambda row: None if row.delivery.ttl is None else min(row.delivery.ttl, 2**63 - 1)),
    Column("timestamp", "timestamp", _UTC, "when it came to the broker", lambda row: _time(row.delivery.timestamp)),
    Column("expiration", "timestamp", _UTC, "when it is of no more use", lambda row: _time(row.delivery.expiration)),
    Column("received", "timestamp", _UTC, "when it came here"),
    Column("segment", "bigint", pa.int64(), "the segment that it was taken in"),
    Column("position", "int", pa.int32(), "its place in that segment; both together name it"),
    Column("header_error", "string", pa.string(), "why its properties could not be read; null for nearly all",
           lambda row: row.error),
)  # fmt: skip
"""All columns, in order."""
NAMES: Final = tuple([column.name for column in COLUMNS])
DDL: Final = ", ".join([f"{column.name} {column.ddl}" for column in COLUMNS])


def picked(names: Sequence[tuple[str, str]]) -> tuple[Column, ...]:
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


def rows_of(path: Path, segment: int, columns: Sequence[Column]) -> Iterator[Any]:
    """Yields the rows of a segment (Any: RecordBatch).  Raises LiveError when it cannot be read."""
    schema = pa.schema([(column.name, column.arrow) for column in columns])
    made = [column for column in columns if column.of is not None]
    for first, batch in read(path):
        rows = [_row(octets) for octets in batch.column("header").to_pylist()] if made else []
        arrays = []
        for column in columns:
            if column.of is not None:
                arrays.append(pa.array([column.of(row) for row in rows], column.arrow))
            elif column.name == "segment":
                arrays.append(pa.array([segment] * batch.num_rows, column.arrow))
            elif column.name == "position":
                arrays.append(pa.array(range(first, first + batch.num_rows), column.arrow))
            elif column.name == "received":
                arrays.append(batch.column("received").cast(pa.timestamp("us")).cast(_UTC))
            else:
                arrays.append(batch.column(column.name).cast(column.arrow))
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _row(header: bytes) -> Row:
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
    return Row(delivery, message, error)
