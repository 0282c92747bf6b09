"""Bundles: packets of one connection in one row, to be shuffled between executors; and payloads that stay in their file.

Shuffling a row per packet costs more than replaying what it holds; a bundle of some thousand packets costs only its octets.
Inside, it is an Arrow record batch without the columns that its row has.  It contains the payloads, or they stay in the file
and the bundle says where, which keeps it small.  A compressed file has no positions for them: there a packet carries its
payload.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from mmap import ACCESS_READ, mmap
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqp_sansio.captures.columns.heads import Ints, edges_of, sliced
from amqp_sansio.captures.columns.tables import PACKETS_ARROW, arrow_schema, schema_of
from amqp_sansio.captures.errors import CHANGED, CaptureError
from amqp_sansio.captures.files import is_remote
from amqp_sansio.captures.pcap import MAGICS
from amqp_sansio.captures.pcapng import MAGIC
from amqp_sansio.captures.tables import PACKETS, Column, Type

PLACES: Final = (
    Column("start", Type.INT, "octets from where the packet's record starts to its payload", nullable=False),
    Column("length", Type.INT, "octets of the payload", nullable=False),
)
PLACED: Final = (*[column for column in PACKETS if column.name != "payload"], *PLACES)
"""The columns of packets whose payloads stay in the file."""
OPEN_FILES: Final = 16
"""The most open files."""


class Stamp(NamedTuple):
    """Identifies the state of a file: its size, and its modification time, ns since 1970 UTC."""

    octets: int
    changed_ns: int


CARRIED: Final = Stamp(-1, 0)
"""In place of a stamp: the packets carry their payloads."""


def stamp_of(path: str) -> Stamp:
    """Returns the stamp of a file in which payloads can stay; CARRIED for one that is compressed, no capture, or unreadable."""
    if is_remote(path):
        return CARRIED
    try:
        with open(path, "rb") as stream:
            stamp = _stamp(stream.fileno())
            magic = stream.read(4)
    except (OSError, ValueError):  # its reader will report the fault
        return CARRIED
    return stamp if magic in MAGICS or magic == MAGIC else CARRIED


def _stamp(descriptor: int) -> Stamp:
    about = os.fstat(descriptor)
    return Stamp(about.st_size, about.st_mtime_ns)


class Payloads:
    """Reads payloads from their files.  `close` it after the last one: it reports files that were changed meanwhile."""

    def __init__(self) -> None:
        self._open: Final[dict[tuple[str, Stamp], mmap]] = {}

    def take(self, path: str, stamp: Stamp, begins: Ints, lengths: Ints) -> pa.Array:
        """Returns the octets at these positions of a file.  Raises CaptureError when the file no longer has this stamp."""
        octets = self._open.pop((path, stamp), None)
        if octets is None:
            if len(self._open) >= OPEN_FILES:
                self._close(next(iter(self._open)))
            octets = _mapped(path, stamp)
        self._open[path, stamp] = octets  # reinserted, so that the last one is the most recently used
        return sliced(octets, begins, begins + lengths)

    def close(self) -> None:
        """Closes the files.  Raises CaptureError when one of them has changed since it was opened."""
        for key in list(self._open):
            self._close(key)

    def _close(self, key: tuple[str, Stamp]) -> None:
        self._open.pop(key).close()
        path, stamp = key
        _mapped(path, stamp).close()


def _mapped(path: str, stamp: Stamp) -> mmap:
    try:
        with open(path, "rb") as stream:
            now = _stamp(stream.fileno())
            if now != stamp:
                raise CaptureError(path, 0, 0, f"{CHANGED} (it had {stamp.octets} octets, now {now.octets})")
            return mmap(stream.fileno(), 0, access=ACCESS_READ)
    except OSError as error:
        raise CaptureError(path, 0, 0, f"cannot be opened any more: {error.strerror or error}") from error


BUNDLES: Final = (
    "connection bigint NOT NULL, latest_ns bigint NOT NULL, file_id int NOT NULL, offset bigint NOT NULL,"
    " capture string NOT NULL, file_octets bigint NOT NULL, file_ns bigint NOT NULL, packets binary NOT NULL"
)
"""The columns as Spark DDL: those of the first packet, the stamp of the file that has the payloads, and all packets in file
order."""
BUNDLES_ARROW: Final = schema_of(BUNDLES)
ORDER: Final = ("connection", "latest_ns", "file_id", "offset")
"""The sort order of packets and of bundles (see `tables.PACKETS`)."""
BUNDLE_PACKETS: Final = 2048
"""The most packets of one bundle."""
BUNDLE_OCTETS: Final = 1024 * 1024
"""Approximate octets of the streams in one bundle: captures on the sending machine have segments of 64 KiB."""
FED_PACKETS: Final = 4096
"""Approximate number of packets per batch that a replay gets."""
FED_OCTETS: Final = 4 * 1024 * 1024
"""Their octets."""
GATHERED_OCTETS: Final = 8 * 1024 * 1024
"""Octets of packets gathered before bundles are made from them."""

_SHARED: Final = ("capture", "file_id", "connection")
_INSIDE: Final = pa.schema([field for field in PACKETS_ARROW if field.name not in _SHARED])
_PLACED: Final = pa.schema([field for field in arrow_schema(PLACED) if field.name not in _SHARED])
_TIMES: Final = [(name, "ascending") for name in ORDER[1:]]


def bundled(batches: Iterable[pa.RecordBatch], stamp: Stamp = CARRIED) -> Iterator[pa.RecordBatch]:
    """Yields the packets of one file, in file order, as bundles, each of a single connection.

    With the stamp of the file, taken before reading, the packets have the columns `PLACED`.
    """
    waiting: list[pa.RecordBatch] = []
    octets = 0
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            octets += batch.nbytes
            if octets >= GATHERED_OCTETS:
                yield _bundles(waiting, stamp)
                waiting, octets = [], 0
    if waiting:
        yield _bundles(waiting, stamp)


def _bundles(batches: list[pa.RecordBatch], stamp: Stamp) -> pa.RecordBatch:
    whole = _one(batches)
    keys = whole.column("connection").to_numpy()
    order = np.argsort(keys, kind="stable")  # stable: packets of a connection stay in file order
    whole = whole.take(pa.array(order))
    keys = keys[order]
    inside = whole.select((_INSIDE if stamp == CARRIED else _PLACED).names)
    firsts: list[int] = []
    packed: list[bytes] = []
    lengths = pc.binary_length(whole.column("payload")) if stamp == CARRIED else whole.column("length")
    sums = np.cumsum(lengths.to_numpy(), dtype=np.int64)
    for start, stop in pairwise(edges_of(keys).tolist()):
        for at, end in _cut(sums, start, stop, BUNDLE_OCTETS, BUNDLE_PACKETS):
            firsts.append(at)
            packed.append(inside.slice(at, end - at).serialize().to_pybytes())
    heads = whole.select([*ORDER, "capture"]).take(pa.array(firsts))
    stamps = [pa.repeat(pa.scalar(value, pa.int64()), len(firsts)) for value in stamp]
    columns = [*heads.columns, *stamps, pa.array(packed, pa.binary())]
    return pa.RecordBatch.from_arrays(columns, schema=BUNDLES_ARROW)


def _cut(sums: Ints, start: int, stop: int, octets: int, packets: int) -> Iterator[tuple[int, int]]:
    """Yields where parts of some packets begin and end: each has one packet, or more with at most so many octets and packets.

    `sums` are the octets up to the end of each packet.
    """
    while start < stop:
        passed = int(sums[start - 1]) if start else 0
        full = int(np.searchsorted(sums, passed + octets, "right"))
        end = min(max(full, start + 1), start + packets, stop)
        yield start, end
        start = end


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Joins batches; a single one is not copied."""
    return batches[0] if len(batches) == 1 else pa.concat_batches(batches)


class _Bundle(NamedTuple):
    """A row with its packets still packed."""

    connection: int
    latest_ns: int
    file: int
    capture: str
    stamp: Stamp
    data: pa.Buffer

    def packets(self) -> pa.RecordBatch:
        """Decodes its packets."""
        return pa.ipc.read_record_batch(self.data, _INSIDE if self.stamp == CARRIED else _PLACED)


def opened(bundles: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yields the packets of bundles that come in ORDER: connection after connection, files merged by their latest times.

    Bundles, also those of many connections, are combined up to FED_PACKETS and FED_OCTETS, because each batch has a cost.  Only
    what overlaps in time with the next bundle is held besides.  Raises CaptureError when a file with payloads was changed or
    removed, even at the end, when its packets have been returned.
    """
    payloads = Payloads()
    yield from together(_opened(bundles, payloads))
    payloads.close()


def _opened(bundles: Iterable[pa.RecordBatch], payloads: Payloads) -> Iterator[pa.RecordBatch]:
    held: pa.Table | None = None
    key: int | None = None
    alone = _Alone(payloads)
    for bundle, behind in _with_the_next(bundles):
        inside = bundle.packets()
        if held is not None:
            late = None
            if bundle.connection == key and held.column("latest_ns")[-1].as_py() >= bundle.latest_ns:
                overlapping = pc.greater_equal(held.column("latest_ns"), bundle.latest_ns)
                late, held = held.filter(overlapping), held.filter(pc.invert(overlapping))
            yield from held.to_batches()
            held = late
        if held is None and _stands_alone(bundle, inside, behind):
            yield from alone.add(bundle, inside)
            continue
        yield from alone.rest()
        key = bundle.connection
        packets = pa.Table.from_batches(_whole([inside], [bundle], payloads))
        if held is not None:
            packets = pa.concat_tables([held, packets]).sort_by(_TIMES).combine_chunks()
        held = packets
    yield from alone.rest()
    if held is not None:
        yield from held.to_batches()


def _with_the_next(bundles: Iterable[pa.RecordBatch]) -> Iterator[tuple[_Bundle, _Bundle | None]]:
    before: _Bundle | None = None
    for batch in bundles:
        columns = [batch.column(name).to_pylist() for name in (*ORDER[:3], "capture", "file_octets", "file_ns")]
        data = batch.column("packets")
        for row, (connection, first, file, capture, octets, changed) in enumerate(zip(*columns, strict=True)):
            bundle = _Bundle(connection, first, file, capture, Stamp(octets, changed), data[row].as_buffer())
            if before is not None:
                yield before, bundle
            before = bundle
    if before is not None:
        yield before, None


def _stands_alone(bundle: _Bundle, inside: pa.RecordBatch, behind: _Bundle | None) -> bool:
    """Whether no packet of the next bundle comes before one of these.  Bundles of one file are in file order."""
    if behind is None or behind.connection != bundle.connection or behind.file == bundle.file:
        return True
    return bool(inside.column("latest_ns")[-1].as_py() < behind.latest_ns)


class _Alone:
    """Combines bundles that need no merging: those of one file become packets at once."""

    def __init__(self, payloads: Payloads) -> None:
        self._payloads: Final = payloads
        self._insides: list[pa.RecordBatch] = []
        self._bundles: list[_Bundle] = []
        self._packets = 0
        self._octets = 0

    def add(self, bundle: _Bundle, inside: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Adds a bundle; yields earlier ones when there is no room for both."""
        packets, octets = self._packets + inside.num_rows, self._octets + bundle.data.size
        if packets > FED_PACKETS or octets > FED_OCTETS or (self._bundles and self._bundles[-1].file != bundle.file):
            yield from self.rest()
            packets, octets = inside.num_rows, bundle.data.size
        self._insides.append(inside)
        self._bundles.append(bundle)
        self._packets, self._octets = packets, octets

    def rest(self) -> Iterator[pa.RecordBatch]:
        """Yields what was added."""
        insides, bundles = self._insides, self._bundles
        self._insides, self._bundles, self._packets, self._octets = [], [], 0, 0
        if bundles:
            yield from _whole(insides, bundles, self._payloads)


def _whole(insides: list[pa.RecordBatch], bundles: list[_Bundle], payloads: Payloads) -> Iterator[pa.RecordBatch]:
    """Yields the packets of bundles of one file, with the columns of their rows and their payloads, some octets at a time."""
    first = bundles[0]
    packets = _one(insides)
    keys = np.repeat([each.connection for each in bundles], [each.num_rows for each in insides])
    known = {
        "capture": pa.repeat(first.capture, len(keys)),
        "file_id": pa.repeat(pa.scalar(first.file, pa.int32()), len(keys)),
        "connection": pa.array(keys, pa.int64()),
    }
    if first.stamp == CARRIED:
        yield _packets(packets, known)
        return
    begins, lengths = (
        packets.column("offset").to_numpy() + packets.column("start").to_numpy(),
        packets.column("length").to_numpy(),
    )
    sums = np.cumsum(lengths, dtype=np.int64)
    for at, end in _cut(sums, 0, len(keys), FED_OCTETS, len(keys)):
        payload = payloads.take(first.capture, first.stamp, begins[at:end], lengths[at:end])
        part = {name: column.slice(at, end - at) for name, column in known.items()}
        yield _packets(packets.slice(at, end - at), {**part, "payload": payload})


def _packets(inside: pa.RecordBatch, known: Mapping[str, pa.Array]) -> pa.RecordBatch:
    columns = [known[name] if name in known else inside.column(name) for name in PACKETS_ARROW.names]
    return pa.RecordBatch.from_arrays(columns, schema=PACKETS_ARROW)


def together(parts: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Combines consecutive small batches into larger ones, up to FED_PACKETS and FED_OCTETS; a larger batch stays alone."""
    waiting: list[pa.RecordBatch] = []
    count, octets = 0, 0
    for batch in parts:
        size = batch.nbytes
        if waiting and (count + batch.num_rows > FED_PACKETS or octets + size > FED_OCTETS):
            yield _one(waiting)
            waiting, count, octets = [], 0, 0
        waiting.append(batch)
        count += batch.num_rows
        octets += size
    if waiting:
        yield _one(waiting)
