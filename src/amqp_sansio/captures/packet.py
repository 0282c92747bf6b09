"""One packet of a capture file, the limits of what a reader takes for one, and which packet brought which octets."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

MAX_PACKET_OCTETS: Final = 1024 * 1024
"""Octets of one captured packet.  More is damage: the tools cut at 262144, and the largest IP packets stay below 600000."""

Warn: TypeAlias = Callable[[str], None]
"""Takes one sentence about something that is odd and does not stop the reading."""

PLACE_BITS: Final = 48
"""Bits of the offset in a packet's number."""
_FILE_BITS: Final = 32
_PLACE: Final = (1 << PLACE_BITS) - 1
_FILE: Final = (1 << _FILE_BITS) - 1


class Packet(NamedTuple):
    """A packet as it was captured.

    `number` counts from 1 in the order of the file; `time` is in nanoseconds since 1970 UTC (0 where the file tells none);
    `link` is the LINKTYPE_ number of what `data` starts with; `original` is the packet's length on the wire, of which
    `data` may be only the beginning; `offset` is where the packet's record starts in the file.
    """

    number: int
    time: int
    link: int
    data: bytes
    original: int
    offset: int


def packet_number(order: int, file: int, offset: int) -> int:
    """One number for a packet: it grows with `order`, and holds the file and the offset in it."""
    return order << PLACE_BITS + _FILE_BITS | file << PLACE_BITS | offset


def packet_place(number: int) -> tuple[int, int]:
    """File and offset of a packet."""
    return number >> PLACE_BITS & _FILE, number & _PLACE


MARKS: Final = 64
"""Packets per direction of which the place in the stream is remembered, even if nothing that began in them is under way."""
MOST_MARKS: Final = 4096
"""Packets per direction that something under way may have come in; beyond it older ones are thinned out."""


class Marks:
    """Where in a stream each packet's octets end."""

    __slots__ = ("_near", "ends", "packets", "room", "times")

    def __init__(self) -> None:
        self.ends: list[int] = []
        self.packets: list[int] = []
        self.times: list[int] = []
        self._near = (0, 0, 0, 0)
        """What was asked for last: from, to, packet, time."""
        self.room = MARKS
        """How many marks are kept without looking whether they may still be asked for."""

    def add(self, end: int, packet: int, time: int) -> None:
        """The next packet's octets end there."""
        if self.packets and packet < self.packets[-1]:  # it waited for an earlier octet that was captured later
            packet, time = self.packets[-1], self.times[-1]
        self.ends.append(end)
        self.packets.append(packet)
        self.times.append(time)

    def forget(self) -> None:
        """Nothing will be asked for before the last octet."""
        del self.ends[:-1], self.packets[:-1], self.times[:-1]
        self.room = MARKS

    def thin(self) -> None:
        """All of them may be asked for: makes room, and when there is none left, of the older half every other mark goes; what
        it covered counts to the packet after it."""
        if len(self.ends) < 2 * MOST_MARKS:
            self.room = min(2 * len(self.ends), 2 * MOST_MARKS - 1)
            return
        self._near = (0, 0, 0, 0)
        for column in (self.ends, self.packets, self.times):
            del column[1:MOST_MARKS:2]  # the first stays: an opaque direction is told where it begins

    def at(self, end: int) -> tuple[int, int]:
        """The packet that brought the octet before `end`, and its time."""
        low, high, packet, time = self._near
        if low < end <= high:
            return packet, time
        ends = self.ends
        index = min(bisect_left(ends, end), len(ends) - 1)
        if index < 0:
            return 0, 0
        self._near = ends[index - 1] if index else 0, ends[index], self.packets[index], self.times[index]
        return self.packets[index], self.times[index]
