"""Captures in, all tables out, in one process and without Spark: the oracle for Spark, and useful by itself.

Memory is bounded whatever the size of the captures: packets wait within named limits, a connection that is over is kept as a
few octets.  One exception: where a connection is in several files that overlap in time, all packets of that connection wait, to
be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from amqp_sansio.captures.columns.bundles import latest
from amqp_sansio.captures.columns.cycles import rarely
from amqp_sansio.captures.columns.heads import Ints
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.columns.replay import ConnectionReplay, Records
from amqp_sansio.captures.columns.store import Store
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.packets_schema import PACKETS, picked
from amqp_sansio.captures.replay.options import ReplayOptions

WAITING_ROWS: Final = 8192
"""Packets of one connection that wait to be fed together."""
WAITING_OCTETS: Final = 32 * 1024 * 1024
"""Octets of the packets that wait in all connections together."""

_ORDER: Final = picked("connection,ts_ns")


class Outcome(NamedTuple):
    """What came of a run: rows of each table, files that could not be read (to their end), the manifest."""

    rows: dict[str, int]
    problems: tuple[str, ...]
    manifest: str


def overlapping(paths: Sequence[str]) -> frozenset[int]:
    """The connections that go on in a file before an earlier file has its latest packet of them: those are to be merged."""
    before: dict[int, int] = {}
    found: set[int] = set()
    for number, path in enumerate(paths if len(paths) > 1 else ()):
        peaks: dict[int, int] = {}
        try:
            for batch in read_file(path, number, _ORDER):
                if not batch.num_rows:
                    continue
                keys = batch.column("connection").to_numpy(zero_copy_only=False)
                times = batch.column("ts_ns").to_numpy(zero_copy_only=False)
                order = np.argsort(keys, kind="stable")
                keys, times = keys[order], times[order]
                starts = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1])))
                for key, first in zip(keys[starts].tolist(), times[starts].tolist(), strict=True):
                    if key not in peaks and first < before.get(key, first):
                        found.add(key)
                for key, peak in zip(keys[starts].tolist(), np.maximum.reduceat(times, starts).tolist(), strict=True):
                    peaks[key] = max(peak, peaks.get(key, peak))
        except CaptureError:
            pass  # told when its packets are read
        for key, peak in peaks.items():
            before[key] = max(peak, before.get(key, peak))
    return frozenset(found)


class Runner:
    """Feeds packets to one replay for each connection key."""

    def __init__(self, options: ReplayOptions, merging: frozenset[int] = frozenset()) -> None:
        self._options: Final = options
        self._merging: Final = merging
        self._awake: dict[int, ConnectionReplay] = {}
        self._asleep: dict[int, bytes] = {}
        self._waiting: dict[int, list[pa.RecordBatch]] = {}
        self._counts: dict[int, int] = {}
        self._octets = 0

    def feed(self, batch: pa.RecordBatch) -> Iterator[Records]:
        """Packets of any connections, in the order of the files."""
        keys = batch.column("connection").to_numpy(zero_copy_only=False)
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.concatenate(([True], keys[order][1:] != keys[order][:-1])))
        stops = [*starts[1:].tolist(), len(keys)]
        sorted_ = batch if len(stops) == 1 else batch.take(pa.array(order))
        for start, stop in zip(starts.tolist(), stops, strict=True):
            key = int(keys[order[start]])
            part = sorted_.slice(start, stop - start)
            self._waiting.setdefault(key, []).append(part)
            if key in self._merging:
                continue
            count = self._counts[key] = self._counts.get(key, 0) + part.num_rows
            self._octets += part.nbytes
            if count >= WAITING_ROWS:
                yield from self._pour(key)
        if self._octets > WAITING_OCTETS:
            for key in list(self._counts):
                yield from self._pour(key)

    def finish(self) -> Iterator[Records]:
        """There are no more packets."""
        for key in list(self._waiting):
            yield from self._pour(key)
        for key in [*self._awake, *self._asleep]:
            yield from self._replay(key).finish()

    def _replay(self, key: int) -> ConnectionReplay:
        found = self._awake.get(key)
        if found is None:
            asleep = self._asleep.pop(key, None)
            found = ConnectionReplay(self._options)
            if asleep is not None:
                found = ConnectionReplay.restore(asleep, self._options)
            self._awake[key] = found
        return found

    def _pour(self, key: int) -> Iterator[Records]:
        waiting = pa.Table.from_batches(self._waiting.pop(key)).combine_chunks()
        if self._counts.pop(key, None) is not None:
            self._octets -= waiting.nbytes
        if key in self._merging:
            waiting = waiting.take(pa.array(_merged(waiting))).combine_chunks()
        replay = self._replay(key)
        for batch in waiting.to_batches(WAITING_ROWS):
            yield from replay.feed(batch)
        if replay.quiet:
            self._asleep[key] = self._awake.pop(key).snapshot()


def _merged(packets: pa.Table) -> Ints:
    """The order of packets that stand file after file, when their files are merged by the latest time seen so far in each."""
    files, times = packets.column("file_id").to_numpy(), packets.column("ts_ns").to_numpy().copy()
    for file in np.unique(files):
        of_file = np.flatnonzero(files == file)
        times[of_file] = latest(times[of_file], int(times[of_file[0]]))
    order: Ints = np.argsort(times, kind="stable")
    return order


def records_of(
    paths: Sequence[str],
    options: ReplayOptions,
    problem: Callable[[str], None] = lambda text: None,
    progress: Callable[[str, int], None] = lambda path, packets: None,
) -> Iterator[Records]:
    """The rows of all tables of these captures.  `problem` hears of a file that cannot be read (any further), `progress` how
    many packets of which file have been read."""
    runner = Runner(options, overlapping(paths))
    for number, path in enumerate(paths):
        packets = 0
        try:
            for batch in read_file(path, number, PACKETS):
                yield from runner.feed(batch)
                packets += batch.num_rows
                progress(path, packets)
        except CaptureError as error:
            problem(str(error))
    yield from runner.finish()


def run(
    paths: Sequence[str],
    folder: str,
    options: ReplayOptions | None = None,
    progress: Callable[[str, int], None] = lambda path, packets: None,
) -> Outcome:
    """Writes all tables of these captures into `folder`; the manifest comes last.  PlaceError when it cannot be written.

    While it works, the collector of reference cycles runs seldom in this process (see `cycles.rarely`).
    """
    options = options or ReplayOptions()
    store = Store(folder, options)
    problems: list[str] = []
    try:
        with rarely():
            for table, batch in records_of(paths, options, problems.append, progress):
                store.add(table, batch)
        manifest = store.publish(paths, problems)
    except BaseException:
        store.discard()
        raise
    return Outcome(store.rows, tuple(problems), manifest)
