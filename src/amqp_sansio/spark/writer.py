"""Writes Parquet files in Spark tasks: the tables of a replay, larger files merged of small ones, and the table end_to_end.

A task writes files under names that no other attempt uses and returns their list; a file that is not on the list of a
successful attempt is never published (see `captures.columns.place`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from amqp_sansio.captures.columns import end_to_end as local_join
from amqp_sansio.captures.columns.compact import FILE_OCTETS, groups_of, merged, without
from amqp_sansio.captures.columns.end_to_end import (
    ROWS_OF_A_BUCKET,
    SOURCE,
    messages_in,
    write_joined,
)
from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.process import seldom
from amqp_sansio.captures.columns.tables import schema_of
from amqp_sansio.captures.columns.writer import Writer, unique, write_whole
from amqp_sansio.captures.tables import END_TO_END_SQL
from amqp_sansio.spark.envelope import envelopes_in, unseal
from amqp_sansio.spark.session import cores_of, in_tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


FILES: Final = "table string, folder string, path string, rows bigint, octets bigint"
"""The columns of the list of files that a task returns (`Written`), as Spark DDL."""

SCHEMA: Final = schema_of(FILES)
"""The same for Arrow."""


# --- the tables of a replay -----------------------------------------------------------------------------------------------


def write_envelopes(batches: Iterator[pa.RecordBatch], place: str, prefix: str) -> Iterator[pa.RecordBatch]:
    """Writes the rows in envelopes to files, as a task of `mapInArrow`; see `write_records`."""
    records = ((each.table, unseal(each.table, each.data)) for each in envelopes_in(batches))
    return write_records(records, place, prefix)


def write_records(records: Iterable[tuple[str, pa.RecordBatch]], place: str, prefix: str) -> Iterator[pa.RecordBatch]:
    """Writes the rows of all tables to files below `place`, named `prefix` and more; reports of late files to one more.

    `records` are the name of a table and some of its rows.  Yields the list of files as rows of FILES.
    """
    writer = Writer(place, prefix)
    written: list[Written] = []
    late: list[pa.RecordBatch] = []
    for table, batch in records:
        if table == LATE:
            late.append(batch)
        else:
            written += writer.add(table, batch)
    written += [*writer.rest(), *write_whole(late, LATE_SCHEMA, place, LATE, unique(prefix))]
    yield listed(written)


def listed(files: Iterable[Written]) -> pa.RecordBatch:
    """Returns files as rows of FILES."""
    return pa.RecordBatch.from_pylist([each._asdict() for each in files], schema=SCHEMA)


# --- small files ----------------------------------------------------------------------------------------------------------

MERGING_TASKS: Final = 64
"""The most tasks that merge files."""


def merged_in_tasks(spark: SparkSession, files: Sequence[Written], place: str, octets: int = FILE_OCTETS) -> list[Written]:
    """Merges small files of one table, day and broker into files of up to `octets` below `place`.

    Returns the merged files, and those that needed no merging.
    """
    groups = groups_of(files, octets)
    if not groups:
        return list(files)

    def merge(number: int) -> Iterator[pa.RecordBatch]:
        yield listed([merged(groups[number], place)])

    made = in_tasks(spark, merge, len(groups), FILES, min(MERGING_TASKS, 2 * cores_of(spark)))
    return [*without(files, groups), *[Written(*row) for row in made.collect()]]


# --- the table end_to_end -------------------------------------------------------------------------------------------------

ROWS_OF_THE_DRIVER: Final = 500_000
"""The most messages that the driver joins itself: for 260,000 it needs 0.16 s of CPU; tasks need 0.5 s and end no earlier."""
_DEALT: Final = "bucket int NOT NULL, delivered boolean NOT NULL, messages binary NOT NULL"
"""Messages on their way to the task that joins their bucket, as Spark DDL: a row is a batch of publications or deliveries."""
_DEALT_ARROW: Final = schema_of(_DEALT)


def end_to_end(spark: SparkSession, messages: DataFrame) -> DataFrame:
    """Returns the rows of `captures.tables.END_TO_END`, joined by Spark SQL; messages without an id take no part."""
    return spark.sql(END_TO_END_SQL.replace(f" {SOURCE} ", f" {{{SOURCE}}} "), messages=messages)


def write_end_to_end(
    spark: SparkSession, files: Sequence[Written], tables: str, place: str, driver_rows: int = ROWS_OF_THE_DRIVER
) -> list[Written]:
    """Writes the table below `place`, from the messages in `files` of the folder `tables`; returns its files, at least one.

    The driver itself joins up to `driver_rows` messages, on columns, as `analyze --engine local` does.  Tasks join more, in the
    same way: they partition the messages by id into buckets, which Spark shuffles as a few rows of octets, and join each bucket
    by itself.
    """
    messages = local_join.with_messages(files)
    rows = sum(each.rows for each in messages)
    if rows <= driver_rows:
        return local_join.write_end_to_end(messages, tables, place)
    cores = cores_of(spark)
    buckets = max(cores, -(-rows // ROWS_OF_A_BUCKET))  # rounded up
    parts = shares(messages, max(cores, rows // ROWS_OF_A_BUCKET))

    def deal(number: int) -> Iterator[pa.RecordBatch]:
        for read in messages_in(parts[number], tables):
            yield _sealed(read, buckets)

    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with seldom():
            found = (batch for table in local_join.latencies(_opened(batches)) for batch in table.to_batches())
            made = write_joined(found, place)
        yield listed(made)

    dealt = in_tasks(spark, deal, len(parts), _DEALT)
    # One task for each bucket, and its publications before its deliveries, which look them up.
    by_bucket = dealt.repartitionById(buckets, "bucket").sortWithinPartitions("delivered")
    return [Written(*row) for row in by_bucket.mapInArrow(join, FILES).collect()] or write_joined([], place, empty=True)


def shares(files: Sequence[Written], count: int) -> list[list[str]]:
    """Divides the paths of these files into at most `count` shares, each with about the same number of rows."""
    made: list[list[str]] = [[] for _ in range(min(count, len(files)))]
    rows = [0] * len(made)
    for each in sorted(files, key=lambda each: -each.rows):
        least = rows.index(min(rows))
        made[least].append(each.path)
        rows[least] += each.rows
    return made


def _sealed(messages: pa.RecordBatch, buckets: int) -> pa.RecordBatch:
    """Returns messages as rows of _DEALT."""
    parts = list(local_join.dealt(pa.Table.from_batches([messages]), buckets))
    rows = [(bucket, delivered, batch.serialize().to_pybytes()) for bucket, delivered, batch in parts]
    columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(_DEALT_ARROW)]
    return pa.RecordBatch.from_arrays(columns, schema=_DEALT_ARROW)


def _opened(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[bool, pa.RecordBatch]]:
    """Yields what rows of _DEALT hold: whether these are deliveries, and the messages."""
    for batch in batches:
        for delivered, data in zip(batch.column("delivered").to_pylist(), batch.column("messages"), strict=True):
            yield delivered, pa.ipc.read_record_batch(data.as_buffer(), local_join.SCHEMAS[delivered])
