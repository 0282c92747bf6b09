"""Writes tables on the executors, where the records are.

A task writes files under names that no other attempt uses and returns their list; a file that is not on the list of a
successful attempt is never published (see `captures.columns.place`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa

from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.schema import schema_of
from amqp_sansio.captures.columns.writer import Writer, unique, write_whole
from amqp_sansio.spark.envelope import envelopes_in, unseal

FILES: Final = "table string, folder string, path string, rows bigint, octets bigint"
"""The list that a task returns, as Spark DDL."""

SCHEMA: Final = schema_of(FILES)


def write_envelopes(batches: Iterator[pa.RecordBatch], place: str, prefix: str) -> Iterator[pa.RecordBatch]:
    """Writes envelopes to files, as a task of `mapInArrow`; yields the list of files as rows of FILES."""
    records = ((each.table, unseal(each.table, each.data)) for each in envelopes_in(batches))
    return write_records(records, place, prefix)


def write_records(records: Iterable[tuple[str, pa.RecordBatch]], place: str, prefix: str) -> Iterator[pa.RecordBatch]:
    """Writes records of all tables to files, and those of late files to one more; yields the list of files as rows of FILES."""
    writer = Writer(place, prefix)
    written: list[Written] = []
    late: list[pa.RecordBatch] = []
    for table, batch in records:
        if table == LATE:
            late.append(batch)
        else:
            written += writer.add(table, batch)
    written += [*writer.rest(), *write_whole(late, LATE_SCHEMA, place, LATE, unique(prefix))]
    yield pa.RecordBatch.from_pylist([each._asdict() for each in written], schema=SCHEMA)
