"""Tables as Arrow: schemas, times, and batches made from rows, or column by column from transfers."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import Ints
from amqp_sansio.captures.replay.rows import PLACE_BITS, TransferRecord
from amqp_sansio.captures.tables import COMMANDS, COMMON, MESSAGES, PACKETS, Column, TableSchema, Type, in_ns

TIME: Final = pa.timestamp("us", "UTC")
"""The type of every column of times, which Spark, DuckDB and pandas read as a timestamp."""
NANOSECONDS: Final = 1000
"""Nanoseconds per microsecond."""


def moments(ns: pa.Array) -> pa.Array:
    """Converts nanoseconds (int64) to times, truncated to microseconds, so that they keep their order."""
    # NumPy divides eight times as fast as Arrow, and a table of messages has nine columns of times.
    return _counted(ns, TIME, _whole(ns) // NANOSECONDS)


def nanoseconds(times: pa.Array) -> pa.Array:
    """Converts times to nanoseconds since 1970 (int64)."""
    return _counted(times, pa.int64(), _whole(times) * NANOSECONDS)


def _whole(column: pa.Array) -> Ints:
    """Returns the numbers of a column of 64 bits, from the start of its memory."""
    octets = column.buffers()[1]
    if octets is None or not len(column):
        return np.zeros(0, np.int64)
    return np.frombuffer(octets, np.int64, column.offset + len(column))


def _counted(column: pa.Array, kind: pa.DataType, numbers: Ints) -> pa.Array:
    """Returns a column with these numbers, and null where the given column is null."""
    if not len(column):
        return pa.array([], kind)
    validity = column.buffers()[0]
    return pa.Array.from_buffers(kind, len(column), [validity, pa.py_buffer(numbers)], column.null_count, column.offset)


_TYPES: Final[dict[Type, pa.DataType]] = {
    Type.STRING: pa.string(),
    Type.SHORT: pa.int16(),
    Type.INT: pa.int32(),
    Type.LONG: pa.int64(),
    Type.BOOL: pa.bool_(),
    Type.BINARY: pa.binary(),
    Type.DATE: pa.date32(),
    Type.TIME: TIME,
    Type.STRINGS: pa.list_(pa.string()),
    Type.RANGES: pa.list_(pa.struct([pa.field("first", pa.int64()), pa.field("last", pa.int64())])),
    Type.COUNTS: pa.map_(pa.string(), pa.int64()),
}


def arrow_schema(columns: Iterable[Column]) -> pa.Schema:
    """Returns the Arrow schema of these columns."""
    return pa.schema([pa.field(column.name, _TYPES[column.type], column.nullable) for column in columns])


def schema_of(ddl: str) -> pa.Schema:
    """Returns the Arrow schema of columns in Spark's DDL: `name type`, or `name type NOT NULL`, comma-separated."""
    columns = [column.split(maxsplit=2) for column in ddl.split(",")]
    return arrow_schema([Column(name, Type(kind), "", "", not never_null) for name, kind, *never_null in columns])


PACKETS_ARROW: Final = arrow_schema(PACKETS)
"""The schema of all columns of packets."""

Common: TypeAlias = tuple[str, str, int]
"""Capture, broker and connection of a row."""
Commons: TypeAlias = Common | Sequence[tuple[Common, int]]
"""The common values of all rows, or consecutive ones, each with its number of rows."""

_DAY_NS: Final = 86_400_000_000_000


@cache
def table_schema(table: TableSchema) -> pa.Schema:
    """Returns the Arrow schema of a table."""
    return arrow_schema(table.columns)


def table_batch(table: TableSchema, common: Commons, rows: Sequence[Sequence[object]]) -> pa.RecordBatch:
    """Converts rows (without the common columns) to a batch.

    Ranges of ids are pairs, maps lists of pairs, times ns since 1970 UTC.
    """
    schema, said = _form(table)
    columns = list(zip(*rows, strict=True)) if rows else [()] * len(said)
    arrays = common_arrays(common, pa.array(columns[0], pa.int64()))
    for (kind, beside), values in zip(said[1:], columns[1:], strict=True):
        if kind == TIME:
            times = pa.array(values, pa.int64())
            arrays += [moments(times), times] if beside else [moments(times)]
            continue
        if pa.types.is_list(kind) and pa.types.is_struct(kind.value_type):
            values = tuple([None if each is None else [{"first": low, "last": high} for low, high in each] for each in values])
        arrays.append(pa.array(values, kind))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


@cache
def _form(table: TableSchema) -> tuple[pa.Schema, tuple[tuple[pa.DataType, bool], ...]]:
    """Returns the schema and, for each value of a row, its type and whether a nanoseconds column repeats it."""
    schema = table_schema(table)
    names = table.said[len(COMMON) :]
    return schema, tuple([(schema.field(name).type, in_ns(name) in table.names) for name in names])


def common_arrays(common: Commons, times: pa.Array) -> list[pa.Array]:
    """Returns the first columns of every table, with `ts` and `ts_ns` from `times` in ns since 1970 UTC."""
    captures, brokers, connections = _common(common, len(times))
    return [
        captures,
        brokers,
        pc.cast(pc.divide(times, _DAY_NS), pa.int32()).view(pa.date32()),
        connections,
        moments(times),
        times,
    ]


def _common(common: Commons, count: int) -> list[pa.Array]:
    kinds = pa.string(), pa.string(), pa.int64()
    if not isinstance(common, tuple):
        if len(common) != 1:
            parts = pa.array(np.repeat(np.arange(len(common)), [each[1] for each in common]))
            values = zip(*[each[0] for each in common], strict=True)
            return [pa.array(each, kind).take(parts) for each, kind in zip(values, kinds, strict=True)]
        common = common[0][0]
    return [pa.repeat(pa.scalar(value, kind), count) for value, kind in zip(common, kinds, strict=True)]


_PLACE: Final = (1 << PLACE_BITS) - 1
_FILE_HIGH: Final = (1 << 16) - 1
"""The bits of the file in the upper half of a packet's number, which has 16 octets."""
_MESSAGES: Final = table_schema(MESSAGES)
_COMMANDS: Final = table_schema(COMMANDS)

Columns: TypeAlias = dict[str, pa.Array]

_UUID_OCTETS: Final = 36
_GROUPS: Final = ((0, 8), (8, 12), (12, 16), (16, 20), (20, 32))
"""The digits between the dashes."""


def uuids(ids: Sequence[bytes | None]) -> pa.Array:
    """Formats UUIDs; None becomes null."""
    there = [each for each in ids if each is not None]
    digits = np.frombuffer(hexlify(b"".join(there)), np.uint8).reshape(len(there), 32)
    text = np.full((len(there), _UUID_OCTETS), ord("-"), np.uint8)
    for dashes, (start, stop) in enumerate(_GROUPS):
        text[:, dashes + start : dashes + stop] = digits[:, start:stop]
    sizes = np.full(len(ids) + 1, _UUID_OCTETS, np.int32)
    sizes[0] = 0
    validity = None
    if len(there) < len(ids):
        known = np.array([each is not None for each in ids])
        sizes[1:] *= known
        validity = pa.py_buffer(np.packbits(known, bitorder="little"))
    offsets = np.cumsum(sizes, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), len(ids), [validity, pa.py_buffer(offsets), pa.py_buffer(text)])


class Shared:
    """Objects that many messages share: columns are computed for the distinct ones and spread over the rows."""

    def __init__(self, things: Sequence[Any]) -> None:
        # Consecutive ones are nearly always the same, so only the first of each run is examined.
        starts: list[int] = []
        last: Any = self
        for at, thing in enumerate(things):
            if thing is not last:
                starts.append(at)
                last = thing
        numbers: dict[int, int] = {}
        self._things: Final[list[Any]] = []
        of_runs: list[int] = []
        for at in starts:
            number = numbers.setdefault(id(things[at]), len(numbers))
            if number == len(self._things):
                self._things.append(things[at])
            of_runs.append(number)
        self._rows: NDArray[np.int64] = np.repeat(np.array(of_runs, np.int64), np.diff(starts, append=len(things)))

    def column(self, of: Callable[[Any], object], kind: pa.DataType) -> pa.Array:
        """Returns a column of `of` applied to each object."""
        values = list(map(of, self._things))
        if len(values) == 1:
            return pa.repeat(pa.scalar(values[0], kind), len(self._rows))
        return pa.array(values, kind).take(pa.array(self._rows))


def _numbers(values: Sequence[int | None]) -> pa.Array:
    try:
        return pa.array(np.fromiter(values, np.int64, len(values)))
    except TypeError:  # None is among them
        return pa.array(values, pa.int64())


def _times(values: Sequence[int | None]) -> pa.Array:
    return moments(_numbers(values))


def _latency(end: pa.Array, last: pa.Array) -> pa.Array:
    """Returns the time since the last octet; null where the clock went back meanwhile."""
    passed = pc.subtract(end, last)
    least = pc.min(passed).as_py()
    return passed if least is None or least >= 0 else pc.if_else(pc.greater_equal(passed, 0), passed, None)


def _places(transfers: Sequence[TransferRecord]) -> Columns:
    packets = np.frombuffer(b"".join([each.packet.to_bytes(16, "little") for each in transfers]), "<u8")
    low, high = packets[::2], packets[1::2]
    return {
        "stream_offset": _numbers([each.start for each in transfers]),
        "file_id": pa.array((low >> PLACE_BITS | (high & _FILE_HIGH) << 16).astype(np.int32)),
        "file_offset": pa.array((low & _PLACE).astype(np.int64)),
    }


def _of_kind(kinds: Shared) -> Columns:
    text = pa.string()
    return {
        "direction": kinds.column(attrgetter("direction"), text),
        "session": kinds.column(attrgetter("session"), text),
        "channel": kinds.column(attrgetter("channel"), pa.int32()),
    }


def _batch(schema: pa.Schema, common: Commons, times: pa.Array, columns: Columns) -> pa.RecordBatch:
    arrays = common_arrays(common, times)
    return pa.RecordBatch.from_arrays([*arrays, *[columns[name] for name in schema.names[len(arrays) :]]], schema=schema)


def message_batch(common: Commons, messages: Sequence[TransferRecord]) -> pa.RecordBatch:
    """Returns the rows of `messages`."""
    text, boolean = pa.string(), pa.bool_()
    count = len(messages)
    kinds = Shared([each.kind for each in messages])
    read = Shared([each.properties for each in messages])
    within = Shared([each.demarcation for each in messages])
    published = kinds.column(lambda kind: kind.direction == "C", boolean)
    destination = kinds.column(attrgetter("destination"), text)
    last = _numbers([each.last for each in messages])
    settled = _numbers([each.settled for each in messages])
    columns: Columns = {
        **_of_kind(kinds),
        "transfer_id": _numbers([each.id for each in messages]),
        "destination": destination,
        "exchange": pc.if_else(published, destination, read.column(attrgetter("exchange"), text)),
        "routing_key": read.column(attrgetter("routing_key"), text),
        "queue": kinds.column(attrgetter("queue"), text),
        "message_id": uuids([each.id_octets for each in messages]),
        "correlation_id": read.column(attrgetter("correlation"), text),
        "content_type": read.column(attrgetter("content_type"), text),
        "priority": read.column(attrgetter("priority"), pa.int32()),
        "durable": read.column(attrgetter("durable"), boolean),
        "redelivered": read.column(attrgetter("redelivered"), boolean),
        "ttl_ms": read.column(attrgetter("ttl"), pa.int64()),
        "accept_mode": kinds.column(lambda kind: "explicit" if kind.explicit else "none", text),
        "acquire_mode": kinds.column(lambda kind: "pre-acquired" if kind.acquires else "not-acquired", text),
        "header_octets": pa.array([each.header for each in messages], pa.int32()),
        "body_octets": pa.array([each.body for each in messages], pa.int32()),
        "body_head": _heads(messages),
        "first_octet_at": _times([each.content for each in messages]),
        "last_octet_at": moments(last),
        "last_octet_ns": last,
        "acquired_at": _times([each.acquired for each in messages]),
        "accepted_at": _times([each.accepted for each in messages]),
        "completed_at": _times([each.completed for each in messages]),
        "settled_at": moments(settled),
        "settle_latency_ns": _latency(settled, last),
        "outcome": Shared([each.outcome for each in messages]).column(lambda outcome: outcome, text),
        "transaction": within.column(lambda said: said[0], pa.int64()),
        "xid": within.column(lambda said: said[1], text),
        **_fates(messages, count),
        **_places(messages),
    }
    return _batch(_MESSAGES, common, _numbers([each.first for each in messages]), columns)


def _heads(messages: Sequence[TransferRecord]) -> pa.Array:
    heads = [each.head for each in messages]
    return pa.nulls(len(heads), pa.binary()) if heads.count(None) == len(heads) else pa.array(heads, pa.binary())


_FATES: Final = {
    "rejected_at": "rejected",
    "released_at": "released",
    "reject_code": "code",
    "reject_text": "text",
    "settled_transaction": "transaction",
    "settled_xid": "xid",
}


def _fates(messages: Sequence[TransferRecord], count: int) -> Columns:
    fates = [each.fate for each in messages]
    kinds = {name: _MESSAGES.field(name).type for name in _FATES}
    if fates.count(None) == count:
        return {name: pa.nulls(count, kind) for name, kind in kinds.items()}
    there = [fate for fate in fates if fate is not None]
    missing = np.array([fate is None for fate in fates])
    rows = pa.array(np.cumsum(~missing) - 1, mask=missing)
    columns: Columns = {}
    for name, field in _FATES.items():
        values = list(map(attrgetter(field), there))
        columns[name] = (_times(values) if kinds[name] == TIME else pa.array(values, kinds[name])).take(rows)
    return columns


def transfer_batch(common: Commons, transfers: Sequence[TransferRecord]) -> pa.RecordBatch:
    """Returns the rows of `commands` for transfers that are complete, as far as known."""
    text = pa.string()
    count = len(transfers)
    kinds = Shared([each.kind for each in transfers])
    done = Shared([each.done for each in transfers])
    last = _numbers([each.last for each in transfers])
    completed = _numbers([each.completed for each in transfers])
    content = pa.array([each.header + each.body for each in transfers], pa.int32())
    columns: Columns = {
        **_of_kind(kinds),
        "command_id": _numbers([each.id for each in transfers]),
        "verb": pa.repeat(pa.scalar("message.transfer", text), count),
        "sync": kinds.column(attrgetter("sync"), pa.bool_()),
        "whole": kinds.column(attrgetter("whole"), pa.bool_()),
        "arguments": pa.nulls(count, text),
        "octets": pc.add(content, kinds.column(attrgetter("octets"), pa.int32())),
        "last_octet_at": moments(last),
        "completed_at": moments(completed),
        "complete_latency_ns": _latency(completed, last),
        "result_at": pa.nulls(count, TIME),
        "result": pa.nulls(count, text),
        "outcome": done.column(lambda how: how[0], text),
        "error_code": done.column(lambda how: how[1], pa.int32()),
        "error_text": done.column(lambda how: how[2], text),
        **_places(transfers),
    }
    return _batch(_COMMANDS, common, _numbers([each.first for each in transfers]), columns)
