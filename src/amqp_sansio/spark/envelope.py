"""Envelopes: records of all tables in one frame, each row an Arrow record batch of one table.

One pass over the packets makes records of nine tables.  A frame with the columns of all of them would be mostly null and cost
as much as the rest of the pass; an envelope is a name and octets, which the JVM passes on unchanged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa

from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA
from amqp_sansio.captures.columns.tables import schema_of, table_schema
from amqp_sansio.captures.tables import TABLES

if TYPE_CHECKING:
    from amqp_sansio.captures.columns.replay import TableRecords

ENVELOPE: Final = "table string, data binary"
"""The columns of the frame as Spark DDL."""

SCHEMA: Final = schema_of(ENVELOPE)

FULL_OCTETS: Final = 1024 * 1024
"""Octets of records that fill an envelope."""


@cache
def arrow_schema(table: str) -> pa.Schema:
    """Returns the Arrow schema of a table, by its name, or that of the reports about late files."""
    return LATE_SCHEMA if table == LATE else table_schema(TABLES[table])


class BatchEnvelope(NamedTuple):
    """Records of one table in transit: `data` is a record batch without its schema."""

    table: str
    data: bytes


def seal(table: str, batch: pa.RecordBatch) -> BatchEnvelope:
    """Puts a batch into an envelope."""
    return BatchEnvelope(table, batch.serialize().to_pybytes())


def unseal(table: str, data: bytes) -> pa.RecordBatch:
    """Returns the batch in an envelope of this table."""
    return pa.ipc.read_record_batch(pa.py_buffer(data), arrow_schema(table))


class Sealer:
    """Collects the records of a connection until they fill an envelope, in bounded memory."""

    def __init__(self, full: int = FULL_OCTETS) -> None:
        self._full: Final = full
        self._waiting: dict[str, list[pa.RecordBatch]] = {}
        self._octets: dict[str, int] = {}

    def add(self, records: Iterable[TableRecords]) -> Iterator[BatchEnvelope]:
        """Adds records; yields the envelopes that are full."""
        for table, batch in records:
            self._waiting.setdefault(table, []).append(batch)
            self._octets[table] = self._octets.get(table, 0) + batch.nbytes
            if self._octets[table] >= self._full:
                yield self._seal(table)

    def rest(self) -> Iterator[BatchEnvelope]:
        """Yields the envelopes that are not full."""
        for table in list(self._waiting):
            yield self._seal(table)

    def _seal(self, table: str) -> BatchEnvelope:
        waiting = self._waiting.pop(table)
        del self._octets[table]
        return seal(table, waiting[0] if len(waiting) == 1 else pa.concat_batches(waiting))


def as_batch(envelopes: Iterable[BatchEnvelope]) -> pa.RecordBatch:
    """Returns envelopes as rows of the frame."""
    return pa.RecordBatch.from_pylist([each._asdict() for each in envelopes], schema=SCHEMA)


def envelopes_in(batches: Iterable[pa.RecordBatch]) -> Iterator[BatchEnvelope]:
    """Yields the rows of the frame as envelopes."""
    for batch in batches:
        for row in batch.to_pylist():
            yield BatchEnvelope(**row)
