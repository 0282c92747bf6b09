"""Writes the table `end_to_end`, joined from the finished files of `messages`, in this process.

A few messages are joined in memory.  More are partitioned by id into buckets on disk, and each bucket is joined by itself:
memory holds one batch and the publications of one bucket.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from amqp_sansio.captures.columns import joined
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.columns.writer import unique, write_whole
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.replay.options import ReplayOptions

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
            yield from file.iter_batches(ROWS_READ, columns=list(joined.COLUMNS), use_threads=False)


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
        return write_joined(joined.end_to_end(pa.Table.from_batches(found)).to_batches() if found else [], place, empty=True)
    with tempfile.TemporaryDirectory(prefix="amqp-sansio-") as folder:
        buckets = max(1, min(BUCKETS, -(-rows // ROWS_OF_A_BUCKET)))
        names = [[Path(folder, f"{number}-{side}") for side in ("published", "delivered")] for number in range(buckets)]
        _deal(messages_in(paths, tables), names)
        found_ = (table for of in names for table in joined.latencies(_opened(of)))
        return write_joined((batch for table in found_ for batch in table.to_batches()), place, empty=True)


def _deal(messages: Iterable[pa.RecordBatch], names: Sequence[Sequence[Path]]) -> None:
    """Writes messages into the files of their buckets: publications, and deliveries."""
    with ExitStack() as stack:
        streams = [
            [stack.enter_context(pa.ipc.new_stream(name, schema)) for name, schema in zip(of, joined.SCHEMAS, strict=True)]
            for of in names
        ]
        for batch in messages:
            for bucket, delivered, part in joined.dealt(pa.Table.from_batches([batch]), len(names)):
                streams[bucket][delivered].write_batch(part)


def _opened(names: Iterable[Path]) -> Iterator[tuple[bool, pa.RecordBatch]]:
    """Reads a bucket: its publications, then its deliveries."""
    for delivered, name in enumerate(names):
        with pa.OSFile(str(name)) as file, pa.ipc.open_stream(file) as stream:
            for batch in stream:
                yield bool(delivered), batch
