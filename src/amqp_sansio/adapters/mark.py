"""The mark of a store: what sqlite cannot tell, whether the store was used, how far it went and how it ended.

sqlite takes a write-ahead log that is gone for an empty one, one that was cut for all there ever was, and a file that is empty
for a new one.  So a word stands beside them: `OPEN` from the first commit that somebody was told of, with the number of the
last entry that was confirmed, and `CLOSED` once all of it is in the file itself.
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
"""There is no mark: nobody was told that anything is stored."""
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
        self._file: FileIO | None = None

    def read(self) -> str:
        """NEW, OPEN or CLOSED; whatever else is in the file counts as OPEN.  OSError when it cannot be read."""
        octets = self._octets()
        if octets is None:
            return NEW
        return CLOSED if octets.strip() == CLOSED.encode() else OPEN

    def confirmed(self) -> int:
        """The number that `confirm` wrote last; 0 when the mark has none, or one that does not match its checksum.  OSError."""
        counted = _COUNTED.fullmatch(self._octets() or b"")
        if counted is None or crc32(counted[1]) != int(counted[3], 16):
            return 0
        return int(counted[2])

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
        if self._file is None:
            write_whole(self.path, octets)
            self._file = FileIO(self.path, "r+")  # it stays open: a commit needs no descriptor that may not be there
        else:
            self._file.seek(0)
            self._file.write(octets)

    def close(self) -> None:
        """Lets go of the file.  OSError."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def _octets(self) -> bytes | None:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return None


def write_whole(path: Path, octets: bytes) -> None:
    """Writes a small file, whole or not at all; it is on the disk when this returns.  OSError."""
    temporary = path.with_suffix(".new")
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(handle, octets)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(temporary, path)
    sync_directory(path.parent)


def sync_directory(directory: Path) -> None:
    """Sees to it that the names in a directory are on the disk, where the system lets one do that."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
