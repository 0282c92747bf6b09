"""Segments of a connection that are withheld until it is known what they are.

At the beginning of a connection, until the first sequence number of each side is certain: threads that capture together may
write octets before the SYN, or before octets that were sent earlier.  What comes before the first octets of a side could not be
put into its place later.

After a repeated SYN, which is that of the same connection captured a second time, or of another one with the same sequence
numbers: until their octets show which of the two it is.
"""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from amqp_sansio.captures.layers import ACK, FIN, RST, SYN
from amqp_sansio.kernel.serials import TOP, serial_diff

GRACE_SEGMENTS: Final = 64
"""Segments of a connection after which a hole that the receiver has acknowledged counts as lost."""
GRACE_NANOSECONDS: Final = 1_000_000_000
"""Time after which it counts as lost too, if a few segments have come.  Captures from several queues swap packets by
milliseconds."""

COMPARED_OCTETS: Final = 256 * 1024
"""Octets of each side, from its first one on, that are compared.  A connection with more counts as another one, unless the
earlier one goes on."""
WITHHELD_OCTETS: Final = 3 * COMPARED_OCTETS
"""Octets withheld of one connection; with more it counts as another one."""
WITHHELD_SEGMENTS: Final = 8192
"""Segments withheld of one connection; with more it counts as another one."""

SideSaid: TypeAlias = tuple[int, int, int, int]
"""A side of the earlier connection: the sequence number of its first octet (-1: unknown), its number of octets, how many of
them a checksum covers, and that checksum.  Plain values."""

NOTHING: Final[SideSaid] = (-1, 0, 0, 0)

_Later: TypeAlias = tuple[int, int, bytes]  # the stream offset, the number of the segment, its octets


class Withheld(NamedTuple):
    """A segment with the arguments of `Listener.segment`, and its packet."""

    side: int
    sequence: int
    acknowledged: int
    flags: int
    octets: bytes
    cut: int
    packet: int
    time: int


class Repeat:
    """Segments that a repeated SYN begins; `said` describes both sides of the earlier connection at that time.

    `live`: the earlier connection is still open in TCP's sense; `over`: no more octets are expected of it.
    """

    __slots__ = ("_ended", "_later", "_live", "_over", "_reached", "_said", "_sums", "is_same", "octets", "segments")

    def __init__(self, said: tuple[SideSaid, SideSaid], live: bool, over: bool) -> None:
        self.segments: list[Withheld] = []
        self.octets = 0
        """Octets in them."""
        self.is_same: bool | None = None
        """Whether they belong to the earlier connection; None while undecided."""
        self._said = said
        self._live = live
        self._over = over
        self._reached = [0, 0]  # so many octets from the first on have come again
        self._sums = [0, 0]
        self._later: tuple[list[_Later], list[_Later]] = ([], [])  # after a hole: heaps
        self._ended = [False, False]

    def hear(self, segment: Withheld) -> None:
        """Takes the next segment of either side."""
        self.segments.append(segment)
        self.octets += len(segment.octets)
        side, flags = segment.side, segment.flags
        first, position, _, _ = self._said[side]
        if first >= 0:
            speaks = segment.octets or segment.cut or flags & FIN
            if self._live and speaks and self._at(segment) == position > self._reached[side]:
                self.is_same = True  # the first one goes on where it was, before the other has come so far
                return
            if segment.octets:
                self._compare(side, segment)
        self._ended[side] |= bool(flags & FIN)
        if flags & RST:
            self._ended = [True, True]
        if self.is_same is None:
            self._settle()

    @property
    def tells(self) -> bool:
        """Whether they belong to the earlier connection, given that no more segments come."""
        if not any(self._reached):
            return self._live or not self.octets
        return self._caught and self._proven

    @property
    def is_alike(self) -> bool:
        """Whether whatever was compared is the same, but not everything was: there was too much."""
        pairs = [each for each in zip(self._said, self._reached, self._sums, strict=True) if 0 < each[0][2] <= each[1]]
        further = any(reached > said[1] for said, reached in zip(self._said, self._reached, strict=True))
        return bool(pairs) and not further and all(said[3] == found for said, _, found in pairs)

    def differs(self, segment: Withheld) -> bool:
        """Whether a SYN has another sequence number than that of its side had before."""
        first = self._said[segment.side][0]
        return first >= 0 and (segment.sequence + 1) & TOP != first

    def _at(self, segment: Withheld) -> int:
        """Returns the stream offset of a segment's first octet."""
        return serial_diff(segment.sequence + bool(segment.flags & SYN), self._said[segment.side][0])

    def _compare(self, side: int, segment: Withheld) -> None:
        """Compares the octets of a segment, and those that waited for it, with what the side said before."""
        later = self._later[side]
        heappush(later, (self._at(segment), len(self.segments), segment.octets))
        while later and later[0][0] <= self._reached[side] and self.is_same is None:
            at, _, octets = heappop(later)
            self._take(side, octets[self._reached[side] - at :])

    def _take(self, side: int, octets: bytes) -> None:
        _, _, summed, sum_ = self._said[side]
        reached = self._reached[side]
        if reached < summed:
            self._sums[side] = crc32(octets[: summed - reached], self._sums[side])
            if reached + len(octets) >= summed and self._sums[side] != sum_:
                self.is_same = False
        self._reached[side] = reached + len(octets)

    def _settle(self) -> None:
        if self._over and any(self._reached[side] > self._said[side][1] for side in (0, 1)):
            self.is_same = False
        elif self._caught and any(self._reached) and (not self._over or all(self._ended)):
            self.is_same = self._proven
        elif self.octets > WITHHELD_OCTETS or len(self.segments) > WITHHELD_SEGMENTS:
            self.is_same = False

    @property
    def _caught(self) -> bool:
        """Whether both sides have repeated everything."""
        return all(self._reached[side] >= self._said[side][1] for side in (0, 1))

    @property
    def _proven(self) -> bool:
        """Whether all octets were compared."""
        return all(position == summed for _, position, summed, _ in self._said)


BEGINNING_OCTETS: Final = 4096
"""Octets withheld of one connection: it takes fewer to open one."""
BEGINNINGS: Final = 1024
"""Connections of which segments are withheld at a time."""

_LEAST: Final = 2  # a keep-alive repeats one octet
_NEAR: Final = 1 << 16  # how far the first octet of a side may be from the one that was captured first


class Beginning:
    """Segments of a connection of which the SYN of a side was not captured so far."""

    __slots__ = ("_disordered", "_octets", "_reached", "asked", "certain", "firsts", "segments", "syns")

    def __init__(self, asked: tuple[int, ...] | None = None) -> None:
        self.asked: Final = asked
        """The sides whose ports were asked for when it began; a snapshot may go on without asking for them.  None, in states
        of earlier versions: those of the listener when it takes the segments."""
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
        return all(self.certain) or self._octets > BEGINNING_OCTETS or len(self.segments) > GRACE_SEGMENTS

    def _begin(self, side: int, sequence: int, certain: bool = False) -> None:
        first = self.firsts[side]
        if certain or first is None or (not self.certain[side] and 0 < serial_diff(first, sequence) <= _NEAR):
            self.firsts[side] = sequence & TOP
        self.certain[side] |= certain

    def _reach(self, side: int, sequence: int) -> None:
        reached = self._reached[side]
        if reached is None or serial_diff(sequence, reached) > 0:
            self._reached[side] = sequence & TOP
