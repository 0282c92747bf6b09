"""The mark of a store: what sqlite cannot tell, whether the store was used, how far it went and how it ended.

sqlite takes a write-ahead log that is gone for an empty one, one that was cut for all there ever was, and a file that is empty
for a new one.  So a word stands beside them: `OPEN` from the first commit that was confirmed to a client, with the number of
the last entry that was confirmed, and `CLOSED` once all of it is in the file itself.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import Final
from zlib import crc32

FILE: Final = "broker.mark"
NEW: Final = ""
"""There is no mark: nothing was confirmed as stored."""
OPEN: Final = "open"
"""The write-ahead log may hold what is nowhere else."""
CLOSED: Final = "closed"
"""The end was clean: the file holds everything."""

_COUNTED: Final = re.compile(rb"(open ([0-9]{20})) ([0-9a-f]{8})\n")
"""OPEN with a number and the checksum of both; always as long, so that the next one takes its place octet for octet."""


class Mark:
    """The file with that word, in the directory of a store."""

    def __init__(self, directory: Path) -> None:
        self.path: Final = directory / FILE
        self._new: Final = _unfinished(self.path)
        self._prepared: tuple[FileIO, int] | None = None
        """The file that the first `confirm` fills and renames, and the directory in which it does."""
        self._file: FileIO | None = None

    def read(self) -> str:
        """NEW, OPEN or CLOSED.  OSError when it cannot be read; ValueError when something else is in the file."""
        octets = self._octets()
        if octets is None:
            return NEW
        if (word := octets.strip().decode("latin-1")) in (OPEN, CLOSED):
            return word
        if _COUNTED.fullmatch(octets) is None:
            raise ValueError(f"{FILE} says neither that the store is {OPEN} nor that it is {CLOSED}")
        return OPEN

    def confirmed(self) -> int:
        """The number that `confirm` wrote last; 0 when the mark has none, or one that does not match its checksum.  OSError.

        A power cut may leave a number of which one half is older than the other.
        """
        counted = _COUNTED.fullmatch(self._octets() or b"")
        if counted is None or crc32(counted[1]) != int(counted[3], 16):
            return 0
        return int(counted[2])

    def prepare(self) -> None:
        """Opens what the first `confirm` needs: strangers may hold all file descriptors by then.  OSError."""
        file = FileIO(os.open(self._new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w")
        try:
            self._prepared = file, os.open(self.path.parent, os.O_RDONLY)
        except OSError:
            file.close()
            raise

    def write(self, word: str) -> None:
        """Writes the word, whole or not at all; it is on the disk when this returns.  OSError."""
        self.close()
        write_whole(self.path, word.encode() + b"\n")

    def confirm(self, number: int) -> None:
        """Writes OPEN, and that entries up to `number` are on the disk, which they are already.  OSError.

        The first time it is on the disk when this returns.  After that it is with the system, which keeps it when the process
        is killed; when the power fails the disk may have an earlier number: too little is known then, never too much.
        """
        said = b"%s %020d" % (OPEN.encode(), number)
        octets = b"%s %08x\n" % (said, crc32(said))
        if self._file is not None:
            self._file.seek(0)
            self._file.write(octets)
            return
        if self._prepared is None:
            self.prepare()
        assert self._prepared is not None
        (file, directory), self._prepared = self._prepared, None
        try:
            file.write(octets)
            os.fsync(file.fileno())
            os.replace(self._new, self.path)
            with suppress(OSError):  # where the system lets nobody do that
                os.fsync(directory)
        except OSError:
            file.close()
            raise
        finally:
            os.close(directory)
        self._file = file

    def close(self) -> None:
        """Lets go of the files.  OSError."""
        file, self._file = self._file, None
        if self._prepared is not None:
            file, directory = self._prepared
            self._prepared = None
            os.close(directory)
            with suppress(FileNotFoundError):
                self._new.unlink()
        if file is not None:
            file.close()

    def _octets(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None


def write_whole(path: Path, octets: bytes) -> None:
    """Writes a small file, whole or not at all; it is on the disk when this returns.  OSError."""
    temporary = _unfinished(path)
    binary = getattr(os, "O_BINARY", 0)  # Windows would write every line end as two octets
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | binary, 0o600)
    try:
        os.write(handle, octets)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(temporary, path)
    sync_directory(path.parent)


def _unfinished(path: Path) -> Path:
    """What has that file's name once it is whole; of each file its own, for several may be begun at a time."""
    return path.with_name(f"{path.name}.new")


def sync_directory(directory: Path) -> None:
    """Sees to it that the names in a directory are on the disk, where the system lets one do that."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
