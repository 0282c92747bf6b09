"""The Parquet files of tables: their content, their writer, and their folders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from amqp_sansio.captures.columns.heads import edges_of
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.tables import PARTITIONS, TABLES

ROW_GROUP_OCTETS: Final = 8 * 1024 * 1024
"""Octets of rows, in memory, per row group."""
OPEN_FILES: Final = 64
"""The most open Parquet files; beyond it the oldest is closed, and its folder gets another one later."""
_UNIQUE: Final = ("message_id", "correlation_id")


def file_schema(table: str) -> pa.Schema:
    """Returns the columns in the files of a table, without those in the folder names."""
    return pa.schema([field for field in table_schema(TABLES[table]) if field.name not in PARTITIONS])


def parquet(where: Any, schema: pa.Schema) -> pq.ParquetWriter:
    """Opens a Parquet file, by path or stream, with the settings of all tables.

    Only repeated texts get dictionaries: those of times and numbers made files larger by 60 % and took a quarter of the time.
    """
    texts = [field.name for field in schema if pa.types.is_string(field.type) and field.name not in _UNIQUE]
    return _Writer(where, schema, compression="zstd", use_dictionary=texts)


class _Writer(pq.ParquetWriter):  # type: ignore[misc]  # untyped
    def __del__(self) -> None:
        with suppress(OSError):  # on a full disk, which the run has reported, the rest of an open file cannot be written either
            super().__del__()


class Growing:
    """A Parquet file that grows: rows wait until they fill a row group."""

    def __init__(self, where: Any, schema: pa.Schema) -> None:
        self.rows = 0
        """The number of rows added."""
        self.waiting_octets = 0
        """Octets, in memory, of those that are not yet in a row group."""
        self._waiting: list[pa.RecordBatch] = []
        self._writer: Final = parquet(where, schema)

    def add(self, batch: pa.RecordBatch) -> None:
        """Adds rows, and writes a row group when it is full."""
        self._waiting.append(batch)
        self.rows += batch.num_rows
        self.waiting_octets += batch.nbytes
        if self.waiting_octets >= ROW_GROUP_OCTETS:
            self.flush()

    def flush(self) -> None:
        """Writes the waiting rows as a row group, and returns their memory to the system."""
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting))
            self._waiting, self.waiting_octets = [], 0
            # Arrow's pool keeps freed memory: of 180 MB in a process with 150 MB of captures, 70 were unused.
            pa.default_memory_pool().release_unused()

    def close(self) -> None:
        """Writes the rest and the footer."""
        self.flush()
        self._writer.close()


def folder_of(values: Iterable[Any]) -> str:
    """Returns the folder of a day and a broker, named as Hive does: capture_date=2024-05-01/broker=127.0.0.1%3A5672."""
    return "/".join(f"{name}={quote(str(value), safe='')}" for name, value in zip(PARTITIONS, values, strict=True))


def parted(batch: pa.RecordBatch) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Splits a batch by folder, without the columns in the folder names."""
    rest = batch.drop_columns(list(PARTITIONS))
    if batch.num_rows:
        columns = [batch.column(name) for name in PARTITIONS]
        if all(pc.all(pc.equal(column, column[0])).as_py() for column in columns):
            yield folder_of([column[0].as_py() for column in columns]), rest
            return
        codes = np.zeros(batch.num_rows, np.int64)
        for column in columns:
            encoded = column.dictionary_encode()
            codes = codes * len(encoded.dictionary) + encoded.indices.to_numpy()
        _, firsts, groups = np.unique(codes, return_index=True, return_inverse=True)
        places = firsts[groups]  # for each row the first one of its folder
        order = np.argsort(places, kind="stable")
        rest = rest.take(pa.array(order))
        edges = edges_of(places[order])
        for first, start, stop in zip(np.sort(firsts).tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
            yield folder_of([column[first].as_py() for column in columns]), rest.slice(start, stop - start)
