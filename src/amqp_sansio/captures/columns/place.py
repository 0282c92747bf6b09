"""The folder that tables are published in: atomically, the manifest last.

The manifest names the files of the tables, and it alone decides what is published.  A run writes below a hidden folder, under
names that no other run uses, moves its files beside those of the earlier run, writes the manifest in one step, and only then
removes what the manifest does not name.  A failure before that step leaves the earlier manifest and every file that it names; a
failure after it leaves the new ones.  A disk and an object store, where a move is a copy, work the same way.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from errno import ENOTDIR
from os import strerror
from typing import Any, Final, NamedTuple

from pyarrow import fs

from amqp_sansio.captures.columns.lock import RunLock
from amqp_sansio.captures.errors import PlaceError
from amqp_sansio.captures.locations import located
from amqp_sansio.captures.tables import END_TO_END, TABLES

MANIFEST: Final = "_MANIFEST.json"
"""The file, directly in the folder, that names all others."""
STREAM: Final = "_STREAM.json"
"""The file that marks the tables of `watch`, and identifies their stream."""
WORK: Final = ".work-"
"""The prefix of the hidden folder's name."""
_SUFFIX: Final = ".parquet"


class Written(NamedTuple):
    """A written file: its table, its folder below the table's, its path, and its numbers of rows and octets."""

    table: str
    folder: str
    path: str
    rows: int
    octets: int


class Place:
    """A folder for tables, by path or URI.  Raises LocationError when it cannot be opened, PlaceError when it cannot be
    written."""

    def __init__(self, folder: str) -> None:
        self.name: Final = folder.rstrip("/") or folder
        self._place: Final = located(folder)
        self._system: Final = self._place.system
        self.root: Final = self._place.path
        """Its path in its file system."""
        self.is_local: Final = not self._place.base
        """Whether it is a path on this machine."""
        self._lock: Final = RunLock(self.name, self._place)
        self._work: Final = f"{self.root}/{WORK}{_unique()}"
        self.work: Final = self._place.base + self._work
        """Where this run writes until it publishes."""

    def open(self) -> None:
        """Creates the folder and its working folder, and takes the lock.  Raises PlaceError when another run holds it."""
        try:
            self.make()
            self._lock.acquire()
            self._clear()
            self._place.make_folder(self._work)
            self._place.write(f"{self._work}/.try", b"\n")
        except OSError as error:
            self.discard()
            raise self._failed(error) from error

    def discard(self) -> None:
        """Removes the work of this run and releases the lock; published tables stay as they are."""
        with suppress(OSError):  # the next run removes what cannot be removed now
            self._remove(self._work)
        with suppress(OSError):
            self._lock.release()

    def read(self, name: str) -> bytes | None:
        """Returns the octets of a small file directly in the folder; None when it does not exist."""
        try:
            return self._place.read(f"{self.root}/{name}")
        except OSError as error:
            raise PlaceError(f"{self.name}: cannot be read: {_reason(error)}") from error

    def write(self, name: str, data: bytes) -> None:
        """Writes a small file directly into the folder, atomically."""
        path = f"{self.root}/{name}"
        if self.is_local:
            self._place.write(f"{path}.new", data)
            self._system.move(f"{path}.new", path)
        else:  # a write to an object store is atomic
            self._place.write(path, data)

    def publish(self, files: Iterable[Written], manifest: bytes, kept: Iterable[Written] = ()) -> list[Written]:
        """Makes the tables consist of `files` of this run and the published ones in `kept`; returns all of them.

        The manifest is written last.  Raises PlaceError when that fails, with everything as it was; when only the removal of
        earlier files fails, the text says so.
        """
        published = list(kept)
        named = {self.relative(each.path) for each in published}
        earlier = [path for path in self.files() if path not in named]
        before = self.read(MANIFEST)
        moved: list[Written] = []
        named_now = False
        try:
            self._lock.confirm()
            for file in files:
                moved.append(file._replace(path=f"{self.root}/{self.relative(file.path)}"))
                self._move(file.path, moved[-1].path)
            self._lock.confirm()
            named_now = True
            self.write(MANIFEST, manifest)
        except BaseException as error:
            if not self._undo(moved, before, named_now):
                raise PlaceError(f"{self.name}: cannot be written any more, not even to undo what this run began") from error
            if isinstance(error, OSError):
                raise self._failed(error) from error
            raise
        published += moved
        self._forget(earlier, {self.relative(each.path) for each in published})
        return published

    def _undo(self, moved: Iterable[Written], before: bytes | None, named_now: bool) -> bool:
        """Reverts a failed publication, the manifest first; returns whether that succeeded."""
        try:
            if named_now and before is None:
                self._remove(f"{self.root}/{MANIFEST}")
            elif named_now and before is not None and self.read(MANIFEST) != before:
                self.write(MANIFEST, before)
            self._remove(f"{self.root}/{MANIFEST}.new")
            for file in moved:
                self._remove(file.path)
            self._prune(self.relative(file.path) for file in moved)
        except (OSError, PlaceError):
            return False
        return True

    def _forget(self, earlier: Iterable[str], named: set[str]) -> None:
        """Removes files that the manifest no longer names."""
        gone = [path for path in earlier if path not in named]
        left, reason = 0, ""
        for path in gone:
            try:
                self._remove(f"{self.root}/{path}")
            except OSError as error:
                left, reason = left + 1, _reason(error)
        try:
            self._prune(gone)
        except OSError as error:
            left, reason = left + 1, _reason(error)
        if left:
            raise PlaceError(
                f"{self.name}: the new tables are published, but {left} files of earlier ones cannot be removed: {reason}"
            )

    def files(self) -> list[str]:
        """Returns the Parquet files of all tables, named by the manifest or not, as paths below the folder."""
        found: list[str] = []
        for table in (*TABLES, END_TO_END.name):
            select = fs.FileSelector(f"{self.root}/{table}", allow_not_found=True, recursive=True)
            for each in self._system.get_file_info(select):
                path = path_of(each)
                if each.type == fs.FileType.File and path.endswith(_SUFFIX):
                    found.append(self.relative(path))
        return sorted(found)

    @property
    def version(self) -> int | None:
        """Returns the schema version of the tables by their manifest; None without a manifest, 0 when it has none."""
        manifest = self.read(MANIFEST)
        if manifest is None:
            return None
        named_in(manifest, self.name)
        said = json.loads(manifest).get("schema")
        return said if type(said) is int else 0

    def published(self) -> list[Written]:
        """Returns the files of all tables by their manifest; none without a manifest."""
        return [
            Written(table, file["path"].partition("/")[2].rpartition("/")[0], f"{self.root}/{file['path']}", rows, octets)
            for table, files in named_in(self.read(MANIFEST), self.name).items()
            for file in files
            for rows, octets in [(file["rows"], file["octets"])]
        ]

    def last_number(self, name: str) -> int:
        """Returns the highest number that is the name of a file in a folder below this one; -1 when there is none."""
        select = fs.FileSelector(f"{self.root}/{name}", allow_not_found=True)
        names = [path_of(each).rpartition("/")[2] for each in self._system.get_file_info(select)]
        return max([int(each) for each in names if each.isdigit()], default=-1)

    def make(self) -> None:
        """Creates the folder."""
        try:
            if self._system.get_file_info(self.root).type == fs.FileType.File:
                raise NotADirectoryError(ENOTDIR, strerror(ENOTDIR))
            self._place.make_folder(self.root)
        except OSError as error:
            raise self._failed(error) from error

    def relative(self, path: str) -> str:
        """Returns a path relative to the folder, for a file that is there or still to be moved."""
        return path.removeprefix(f"{self._work}/").removeprefix(f"{self.root}/")

    def _clear(self) -> None:
        """Removes what killed runs have left: their working folders, and files moved without a manifest."""
        for each in self._system.get_file_info(fs.FileSelector(self.root, allow_not_found=True)):
            path = path_of(each)
            name = path.rpartition("/")[2]
            if name.startswith(WORK) or name == f"{MANIFEST}.new":
                self._remove(path)
        if self._lock.taken_over and self.read(MANIFEST) is not None:
            self._forget(self.files(), {self.relative(each.path) for each in self.published()})

    def _move(self, path: str, to: str) -> None:
        self._place.make_folder(to.rpartition("/")[0])
        self._system.move(path, to)

    def _prune(self, gone: Iterable[str]) -> None:
        """Removes empty folders of tables; an object store has none."""
        if not self.is_local:
            return
        for folder in sorted({path.rpartition("/")[0] for path in gone}, key=len, reverse=True):
            while folder:
                inside = fs.FileSelector(f"{self.root}/{folder}", allow_not_found=True)
                if self._system.get_file_info(inside):
                    break
                self._remove(f"{self.root}/{folder}")
                folder = folder.rpartition("/")[0]

    def _remove(self, path: str) -> None:
        kind = self._system.get_file_info(path).type
        if kind == fs.FileType.Directory:
            self._system.delete_dir(path)
        elif kind == fs.FileType.File:
            self._system.delete_file(path)

    def _failed(self, error: OSError) -> PlaceError:
        return PlaceError(f"{self.name}: cannot be written: {_reason(error)}")


def path_of(found: fs.FileInfo) -> str:
    """Returns the path of a file; "" for a name that is not UTF-8, which none of ours is."""
    try:
        path: str = found.path
    except UnicodeDecodeError:
        return ""
    return path


def named_in(manifest: bytes | None, name: str) -> dict[str, list[dict[str, Any]]]:
    """Returns the files of each table in a manifest, with their `path`, `rows` and `octets`; none without a manifest."""
    if manifest is None:
        return {}
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        for table, of in json.loads(manifest)["tables"].items():
            found[str(table)] = [
                {"path": str(file["path"]), "rows": int(file["rows"]), "octets": int(file["octets"])} for file in of["files"]
            ]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise PlaceError(f"{name}: {MANIFEST} is not a manifest of tables") from error
    for file in [file for of in found.values() for file in of]:
        if ".." in file["path"].split("/") or file["path"].startswith("/"):
            raise PlaceError(f"{name}: {MANIFEST} names a file outside of its folder: {ascii(file['path'])[:200]}")
    return found


def _unique() -> str:
    from uuid import uuid4

    return uuid4().hex[:12]


def _reason(error: OSError) -> str:
    return strerror(error.errno) if error.errno else str(error).splitlines()[0]
