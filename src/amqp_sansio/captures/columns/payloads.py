"""Payloads that stay in their file: the position of each, and its octets when they are needed.

A compressed file has no positions for them: there a packet carries its payload.
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
"""The most open files."""


class Stamp(NamedTuple):
    """Identifies the state of a file: its size, and its modification time, ns since 1970 UTC."""

    octets: int
    changed_ns: int


CARRIED: Final = Stamp(-1, 0)
"""In place of a stamp: the packets carry their payloads."""


def stamp_of(path: str) -> Stamp:
    """Returns the stamp of a file in which payloads can stay; CARRIED for one that is compressed, no capture, or unreadable."""
    if is_remote(path):
        return CARRIED
    try:
        with open(path, "rb") as stream:
            stamp = _stamp(stream.fileno())
            magic = stream.read(4)
    except (OSError, ValueError):  # its reader will report the fault
        return CARRIED
    return stamp if magic in MAGICS or magic == MAGIC else CARRIED


def _stamp(descriptor: int) -> Stamp:
    about = os.fstat(descriptor)
    return Stamp(about.st_size, about.st_mtime_ns)


class Payloads:
    """Reads payloads from their files.  `close` it after the last one: it reports files that were changed meanwhile."""

    def __init__(self) -> None:
        self._open: Final[dict[tuple[str, Stamp], mmap]] = {}

    def take(self, path: str, stamp: Stamp, begins: Ints, lengths: Ints) -> pa.Array:
        """Returns the octets at these positions of a file.  Raises CaptureError when the file no longer has this stamp."""
        octets = self._open.pop((path, stamp), None)
        if octets is None:
            if len(self._open) >= OPEN_FILES:
                self._close(next(iter(self._open)))
            octets = _mapped(path, stamp)
        self._open[path, stamp] = octets  # reinserted, so that the last one is the most recently used
        # A view of each packet, copied once by `join`, costs less than slices of octets or Arrow's `take` from a column.
        with memoryview(octets) as whole:
            data = b"".join([whole[at:end] for at, end in zip(begins.tolist(), (begins + lengths).tolist(), strict=True)])
        offsets = np.zeros(len(begins) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        return pa.BinaryArray.from_buffers(pa.binary(), len(begins), [None, pa.py_buffer(offsets), pa.py_buffer(data)])

    def close(self) -> None:
        """Closes the files.  Raises CaptureError when one of them has changed since it was opened."""
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
