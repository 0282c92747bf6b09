"""Merges small files written by tasks, in tasks, before they are published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from amqp_sansio.captures.columns.compact import FILE_OCTETS, groups_of, merged, without
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.spark.session import cores_of
from amqp_sansio.spark.writer import FILES, SCHEMA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MERGING_TASKS: Final = 64
"""The most tasks that merge files."""


def merged_in_tasks(spark: SparkSession, files: Sequence[Written], place: str, octets: int = FILE_OCTETS) -> list[Written]:
    """Returns these files with small ones of a table, day and broker merged; writes below `place`."""
    groups = groups_of(files, octets)
    if not groups:
        return list(files)

    def merge(numbers: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            made = [merged(groups[number], place)._asdict() for number in batch.column(0).to_pylist()]
            yield pa.RecordBatch.from_pylist(made, schema=SCHEMA)

    numbers = spark.range(0, len(groups), 1, min(len(groups), MERGING_TASKS, 2 * cores_of(spark)))
    return [*without(files, groups), *[Written(*row) for row in numbers.mapInArrow(merge, FILES).collect()]]
