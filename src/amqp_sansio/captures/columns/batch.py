"""Record batches of packets, whose columns are made on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import Bytes, Ints, RecordHeads, gathered, sliced, words
from amqp_sansio.captures.columns.segments import groups, ports
from amqp_sansio.captures.columns.strangers import HEAD_OCTETS, ForeignPackets, strange
from amqp_sansio.captures.columns.tables import arrow_schema
from amqp_sansio.captures.layers import LeftOut, host
from amqp_sansio.captures.tables import Column, Type
from amqp_sansio.captures.walk import Octets

Words: TypeAlias = NDArray[np.uint64]

_SIX: Final = 0x9E3779B97F4A7C15  # sets IPv6 apart from IPv4 addresses of the same number


def texts(rows: Bytes) -> pa.StringArray:
    """Formats addresses, one per row of 4 or 16 octets.  Each distinct one is formatted once."""
    width = rows.shape[1]
    packed = np.ascontiguousarray(rows)
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(packed), [None, pa.py_buffer(packed)])
    encoded = column.dictionary_encode()
    return pa.array([host(each) for each in encoded.dictionary.to_pylist()], pa.string()).take(encoded.indices)


def mixed(words: Words) -> Words:
    """Mixes the bits of each word: every input bit affects about half of the output bits.  Arithmetic modulo 2^64."""
    words = (words ^ (words >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ (words >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return words ^ (words >> np.uint64(31))


def _end(addresses: Bytes, ports: Ints) -> Words:
    """Returns a word for each address with its port."""
    big = np.ascontiguousarray(addresses).view(">u4" if addresses.shape[1] == 4 else ">u8").astype(np.uint64)
    word = ports.astype(np.uint64)
    if big.shape[1] == 1:
        return mixed(big[:, 0] << np.uint64(16) | word)
    return mixed(mixed(big[:, 0] + np.uint64(_SIX)) + mixed(big[:, 1]) * np.uint64(3) + word)


def connections(sources: Bytes, source_ports: Ints, targets: Bytes, target_ports: Ints) -> Ints:
    """Returns the connection number of each packet: the same in both directions, never 0."""
    here, there = _end(sources, source_ports), _end(targets, target_ports)
    found = mixed(mixed(here + there) ^ (here ^ there)).view(np.int64)
    return np.where(found == 0, np.int64(1), found)


_NUMBERS: Final = {
    "sport": ("source", pa.int32()),
    "dport": ("target", pa.int32()),
    "seq": ("sequence", pa.int64()),
    "ack": ("acknowledged", pa.int64()),
    "flags": ("flags", pa.int16()),
    "cut": ("cut", pa.int32()),
}
"""Columns that are a field of `Ports`, with their types."""


class Parsed:
    """The rows of some records: TCP segments, and notes about what cannot be read.  Columns are made on demand.

    `base` is the offset of the first octet in the file; `left_out` counts packets without a row, most damaged ones among them.
    """

    def __init__(
        self, octets: Octets, found: RecordHeads, capture: str, file_id: int, base: int = 0, left_out: LeftOut | None = None
    ) -> None:
        self._octets: Final = octets
        self._found: Final = found
        self._capture: Final = capture
        self._file_id: Final = file_id
        self._base: Final = base
        self._parts: Final = [ports(octets, found, group, left_out) for group in groups(octets, found, left_out)]
        rows = [group.row for group, _ in self._parts]
        wrong = sorted(found.wrong)
        self._wrong: Final = np.array(wrong if left_out is None else wrong[: left_out.damaged(len(wrong))], np.int64)
        if len(self._wrong):
            rows.append(self._wrong)
        every = rows[0] if len(rows) == 1 else np.concatenate(rows) if rows else np.zeros(0, np.int64)
        self._order: Ints | None = None
        if len(rows) > 1:
            self._order = np.argsort(every, kind="stable")
            every = every[self._order]
        self._row = every
        self._chosen: Ints | None = None
        self._numbers: list[Ints] | None = None

    def __len__(self) -> int:
        return len(self._row)

    def keep(self, chosen: NDArray[np.bool_]) -> None:
        """Restricts the rows to these."""
        assert self._chosen is None
        self._chosen = np.flatnonzero(chosen)
        self._row = self._row[self._chosen]

    def strangers(self, ports: Sequence[int]) -> NDArray[np.bool_]:
        """Returns which rows belong to connections that cannot be AMQP, as far as these records show it (see `strangers`)."""
        fields = "source", "target", "sequence", "flags", "begin", "stop"
        sports, dports, sequences, flags, begin, stop = map(self._field, fields)
        keys, lengths = self._keys(), stop - begin
        begin = self._found.start[self._row] + begin
        heads = words(gathered(self._octets, begin, HEAD_OCTETS), 0, ">u4")
        # Grouped by 16 bits of the key, without comparisons: where connections share them, none counts as a stranger.
        order = np.argsort(keys.astype(np.uint16), kind="stable")
        columns = keys, sports, dports, sequences, flags, lengths, heads
        found = np.zeros(len(self), np.bool_)
        found[order] = strange(ForeignPackets(*[column[order] for column in columns]), ports)
        return found

    def batch(self, columns: Iterable[Column]) -> pa.RecordBatch:
        """Returns the rows as a batch of these columns."""
        wanted = tuple(columns)
        return pa.RecordBatch.from_arrays([self.column(each.name) for each in wanted], schema=arrow_schema(wanted))

    def column(self, name: str) -> pa.Array:
        """Returns one column of `tables.PACKETS`, or of `bundles.PLACES`."""
        if name in _NUMBERS:
            field, kind = _NUMBERS[name]
            return pa.array(self._field(field).astype(kind.to_pandas_dtype()), kind)
        return _MAKERS[name](self)

    def _field(self, name: str) -> Ints:
        """Returns one field of `Ports` as a column."""
        return self._whole([getattr(said, name) for _, said in self._parts])

    def _whole(self, parts: list[Ints]) -> Ints:
        """Joins the parts of a column of numbers in file order; 0 for records that are wrong."""
        if len(self._wrong):
            parts = [*parts, np.zeros(len(self._wrong), np.int64)]
        return self._sorted(parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0, np.int64))

    def _sorted(self, column: Ints) -> Ints:
        if self._order is not None:
            column = column[self._order]
        return column if self._chosen is None else column[self._chosen]

    def _arrow(self, parts: list[pa.Array], empty: object, kind: pa.DataType) -> pa.Array:
        """Joins the parts of another column in file order; `empty` for records that are wrong."""
        if len(self._wrong):
            parts = [*parts, pa.repeat(pa.scalar(empty, kind), len(self._wrong))]
        column = parts[0] if len(parts) == 1 else pa.concat_arrays(parts) if parts else pa.array([], kind)
        return self._taken(column)

    def _taken(self, column: pa.Array) -> pa.Array:
        if self._order is not None:
            column = column.take(pa.array(self._order))
        return column if self._chosen is None else column.take(pa.array(self._chosen))

    def _keys(self) -> Ints:
        """Returns the connection numbers."""
        if self._numbers is None:
            self._numbers = [connections(group.source, said.source, group.target, said.target) for group, said in self._parts]
        return self._whole(self._numbers)

    def _texts(self, addresses: list[Bytes]) -> pa.Array:
        if self._chosen is not None and self._order is None and len(addresses) == 1:
            return texts(addresses[0][self._chosen])
        return self._arrow([texts(each) for each in addresses], "", pa.string())

    def _payloads(self) -> pa.Array:
        """Copies the payloads out of the octets, once."""
        start = self._found.start[self._row]
        return sliced(self._octets, start + self._field("begin"), start + self._field("stop"))

    def _notes(self) -> pa.Array:
        if not len(self._wrong):
            return pa.nulls(len(self), pa.string())
        wrong = pa.array([self._found.wrong[index] for index in self._wrong.tolist()], pa.string())
        return self._taken(pa.concat_arrays([pa.nulls(sum([len(group.row) for group, _ in self._parts]), pa.string()), wrong]))


_MAKERS: Final[dict[str, Callable[[Parsed], pa.Array]]] = {
    "capture": lambda of: pa.repeat(pa.scalar(of._capture, pa.string()), len(of)),
    "file_id": lambda of: pa.repeat(pa.scalar(of._file_id, pa.int32()), len(of)),
    "offset": lambda of: pa.array(of._found.at[of._row] + of._base),
    "ts_ns": lambda of: pa.array(of._found.time[of._row]),
    "latest_ns": lambda of: pa.array(of._found.latest[of._row]),
    "connection": lambda of: pa.array(of._keys()),
    "src": lambda of: of._texts([group.source for group, _ in of._parts]),
    "dst": lambda of: of._texts([group.target for group, _ in of._parts]),
    "payload": Parsed._payloads,
    "start": lambda of: pa.array((of._found.start - of._found.at)[of._row] + of._field("begin"), pa.int32()),
    "length": lambda of: pa.array(of._field("stop") - of._field("begin"), pa.int32()),
    "note": Parsed._notes,
}


_EMPTY: Final[dict[Type, object]] = {Type.STRING: "", Type.BINARY: b""}


def note_batch(
    columns: Iterable[Column], capture: str, file_id: int, offset: int, time: int, latest: int, text: str
) -> pa.RecordBatch:
    """Returns one row that says what cannot be read at a place in a file; `time` is that of the packet before it, `latest` the
    latest time up to there, in ns."""
    row: dict[str, object] = {
        "capture": capture, "file_id": file_id, "offset": offset, "ts_ns": time, "latest_ns": latest, "note": text,
    }  # fmt: skip
    wanted = tuple(columns)
    schema = arrow_schema(wanted)
    values = [pa.array([row.get(each.name, _EMPTY.get(each.type, 0))], schema.field(each.name).type) for each in wanted]
    return pa.RecordBatch.from_arrays(values, schema=schema)
