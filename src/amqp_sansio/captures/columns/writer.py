"""Writes Parquet files of all tables, in any file system, under names that no other run or attempt uses.

Memory is bounded whatever the number of tables, days and brokers.  Files take effect when `place` publishes them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from amqp_sansio.captures.columns.heads import edges_of
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.locations import Located, located
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


BUFFERED_OCTETS: Final = 12 * 1024 * 1024
"""Octets of records that wait in one process for their row groups to fill."""


class _File(Growing):
    """A growing file in any file system."""

    def __init__(self, system: fs.FileSystem, table: str, folder: str, path: str, schema: pa.Schema | None = None) -> None:
        self.table, self.folder, self.path = table, folder, path
        self._system = system
        self._stream = system.open_output_stream(path)
        super().__init__(self._stream, schema or file_schema(table))

    def written(self) -> Written:
        """Closes it; returns its entry."""
        self.close()
        self._stream.close()
        return Written(self.table, self.folder, self.path, self.rows, self._system.get_file_info(self.path).size)


class Writer:
    """Writes records of all tables below `place`, in files whose names begin with `prefix`."""

    def __init__(self, place: str, prefix: str) -> None:
        self._place: Final = located(place)
        self._name: Final = unique(prefix)
        self._files: dict[tuple[str, str], _File] = {}
        self._count = 0
        self._waiting = 0

    def add(self, table: str, batch: pa.RecordBatch) -> Iterator[Written]:
        """Adds records; yields files that were closed to make room."""
        for folder, part in parted(batch):
            key = table, folder
            file = self._files.get(key)
            if file is None:
                if len(self._files) >= OPEN_FILES:
                    yield self._close(next(iter(self._files)))
                file = self._files[key] = self._open(table, folder)
            before = file.waiting_octets
            file.add(part)
            self._waiting += file.waiting_octets - before
            while self._waiting > BUFFERED_OCTETS:
                most = max(self._files.values(), key=lambda each: each.waiting_octets)
                self._waiting -= most.waiting_octets
                most.flush()

    def rest(self) -> Iterator[Written]:
        """Closes every file."""
        for key in list(self._files):
            yield self._close(key)

    def _open(self, table: str, folder: str) -> _File:
        self._count += 1
        return opened_file(self._place, table, folder, f"{self._name}-{self._count}")

    def _close(self, key: tuple[str, str]) -> Written:
        file = self._files.pop(key)
        self._waiting -= file.waiting_octets
        return file.written()


def write_empty(place: str, table: str) -> Written:
    """Writes a file without rows for an empty table; it has all columns, because it is in no folder that would supply them."""
    return opened_file(located(place), table, "", unique("part"), table_schema(TABLES[table])).written()


def write_whole(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, place: str, table: str, name: str, empty: bool = False
) -> list[Written]:
    """Writes batches to one file of no particular day and broker; returns its entry, none without rows unless `empty`."""
    where = located(place)
    file: _File | None = None
    for batch in batches:
        if batch.num_rows:
            file = file or opened_file(where, table, "", name, schema)
            file.add(batch.cast(schema))
    if file is None and empty:
        file = opened_file(where, table, "", name, schema)
    return [] if file is None else [file.written()]


def unique(prefix: str) -> str:
    """Returns a unique name that begins with `prefix`."""
    return f"{prefix}-{uuid.uuid4().hex[:12]}"


def opened_file(place: Located, table: str, folder: str, name: str, schema: pa.Schema | None = None) -> _File:
    """Opens a growing file below the folder of a table; `folder` is that of a day and a broker, or ""."""
    path = f"{place.path}/{table}/{folder}".rstrip("/")
    place.make_folder(path)
    return _File(place.system, table, folder, f"{path}/{name}.parquet", schema)
