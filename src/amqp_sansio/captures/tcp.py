"""One TCP connection: reassembles two streams of octets from segments captured in any order.

Offsets count the octets of a direction from 0 (the SYN comes before it, the FIN takes one after the last).  Each stream comes
out in order, and both in a possible order: octets that were sent in answer, as their acknowledgement shows, come after what
they answer, even where they were captured the other way round.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final, NamedTuple, Protocol

FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10

REORDER_OCTETS: Final = 8 * 1024 * 1024
"""Octets of one direction that wait for missing ones before those count as lost."""
REORDER_SEGMENTS: Final = 32768
"""The same in segments."""
GRACE_SEGMENTS: Final = 64
"""Segments of a connection after which a hole that the receiver has acknowledged counts as lost."""
GRACE_NANOSECONDS: Final = 1_000_000_000
"""Time after which it counts as lost if GRACE_FEW segments have come.  Captures from several queues swap packets by
milliseconds."""
GRACE_FEW: Final = 16
PIECE_OCTETS: Final = 200
"""The cost of a waiting segment besides its octets, counted against REORDER_OCTETS."""

_MASK: Final = 0xFFFFFFFF
_WINDOW: Final = 1 << 30
"""The largest TCP window; octets farther away do not belong to this connection."""


class Sink(Protocol):
    """Receives the streams.  `side`, 0 or 1, is the speaker."""

    def data(self, side: int, octets: bytes, packet: int, time: int) -> None:
        """Called with the next octets; they were captured in `packet`."""

    def gap(self, side: int, octets: int, packet: int, time: int) -> None:
        """Called for `octets` octets that are missing from the capture; `packet` is the one after them, or the one that
        revealed it."""

    def eof(self, side: int, packet: int, time: int) -> None:
        """Called when the side has sent its last octet (FIN)."""

    def reset(self, side: int, packet: int, time: int) -> None:
        """Called when the side has reset the connection."""

    def differs(self, side: int, start: int, end: int, packet: int, time: int) -> None:
        """Called when a packet repeats octets of a side that still wait, from offset `start` to `end`, with other contents: the
        first ones count."""


class Piece(NamedTuple):
    """Waiting octets.  `octets` is None where they were cut off the packet (snaplen); `need` is the offset that the other
    direction must reach first."""

    start: int
    end: int
    octets: bytes | None
    packet: int
    time: int
    need: int


class Direction:
    """The stream of one side."""

    __slots__ = ("acked", "ended", "fin", "fin_need", "first", "known", "lost", "pieces", "position", "since", "waiting")

    def __init__(self) -> None:
        self.known = False
        self.first = 0  # sequence number of offset 0
        self.position = 0  # offset up to which everything has been passed on
        self.pieces: list[Piece] = []  # by offset, not overlapping
        self.waiting = 0  # their cost
        self.fin: int | None = None
        self.fin_need = 0  # offset that the other direction must reach before the FIN
        self.ended = False
        self.acked = 0  # offset up to which the other side has acknowledged
        self.lost = 0  # offset below which holes are gaps
        self.since: tuple[int, ...] | None = None  # segment, time, `acked`, `position` when an acknowledged hole was noticed

    def begin(self, sequence: int) -> None:
        """Sets the sequence number of offset 0."""
        self.first = sequence & _MASK
        self.known = True

    def offset(self, sequence: int) -> int:
        """Returns the offset of a sequence number, the one nearest to the present position."""
        away = (sequence - self.first - self.position) & _MASK
        return self.position + (away - (1 << 32) if away >> 31 else away)

    @property
    def plain(self) -> bool:
        """Whether nothing waits, nothing is missing, and it has not ended."""
        return self.known and not self.pieces and self.fin is None and self.since is None and self.acked <= self.position

    @property
    def at_fin(self) -> bool:
        """Whether everything was passed on except the FIN."""
        return self.fin == self.position and not self.ended

    @property
    def next_packet(self) -> int | None:
        """Returns the packet of the next octets, if they are there; that of a FIN comes after every other."""
        if self.pieces and self.pieces[0].start <= self.position:
            return self.pieces[0].packet
        return 1 << 62 if self.at_fin else None

    def insert(self, piece: Piece) -> int:
        """Stores what is new of `piece`; earlier octets win.  Returns by how much the cost grew."""
        start, end = max(piece.start, self.position), piece.end
        pieces = self.pieces
        grown = 0
        at = bisect_right(pieces, start, key=_start)
        if at and pieces[at - 1].end > start:
            self._again(at - 1, piece.need)
            start = pieces[at - 1].end
        while start < end:
            stop = min(end, pieces[at].start) if at < len(pieces) else end
            if start < stop:
                octets = piece.octets
                if octets is not None:
                    octets = octets[start - piece.start : stop - piece.start]
                    grown += len(octets)
                pieces.insert(at, piece._replace(start=start, end=stop, octets=octets))
                grown += PIECE_OCTETS
                at += 1
            if at >= len(pieces):
                break
            if start < end and pieces[at].start < end:
                self._again(at, piece.need)
            start = max(start, pieces[at].end)
            at += 1
        self.waiting += grown
        return grown

    def differing(self, start: int, octets: bytes) -> tuple[int, int] | None:
        """Returns from where to where these octets repeat a waiting piece with other contents; None if they do not."""
        end = start + len(octets)
        for at in range(max(bisect_right(self.pieces, start, key=_start) - 1, 0), len(self.pieces)):
            piece = self.pieces[at]
            low, high = max(start, piece.start), min(end, piece.end)
            if piece.start >= end:
                break
            if (
                low < high
                and piece.octets
                and octets[low - start : high - start] != piece.octets[low - piece.start : high - piece.start]
            ):
                return low, high
        return None

    def _again(self, index: int, need: int) -> None:
        """Notes a retransmission of a piece: the lower of the two needs is that of its first transmission."""
        if need < self.pieces[index].need:
            self.pieces[index] = self.pieces[index]._replace(need=need)


def _start(piece: Piece) -> int:
    return piece.start


class TimeBack(NamedTuple):
    """How often and by at most how many ns the times of a connection's packets go back, and the first such packet."""

    often: int
    most: int
    packet: int
    time: int
    side: int


class Flow:
    """A captured TCP connection.  Pass it each segment; the sink receives both streams."""

    __slots__ = ("_sink", "_time", "back", "closed", "packet", "payload", "reset_by", "segments", "sides")

    def __init__(self, sink: Sink) -> None:
        self.sides: Final = (Direction(), Direction())
        self.segments = 0
        self.payload = 0
        """Octets of payload captured, repeated ones included."""
        self.closed = False
        self.packet = 0
        self.reset_by: int | None = None
        self.back: TimeBack | None = None
        """Where time went back, if it did."""
        self._time = 0
        self._sink = sink

    @property
    def last(self) -> int:
        """The time of its last segment."""
        return self._time

    @property
    def waiting(self) -> int:
        """The cost of the waiting segments, in octets."""
        return self.sides[0].waiting + self.sides[1].waiting

    @property
    def steady(self) -> bool:
        """Whether both sides are known and nothing waits, so that segments in order are passed on at once."""
        if self.closed or self.reset_by is not None:
            return False
        first, second = self.sides
        return first.plain and second.plain

    def skip(self, count: int, octets: tuple[int, int], packet: int, time: int) -> None:
        """Counts segments that came in order and were replayed elsewhere, with the octets of each side."""
        self.segments += count
        self.payload += octets[0] + octets[1]
        self.packet, self._time = packet, time
        self.sides[0].position += octets[0]
        self.sides[1].position += octets[1]

    def went_back(self, by: int, packet: int, time: int, side: int, count: int = 1) -> None:
        """Notes a packet whose time is `by` ns before that of the one before it; `count` and `by` may cover several."""
        back = self.back or TimeBack(0, 0, packet, time, side)
        self.back = back._replace(often=back.often + count, most=max(back.most, by))

    def hear(
        self, side: int, sequence: int, acknowledged: int, flags: int, octets: bytes, cut: int, packet: int, time: int
    ) -> None:
        """Takes a segment of `side`; `cut` of its octets were not captured."""
        if time < self._time and self.segments:
            self.went_back(self._time - time, packet, time, side)
        self.segments += 1
        self.payload += len(octets)
        self.packet, self._time = packet, time
        mine, other = self.sides[side], self.sides[1 - side]
        if flags & SYN:
            sequence += 1
            if not mine.known:
                mine.begin(sequence)
        start = mine.offset(sequence) if mine.known else 0
        if abs(start - mine.position) > _WINDOW:
            return  # what it acknowledges says nothing of this connection either
        need = 0
        if flags & ACK:
            if not other.known or (flags & SYN and not other.position and not other.pieces):
                other.begin(acknowledged)  # a SYN-ACK knows better than the SYN that was captured, perhaps of another attempt
            need = other.offset(acknowledged)
            if need > other.position + _WINDOW:
                need = 0
            elif need > other.acked:
                other.acked = need
        length = len(octets) + cut
        if not mine.known:
            if length < 2:  # a keep-alive repeats one octet, so it is not a starting point
                return
            mine.begin(sequence)
        if flags & FIN:
            if mine.fin is None:
                mine.fin = start + length
                mine.fin_need = need
            mine.fin_need = min(mine.fin_need, need)
        if length and start + length > mine.position:
            if start == mine.position and not mine.pieces and not cut and need <= other.position:
                mine.position += length
                self._sink.data(side, octets, packet, time)
            else:
                if octets:
                    if mine.pieces and (differing := mine.differing(start, octets)) is not None:
                        self._sink.differs(side, *differing, packet, time)
                    mine.insert(Piece(start, start + len(octets), octets, packet, time, need))
                if cut:
                    mine.insert(Piece(start + len(octets), start + length, None, packet, time, need))
        if flags & RST and self.reset_by is None:
            self.reset_by = side
            self._sink.reset(side, packet, time)
        if (
            mine.pieces
            or other.pieces
            or mine.fin is not None
            or other.fin is not None
            or other.acked > other.position
            or mine.acked > mine.position
            or mine.since is not None
            or other.since is not None
        ):
            self._advance()
            self._watch()

    def give_up(self) -> None:
        """Treats whatever is missing as lost, and passes on what waits."""
        for side in self.sides:
            side.lost = max(side.acked, side.pieces[-1].end if side.pieces else 0)
        self._advance()
        for side in self.sides:
            side.since = None

    def _watch(self) -> None:
        """Notes acknowledged holes, and treats them as lost after their grace."""
        for side in self.sides:
            since = side.since
            upto = since[2] if since is not None and len(since) > 2 else side.acked  # earlier versions kept two numbers
            if side.acked <= side.position:
                side.since = None
            elif since is None or side.position > since[-1]:  # another hole, or one that is being filled
                side.since = (self.segments, self._time, side.acked, side.position)
            elif self._over(*since[:2]):
                side.lost = upto
                side.since = None
                self._advance()
        for index, side in enumerate(self.sides):
            while side.waiting > REORDER_OCTETS or len(side.pieces) > REORDER_SEGMENTS:
                head = side.pieces[0]
                side.lost = max(side.lost, head.start)
                other = self.sides[1 - index]
                other.lost = max(other.lost, head.need, side.fin_need if side.at_fin else 0)
                before = side.position, other.position, len(side.pieces)
                self._advance()
                if before == (side.position, other.position, len(side.pieces)):
                    side.fin = other.fin = None  # octets after a FIN: one of the two is not of this connection

    def _over(self, segment: int, time: int) -> bool:
        """Whether the grace of a hole noticed then is over."""
        passed = self.segments - segment
        return passed > GRACE_SEGMENTS or (passed >= GRACE_FEW and self._time - time > GRACE_NANOSECONDS)

    def _advance(self) -> None:
        moved = True
        while moved:
            moved = self._one(0)
            moved = self._one(1) or moved
            if not moved:
                ready = [index for index, side in enumerate(self.sides) if side.next_packet is not None]
                if len(ready) == 2:
                    # Each acknowledges the other: one was retransmitted with a newer acknowledgement.
                    ready.sort(key=lambda index: self.sides[index].next_packet or 0)
                    moved = self._one(ready[0], force=True)

    def _one(self, index: int, force: bool = False) -> bool:
        """Passes on what is possible of one direction; returns whether there was anything.  `force`: its next piece in any
        case."""
        side, other = self.sides[index], self.sides[1 - index]
        pieces = side.pieces
        before = side.position
        gap = done = 0
        while True:
            if done < len(pieces) and pieces[done].start <= side.position:
                piece = pieces[done]
                if piece.need > other.position and piece.octets is not None and not (force and not done):
                    break
                done += 1
                side.position = piece.end
                if piece.octets is None:
                    gap += piece.end - piece.start
                    side.waiting -= PIECE_OCTETS
                    continue
                side.waiting -= PIECE_OCTETS + len(piece.octets)
                if gap:
                    self._sink.gap(index, gap, piece.packet, piece.time)
                    gap = 0
                self._sink.data(index, piece.octets, piece.packet, piece.time)
            elif side.lost > side.position:
                stop = min(side.lost, pieces[done].start) if done < len(pieces) else side.lost
                if side.fin is not None and side.position <= side.fin < stop:
                    stop = side.fin
                elif stop == side.position + 1 and done == len(pieces) and side.fin is None:
                    side.fin = side.position  # one octet acknowledged with nothing after it: the FIN is missing
                    break
                if stop == side.position:
                    break
                gap += stop - side.position
                side.position = stop
            else:
                break
        del pieces[:done]
        if gap:
            packet, time = (pieces[0].packet, pieces[0].time) if pieces else (self.packet, self._time)
            self._sink.gap(index, gap, packet, time)
        if side.at_fin and (force or side.fin_need <= other.position or other.fin == other.position):
            side.ended = True
            side.position += 1
            self._sink.eof(index, self.packet, self._time)
        return side.position != before
