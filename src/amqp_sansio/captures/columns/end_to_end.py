"""The table `end_to_end`: latencies of messages, by a join on columns of the finished files of `messages`.

Ids become numbers, and each delivery's latest earlier publication is found by bisection in one sorted column: a hundred times
as fast as going over rows, and without an SQL engine.  Messages with different ids are independent, so many are partitioned by
id into buckets on disk, and each bucket is joined by itself: memory holds one batch and the publications of one bucket.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from amqp_sansio.captures.columns.heads import edges_of
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import moments, table_schema
from amqp_sansio.captures.columns.writer import file_schema, unique, write_whole
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import END_TO_END

PUBLISHED: Final = ("message_id", "connection", "stream_offset", "ts_ns")
"""The columns needed of a publication."""
DELIVERED: Final = ("message_id", "connection", "queue", "redelivered", "last_octet_ns")
"""The columns needed of a delivery."""
COLUMNS: Final = tuple(dict.fromkeys(("direction", *PUBLISHED, *DELIVERED)))
"""The columns needed of `messages`."""
LOOKED_UP: Final = 65536
"""Deliveries of a bucket looked up at a time."""

_KEPT: Final = file_schema("messages")
SCHEMAS: Final = tuple(pa.schema([_KEPT.field(name) for name in names]) for names in (PUBLISHED, DELIVERED))
"""The schemas of publications and of deliveries in a bucket."""

_WORD: Final = 8
_FACTOR: Final = 0x9E3779B97F4A7C15


class Publications:
    """An index of publications by id and time, in which deliveries are looked up."""

    def __init__(self, published: pa.Table) -> None:
        """`published`: the PUBLISHED columns of publications with an id."""
        self._ids: Final = pc.unique(published["message_id"])
        begun = _numbers(published["ts_ns"])
        self._times: Final = np.unique(begun)
        ids = _numbers(pc.index_in(published["message_id"], value_set=self._ids))
        keys = self._keys(ids, np.searchsorted(self._times, begun))
        # Of equal ones the last counts, as in END_TO_END_SQL.
        order = np.lexsort((_numbers(published["stream_offset"]), _numbers(published["connection"]), keys))
        self._sorted: Final = keys[order]
        self._begun: Final = begun[order]
        self._connections: Final = _numbers(published["connection"])[order]

    def _keys(self, ids: NDArray[np.int64], times: NDArray[np.int64]) -> NDArray[np.int64]:
        # Times are ranked, because nanoseconds since 1970 times the number of ids would overflow.
        return ids * (len(self._times) + 1) + times + 1

    def _last_up_to(self, keys: NDArray[np.int64]) -> NDArray[np.int64]:
        """Returns the index of the last publication at or before each of these keys; -1 where there is none."""
        return np.searchsorted(self._sorted, keys, "right") - 1

    def latencies(self, delivered: pa.Table) -> pa.Table:
        """Returns the rows of END_TO_END for the DELIVERED columns of deliveries, in any order."""
        schema = table_schema(END_TO_END)
        seen = pc.is_valid(delivered["last_octet_ns"])
        delivered = delivered.filter(pc.and_(seen, pc.is_in(delivered["message_id"], value_set=self._ids)))
        if not delivered.num_rows:
            return schema.empty_table()
        ended = _numbers(delivered["last_octet_ns"])
        ids = _numbers(pc.index_in(delivered["message_id"], value_set=self._ids))
        least = self._keys(ids, np.zeros_like(ids)) - 1
        place = self._last_up_to(self._keys(ids, np.searchsorted(self._times, ended, "right") - 1))
        early = (place < 0) | (self._sorted[place] <= least)
        # Each id has at least one publication: its first one follows all smaller keys.
        place[early] = self._last_up_to(self._sorted[self._last_up_to(least[early]) + 1])
        begun = pa.array(self._begun[place])
        columns = {
            "message_id": delivered["message_id"],
            "published_on": pa.array(self._connections[place]),
            "delivered_on": delivered["connection"],
            "queue": delivered["queue"],
            "redelivered": delivered["redelivered"],
            "published_at": moments(begun),
            "published_ns": begun,
            "delivered_at": moments(pa.array(ended)),
            "delivered_ns": delivered["last_octet_ns"],
            "latency_ns": pa.array(ended - self._begun[place], mask=early),
        }
        return pa.table([columns[name] for name in schema.names], schema=schema)


def end_to_end(messages: pa.Table) -> pa.Table:
    """Returns the rows of END_TO_END for COLUMNS of `messages`: those of END_TO_END_SQL, in any order."""
    published, delivered = _sides(messages)
    return Publications(published).latencies(delivered)


def _sides(messages: pa.Table) -> tuple[pa.Table, pa.Table]:
    """Splits messages with an id into publications and deliveries."""
    named = messages.filter(pc.is_valid(messages["message_id"]))
    published = pc.equal(named["direction"], "C")
    return named.filter(published).select(PUBLISHED), named.filter(pc.invert(published)).select(DELIVERED)


def dealt(messages: pa.Table, buckets: int) -> Iterator[tuple[int, bool, pa.RecordBatch]]:
    """Partitions `messages` (COLUMNS) with an id into `buckets` buckets; equal ids go to the same one.

    Yields for each bucket that gets any its number, whether they are deliveries, and the rows with the columns of SCHEMAS.
    """
    for delivered, (side, schema) in enumerate(zip(_sides(messages), SCHEMAS, strict=True)):
        if not side.num_rows:
            continue
        numbers = bucket_of(side["message_id"], buckets)
        order = np.argsort(numbers, kind="stable")
        numbers = numbers[order]
        (batch,) = side.cast(schema).take(pa.array(order)).combine_chunks().to_batches()
        for start, stop in pairwise(edges_of(numbers).tolist()):
            yield int(numbers[start]), bool(delivered), batch.slice(start, stop - start)


def bucket_of(ids: pa.ChunkedArray, buckets: int) -> NDArray[np.int64]:
    """Returns a number below `buckets` for each of these ids, derived from its octets alone."""
    longest = pc.max(pc.binary_length(ids)).as_py()
    width = max(1, -(-longest // _WORD)) * _WORD
    padded = pc.ascii_rpad(ids, width, "\0").combine_chunks()
    words = np.frombuffer(padded.buffers()[2], "<u8", len(ids) * width // _WORD).reshape(len(ids), -1)
    # Padding adds nothing, so that an id's number does not depend on its neighbours.
    mixed = np.zeros(len(ids), np.uint64)
    factor = _FACTOR
    for column in words.T:
        mixed += column * np.uint64(factor)
        factor = factor * _FACTOR % (1 << 64)
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(_FACTOR)
    return ((mixed >> np.uint64(32)) % np.uint64(buckets)).astype(np.int64)


def latencies(bucket: Iterable[tuple[bool, pa.RecordBatch]]) -> Iterator[pa.Table]:
    """Yields the rows of END_TO_END of one bucket, whose publications come before its deliveries; deliveries are not held."""
    published: list[pa.RecordBatch] = []
    waiting: list[pa.RecordBatch] = []
    publications: Publications | None = None
    for delivered, batch in bucket:
        if not delivered:
            published.append(batch)
            continue
        if publications is None:
            publications, published = Publications(pa.Table.from_batches(published, SCHEMAS[0])), []
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= LOOKED_UP:
            yield publications.latencies(pa.Table.from_batches(waiting))
            waiting = []
    if publications is not None and waiting:
        yield publications.latencies(pa.Table.from_batches(waiting))


def _numbers(column: pa.ChunkedArray) -> NDArray[np.int64]:
    found: NDArray[np.int64] = column.to_numpy().astype(np.int64)
    return found


SOURCE: Final = "messages"
"""The table that is joined with itself: deliveries with the publications that have the same message-id."""
ROWS_HERE: Final = 250_000
"""The most messages joined in memory."""
ROWS_OF_A_BUCKET: Final = 131_072
"""Approximate messages of one bucket, whose publications are held while its deliveries are read."""
BUCKETS: Final = 128
"""The most buckets, each of two files; from 16 million messages on, buckets grow."""
ROWS_READ: Final = 65_536
"""Messages read and partitioned at a time."""


def joined_of(plan: ReplayOptions) -> list[str]:
    """Returns the joined tables that follow from those of a plan."""
    return [END_TO_END.name] if SOURCE in plan.tables else []


def with_messages(files: Iterable[Written]) -> list[Written]:
    """Returns the files with messages."""
    return [each for each in files if each.table == SOURCE and each.rows]


def messages_in(paths: Sequence[str], place: str) -> Iterator[pa.RecordBatch]:
    """Yields the columns needed of the messages in these files, in the file system of `place`."""
    system = located(place).system
    for path in paths:
        with system.open_input_file(path) as stream, pq.ParquetFile(stream) as file:
            yield from file.iter_batches(ROWS_READ, columns=list(COLUMNS), use_threads=False)


def write_joined(batches: Iterable[pa.RecordBatch], place: str, empty: bool = False) -> list[Written]:
    """Writes rows of the table below `place`; returns the files.  Without rows there is none, unless `empty`."""
    return write_whole(batches, table_schema(END_TO_END), place, END_TO_END.name, unique("part"), empty)


def write_end_to_end(files: Sequence[Written], tables: str, place: str, here: int = ROWS_HERE) -> list[Written]:
    """Writes the table below `place`, from those of the `files` in the folder `tables` that hold messages; returns its files,
    at least one.

    Up to `here` messages are joined in memory, more through a temporary folder.  Raises OSError when a disk is full.
    """
    messages = with_messages(files)
    paths, rows = [each.path for each in messages], sum(each.rows for each in messages)
    if rows <= here:
        found = list(messages_in(paths, tables))
        return write_joined(end_to_end(pa.Table.from_batches(found)).to_batches() if found else [], place, empty=True)
    with tempfile.TemporaryDirectory(prefix="amqp-sansio-") as folder:
        buckets = max(1, min(BUCKETS, -(-rows // ROWS_OF_A_BUCKET)))
        names = [[Path(folder, f"{number}-{side}") for side in ("published", "delivered")] for number in range(buckets)]
        _deal(messages_in(paths, tables), names)
        found_ = (table for of in names for table in latencies(_opened(of)))
        return write_joined((batch for table in found_ for batch in table.to_batches()), place, empty=True)


def _deal(messages: Iterable[pa.RecordBatch], names: Sequence[Sequence[Path]]) -> None:
    """Writes messages into the files of their buckets: publications, and deliveries."""
    with ExitStack() as stack:
        streams = [
            [stack.enter_context(pa.ipc.new_stream(name, schema)) for name, schema in zip(of, SCHEMAS, strict=True)]
            for of in names
        ]
        for batch in messages:
            for bucket, delivered, part in dealt(pa.Table.from_batches([batch]), len(names)):
                streams[bucket][delivered].write_batch(part)


def _opened(names: Iterable[Path]) -> Iterator[tuple[bool, pa.RecordBatch]]:
    """Reads a bucket: its publications, then its deliveries."""
    for delivered, name in enumerate(names):
        with pa.OSFile(str(name)) as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                yield bool(delivered), batch
