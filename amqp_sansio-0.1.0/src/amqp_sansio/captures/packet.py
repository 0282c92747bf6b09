"""One packet of a capture file, and the limits of what a reader takes for one."""

from __future__ import annotations

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
