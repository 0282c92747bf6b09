"""Payloads that stay in their file: where each lies, and its octets when they are wanted.

What is compressed has no place for them: there a packet carries its payload.
"""

from __future__ import annotations

import os
from mmap import ACCESS_READ, mmap
from typing import Final, NamedTuple

import numpy as np
import pyarrow as pa

from amqp_sansio.captures.columns.heads import Ints
from amqp_sansio.captures.errors import CHANGED, CaptureError
from amqp_sansio.captures.files import is_remote
from amqp_sansio.captures.packets_schema import PACKETS, Column
from amqp_sansio.captures.pcap import MAGICS
from amqp_sansio.captures.pcapng import MAGIC

PLACES: Final = (
    Column("start", "int32", "int", False, "octets from where the packet's record starts to its payload"),
    Column("length", "int32", "int", False, "octets of the payload"),
)
PLACED: Final = (*[column for column in PACKETS if column.name != "payload"], *PLACES)
"""The columns of packets whose payloads stay in the file."""
OPEN_FILES: Final = 16
"""Files that are open at a time."""


class Stamp(NamedTuple):
    """What tells that a file is still the one that it was: its size, and when it was changed last, ns since 1970 UTC."""

    octets: int
    changed_ns: int


CARRIED: Final = Stamp(-1, 0)
"""In the place of a stamp: the payloads are not left in the file."""


def stamp_of(path: str) -> Stamp:
    """The stamp of a file in which payloads can stay; CARRIED for what is compressed, no capture, or cannot be read."""
    if is_remote(path):
        return CARRIED
    try:
        with open(path, "rb") as stream:
            stamp = _stamp(stream.fileno())
            magic = stream.read(4)
    except (OSError, ValueError):  # whoever reads it tells
        return CARRIED
    return stamp if magic in MAGICS or magic == MAGIC else CARRIED


def _stamp(descriptor: int) -> Stamp:
    about = os.fstat(descriptor)
    return Stamp(about.st_size, about.st_mtime_ns)


class Payloads:
    """Takes payloads out of their files.  `close` it when all were used: it tells of a file that was changed meanwhile."""

    def __init__(self) -> None:
        self._open: Final[dict[tuple[str, Stamp], mmap]] = {}

    def take(self, path: str, stamp: Stamp, begins: Ints, lengths: Ints) -> pa.Array:
        """The octets at these places of a file.  CaptureError when it is not the one with this stamp any more."""
        octets = self._open.pop((path, stamp), None)
        if octets is None:
            if len(self._open) >= OPEN_FILES:
                self._close(next(iter(self._open)))
            octets = _mapped(path, stamp)
        self._open[path, stamp] = octets  # the last one is the one used last
        # A slice for each packet costs no more than Arrow's `take` from a column over the whole file.
        data = b"".join(map(octets.__getitem__, map(slice, begins.tolist(), (begins + lengths).tolist())))
        offsets = np.zeros(len(begins) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        return pa.BinaryArray.from_buffers(pa.binary(), len(begins), [None, pa.py_buffer(offsets), pa.py_buffer(data)])

    def close(self) -> None:
        """Closes the files.  CaptureError when one of them is not what it was when it was opened."""
        for key in list(self._open):
            self._close(key)

    def _close(self, key: tuple[str, Stamp]) -> None:
        self._open.pop(key).close()
        path, stamp = key
        _mapped(path, stamp).close()


def _mapped(path: str, stamp: Stamp) -> mmap:
    try:
        with open(path, "rb") as stream:
            now = _stamp(stream.fileno())
            if now != stamp:
                raise CaptureError(path, 0, 0, f"{CHANGED} (it had {stamp.octets} octets, now {now.octets})")
            return mmap(stream.fileno(), 0, access=ACCESS_READ)
    except OSError as error:
        raise CaptureError(path, 0, 0, f"cannot be opened any more: {error.strerror or error}") from error
