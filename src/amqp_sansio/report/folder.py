"""Reads the tables of a folder in batches, a row group at a time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import fs

from amqp_sansio.captures.columns.place import MANIFEST
from amqp_sansio.captures.columns.published import BATCH_ROWS, needed, partitions_of, shaped
from amqp_sansio.captures.columns.tables import TIME, nanoseconds, table_schema
from amqp_sansio.captures.locations import Located, located
from amqp_sansio.captures.tables import TABLES, refusal
from amqp_sansio.errors import AmqpError

FEW_ROWS: Final = 4096
"""A file with fewer rows is read by one thread: handing columns to several takes longer than reading them."""
MANIFEST_OCTETS: Final = 64 * 1024 * 1024
"""A larger manifest is not read."""


Tell = Callable[[str, int, int], None]
"""Called with the progress: a table, how many of its files were read, how many it has."""


class ReportError(AmqpError):
    """The page cannot be made.  The text is one sentence for a person."""


class _File(NamedTuple):
    """A file of a table: its path, the values in its folder names, its rows by the manifest."""

    path: str
    told: dict[str, str | None]
    rows: int | None = None


class Folder:
    """The tables in `path`, a path or URI: the files that the manifest names; without one, every Parquet file in their folders.

    `tell` is called for each file that is read.  Raises ReportError when there is no table at all, or when the manifest names
    files that do not exist.
    """

    def __init__(self, path: str, tell: Tell | None = None) -> None:
        root: Final = located(path)
        self.manifest: Final[dict[str, Any] | None] = _manifest(root)
        """The manifest; None when there is none."""
        with _readable(path):
            self._files: Final = _named(root, self.manifest) if self.manifest is not None else _found(root)
        if not self._files:
            raise ReportError(f"{path}: no tables here; `analyze` writes them; for a report of captures, name the files")
        self.tables: Final = tuple([name for name in TABLES if name in self._files])
        """Names of the tables that exist, in the order of the reference."""
        self._root: Final = root
        self._tell: Final = tell

    def __contains__(self, table: str) -> bool:
        return table in self._files

    def count(self, table: str) -> int:
        """Returns the rows of a table by the manifest, or, where it does not say, by the footers of the files."""
        total = 0
        for number, file in enumerate(self._files.get(table, ())):
            if file.rows is None:
                self._told(table, number)
                total += self._open(file.path).metadata.num_rows
            else:
                total += file.rows
        return total

    def batches(self, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Yields the rows in batches with exactly these columns; missing ones are null.  Yields nothing for a missing table.

        Times are whole nanoseconds since 1970 UTC, whatever their columns hold.  Files with few rows share a batch, because
        processing one costs the same for two rows as for thousands.
        """
        schema: Final = pa.schema([table_schema(TABLES[table]).field(name).with_nullable(True) for name in columns])
        waiting: list[pa.Table] = []
        rows = 0
        for part in self._parts(table, schema):
            if waiting and rows + len(part) > BATCH_ROWS:
                yield _one(waiting)
                waiting, rows = [], 0
            waiting.append(part)
            rows += len(part)
        if waiting:
            yield _one(waiting)

    def _parts(self, table: str, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yields the rows as stored in the files."""
        for number, (path, told, _) in enumerate(self._files.get(table, ())):
            self._told(table, number)
            file = self._open(path)
            there = needed(schema, file.schema_arrow.names)
            with _readable(path):
                threads = file.metadata.num_rows >= FEW_ROWS
                for batch in file.iter_batches(BATCH_ROWS, columns=there or None, use_threads=threads):
                    yield _counted(shaped(batch, schema, told))

    def of(self, table: str, columns: Sequence[str], connections: Iterable[int]) -> Iterator[pa.Table]:
        """Yields the rows of these connections, in the same way."""
        wanted: Final = pa.array(sorted(set(connections)), pa.int64())
        for batch in self.batches(table, columns):
            yield batch.filter(pc.is_in(batch["connection"], wanted))

    def rows(self, table: str, columns: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yields single rows."""
        for batch in self.batches(table, columns):
            with _readable(f"{self._root.path}/{table}"):
                rows = batch.to_pylist()
            yield from rows

    def _told(self, table: str, done: int) -> None:
        if self._tell is not None:
            self._tell(table, done, len(self._files[table]))

    def _open(self, path: str) -> pq.ParquetFile:
        with _readable(path):
            return pq.ParquetFile(path, pre_buffer=False, filesystem=self._root.system)


@contextmanager
def _readable(path: str) -> Iterator[None]:
    """Raises ReportError, with the path, for what cannot be read in the block."""
    try:
        yield
    except (OSError, pa.ArrowException, ValueError) as error:
        raise ReportError(f"{path}: cannot be read: {_one_line(error)}") from error


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


def _manifest(root: Located) -> dict[str, Any] | None:
    path = f"{root.uri}/{MANIFEST}"
    try:
        folder, file = root.system.get_file_info([root.path, f"{root.path}/{MANIFEST}"])
        if folder.type != fs.FileType.Directory:
            why: Final = "is not a folder" if folder.is_file else "there is no such folder or capture"
            raise ReportError(f"{root.uri}: {why}")
        if not file.is_file:
            return None
        if file.size > MANIFEST_OCTETS:
            raise ReportError(f"{path}: is not a manifest: it has more than {MANIFEST_OCTETS} octets")
        with root.system.open_input_stream(file.path) as stream:
            said = json.loads(stream.read())
    except OSError as error:
        raise ReportError(f"{path}: cannot be read: {error.strerror or _one_line(error)}") from error
    except (ValueError, RecursionError) as error:
        raise ReportError(f"{path}: is not a manifest: {_one_line(error)}") from error
    if not isinstance(said, dict) or not isinstance(said.get("tables"), dict):
        raise ReportError(f"{path}: is not a manifest of tables")
    if (refused := refusal(said.get("schema"))) is not None:
        raise ReportError(f"{path}: {refused}")
    return said


def _named(root: Located, manifest: dict[str, Any]) -> dict[str, list[_File]]:
    """Returns the files of each table in the manifest, which must not lead out of its folder."""
    files: dict[str, list[_File]] = {}
    for table, about in manifest["tables"].items():
        if table not in TABLES:
            continue
        try:
            named = sorted([(str(file["path"]), file.get("rows")) for file in about["files"]], key=lambda each: each[0])
        except (AttributeError, KeyError, TypeError) as error:
            raise ReportError(f"{root.uri}/{MANIFEST}: is not a manifest of tables") from error
        files[table] = []
        for name, rows in named:
            if ".." in PurePosixPath(name).parts or PurePosixPath(name).is_absolute():
                raise ReportError(f"{root.uri}/{MANIFEST}: names a file outside of its folder: {ascii(name)[:200]}")
            path = f"{root.path}/{name}"
            files[table].append(_File(path, partitions_of(name), rows if type(rows) is int and rows >= 0 else None))
    here = {path for of in _found(root).values() for path, _, _ in of}
    for each in [file.path for of in files.values() for file in of]:
        if each not in here:
            raise ReportError(f"{root.base}{each}: the manifest names it, but it is missing")
    return files


def _found(root: Located) -> dict[str, list[_File]]:
    """Returns every Parquet file in the folders of tables."""
    files: dict[str, list[_File]] = {}
    for table in TABLES:
        inside = root.system.get_file_info(fs.FileSelector(f"{root.path}/{table}", allow_not_found=True, recursive=True))
        paths = sorted([each.path.removeprefix(f"{root.path}/") for each in inside if each.is_file])
        files[table] = [
            _File(f"{root.path}/{path}", partitions_of(path))
            for path in paths
            if path.endswith(".parquet") and not any(part[0] in "._" for part in path.split("/"))
        ]
    return {table: paths for table, paths in files.items() if paths}


def _one(parts: list[pa.Table]) -> pa.Table:
    """Joins tables into one with as few chunks as possible."""
    return parts[0] if len(parts) == 1 else pa.concat_tables(parts).combine_chunks()


def _counted(rows: pa.Table) -> pa.Table:
    """Returns the rows with their times as numbers."""
    for place, field in enumerate(rows.schema):
        if field.type == TIME:
            times = pa.chunked_array([nanoseconds(chunk) for chunk in rows.column(place).chunks], pa.int64())
            rows = rows.set_column(place, pa.field(field.name, pa.int64(), field.nullable), times)
    return rows
