"""Walking over the records of a capture file without reading what is in them: from header to header.

A walk goes over any octets that can be indexed (a file mapped into memory, or a window of a stream) and tells where records
of packets start.  Where it cannot go on it says so, and `find` looks for the place from which the file can be read again: a
chain of records that fit together.  Both also answer where a split of a large file may begin.
"""

from __future__ import annotations

from mmap import mmap
from typing import Final, NamedTuple, Protocol, TypeAlias

CHAINS_REMEMBERED: Final = 1 << 18
"""Records of broken chains remembered during one search."""

Octets: TypeAlias = bytes | bytearray | memoryview | mmap
"""What a walk goes over."""

CHAIN_RECORDS: Final = 8
"""Records that must follow one another before a place found in the middle of a file is taken for the start of one."""
CHAIN_OCTETS: Final = 64 * 1024
"""Octets that they must take besides: more than one packet holds, so that a capture inside a packet is not taken for the outer
one.  At the end of the file a chain may be shorter: it must end where the file does."""
CHAIN_REACH: Final = 4 * 1024 * 1024
"""Octets after which a chain is long enough, however few records it has."""


class Run(NamedTuple):
    """What one walk found: where records of packets start, and why it ended at `next`.

    `positions` counts from the start of the walked octets, like `next`.  `problem` says in words what is wrong at `next`;
    `resume` is where the record after it starts, when its length can be trusted.  `more` tells that the record at `next` is not
    whole in these octets and there are more; `over` that a stream should be read no further: it may hold any number of such
    octets, where a file that is mapped has the size it has.  `changed` is the walk for what follows, when a section or an
    interface was described.
    """

    positions: list[int]
    next: int
    problem: str | None = None
    resume: int | None = None
    more: bool = False
    over: bool = False
    changed: Walk | None = None


class Walk(Protocol):
    """How to go over the records of one kind of file.  Immutable plain values: what a split must know to be read alone."""

    def run(self, octets: Octets, at: int, stop: int, end: int, final: bool) -> Run:
        """Goes from the record at `at` to the first that starts at `stop` or behind it; the octets end at `end`.

        `final`: so does the file.
        """

    def find(self, octets: Octets, at: int, end: int, final: bool) -> int | None:
        """Where the first record from `at` on starts, recognised by a chain of records; None when there is none."""


class Chains:
    """Chains that came to nothing: whatever joins one later need not follow it again, so that a search stays linear."""

    def __init__(self) -> None:
        self._ends: dict[int, tuple[int, int]] = {}

    def end(self, at: int) -> tuple[int, int] | None:
        """Where the chain through `at` breaks, and how many records away; None when that is not known."""
        return self._ends.get(at)

    def broke(self, places: list[int], at: int, more: int) -> None:
        """A chain over these places broke at `at`, `more` records behind the last of them."""
        if len(self._ends) > CHAINS_REMEMBERED:
            self._ends.clear()
        for away, place in enumerate(reversed(places), 1):
            self._ends[place] = at, away + more


def long_enough(records: int, octets: int) -> bool:
    """Whether a chain of `records` records, which take `octets` octets, shows that they are records."""
    return (records >= CHAIN_RECORDS and octets >= CHAIN_OCTETS) or octets >= CHAIN_REACH
