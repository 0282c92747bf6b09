"""The folder that tables are published in: whole or not at all, the manifest last.

Work goes to a hidden folder inside it (so that moving is renaming); what readers see changes at the end, in an instant on a
local disk, and only after everything else has succeeded.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterable
from typing import Final

import pyarrow.parquet as pq
from pyarrow import fs

from amqp_sansio.captures.columns.store import MANIFEST
from amqp_sansio.captures.joins import END_TO_END
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.writer import Written, filesystem

STREAM: Final = "_STREAM.json"
"""Marks the output of `watch`, and tells which stream it is of."""
_WORK: Final = ".work-"


class Place:
    """A folder for tables, by path or URI (s3://, gs://, hdfs://, ...).  PipelineError when it cannot be written."""

    def __init__(self, folder: str) -> None:
        self.name: Final = folder.rstrip("/") or folder
        try:
            self._system, root = filesystem(self.name if "://" in self.name else _absolute(self.name))
        except (OSError, ValueError) as error:
            raise PipelineError(f"{self.name}: no such place can be written: {error}") from error
        self._root: Final = root.rstrip("/")
        self._base: Final = self.name.removesuffix(self._root) if "://" in self.name else ""
        self._work = f"{self._root}/{_WORK}{uuid.uuid4().hex[:12]}"

    @property
    def work(self) -> str:
        """Where this run writes until it publishes."""
        return self._base + self._work

    def open(self) -> None:
        """Makes the folder and the one for work."""
        try:
            self._system.create_dir(self._work, recursive=True)
            with self._system.open_output_stream(f"{self._work}/.try") as stream:
                stream.write(b"\n")
        except OSError as error:
            raise PipelineError(f"{self.name}: cannot be written: {_reason(error)}") from error

    def discard(self) -> None:
        """Removes the work of this run; what was published before stays as it was."""
        self._remove(self._work)

    def read(self, name: str) -> bytes | None:
        """The octets of a small file directly in the folder; None when it is not there."""
        path = f"{self._root}/{name}"
        if self._system.get_file_info(path).type != fs.FileType.File:
            return None
        with self._system.open_input_stream(path) as stream:
            octets: bytes = stream.read()
        return octets

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file directly into the folder, whole at every moment."""
        path = f"{self._root}/{name}"
        with self._system.open_output_stream(f"{path}.new") as stream:
            stream.write(data)
        self._system.move(f"{path}.new", path)

    def publish(self, tables: Iterable[str], manifest: bytes) -> None:
        """Puts the tables of this run in the place of all earlier ones, then the manifest, and clears the work away."""
        try:
            self.forget(MANIFEST)
            for table in (*TABLES, END_TO_END.name):
                self._set_aside(table)
            for table in tables:
                self._put(table)
            self.write(MANIFEST, manifest)
        except OSError as error:
            raise PipelineError(f"{self.name}: cannot be written: {_reason(error)}") from error
        self.clear()
        self.discard()

    def _set_aside(self, table: str) -> None:
        here = f"{self._root}/{table}"
        if not isinstance(self._system, fs.LocalFileSystem):
            self._remove(here)  # an object store has no folders to rename
        elif self._system.get_file_info(here).type != fs.FileType.NotFound:
            self._system.create_dir(f"{self._work}/.before")
            self._system.move(here, f"{self._work}/.before/{table}")

    def _put(self, table: str) -> None:
        here, there = f"{self._root}/{table}", f"{self._work}/{table}"
        if isinstance(self._system, fs.LocalFileSystem):
            self._system.move(there, here)
            return
        for each in self._system.get_file_info(fs.FileSelector(there, recursive=True)):
            if each.type == fs.FileType.File:
                self._system.move(each.path, here + each.path.removeprefix(there))

    def adopt(self, files: Iterable[Written], prefix: str) -> list[Written]:
        """Moves files of this run into their tables under names that begin with `prefix`; gives them as they are now."""
        moved = []
        for number, file in enumerate(files):
            folder = f"{self._root}/{file.table}/{file.folder}".rstrip("/")
            self._system.create_dir(folder, recursive=True)
            path = f"{folder}/{prefix}-{number:04d}.parquet"
            self._system.move(file.path, path)
            moved.append(file._replace(path=path))
        return moved

    def drop(self, which: Callable[[str], bool]) -> None:
        """Removes the files of all tables whose names are such."""
        for each in self.files():
            if which(each.rpartition("/")[2]):
                self._system.delete_file(f"{self._root}/{each}")

    def files(self) -> list[str]:
        """The Parquet files of all tables, as paths below the folder."""
        if self._system.get_file_info(self._root).type != fs.FileType.Directory:
            return []
        found = self._system.get_file_info(fs.FileSelector(self._root, recursive=True))
        below = [each.path.removeprefix(f"{self._root}/") for each in found if each.type == fs.FileType.File]
        return sorted([path for path in below if path.endswith(".parquet") and not path.startswith((".", "_"))])

    def published(self) -> list[Written]:
        """The files of all tables, with what their footers say."""
        found = []
        for each in self.files():
            table, _, rest = each.partition("/")
            path = f"{self._root}/{each}"
            with self._system.open_input_file(path) as stream:
                rows = pq.read_metadata(stream).num_rows
            found.append(Written(table, rest.rpartition("/")[0], path, rows, self._system.get_file_info(path).size))
        return found

    def last_number(self, name: str) -> int:
        """The highest number that is the name of a file in a folder below this one; -1 when there is none."""
        path = f"{self._root}/{name}"
        if self._system.get_file_info(path).type != fs.FileType.Directory:
            return -1
        names = [each.base_name for each in self._system.get_file_info(fs.FileSelector(path))]
        return max([int(each) for each in names if each.isdigit()], default=-1)

    def make(self) -> None:
        """Makes the folder."""
        try:
            self._system.create_dir(self._root, recursive=True)
        except OSError as error:
            raise PipelineError(f"{self.name}: cannot be written: {_reason(error)}") from error

    def relative(self, path: str) -> str:
        """A path as it is, or will be, below the folder."""
        return path.removeprefix(f"{self._work}/").removeprefix(f"{self._root}/")

    def clear(self) -> None:
        """Removes what runs that were killed have left."""
        for each in self._system.get_file_info(fs.FileSelector(self._root)):
            if each.base_name.startswith(_WORK) and each.path != self._work:
                self._remove(each.path)

    def forget(self, name: str) -> None:
        """Removes a small file directly in the folder, if it is there."""
        if self._system.get_file_info(f"{self._root}/{name}").type == fs.FileType.File:
            self._system.delete_file(f"{self._root}/{name}")

    def _remove(self, path: str) -> None:
        if self._system.get_file_info(path).type == fs.FileType.Directory:
            self._system.delete_dir(path)


def _absolute(path: str) -> str:
    from os.path import abspath, expanduser

    return abspath(expanduser(path))


def _reason(error: OSError) -> str:
    from os import strerror

    return strerror(error.errno) if error.errno else str(error).splitlines()[0]
