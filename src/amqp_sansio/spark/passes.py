"""The pass over packets: sorted by connection and time, through the replay, into files of all tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import pyarrow as pa

from amqp_sansio.captures.columns.bundles import ORDER, opened
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.process import seldom
from amqp_sansio.captures.columns.replay import ConnectionReplay, Gathered, TableRecords
from amqp_sansio.captures.columns.runner import heard_in_order
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.spark.envelope import ENVELOPE, Sealer, as_batch, envelopes_in, unseal
from amqp_sansio.spark.source import TASK
from amqp_sansio.spark.writer import FILES, write_envelopes, write_records

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def replayed(packets: DataFrame, options: ReplayOptions, partitions: int) -> DataFrame:
    """Returns the envelopes of all rows of the connections in these packets.

    It takes one exchange and one sort: the order that the replay needs also groups the packets.  A group is read batch by
    batch, so memory does not grow with a connection.
    """

    def replay(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        machine = ConnectionReplay(options)
        sealer = Sealer()
        for batch in batches:
            full = list(sealer.add(machine.feed(batch)))
            if full:
                yield as_batch(full)
        full = list(sealer.add(machine.finish()))
        yield as_batch([*full, *sealer.rest()])

    ordered = packets.repartition(partitions, ORDER[0]).sortWithinPartitions(*ORDER)
    return ordered.groupBy(ORDER[0]).applyInArrow(replay, ENVELOPE)


def write_tables(records: DataFrame, place: str, prefix: str) -> list[Written]:
    """Runs the pass: writes the records of all tables to Parquet files below `place`, on the executors; returns the files."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return write_envelopes(batches, place, prefix)

    return [Written(*row) for row in records.mapInArrow(write, FILES).collect()]


def write_replayed(bundles: DataFrame, options: ReplayOptions, partitions: int, place: str, prefix: str) -> list[Written]:
    """Runs the whole pass from bundles of packets to Parquet files below `place`, on the executors; returns the files.

    Like `replayed` and `write_tables`, with less to transfer: a row is a bundle, and the task that replays also writes.
    """

    def work(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with seldom():
            yield from write_records(replays(batches, options), place, prefix)

    ordered = bundles.repartitionById(partitions, TASK).sortWithinPartitions(*ORDER)
    return [Written(*row) for row in ordered.mapInArrow(work, FILES).collect()]


def replays(bundles: Iterable[pa.RecordBatch], options: ReplayOptions) -> Iterator[TableRecords]:
    """Yields the records of bundles that come in order, connection by connection; replays many at once."""
    gathered = Gathered(options)
    yield from heard_in_order(opened(bundles), options, gathered)
    yield from gathered.rest()


def split(records: DataFrame, tables: Iterable[str]) -> dict[str, DataFrame]:
    """Returns the tables in a frame of envelopes.  The pass runs once, when the first of them is used, and is kept on disk."""
    from pyspark import StorageLevel

    kept = records.persist(StorageLevel.DISK_ONLY)
    return {table: _opened(kept, table) for table in tables}


def _opened(records: DataFrame, table: str) -> DataFrame:
    def open_envelopes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for envelope in envelopes_in(batches):
            yield unseal(envelope.table, envelope.data)

    return records.where(records["table"] == table).mapInArrow(open_envelopes, TABLES[table].ddl)
