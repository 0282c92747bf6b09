"""Finds damage in a write-ahead log of sqlite before sqlite reads it.

sqlite reads a log up to the first frame that does not match its checksum, and takes that for the end.  After a crash it is the
end: what was not yet on the disk is missing.  But where the disk has damaged the middle, sqlite silently drops everything after
it.  The two can be distinguished: at most one transaction was not yet on the disk.

The format is in sqlite's documentation, under «WAL-mode file format»: a header of 32 octets, then frames, each with a header of
24 octets and a page; checksums run on from frame to frame; frames whose salts are not the header's are of an earlier log.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Final

HEADER: Final = struct.Struct(">8I")
"""Magic number, version, octets of a page, checkpoint, two salts, two checksums."""
FRAME: Final = struct.Struct(">6I")
"""Page, pages in the file where it ends a transaction (else 0), two salts, two checksums."""
MAGIC: Final = 0x377F0682
"""Its lowest bit says that the checksums are of big-endian numbers."""
UNFINISHED: Final = 1
"""The most transactions that a crash leaves incomplete: each is on the disk before the next one begins."""

_MASK: Final = 0xFFFFFFFF


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
