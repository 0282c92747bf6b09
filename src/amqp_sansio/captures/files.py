"""Selects capture files: by paths, folders and patterns, and of a folder those that are complete and not yet taken."""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from glob import glob, has_magic
from typing import Any, Final, TypeAlias

from amqp_sansio.captures import locations
from amqp_sansio.captures.errors import CaptureError, LocationError
from amqp_sansio.captures.locations import local

PACKED: Final = (".gz", ".zst", ".zstd")
"""Endings of files compressed after they were closed; such a file counts as the same file."""
UNFINISHED: Final = (".tmp", ".part", ".partial")
"""Endings of files that will be renamed when they are complete."""
DONE: Final = ".done"
"""Ending of an empty marker file: the file of the same name without this ending is closed."""
CLOSED: Final = ("newest", "done", "all")
"""How to know that a file is closed: "newest": all but the last one by name are; "done": there is a file `NAME.done` beside it;
"all": every file is (files are moved into place, or the capture is over)."""

NameKey: TypeAlias = tuple[tuple[tuple[int, int, str], ...], str]
"""A name as a sort key: its texts and numbers in turn, then the name itself."""

_DIGITS: Final = re.compile(r"(\d+)")
_EMPTY: Final = "the folder has no capture in it"
_UNMATCHED: Final = "no file matches this pattern"


def order(name: str) -> NameKey:
    """Returns the sort key of a name: numbers count as numbers (dump2 before dump10), endings of compression do not count."""
    name = _unpacked(name)
    words = [word for word in _DIGITS.split(name) if word]
    return tuple((1, int(word), "") if word.isdecimal() else (0, 0, word) for word in words), name


def resolved(path: str) -> str:
    """Returns a path without `file:` before it, or a URI of another file system.  Raises CaptureError for one that cannot be
    opened."""
    try:
        here = local(path)
    except LocationError as error:
        raise CaptureError(error.place, 0, 0, error.rule) from error
    return path if here is None else here


def is_remote(path: str) -> bool:
    """Whether the path is a URI of a file system that is not on this machine."""
    return ":/" in path and local(path) is None


def named(paths: Iterable[str]) -> list[str]:
    """Returns the files that paths name, in the order given and as often; folders and patterns as in `found`.

    Anything but a folder or pattern stays as it is, whether it exists or not: a pipe, "-" for standard input.  Raises
    CaptureError for a folder or pattern without files.
    """
    files: list[str] = []
    for path in paths:
        here = local(path) if ":" in path else path
        if here is None:
            several = locations.is_several(path)
        else:
            several = os.path.isdir(here) or (has_magic(here) and not os.path.exists(here))
        inside = found([path]) if several else [path]
        files += map(os.path.relpath, inside) if several and here is not None and not os.path.isabs(here) else inside
    return files


def found(paths: Iterable[str]) -> list[str]:
    """Returns the files that paths, folders (all files in them but hidden ones) and patterns (* ? [ ]) stand for, each once, in
    the order of their names.  A URI may stand for any of these.

    Raises CaptureError for what does not exist or is not a file (a pipe), and for a folder or pattern without files.
    """
    files: set[str] = set()
    for path in map(resolved, paths):
        if is_remote(path):
            files.update(_found_remote(path))
            continue
        if os.path.isdir(path):
            try:
                here = [os.path.join(path, name) for name in names_in(path)]
            except OSError as error:
                raise CaptureError(path, 0, 0, f"cannot be read: {error.strerror}") from error
        elif os.path.exists(path):
            if not os.path.isfile(path):
                raise CaptureError(path, 0, 0, "is a pipe or a device; captures are read twice: copy it to a file")
            here = [path]
        elif has_magic(path):
            here = [each for each in glob(path, recursive=True) if os.path.isfile(each)]
        else:
            raise CaptureError(path, 0, 0, "no such file")
        if not here:
            raise CaptureError(path, 0, 0, _EMPTY if os.path.isdir(path) else _UNMATCHED)
        files.update(map(os.path.abspath, here))
    return sorted(files, key=lambda path: (order(path), path))


def _found_remote(uri: str) -> list[str]:
    try:
        about = locations.about(uri)
        if about.is_file:
            return [uri]
        if locations.has_magic(uri):
            here = locations.matching(uri)
        else:
            folder = uri.rstrip("/")
            here = [f"{folder}/{name}" for name in names_in(folder)]
    except FileNotFoundError:
        raise CaptureError(uri, 0, 0, "no such file") from None
    except OSError as error:
        raise CaptureError(uri, 0, 0, f"cannot be read: {str(error).splitlines()[0]}") from error
    if not here:
        raise CaptureError(uri, 0, 0, _UNMATCHED if locations.has_magic(uri) else _EMPTY)
    return here


def names_in(folder: str) -> list[str]:
    """Returns the names of possible captures in a folder, in order.  Each file once, compressed or not; no pipes."""
    kept: dict[NameKey, str] = {}
    if is_remote(folder):
        names = locations.files_in(folder)
    else:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if _may_be_read(entry))
    for name in names:
        if not name.startswith((".", "_")) and not name.endswith((*UNFINISHED, DONE)):
            kept.setdefault(order(name), name)
    return [kept[key] for key in sorted(kept)]


def _may_be_read(entry: os.DirEntry[str]) -> bool:
    """Whether the entry is a file, or a link to one, or a link that leads nowhere (dangling, or to itself): the reader reports
    that."""
    if entry.is_symlink():
        return os.path.isfile(entry.path) or not os.path.exists(entry.path)
    return entry.is_file()


def closed_in(folder: str, closed: str) -> list[str]:
    """Returns the names of the files in a folder that are closed, in order; `closed` is one of CLOSED.

    Raises CaptureError when the folder cannot be read, ValueError for another word.
    """
    if closed not in CLOSED:
        raise ValueError(f"closed is {' or '.join(CLOSED)}, not {closed!r}")
    try:
        names = names_in(folder)
        if closed == "newest":
            return names[:-1]
        if closed == "done":
            done = _done_in(folder)
            return [name for name in names if done.intersection((name, _unpacked(name)))]
    except OSError as error:
        raise CaptureError(folder, 0, 0, f"cannot be read: {error.strerror or str(error).splitlines()[0]}") from error
    return names


def there(path: str) -> str:
    """Returns the path, or that of the same file compressed since; the path itself when neither exists."""
    exists = locations.is_file if is_remote(path) else os.path.exists
    return next((path + ending for ending in ("", *PACKED) if exists(path + ending)), path)


def size_of(path: str) -> int:
    """Returns the octets of a file; 0 when they are unknown."""
    try:
        return locations.about(path).size or 0 if is_remote(path) else os.stat(path).st_size
    except (OSError, CaptureError):  # the reader reports it
        return 0


def _done_in(folder: str) -> set[str]:
    """Returns the names for which the folder has a file NAME.done."""
    names = locations.files_in(folder) if is_remote(folder) else os.listdir(folder)
    return {name.removesuffix(DONE) for name in names if name.endswith(DONE)}


def _unpacked(name: str) -> str:
    for ending in PACKED:
        name = name.removesuffix(ending)
    return name


TAKEN_NAMES: Final = 16_384
"""The most names remembered: 128 KiB in each offset.  Beyond them the earlier half counts as taken by name order."""
DIGEST_OCTETS: Final = 6
"""Octets of a digest: among all names remembered, two collide once in 10^10 files."""


class TakenFiles:
    """The taken files.  It is restored from an offset, and `told` returns what to store in one.

    A file stays the same when it is compressed.  One that is gone stays taken, so that a folder that was unavailable for a
    moment is not read twice.
    """

    def __init__(self, offset: Mapping[str, Any]) -> None:
        """Restores it.  An offset of an earlier version has the last name only: everything up to that was taken."""
        digests = base64.b64decode(offset.get("taken", ""))
        self._digests: Final = {digests[at : at + DIGEST_OCTETS] for at in range(0, len(digests), DIGEST_OCTETS)}
        self._floor = str(offset["floor"] if "taken" in offset else offset["last"])
        """Names up to this one count as taken ("": none do)."""

    def __contains__(self, name: str) -> bool:
        return (bool(self._floor) and order(name) <= order(self._floor)) or _digest(name) in self._digests

    def without(self, names: Iterable[str]) -> list[str]:
        """Returns those of the names that were not taken, in order."""
        return [name for name in names if name not in self]

    def add(self, names: Iterable[str], there: Sequence[str]) -> None:
        """Takes these files; `there` are all names of the folder in order, by which earlier digests are dropped."""
        self._digests.update(map(_digest, names))
        if len(self._digests) <= TAKEN_NAMES:
            return
        kept = [name for name in there if name in self][-TAKEN_NAMES // 2 :]
        self._floor = max(self._floor, kept[0], key=order)
        self._digests.clear()
        self._digests.update(map(_digest, kept))

    def told(self) -> dict[str, str]:
        """Returns its representation in an offset."""
        return {"floor": self._floor, "taken": base64.b64encode(b"".join(sorted(self._digests))).decode()}


def _digest(name: str) -> bytes:
    return hashlib.blake2b(order(name)[1].encode(errors="surrogateescape"), digest_size=DIGEST_OCTETS).digest()
