"""Transfers as Arrow: rows of `messages` and `commands` made column by column, with shared values computed only once."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from amqp_sansio.captures.columns.moments import TIME, moments
from amqp_sansio.captures.columns.tables import Commons, common_arrays, table_schema
from amqp_sansio.captures.packet import PLACE_BITS
from amqp_sansio.captures.replay.rows import Message
from amqp_sansio.captures.tables import COMMANDS, MESSAGES

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


def _places(transfers: Sequence[Message]) -> Columns:
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


def message_batch(common: Commons, messages: Sequence[Message]) -> pa.RecordBatch:
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


def _heads(messages: Sequence[Message]) -> pa.Array:
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


def _fates(messages: Sequence[Message], count: int) -> Columns:
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


def transfer_batch(common: Commons, transfers: Sequence[Message]) -> pa.RecordBatch:
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
