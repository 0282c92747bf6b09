"""What is joined over connections once the tables are there: a table of its own, written as the others are.

As many messages as the driver can hold are joined there, from columns; more than that in tasks, by the same columns: messages
are dealt by their ids into buckets, which Spark shuffles as a few rows of octets, and each bucket is joined by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.parquet as pq

from amqp_sansio.captures.columns import joined
from amqp_sansio.captures.columns.cycles import seldom
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.columns.writer import unique, write_whole
from amqp_sansio.captures.joins import END_TO_END, END_TO_END_SQL
from amqp_sansio.captures.locations import located
from amqp_sansio.spark.session import cores_of
from amqp_sansio.spark.writer import FILES, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE: Final = "messages"
"""The table that is joined with itself: who delivered what somebody published under the same message-id."""
ROWS_HERE: Final = 250_000
"""Messages that are joined in the driver."""
ROWS_OF_A_BUCKET: Final = 131_072
"""Messages of one bucket, about: its publications are held while its deliveries go by."""
ROWS_READ: Final = 65_536
"""Messages that are read, and dealt, at a time."""

_DEALT: Final = "bucket int NOT NULL, delivered boolean NOT NULL, messages binary NOT NULL"
_DEALT_ARROW: Final = pa.schema(
    [
        pa.field("bucket", pa.int32(), False),
        pa.field("delivered", pa.bool_(), False),
        pa.field("messages", pa.binary(), False),
    ]
)


def end_to_end(spark: SparkSession, messages: DataFrame) -> DataFrame:
    """The rows of `captures.joins.END_TO_END`; messages without an id take no part and cost nothing."""
    return spark.sql(END_TO_END_SQL.replace(f" {SOURCE} ", f" {{{SOURCE}}} "), messages=messages)


def write_end_to_end(
    spark: SparkSession, files: Sequence[Written], tables: str, place: str, here: int = ROWS_HERE
) -> list[Written]:
    """Writes them below `place`, made of those of the `files` that hold messages, in the folder `tables`; gives the list of
    files, one at least."""
    messages = [each for each in files if each.table == SOURCE and each.rows]
    rows = sum(each.rows for each in messages)
    if rows <= here:
        found = list(messages_in([each.path for each in messages], tables))
        made = joined.end_to_end(pa.Table.from_batches(found)).to_batches() if found else []
        return _written(made, place, empty=True)
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
            made = _written(found, place)
        yield pa.RecordBatch.from_pylist([each._asdict() for each in made], schema=SCHEMA)

    bundles = spark.range(0, len(parts), 1, len(parts)).mapInArrow(deal, _DEALT)
    whole = bundles.repartitionById(buckets, "bucket").sortWithinPartitions("delivered")
    return [Written(*row) for row in whole.mapInArrow(join, FILES).collect()] or _written([], place, empty=True)


def shares(files: Sequence[Written], count: int) -> list[list[str]]:
    """The paths of these files in at most so many shares of about as many rows."""
    made: list[list[str]] = [[] for _ in range(min(count, len(files)))]
    rows = [0] * len(made)
    for each in sorted(files, key=lambda each: -each.rows):
        least = rows.index(min(rows))
        made[least].append(each.path)
        rows[least] += each.rows
    return made


def messages_in(paths: Sequence[str], place: str) -> Iterator[pa.RecordBatch]:
    """The columns that are needed of the messages in these files, in the file system of `place`."""
    system = located(place).system
    for path in paths:
        with system.open_input_file(path) as stream, pq.ParquetFile(stream) as file:
            yield from file.iter_batches(ROWS_READ, columns=list(joined.COLUMNS), use_threads=False)


def _sealed(messages: pa.RecordBatch, buckets: int) -> pa.RecordBatch:
    dealt = list(joined.dealt(pa.Table.from_batches([messages]), buckets))
    columns = [
        pa.array([bucket for bucket, _, _ in dealt], pa.int32()),
        pa.array([delivered for _, delivered, _ in dealt], pa.bool_()),
        pa.array([batch.serialize().to_pybytes() for _, _, batch in dealt], pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=_DEALT_ARROW)


def _opened(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[bool, pa.RecordBatch]]:
    for batch in batches:
        for delivered, data in zip(batch.column("delivered").to_pylist(), batch.column("messages"), strict=True):
            yield delivered, pa.ipc.read_record_batch(data.as_buffer(), joined.SCHEMAS[delivered])


def _written(batches: Iterable[pa.RecordBatch], place: str, empty: bool = False) -> list[Written]:
    return write_whole(batches, table_schema(END_TO_END), place, END_TO_END.name, unique("part"), empty)
