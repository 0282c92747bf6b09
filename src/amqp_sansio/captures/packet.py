"""Packets of capture files, their limits, and the index from octets of a stream to packets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

MAX_PACKET_OCTETS: Final = 1024 * 1024
"""The most octets of one captured packet.  Larger is damage: tools cut at 262144, and the largest IP packets stay below
600000."""

Warn: TypeAlias = Callable[[str], None]
"""Takes one sentence about an oddity that does not stop the reading."""

PLACE_BITS: Final = 48
"""Bits of the offset in a packet's number."""
_FILE_BITS: Final = 32
_PLACE: Final = (1 << PLACE_BITS) - 1
_FILE: Final = (1 << _FILE_BITS) - 1


class Packet(NamedTuple):
    """A captured packet.

    `number` counts from 1 in file order; `time` is in nanoseconds since 1970 UTC (0 where the file has none); `link` is the
    LINKTYPE_ number of the header at the start of `data`; `original` is the packet's length on the wire, of which `data` may be
    only the beginning; `offset` is where the packet's record starts in the file.
    """

    number: int
    time: int
    link: int
    data: bytes
    original: int
    offset: int


def packet_number(order: int, file: int, offset: int) -> int:
    """Packs a packet's position into one number that grows with `order` and contains the file and the offset in it."""
    return order << PLACE_BITS + _FILE_BITS | file << PLACE_BITS | offset


def packet_place(number: int) -> tuple[int, int]:
    """Returns the file and the offset of a packet."""
    return number >> PLACE_BITS & _FILE, number & _PLACE


MARKS: Final = 64
"""Packets per direction whose positions are remembered, even if nothing unfinished began in them."""
MOST_MARKS: Final = 4096
"""The most packets per direction remembered for unfinished units; beyond it older ones are thinned out."""


class Marks:
    """Where the octets of each packet end in a stream."""

    __slots__ = ("_near", "ends", "packets", "room", "times")

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.packets: list[int] = []
        self.times: list[int] = []
        self._near = (0, 0, 0, 0)
        """The last lookup: from, to, packet, time."""
        self.room = MARKS
        """How many marks are kept before checking whether they are still needed."""

    def add(self, end: int, packet: int, time: int) -> None:
        """Adds the next packet, whose octets end at `end`."""
        if self.packets and packet < self.packets[-1]:  # it waited for an earlier octet that was captured later
            packet, time = self.packets[-1], self.times[-1]
        self.ends.append(end)
        self.packets.append(packet)
        self.times.append(time)

    def forget(self) -> None:
        """Drops all but the last octet's mark."""
        del self.ends[:-1], self.packets[:-1], self.times[:-1]
        self.room = MARKS

    def thin(self) -> None:
        """Makes room while all marks may be needed: when there is none left, drops every other one of the older half, whose
        octets then count to the packet after it."""
        if len(self.ends) < 2 * MOST_MARKS:
            self.room = min(2 * len(self.ends), 2 * MOST_MARKS - 1)
            return
        self._near = (0, 0, 0, 0)
        for column in (self.ends, self.packets, self.times):
            del column[1:MOST_MARKS:2]  # the first stays, for the start of an opaque direction

    def at(self, end: int) -> tuple[int, int]:
        """Returns the packet that contained the octet before `end`, and its time."""
        low, high, packet, time = self._near
        if low < end <= high:
            return packet, time
        ends = self.ends
        index = min(bisect_left(ends, end), len(ends) - 1)
        if index < 0:
            return 0, 0
        self._near = ends[index - 1] if index else 0, ends[index], self.packets[index], self.times[index]
        return self.packets[index], self.times[index]
