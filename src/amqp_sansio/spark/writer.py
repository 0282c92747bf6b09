"""Parquet files of all tables at once, written where the records are: on the executors.

A task writes files of names that no other attempt uses and answers with their list; what is not on the list of an attempt
that counted is never published (see `place`).  Memory is bounded whatever the number of tables, days and brokers.
`captures.columns.store` writes the same files, and is another thing: one process, which moves all of them into place at once.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
from pyarrow import fs

from amqp_sansio.captures.columns.parquet import OPEN_FILES, Growing, file_schema, parted
from amqp_sansio.spark.envelope import envelopes_in, unseal

FILES: Final = "table string, folder string, path string, rows bigint, octets bigint"
"""The list that a task answers with, in Spark's words."""

SCHEMA: Final = pa.schema(
    [("table", pa.string()), ("folder", pa.string()), ("path", pa.string()), ("rows", pa.int64()), ("octets", pa.int64())]
)
BUFFERED_OCTETS: Final = 12 * 1024 * 1024
"""Octets of records that wait in one task for their row group to fill."""


class Written(NamedTuple):
    """A file: its table, its folder below that of the table, its path, how many rows and octets it has."""

    table: str
    folder: str
    path: str
    rows: int
    octets: int


def filesystem(place: str) -> tuple[fs.FileSystem, str]:
    """The file system of a path or URI, and the path in it."""
    if "://" in place:
        found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(place)
        return found
    return fs.LocalFileSystem(), place


class _File(Growing):
    """One in any file system."""

    def __init__(self, system: fs.FileSystem, table: str, folder: str, path: str, schema: pa.Schema | None = None) -> None:
        self.table, self.folder, self.path = table, folder, path
        self._system = system
        self._stream = system.open_output_stream(path)
        super().__init__(self._stream, schema or file_schema(table))

    def written(self) -> Written:
        """Closes it: its place in the list."""
        self.close()
        self._stream.close()
        return Written(self.table, self.folder, self.path, self.rows, self._system.get_file_info(self.path).size)


class Writer:
    """Writes records of all tables below `place`, in files whose names begin with `prefix`."""

    def __init__(self, place: str, prefix: str) -> None:
        self._system, self._root = filesystem(place)
        self._name: Final = f"{prefix}-{uuid.uuid4().hex[:12]}"
        self._files: dict[tuple[str, str], _File] = {}
        self._count = 0
        self._waiting = 0

    def add(self, table: str, batch: pa.RecordBatch) -> Iterator[Written]:
        """Takes records in; gives files that were closed to make room."""
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
        path = f"{self._root}/{table}/{folder}"
        self._system.create_dir(path, recursive=True)
        self._count += 1
        return _File(self._system, table, folder, f"{path}/{self._name}-{self._count}.parquet")

    def _close(self, key: tuple[str, str]) -> Written:
        file = self._files.pop(key)
        self._waiting -= file.waiting_octets
        return file.written()


def write_envelopes(batches: Iterator[pa.RecordBatch], place: str, prefix: str) -> Iterator[pa.RecordBatch]:
    """Writes envelopes to files; what a task of `mapInArrow` does.  Gives the list of files as rows of FILES."""
    records = ((each.table, unseal(each.table, each.data)) for each in envelopes_in(batches))
    return write_records(records, place, prefix)


def write_records(records: Iterable[tuple[str, pa.RecordBatch]], place: str, prefix: str) -> Iterator[pa.RecordBatch]:
    """Writes records of all tables to files; gives the list of files as rows of FILES."""
    writer = Writer(place, prefix)
    written: list[Written] = []
    for table, batch in records:
        written += writer.add(table, batch)
    written += writer.rest()
    yield pa.RecordBatch.from_pylist([each._asdict() for each in written], schema=SCHEMA)


def write_empty(place: str, table: str) -> Written:
    """A file without rows, for a table without any: it tells the columns.  It is of no day and no broker."""
    system, root = filesystem(place)
    system.create_dir(f"{root}/{table}", recursive=True)
    return _File(system, table, "", f"{root}/{table}/part-00000.parquet").written()


def write_whole(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, place: str, table: str, name: str, empty: bool = False
) -> list[Written]:
    """Writes batches to one file that is of no day and no broker: its place in the list; none without rows, unless `empty`."""
    system, root = filesystem(place)
    file: _File | None = None
    for batch in batches:
        if batch.num_rows:
            file = file or _whole(system, root, table, name, schema)
            file.add(batch.cast(schema))
    if file is None and empty:
        file = _whole(system, root, table, name, schema)
    return [] if file is None else [file.written()]


def _whole(system: fs.FileSystem, root: str, table: str, name: str, schema: pa.Schema) -> _File:
    system.create_dir(f"{root}/{table}", recursive=True)
    return _File(system, table, "", f"{root}/{table}/{name}.parquet", schema)
