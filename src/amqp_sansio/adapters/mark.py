"""The mark of a store: what sqlite cannot tell, whether the store was used and how it ended.

sqlite takes a write-ahead log that is gone for an empty one, and a file that is empty for a new one.  So a word stands beside
them: `OPEN` from the first commit that somebody was told of, `CLOSED` once all of it is in the file itself.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

FILE: Final = "broker.mark"
NEW: Final = ""
"""There is no mark: nobody was told that anything is stored."""
OPEN: Final = "open"
"""The write-ahead log may hold what is nowhere else."""
CLOSED: Final = "closed"
"""The end was clean: the file holds everything."""


class Mark:
    """The file with that word, in the directory of a store."""

    def __init__(self, directory: Path) -> None:
        self.path: Final = directory / FILE

    def read(self) -> str:
        """NEW, OPEN or CLOSED; whatever else is in the file counts as OPEN.  OSError when it cannot be read."""
        try:
            word = self.path.read_bytes().strip()
        except FileNotFoundError:
            return NEW
        return CLOSED if word == CLOSED.encode() else OPEN

    def write(self, word: str) -> None:
        """Writes the word, whole or not at all; it is on the disk when this returns.  OSError."""
        write_whole(self.path, word.encode() + b"\n")


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
