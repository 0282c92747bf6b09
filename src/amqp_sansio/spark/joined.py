"""The table joined across connections, made when the others are written.

Up to ROWS_OF_THE_DRIVER messages the driver joins itself, on columns, as `analyze --engine local` does.  More are joined in
tasks, in the same way: messages are partitioned by id into buckets, which Spark shuffles as a few rows of octets, and each
bucket is joined by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from amqp_sansio.captures.columns import end_to_end as alone
from amqp_sansio.captures.columns import joined
from amqp_sansio.captures.columns.end_to_end import (
    ROWS_OF_A_BUCKET,
    SOURCE,
    messages_in,
    write_joined,
)
from amqp_sansio.captures.columns.gc_tuning import seldom
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.schema import schema_of
from amqp_sansio.captures.joins import END_TO_END_SQL
from amqp_sansio.spark.session import cores_of
from amqp_sansio.spark.writer import FILES, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_OF_THE_DRIVER: Final = 500_000
"""The most messages that the driver joins itself: for 260,000 that takes 0.16 s of CPU, where tasks take 0.5 s and as long."""
_DEALT: Final = "bucket int NOT NULL, delivered boolean NOT NULL, messages binary NOT NULL"
_DEALT_ARROW: Final = schema_of(_DEALT)


def end_to_end(spark: SparkSession, messages: DataFrame) -> DataFrame:
    """Returns the rows of `captures.joins.END_TO_END`; messages without an id take no part and cost nothing."""
    return spark.sql(END_TO_END_SQL.replace(f" {SOURCE} ", f" {{{SOURCE}}} "), messages=messages)


def write_end_to_end(
    spark: SparkSession, files: Sequence[Written], tables: str, place: str, here: int = ROWS_OF_THE_DRIVER
) -> list[Written]:
    """Writes the table below `place`, from those of the `files` in the folder `tables` that hold messages; returns its files,
    at least one."""
    messages = alone.with_messages(files)
    rows = sum(each.rows for each in messages)
    if rows <= here:
        return alone.write_end_to_end(messages, tables, place)
    cores = cores_of(spark)
    buckets = max(cores, -(-rows // ROWS_OF_A_BUCKET))
    parts = shares(messages, max(cores, rows // ROWS_OF_A_BUCKET))

    def deal(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with seldom():
            for batch in numbers:
                for number in batch.column(0).to_pylist():
                    for read in messages_in(parts[number], tables):
                        yield _sealed(read, buckets)

    def join(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with seldom():
            found = (batch for table in joined.latencies(_opened(batches)) for batch in table.to_batches())
            made = write_joined(found, place)
        yield pa.RecordBatch.from_pylist([each._asdict() for each in made], schema=SCHEMA)

    bundles = spark.range(0, len(parts), 1, len(parts)).mapInArrow(deal, _DEALT)
    whole = bundles.repartitionById(buckets, "bucket").sortWithinPartitions("delivered")
    return [Written(*row) for row in whole.mapInArrow(join, FILES).collect()] or write_joined([], place, empty=True)


def shares(files: Sequence[Written], count: int) -> list[list[str]]:
    """Divides the paths of these files into at most `count` shares with about as many rows each."""
    made: list[list[str]] = [[] for _ in range(min(count, len(files)))]
    rows = [0] * len(made)
    for each in sorted(files, key=lambda each: -each.rows):
        least = rows.index(min(rows))
        made[least].append(each.path)
        rows[least] += each.rows
    return made


def _sealed(messages: pa.RecordBatch, buckets: int) -> pa.RecordBatch:
    dealt = list(joined.dealt(pa.Table.from_batches([messages]), buckets))
    rows = [(bucket, delivered, batch.serialize().to_pybytes()) for bucket, delivered, batch in dealt]
    columns = [pa.array([row[place] for row in rows], field.type) for place, field in enumerate(_DEALT_ARROW)]
    return pa.RecordBatch.from_arrays(columns, schema=_DEALT_ARROW)


def _opened(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[bool, pa.RecordBatch]]:
    for batch in batches:
        for delivered, data in zip(batch.column("delivered").to_pylist(), batch.column("messages"), strict=True):
            yield delivered, pa.ipc.read_record_batch(data.as_buffer(), joined.SCHEMAS[delivered])
