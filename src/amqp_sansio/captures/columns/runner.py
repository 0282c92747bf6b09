"""Replays the packets of many connections: splits their columns once, and passes each connection its part.

Memory is bounded whatever the size of the captures: packets wait within named limits, and an ended connection is kept as a few
octets.  One exception: where a connection is in several files that overlap in time, all packets of that connection wait to be
merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from amqp_sansio.captures.columns.bundles import ORDER
from amqp_sansio.captures.columns.heads import Ints, edges_of
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.columns.replay import ConnectionReplay, Ends, Gathered, Packets, TableRecords, ends_of
from amqp_sansio.captures.columns.strangers import spoken, strange
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import PACKETS, picked

ENDS: Final = ("src", "sport", "dst", "dport")


def heard(
    packets: pa.RecordBatch,
    replay_of: Callable[[int], ConnectionReplay],
    behind: Callable[[int, ConnectionReplay], list[TableRecords]],
) -> Iterator[TableRecords]:
    """Yields the records that packets produce, which are sorted by connection, and in order within each.

    `replay_of` returns the replay of a connection by its number; `behind` is called when it has processed its part.
    """
    keys = packets.column("connection").to_numpy()
    edges = edges_of(keys)
    starts = edges[:-1]
    files = packets.column("file_id").to_numpy()
    captures = packets.column("capture")
    firsts = pa.array(starts)
    ends = list(map(_ends_of, *[packets.column(name).take(firsts).to_pylist() for name in ENDS]))
    highest = np.repeat(np.array([each[3] for each in ends], np.int64), np.diff(edges))
    rows = Packets(packets, (packets.column("sport").to_numpy() == highest).astype(np.int64))
    # Edges where the file, and so the capture, changes: between them, a connection's packets are processed as one batch.
    turns = np.concatenate(([0], np.cumsum(files[1:] != files[:-1])))
    alone = (turns[starts] == turns[edges[1:] - 1]).tolist()
    capture, file = "", None
    for key, start, stop, both, one in zip(
        keys[starts].tolist(), starts.tolist(), edges[1:].tolist(), ends, alone, strict=True
    ):
        replay = replay_of(key)
        if one and key and both[1] != both[3]:
            if file != files[start]:
                capture, file = captures[start].as_py(), files[start]
            yield from replay.hear(rows, start, stop, capture, both)
        else:
            yield from replay.feed(packets.slice(start, stop - start))
        yield from behind(key, replay)


def heard_in_order(batches: Iterable[pa.RecordBatch], options: ReplayOptions, gathered: Gathered) -> Iterator[TableRecords]:
    """Yields the records of packets that come in `bundles.ORDER`, connection after connection; replays many at once."""
    going: dict[int, ConnectionReplay] = {}
    last = 0

    def replay_of(key: int) -> ConnectionReplay:
        if key not in going:
            going[key] = ConnectionReplay(options, gathered)
        return going[key]

    def behind(key: int, replay: ConnectionReplay) -> list[TableRecords]:
        if key == last:  # it may go on
            return []
        del going[key]
        return list(replay.finish())

    for packets in batches:
        keys = packets.column("connection")
        first, last = keys[0].as_py(), keys[len(keys) - 1].as_py()
        for key in [key for key in going if key != first]:
            yield from going.pop(key).finish()
        yield from heard(packets, replay_of, behind)
    for replay in going.values():
        yield from replay.finish()


def _ends_of(source: str, sport: int, target: str, dport: int) -> Ends:
    return ends_of(source, sport, target, dport) if source else (b"", 0, b"", 0)  # a note about a place in a file


WAITING_OCTETS: Final = 8 * 1024 * 1024
"""Octets of packets that wait to be replayed for all connections at once."""
FILE_OCTETS: Final = 1024 * 1024
"""Octets of them that do not wait for another file."""
PACKET_OCTETS: Final = 256
"""Approximate octets of a waiting packet besides its payload."""

_ORDER: Final = picked("connection,latest_ns")


def overlapping(paths: Sequence[str]) -> frozenset[int]:
    """Returns the connections that continue in a file before their end in an earlier file; those must be merged."""
    before: dict[int, int] = {}
    found: set[int] = set()
    for number, path in enumerate(paths if len(paths) > 1 else ()):
        peaks: dict[int, int] = {}
        try:
            for batch in read_file(path, number, _ORDER):
                if not batch.num_rows:
                    continue
                keys = batch.column("connection").to_numpy(zero_copy_only=False)
                times = batch.column("latest_ns").to_numpy(zero_copy_only=False)
                order = np.argsort(keys, kind="stable")
                keys, times = keys[order], times[order]
                starts = edges_of(keys)[:-1]
                for key, first in zip(keys[starts].tolist(), times[starts].tolist(), strict=True):
                    if key not in peaks and first < before.get(key, first):
                        found.add(key)
                peaks.update(zip(keys[starts].tolist(), np.maximum.reduceat(times, starts).tolist(), strict=True))
        except CaptureError:
            pass  # reported when its packets are read
        for key, peak in peaks.items():
            before[key] = max(peak, before.get(key, peak))
    return frozenset(found)


class Runner:
    """Feeds packets to one replay for each connection key."""

    def __init__(self, options: ReplayOptions, merging: frozenset[int] = frozenset()) -> None:
        self._options: Final = options
        self._merging: Final = pa.array(sorted(merging), pa.int64())
        self._gathered: Final = Gathered(options)
        self._awake: dict[int, ConnectionReplay] = {}
        self._asleep: dict[int, bytes] = {}
        self._waiting: list[pa.RecordBatch] = []
        self._octets = 0
        self._file = -1
        self._to_merge: list[pa.RecordBatch] = []
        self._over = False

    def feed(self, batch: pa.RecordBatch) -> Iterator[TableRecords]:
        """Takes packets of any connections, in the order of the files."""
        if len(self._merging):
            merging = pc.is_in(batch.column("connection"), value_set=self._merging)
            self._to_merge.append(batch.filter(merging))
            batch = batch.filter(pc.invert(merging))
        if not batch.num_rows:
            return
        file = batch.column("file_id")[0].as_py()
        if self._octets > WAITING_OCTETS or (file != self._file and self._octets > FILE_OCTETS):
            yield from self._pour()
        self._file = file
        self._waiting.append(batch)
        self._octets += batch.nbytes

    def finish(self) -> Iterator[TableRecords]:
        """Ends it: there are no more packets."""
        self._over = True
        yield from self._pour()
        yield from self._merge()
        for replay in self._awake.values():
            yield from replay.finish()
        yield from self._gathered.rest()

    def _pour(self) -> Iterator[TableRecords]:
        """Replays all waiting packets."""
        if not self._waiting:
            return
        (packets,) = pa.Table.from_batches(self._waiting).combine_chunks().to_batches()
        self._waiting, self._octets = [], 0
        order = np.argsort(packets.column("connection").to_numpy(), kind="stable")
        order = order[~strange(spoken(packets, order), self._options.ports)]
        if len(order):
            yield from heard(packets.take(pa.array(order)), self._replay, self._behind)

    def _merge(self) -> Iterator[TableRecords]:
        """Replays the packets of connections that are in several files at the same time."""
        if not self._to_merge:
            return
        packets = pa.Table.from_batches(self._to_merge)
        self._to_merge = []
        keys, latest = (packets.column(name).to_numpy() for name in ORDER[:2])
        order = np.lexsort((latest, keys))  # stable: files, and the packets of each, stay in their order
        octets = np.cumsum(pc.binary_length(packets.column("payload")).to_numpy()[order] + PACKET_OCTETS)
        parts = np.split(order, np.flatnonzero(np.diff(octets // WAITING_OCTETS)) + 1)
        yield from heard_in_order((_taken(packets, part) for part in parts), self._options, self._gathered)

    def _replay(self, key: int) -> ConnectionReplay:
        found = self._awake.get(key)
        if found is None:
            found = self._awake[key] = ConnectionReplay(self._options, self._gathered)
            asleep = self._asleep.pop(key, None)
            if asleep is not None:
                found.recall(asleep)
        return found

    def _behind(self, key: int, replay: ConnectionReplay) -> list[TableRecords]:
        """Called after a connection has processed its part of the waiting packets."""
        if self._over:
            del self._awake[key]
            return replay.finish()
        if replay.quiet:
            del self._awake[key]
            self._asleep[key] = replay.memory()
        return []


def _taken(packets: pa.Table, part: Ints) -> pa.RecordBatch:
    """Returns these packets, in this order.  Arrow's `take` would copy the whole table each time."""
    chosen = np.zeros(len(packets), np.bool_)
    chosen[part] = True
    (found,) = packets.filter(pa.array(chosen)).combine_chunks().to_batches()
    return found.take(pa.array(np.searchsorted(np.sort(part), part)))


def records_of(
    paths: Sequence[str],
    options: ReplayOptions,
    progress: Callable[[str, int], None] = lambda path, octets: None,
) -> Iterator[TableRecords]:
    """Yields the rows of all tables of these captures.  `progress` is called with a file and how many (decompressed) octets of
    it have been read.

    What cannot be read of a file becomes a row of `violations`.  Raises CaptureError when a file is changed while it is read.
    """
    runner = Runner(options, overlapping(paths))
    for number, path in enumerate(paths):
        for batch in read_file(path, number, PACKETS, ports=options.ports):
            yield from runner.feed(batch)
            if batch.num_rows:
                progress(path, batch.column("offset")[-1].as_py())
    yield from runner.finish()
