"""What is joined over connections once the tables are there: a table of its own, written as the others are.

As many messages as the driver can hold are joined there, from columns; more than that by Spark.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa
import pyarrow.dataset as ds

from amqp_sansio.captures.columns import joined
from amqp_sansio.captures.columns.parquet import file_schema
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.joins import END_TO_END, END_TO_END_SQL
from amqp_sansio.spark.passes import read_tables
from amqp_sansio.spark.writer import FILES, SCHEMA, Written, filesystem, write_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE: Final = "messages"
"""The table that is joined with itself: who delivered what somebody published under the same message-id."""
ROWS_HERE: Final = 1_000_000
"""Messages that are joined in the driver: 430 octets of its memory each.  For the 260000 of a capture of 150 MB it takes 0.3 s
of CPU; the jobs of Spark, with a shuffle and a sort, took 1.4 s, and 2.8 s in a JVM that had just started."""


def end_to_end(spark: SparkSession, messages: DataFrame) -> DataFrame:
    """The rows of `captures.joins.END_TO_END`; messages without an id take no part and cost nothing."""
    return spark.sql(END_TO_END_SQL.replace(f" {SOURCE} ", f" {{{SOURCE}}} "), messages=messages)


def write_end_to_end(
    spark: SparkSession, files: Sequence[Written], tables: str, place: str, here: int = ROWS_HERE
) -> list[Written]:
    """Writes them below `place`, made of those of the `files` that hold messages, in the folder `tables`; gives the list of
    files, one at least."""
    schema, name = table_schema(END_TO_END), f"part-{uuid.uuid4().hex[:12]}"
    messages = [each for each in files if each.table == SOURCE]
    if sum(each.rows for each in messages) <= here:
        system, _ = filesystem(tables)
        paths = [each.path for each in messages if each.rows]
        columns = [field for field in file_schema(SOURCE) if field.name in joined.COLUMNS]
        found = ds.dataset(paths, pa.schema(columns), "parquet", system).to_table(
            columns=list(joined.COLUMNS), filter=ds.field("message_id").is_valid()
        )
        return write_whole(joined.end_to_end(found).to_batches(), schema, place, END_TO_END.name, name, empty=True)

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        made = write_whole(batches, schema, place, END_TO_END.name, f"part-{uuid.uuid4().hex[:12]}")
        yield pa.RecordBatch.from_pylist([each._asdict() for each in made], schema=SCHEMA)

    rows = end_to_end(spark, read_tables(spark, tables, [SOURCE])[SOURCE])
    written = [Written(*row) for row in rows.mapInArrow(write, FILES).collect()]
    return written or write_whole([], schema, place, END_TO_END.name, name, empty=True)
