"""Packets of capture files, and walks over the records of a file from header to header, without decoding the packets.

A walk visits any indexable octets (a file mapped into memory, or a window of a stream) and returns where packet records start.
Where it cannot go on it says so, and `find` searches for the place from which the file can be read again: a chain of consistent
records.  Both also decide where a split of a large file may begin.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from mmap import mmap
from typing import Final, NamedTuple, Protocol, TypeAlias

MAX_PACKET_OCTETS: Final = 1024 * 1024
"""The most octets of one captured packet.  Larger is damage: tools cut at 262144, and the largest IP packets stay below
600000."""

NO_TIME: Final = -(2**62)
"""Earlier than any packet, in ns since 1970 UTC."""

Warn: TypeAlias = Callable[[str], None]
"""Takes one sentence about an oddity that does not stop the reading."""

CHAINS_REMEMBERED: Final = 1 << 18
"""Records of broken chains remembered during one search."""

ENDS: Final = "the file ends inside"
"""How the fault of a truncated last record begins."""

Octets: TypeAlias = bytes | bytearray | memoryview | mmap
"""The octets that a walk visits."""

CHAIN_RECORDS: Final = 8
"""Consecutive records required before a place found in the middle of a file counts as the start of one."""
CHAIN_OCTETS: Final = 64 * 1024
"""Octets that they must span besides: more than one packet holds, so that a capture inside a packet is not taken for the outer
one.  At the end of the file a chain may be shorter, but must end where the file does."""
CHAIN_REACH: Final = 4 * 1024 * 1024
"""Octets after which a chain is long enough, however few its records."""


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


class Run(NamedTuple):
    """The result of one walk: where packet records start, and why it ended at `next`.

    `positions` and `next` count from the start of the walked octets.  `problem` describes the fault at `next`; `resume` is
    where the record after it starts, when its length can be trusted.  `more`: the record at `next` is incomplete in these
    octets, and there are more; `over`: a stream must not be read any further, because such octets may go on without end, unlike
    in a mapped file.  `changed` is the walk for what follows a new section or interface.
    """

    positions: list[int]
    next: int
    problem: str | None = None
    resume: int | None = None
    more: bool = False
    over: bool = False
    changed: Walk | None = None


class Walk(Protocol):
    """How to walk over the records of one kind of file.  Immutable plain values: what a split needs to be read alone."""

    def packet(self, octets: Octets, at: int, number: int, offset: int) -> Packet:
        """Returns the packet whose whole record starts at `at`, with this number and offset.  Raises ValueError, with the
        reason, for a damaged one."""

    def run(self, octets: Octets, at: int, stop: int, end: int, final: bool) -> Run:
        """Walks from the record at `at` to the first that starts at `stop` or after it; the octets end at `end`.

        `final`: the file ends there too.
        """

    def find(self, octets: Octets, at: int, end: int, final: bool) -> int | None:
        """Returns where the first record from `at` on starts, recognised by a chain of records; None when there is none."""


class Chains:
    """Remembers broken chains: a later one that joins one need not follow it again, so that a search stays linear."""

    def __init__(self) -> None:
        self._ends: dict[int, tuple[int, int]] = {}

    def end(self, at: int) -> tuple[int, int] | None:
        """Returns where the chain through `at` breaks, and how many records away; None when that is unknown."""
        return self._ends.get(at)

    def broke(self, places: list[int], at: int, more: int) -> None:
        """Notes that a chain over these places broke at `at`, `more` records after the last of them."""
        if len(self._ends) > CHAINS_REMEMBERED:
            self._ends.clear()
        for away, place in enumerate(reversed(places), 1):
            self._ends[place] = at, away + more


def long_enough(records: int, octets: int) -> bool:
    """Whether a chain of `records` records that span `octets` octets proves that they are records."""
    return (records >= CHAIN_RECORDS and octets >= CHAIN_OCTETS) or octets >= CHAIN_REACH


Follow: TypeAlias = Callable[[int, str], tuple[int, str]]
"""Returns where the record after the one at a place begins, -1 when none is there, and the byte order from there on."""


def first_chain(places: Iterator[int], order: str, least: int, end: int, final: bool, follow: Follow) -> int | None:
    """Returns the first of these places from which records follow one another; None when there is none.

    Records begin in this byte order and have `least` octets at least; the octets end at `end`.  `final`: the file ends there
    too.
    """
    broken = Chains()
    return next((place for place in places if _is_chain(place, order, least, end, final, follow, broken)), None)


def _is_chain(start: int, order: str, least: int, end: int, final: bool, follow: Follow, broken: Chains) -> bool:
    at, now, records = start, order, 0
    places: list[int] | None = []  # None after a section of another byte order
    while not long_enough(records, at - start):
        known = broken.end(at) if now == order else None
        if known is not None:
            stop, more = known
            if long_enough(records + more, stop - start):
                return True
            if places is not None:
                broken.broke(places, stop, more)
            return False
        if at + least > end:
            # Less than a record at the end of a file is one that was truncated.
            return final and records > 0 and (at == end or records > 1)
        following, now = follow(at, now)
        if now != order:
            places = None
        if following < 0:
            if places is not None:
                broken.broke(places, at, 0)
            return False
        if following > end:
            return final and records > 1
        if places is not None:
            places.append(at)
        at = following
        records += 1
    return True
