"""The files beside the database of a store: its mark, its tag, and its write-ahead log.

sqlite takes a missing write-ahead log for an empty one, a truncated one for a complete one, and an empty database file for a
new one.  The mark therefore says `OPEN` from the first commit that was confirmed to a client, with the number of the last
confirmed entry, and `CLOSED` once the database file itself holds everything.
"""

from __future__ import annotations

import os
import re
import struct
from collections.abc import Sequence
from contextlib import suppress
from io import FileIO
from pathlib import Path
from typing import BinaryIO, Final
from uuid import UUID, uuid4
from zlib import crc32

MARK: Final = "broker.mark"
NEW: Final = ""
"""There is no mark: nothing was confirmed as stored."""
OPEN: Final = "open"
"""The write-ahead log may hold entries that are nowhere else."""
CLOSED: Final = "closed"
"""The store was closed cleanly: the database file holds everything."""

_COUNTED: Final = re.compile(rb"(open ([0-9]{20})) ([0-9a-f]{8})\n")
"""OPEN with a number and the checksum of both; of fixed length, so that each mark overwrites the one before exactly."""

TAG: Final = "broker.tag"

# sqlite reads a log up to the first frame that does not match its checksum, and takes that for the end.  After a crash it is
# the end: what was not yet on the disk is missing.  But where the disk has damaged the middle, sqlite silently drops everything
# after it.  The two can be distinguished: at most one transaction was not yet on the disk.
#
# The format is in sqlite's documentation, under «WAL-mode file format»: a header of 32 octets, then frames, each with a header
# of 24 octets and a page; checksums run on from frame to frame; frames whose salts are not the header's are of an earlier log.
HEADER: Final = struct.Struct(">8I")
"""Magic number, version, octets of a page, checkpoint, two salts, two checksums."""
FRAME: Final = struct.Struct(">6I")
"""Page, pages in the file where it ends a transaction (else 0), two salts, two checksums."""
MAGIC: Final = 0x377F0682
"""Its lowest bit says that the checksums are of big-endian numbers."""
UNFINISHED: Final = 1
"""The most transactions that a crash leaves incomplete: each is on the disk before the next one begins."""
_MASK: Final = 0xFFFFFFFF


class Mark:
    """The mark file in the directory of a store."""

    def __init__(self, directory: Path) -> None:
        self.path: Final = directory / MARK
        self._new: Final = _unfinished(self.path)
        self._prepared: tuple[FileIO, int] | None = None
        """The file that the first `confirm` fills and renames, and its directory."""
        self._file: FileIO | None = None

    def read(self) -> str:
        """Returns NEW, OPEN or CLOSED.  Raises OSError when the file cannot be read, ValueError when it holds anything else."""
        octets = self._octets()
        if octets is None:
            return NEW
        if (word := octets.strip().decode("latin-1")) in (OPEN, CLOSED):
            return word
        if _COUNTED.fullmatch(octets) is None:
            raise ValueError(f"{MARK} says neither that the store is {OPEN} nor that it is {CLOSED}")
        return OPEN

    def confirmed(self) -> int:
        """Returns the number that `confirm` wrote last; 0 when there is none, or its checksum does not match.  Raises OSError.

        A power failure may leave a number that is half old and half new.
        """
        counted = _COUNTED.fullmatch(self._octets() or b"")
        if counted is None or crc32(counted[1]) != int(counted[3], 16):
            return 0
        return int(counted[2])

    def prepare(self) -> None:
        """Opens the files of the first `confirm`; clients may use up all file descriptors before it.  Raises OSError."""
        file = FileIO(os.open(self._new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w")
        try:
            self._prepared = file, os.open(self.path.parent, os.O_RDONLY)
        except OSError:
            file.close()
            raise

    def write(self, word: str) -> None:
        """Writes the word atomically; it is on the disk when this returns.  Raises OSError."""
        self.close()
        write_whole(self.path, word.encode() + b"\n")

    def confirm(self, number: int) -> None:
        """Writes OPEN with the number of the last entry on the disk.  Raises OSError.

        The first time, the mark is on the disk when this returns.  Later ones are left to the operating system, which keeps
        them when the process is killed; after a power failure the disk may hold an earlier number, which claims too little,
        never too much.
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
            with suppress(OSError):  # where the system does not allow it
                os.fsync(directory)
        except OSError:
            file.close()
            raise
        finally:
            os.close(directory)
        self._file = file

    def close(self) -> None:
        """Closes the files.  Raises OSError."""
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
    """Writes a small file atomically; it is on the disk when this returns.  Raises OSError."""
    temporary = _unfinished(path)
    binary = getattr(os, "O_BINARY", 0)  # without it Windows writes each line end as two octets
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | binary, 0o600)
    try:
        os.write(handle, octets)
        os.fsync(handle)
    finally:
        os.close(handle)
    os.replace(temporary, path)
    sync_directory(path.parent)


def _unfinished(path: Path) -> Path:
    """Returns the temporary name of a file while it is written; one per file, because several may be in progress at once."""
    return path.with_name(f"{path.name}.new")


def sync_directory(directory: Path) -> None:
    """Flushes the names in a directory to the disk, where the operating system allows that."""
    with suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def new_tag() -> str:
    """Returns a tag that no other broker has."""
    return str(uuid4())


def kept_tag(directory: str | os.PathLike[str]) -> str:
    """Returns the tag in the directory of a store; makes a new one when there is none or it is not valid.  Raises OSError.

    Only the process that has the store open may call it: two processes that make one at the same time would not agree.
    """
    path = Path(directory) / TAG
    try:
        return str(UUID(path.read_text("ascii").strip()))
    except (FileNotFoundError, ValueError):  # a UnicodeDecodeError is a ValueError
        made = new_tag()
        write_whole(path, made.encode() + b"\n")
        return made


def damage(path: Path) -> str | None:
    """Returns where the log is damaged and how much follows; None where there is no more damage than a crash leaves.

    Raises OSError when the log cannot be read.
    """
    try:
        file = path.open("rb")
    except FileNotFoundError:
        return None
    with file:
        return _damage(file, path.name)


def _damage(file: BinaryIO, name: str) -> str | None:
    head = file.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    magic, _, page, _, *said = HEADER.unpack(head)
    salts, order = said[:2], ">" if magic & 1 else "<"
    if magic & ~1 != MAGIC or [*_sum((0, 0), head[:24], order)] != said[2:]:
        return f"the header of {name} does not match its checksum" if file.read(1) else None
    sums = _sum((0, 0), head[:24], order)
    at, bad, ends = HEADER.size, -1, 0
    while len(head := file.read(FRAME.size)) == FRAME.size:
        octets = file.read(page)
        _, size, *said = FRAME.unpack(head)
        if bad < 0:
            if said[:2] == salts and len(octets) == page:
                sums = _sum(_sum(sums, head[:8], order), octets, order)
                if [*sums] == said[2:]:
                    at += FRAME.size + page
                    continue
            bad = at
        if said[:2] == salts and size:
            ends += 1
    if bad < 0 or ends <= UNFINISHED:
        return None
    return (
        f"{name} is damaged at octet {bad}, and {ends} transactions end there or after it; if you cut the file off at that"
        " octet, it keeps what came before"
    )


def _sum(sums: tuple[int, int], octets: bytes, order: str) -> tuple[int, int]:
    first, second = sums
    numbers: Sequence[int] = struct.unpack(f"{order}{len(octets) // 4}I", octets)
    for even, odd in zip(numbers[::2], numbers[1::2], strict=True):
        first = first + even + second & _MASK
        second = second + odd + first & _MASK
    return first, second
