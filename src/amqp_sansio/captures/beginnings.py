"""The first segments of a connection, withheld until the first sequence number of each side is certain.

Threads that capture together may write octets before the SYN, or before octets that were sent earlier.  What comes before the
first octets of a side could not be put into its place later.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.repeats import Withheld
from amqp_sansio.captures.tcp import ACK, GRACE_NANOSECONDS, GRACE_SEGMENTS, SYN
from amqp_sansio.kernel.serials import TOP, serial_diff

WITHHELD_OCTETS: Final = 4096
"""Octets withheld of one connection: it takes fewer to open one."""
BEGINNINGS: Final = 1024
"""Connections of which segments are withheld at a time."""

_LEAST: Final = 2  # a keep-alive repeats one octet
_NEAR: Final = 1 << 16  # how far the first octet of a side may be from the one that was captured first


class Beginning:
    """Segments of a connection of which the SYN of a side was not captured so far."""

    __slots__ = ("_disordered", "_octets", "_reached", "asked", "certain", "firsts", "segments", "syns")

    def __init__(self, asked: tuple[int, ...] = ()) -> None:
        self.asked: Final = asked
        """The sides whose ports were asked for when it began; a snapshot may go on without asking for them."""
        self.segments: list[Withheld] = []
        self.syns: list[tuple[int, int] | None] = [None, None]
        """The sequence number and the flags of each side's SYN."""
        self.firsts: list[int | None] = [None, None]
        """The lowest sequence number of each side so far."""
        self.certain = [False, False]
        """Whether that is the one that follows its SYN."""
        self._octets = 0
        self._reached: list[int | None] = [None, None]
        """The highest sequence number of each side that was captured or acknowledged."""
        self._disordered = False
        """Whether octets were captured after later ones, or after their acknowledgement."""

    def takes(self, segment: Withheld) -> bool:
        """Whether a segment may belong to those before: it is not much later, and no SYN of another connection.

        A SYN after octets that were captured in order begins another connection, or this one a second time (see `repeats`).
        """
        if self.segments and segment.time - self.segments[0].time > GRACE_NANOSECONDS:
            return False
        first = self.firsts[segment.side]
        if not segment.flags & SYN or first is None:
            return True
        late = self._disordered or not any(each.octets for each in self.segments if each.side == segment.side)
        reached = self._reached[1 - segment.side]
        if segment.flags & ACK and reached is not None:  # it acknowledges less than was acknowledged before
            late |= serial_diff(segment.acknowledged, reached) < 0
        return late and 0 <= serial_diff(first, segment.sequence + 1) <= _NEAR

    def add(self, segment: Withheld) -> bool:
        """Adds a segment.  Returns whether nothing more is waited for."""
        side = segment.side
        self.segments.append(segment)
        self._octets += len(segment.octets)
        if segment.flags & SYN:
            self.syns[side] = segment.sequence, segment.flags
            self._begin(side, segment.sequence + 1, True)
        elif len(segment.octets) + segment.cut >= _LEAST:
            reached = self._reached[side]
            self._disordered |= reached is not None and serial_diff(segment.sequence, reached) < 0
            self._begin(side, segment.sequence)
            self._reach(side, segment.sequence + len(segment.octets) + segment.cut)
        if segment.flags & ACK:
            self._begin(1 - side, segment.acknowledged, bool(segment.flags & SYN))
            self._reach(1 - side, segment.acknowledged)
        return all(self.certain) or self._octets > WITHHELD_OCTETS or len(self.segments) > GRACE_SEGMENTS

    def _begin(self, side: int, sequence: int, certain: bool = False) -> None:
        first = self.firsts[side]
        if certain or first is None or (not self.certain[side] and 0 < serial_diff(first, sequence) <= _NEAR):
            self.firsts[side] = sequence & TOP
        self.certain[side] |= certain

    def _reach(self, side: int, sequence: int) -> None:
        reached = self._reached[side]
        if reached is None or serial_diff(sequence, reached) > 0:
            self._reached[side] = sequence & TOP
