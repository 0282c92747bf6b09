"""Writes Parquet files of all tables, in any file system, under names that no other run or attempt uses.

Memory is bounded whatever the number of tables, days and brokers.  Files take effect when `place` publishes them.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyarrow import fs

from amqp_sansio.captures.columns.parquet import OPEN_FILES, Growing, file_schema, parted
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.columns.tables import table_schema
from amqp_sansio.captures.locations import Located, located
from amqp_sansio.captures.tables import TABLES

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
    if not place.base.startswith("s3:"):  # S3 has no folders
        place.system.create_dir(path, recursive=True)
    return _File(place.system, table, folder, f"{path}/{name}.parquet", schema)
