"""What is joined over connections once the tables are there: a table of its own, made by Spark, written as the others are."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.joins import END_TO_END, END_TO_END_SQL
from amqp_sansio.spark.writer import FILES, SCHEMA, Written, write_whole

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOURCE: Final = "messages"
"""The table that is joined with itself: who delivered what somebody published under the same message-id."""


def end_to_end(spark: SparkSession, messages: DataFrame) -> DataFrame:
    """The rows of `captures.joins.END_TO_END`; messages without an id take no part and cost nothing."""
    return spark.sql(END_TO_END_SQL.replace(f" {SOURCE} ", f" {{{SOURCE}}} "), messages=messages)


def write_end_to_end(spark: SparkSession, messages: DataFrame, place: str) -> list[Written]:
    """Writes them below `place`; gives the list of files, one at least."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        schema = table_schema(END_TO_END)
        written = write_whole(batches, schema, place, END_TO_END.name, f"part-{uuid.uuid4().hex[:12]}")
        yield pa.RecordBatch.from_pylist([each._asdict() for each in written], schema=SCHEMA)

    joined = end_to_end(spark, messages)
    files = [Written(*row) for row in joined.mapInArrow(write, FILES).collect()]
    return files or write_whole([], table_schema(END_TO_END), place, END_TO_END.name, "part-00000", empty=True)
