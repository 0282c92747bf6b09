"""Packets of one connection as one row: what is shuffled between executors.

A row for every packet costs more on its way through a shuffle than the replay of what it holds; a bundle of some thousand
packets costs what its octets cost.  Inside, it is a record batch as Arrow writes it, without the columns that its row has.

The payloads are inside as well, or they stay in the file and a bundle tells where (see `payloads`): then it is small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqp_sansio.captures.columns.heads import Ints
from amqp_sansio.captures.columns.payloads import CARRIED, PLACED, Payloads, Stamp
from amqp_sansio.captures.columns.schema import PACKETS_ARROW, arrow_schema
from amqp_sansio.captures.splits import NO_TIME

BUNDLES: Final = (
    "connection bigint NOT NULL, ts_ns bigint NOT NULL, file_id int NOT NULL, offset bigint NOT NULL, capture string NOT NULL,"
    " file_octets bigint NOT NULL, file_ns bigint NOT NULL, packets binary NOT NULL"
)
"""The columns in Spark's words: those of the first packet (`ts_ns` is the latest time up to it, see `latest`), the stamp of the
file that has the payloads, and all packets, in the order of the file."""
BUNDLES_ARROW: Final = pa.schema(
    [
        pa.field("connection", pa.int64(), False),
        pa.field("ts_ns", pa.int64(), False),
        pa.field("file_id", pa.int32(), False),
        pa.field("offset", pa.int64(), False),
        pa.field("capture", pa.string(), False),
        pa.field("file_octets", pa.int64(), False),
        pa.field("file_ns", pa.int64(), False),
        pa.field("packets", pa.binary(), False),
    ]
)
ORDER: Final = ("connection", "ts_ns", "file_id", "offset")
"""What bundles are sorted by."""
BUNDLE_PACKETS: Final = 2048
"""Packets of one bundle."""
BUNDLE_OCTETS: Final = 1024 * 1024
"""Octets of the streams in one bundle, about: captures on the sending machine have segments of 64 KiB."""
FED_PACKETS: Final = 4096
"""Packets that a replay is fed with at a time, about."""
FED_OCTETS: Final = 4 * 1024 * 1024
"""Octets of them."""
GATHERED_OCTETS: Final = 8 * 1024 * 1024
"""Octets of packets that are gathered before bundles are made of them."""

_SHARED: Final = ("capture", "file_id", "connection")
_INSIDE: Final = pa.schema([field for field in PACKETS_ARROW if field.name not in _SHARED])
_PLACED: Final = pa.schema([field for field in arrow_schema(PLACED) if field.name not in _SHARED])
_LATEST: Final = "latest_ns"
_TIMES: Final = [(_LATEST, "ascending"), ("file_id", "ascending"), ("offset", "ascending")]


def latest(times: Ints, before: int) -> Ints:
    """The latest time seen so far, for each packet of a connection in a file: what files are merged by.

    The order of packets in a file is their order, whatever their clock did; a step back stays inside its file.
    """
    found: Ints = np.maximum.accumulate(np.maximum(times, before))
    return found


def bundled(batches: Iterable[pa.RecordBatch], stamp: Stamp = CARRIED, before: int = NO_TIME) -> Iterator[pa.RecordBatch]:
    """The packets of one file, in its order, as bundles: every connection by itself.

    `before` is the latest time in the file before them.  With the stamp of the file, which is older than the reading, the
    packets have the columns `payloads.PLACED`.
    """
    waiting: list[pa.RecordBatch] = []
    octets = 0
    peaks: dict[int, int] = {}
    for batch in batches:
        if batch.num_rows:
            waiting.append(batch)
            octets += batch.nbytes
            if octets >= GATHERED_OCTETS:
                yield _bundles(waiting, stamp, peaks, before)
                waiting, octets = [], 0
    if waiting:
        yield _bundles(waiting, stamp, peaks, before)


def _bundles(batches: list[pa.RecordBatch], stamp: Stamp, peaks: dict[int, int], before: int) -> pa.RecordBatch:
    """`peaks` are the latest times of connections so far; of others it is `before`."""
    whole = batches[0] if len(batches) == 1 else pa.concat_batches(batches)
    keys = whole.column("connection").to_numpy()
    order = np.argsort(keys, kind="stable")  # packets of a connection stay in the order of the file
    whole = whole.take(pa.array(order))
    keys = keys[order]
    times = whole.column("ts_ns").to_numpy().copy()
    starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
    stops = [*starts[1:].tolist(), len(keys)]
    inside = whole.select((_INSIDE if stamp == CARRIED else _PLACED).names)
    firsts: list[int] = []
    packed: list[bytes] = []
    lengths = pc.binary_length(whole.column("payload")) if stamp == CARRIED else whole.column("length")
    sums = np.cumsum(lengths.to_numpy(), dtype=np.int64)
    for key, start, stop in zip(keys[starts].tolist(), starts.tolist(), stops, strict=True):
        times[start:stop] = latest(times[start:stop], peaks.get(key, before))
        peaks[key] = int(times[stop - 1])
        at = start
        while at < stop:
            passed = int(sums[at - 1]) if at else 0
            full = int(np.searchsorted(sums, passed + BUNDLE_OCTETS, "right"))
            end = min(max(full, at + 1), at + BUNDLE_PACKETS, stop)
            firsts.append(at)
            packed.append(inside.slice(at, end - at).serialize().to_pybytes())
            at = end
    heads = whole.select([*ORDER, "capture"]).take(pa.array(firsts))
    stamps = [pa.repeat(pa.scalar(value, pa.int64()), len(firsts)) for value in stamp]
    columns = [*heads.columns, *stamps, pa.array(packed, pa.binary())]
    columns[ORDER.index("ts_ns")] = pa.array(times[firsts])
    return pa.RecordBatch.from_arrays(columns, schema=BUNDLES_ARROW)


def opened(bundles: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The packets in bundles that come in ORDER: each connection's under its key, files merged by the latest time in each.

    What is held is what overlaps in time with the next bundle.  CaptureError when a file that has payloads was changed or
    removed; told at the end, too, of what was handed out before.
    """
    payloads = Payloads()
    held: pa.Table | None = None
    key: int | None = None
    for batch in bundles:
        keys, times = batch.column("connection").to_pylist(), batch.column("ts_ns").to_pylist()
        stamps = list(map(Stamp, batch.column("file_octets").to_pylist(), batch.column("file_ns").to_pylist()))
        files, captures, data = (batch.column(name) for name in ("file_id", "capture", "packets"))
        for row, (connection, first) in enumerate(zip(keys, times, strict=True)):
            if held is not None and key is not None:
                late = None
                if connection == key and held.column(_LATEST)[-1].as_py() >= first:
                    behind = pc.greater_equal(held.column(_LATEST), first)
                    late, held = held.filter(behind), held.filter(pc.invert(behind))
                for part in held.drop_columns([_LATEST]).to_batches():
                    yield key, part
                held = late
            key = connection
            inside = _packets(data[row].as_buffer(), captures[row], files[row], connection, stamps[row], payloads)
            seen = latest(inside.column("ts_ns").to_numpy(), first)
            packets = pa.Table.from_batches([inside]).append_column(_LATEST, pa.array(seen))
            if held is not None:
                packets = pa.concat_tables([held, packets]).sort_by(_TIMES).combine_chunks()
            held = packets
    if held is not None and key is not None:
        for part in held.drop_columns([_LATEST]).to_batches():
            yield key, part
    payloads.close()


def together(parts: Iterable[tuple[int, pa.RecordBatch]], rows: int = FED_PACKETS) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Small batches of one connection, one behind the other, as larger ones: each costs its replay something."""
    waiting: list[pa.RecordBatch] = []
    count, octets, key = 0, 0, 0
    for connection, batch in parts:
        if waiting and (connection != key or count + batch.num_rows > rows or octets > FED_OCTETS):
            yield key, waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)
            waiting, count, octets = [], 0, 0
        key = connection
        waiting.append(batch)
        count += batch.num_rows
        octets += batch.nbytes
    if waiting:
        yield key, waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting)


def _packets(
    data: pa.Buffer, capture: pa.Scalar, file: pa.Scalar, connection: int, stamp: Stamp, payloads: Payloads
) -> pa.RecordBatch:
    inside = pa.ipc.read_record_batch(data, _INSIDE if stamp == CARRIED else _PLACED)
    count = inside.num_rows
    known = {
        "capture": pa.repeat(capture, count),
        "file_id": pa.repeat(file, count),
        "connection": pa.repeat(pa.scalar(connection, pa.int64()), count),
    }
    if stamp != CARRIED:
        begins = inside.column("offset").to_numpy() + inside.column("start").to_numpy()
        known["payload"] = payloads.take(capture.as_py(), stamp, begins, inside.column("length").to_numpy())
    columns = [known[name] if name in known else inside.column(name) for name in PACKETS_ARROW.names]
    return pa.RecordBatch.from_arrays(columns, schema=PACKETS_ARROW)
