"""The TCP connections of a capture: to which of them a segment belongs, the streams of octets of each, and when it is over.

Segments may be captured in any order.  Offsets count the octets of a direction from 0 (the SYN comes before it, the FIN takes
one after the last).  Each stream comes out in order, and both in a possible order: octets that were sent in answer, as their
acknowledgement shows, come after what they answer, even where they were captured the other way round.

Bounded memory: open connections, and a short memory of ended ones.
"""

from __future__ import annotations

import struct
from bisect import bisect_right
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

from amqp_sansio.captures.conversation import Conversation, LocatedEvent, MakeWitness
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.layers import (
    ACK,
    CUT,
    FIN,
    FRAGMENT,
    IN_TWO,
    LINKS,
    RST,
    SYN,
    UNREAD,
    Inside,
    LeftOut,
    TcpIn,
    host,
    innermost,
    tcp_in,
    unknown_link,
)
from amqp_sansio.captures.walk import Packet, Warn
from amqp_sansio.captures.withheld import (
    BEGINNINGS,
    GRACE_NANOSECONDS,
    GRACE_SEGMENTS,
    NOTHING,
    Beginning,
    Repeat,
    SideSaid,
    Withheld,
)
from amqp_sansio.kernel.serials import serial_diff
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.kernel.timers import Agenda

CONVERSATIONS: Final = 16384
"""AMQP connections followed at a time; beyond it, the one that has been quiet longest counts as ended."""
STRANGERS: Final = 8192
"""Other TCP connections remembered at a time, so that nothing inside them is taken for a protocol header."""
ENDED: Final = 256
"""Ended connections remembered at a time; late segments of them are ignored."""
USED: Final = 65536
"""Pairs of addresses and ports whose number of uses is remembered."""
WAITING_OCTETS: Final = 64 * 1024 * 1024
"""Octets that wait for missing ones in all connections together."""
LINGER_PACKETS: Final = 64
"""Packets of the file during which segments of a reset connection may follow: reordered in the capture, or sent by the peer
before the reset reached it."""

ALIKE: Final = "both ends have the same address and port"
"""Why a connection to itself is not judged: nothing tells its two streams apart."""

REPEATS: Final = 64
"""Connections with a repeated SYN of which it is not known yet whether they were captured twice or are others."""

REORDER_OCTETS: Final = 8 * 1024 * 1024
"""Octets of one direction that wait for missing ones before those count as lost."""
REORDER_SEGMENTS: Final = 32768
"""The same in segments."""
GRACE_FEW: Final = 16
"""Segments that must come within GRACE_NANOSECONDS before a hole counts as lost."""
PIECE_OCTETS: Final = 200
"""The cost of a waiting segment besides its octets, counted against REORDER_OCTETS."""

FlowKey: TypeAlias = tuple[bytes, int, bytes, int]

_TCP: Final = struct.Struct(">HHIIBB").unpack_from
_MASK: Final = 0xFFFFFFFF
_NEAR: Final = 1 << 24
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


class AmqpFlow(Flow):
    """A TCP connection with its conversation."""

    __slots__ = ("another", "begun", "conversation", "key", "label", "name", "number", "syn")

    def __init__(self, conversation: Conversation, key: FlowKey, another: bool, begun: tuple[int, int] = (0, 0)) -> None:
        super().__init__(conversation)
        self.begun: Final = begun
        """Its first packet and that packet's time."""
        self.conversation: Final = conversation
        self.key: Final = key
        self.another: Final = another
        """Whether it is a new connection, not the last AMQP connection on its ports."""
        self.number = 0
        """Its ordinal among the AMQP connections on its ports; 0 until it is recognised as one."""
        self.syn: list[int | None] = [None, None]
        self.name = ""
        self.label = ""
        """Its short name for printed lines, once they have given the long one."""

    @property
    def over(self) -> bool:
        """Whether nobody has anything to say any more: it was reset or closed, or a side has ended."""
        ended = [each.fin is not None or each.ended for each in self.sides]
        return self.reset_by is not None or any(ended) or self.conversation.is_closing

    @property
    def ends(self) -> tuple[str, str]:
        """Address and port of the client, and of the server."""
        first, second = address(*self.key[:2]), address(*self.key[2:])
        return (second, first) if self.conversation.client else (first, second)

    def reopened(self, side: int, sequence: int) -> bool:
        """Whether a SYN with this sequence number opens another connection on the same ports."""
        seen, known = self.syn[side], self.sides[side]
        return seen != sequence if seen is not None else known.known and known.first != (sequence + 1) & _MASK


class Past(NamedTuple):
    """What is remembered of an ended connection."""

    ends: tuple[int, int]  # the next sequence number of each side
    syn: tuple[int | None, int | None]
    foreign: bool  # it did not speak AMQP and may still go on
    said: tuple[SideSaid, SideSaid] = (NOTHING, NOTHING)


def address(octets: bytes, port: int) -> str:
    """Formats an address and port for people: 127.0.0.1:5672, [::1]:5672."""
    return f"{host(octets)}:{port}" if len(octets) == 4 else f"[{host(octets)}]:{port}"


class Listener:
    """Takes packets; passes their events to `tell`, and each ended conversation to `ended`.

    Connections to the server `ports` count as AMQP even when captured from the middle.
    """

    def __init__(
        self,
        make: MakeWitness,
        tell: Callable[[AmqpFlow, LocatedEvent], None],
        ended: Callable[[AmqpFlow], None],
        ports: Iterable[int] = (),
        warn: Warn = lambda text: None,
    ) -> None:
        self.make: Final = make
        self._tell: Final = tell
        self.hears: Final = self._heard
        """Called with what conversations report."""
        self.floors = True
        """Whether `floor` will be used."""
        self._say_ended: Final = ended
        self._ports: Final = frozenset(ports)
        self._warn: Final = warn
        self._talks: OrderedDict[FlowKey, AmqpFlow] = OrderedDict()
        self._strangers: OrderedDict[FlowKey, AmqpFlow] = OrderedDict()
        self._past: OrderedDict[FlowKey, Past] = OrderedDict()
        self._used: OrderedDict[int, int] = OrderedDict()  # keyed by a hash, which needs a quarter of the memory
        self._repeats: Final[dict[FlowKey, Repeat]] = {}
        self._beginnings: Final[dict[FlowKey, Beginning]] = {}
        self._reset: deque[tuple[int, AmqpFlow]] = deque()
        self._stalled: Final[Agenda[FlowKey]] = Agenda()  # connections whose octets wait, by the packet since when
        self._unfinished: Final[Agenda[FlowKey]] = Agenda()  # those with something unfinished, by the packet of its latest part
        self._waiting = 0
        self._left_out: Final = LeftOut()
        self._packet = 0
        self._time = 0
        self._count = 0
        self._talking: AmqpFlow | None = None

    def hear(self, packet: Packet) -> None:
        """Takes the next packet of the file."""
        self.at(packet.number, packet.time)
        find = LINKS.get(packet.link)
        data, original = packet.data, packet.original
        captured = len(data)
        if find is None:
            self._left_out.add(unknown_link(packet.link), captured, original)
            return
        at = find(data)
        found = tcp_in(data, at, original) if at >= 0 else None
        if found is None:
            inside, left_out = innermost(data, at) if at >= 0 else Inside(at, UNREAD.get(at, ""))
            self._left_out.add(left_out, captured, original)
            if 0 <= inside != at:
                found = tcp_in(data, inside, original)
        if found is FRAGMENT:
            self._left_out.add(IN_TWO, captured, original)
        elif found is not None and found.start + 14 <= captured:
            self._segment(found, data)
        elif found is not None:
            self._left_out.add(CUT, captured, original)
        self.linger()

    def hear_all(self, packets: Iterable[Packet]) -> Iterator[bool]:
        """Takes the packets of a file and ends.  Yields after each packet False, and True after the end; raises only then the
        CaptureError of a file that cannot be read to its end."""
        problem: CaptureError | None = None
        try:
            for packet in packets:
                self.hear(packet)
                yield False
        except CaptureError as error:
            problem = error
        self.finish()
        yield True
        if problem is not None:
            raise problem

    @property
    def time(self) -> int:
        """The time of the present packet."""
        return self._time

    @property
    def quiet(self) -> bool:
        """Whether no connection is open."""
        return not (self._talks or self._strangers or self._repeats or self._beginnings)

    @property
    def spoken(self) -> bool:
        """Whether any connection has spoken AMQP so far."""
        return bool(self._used)

    def state(self) -> tuple[object, ...]:
        """Returns its state: dicts and lists of plain values and talks, for `resume`."""
        open_ = dict(self._talks), dict(self._strangers), dict(self._past), dict(self._used)
        return (
            *open_,
            list(self._reset),
            self._count,
            self._packet,
            self._time,
            self._waiting,
            dict(self._repeats),
            dict(self._beginnings),
        )

    def resume(self, state: tuple[object, ...]) -> None:
        """Restores a state that another one returned.  Raises TypeError or ValueError when it is invalid."""
        talks, strangers, past, used, reset, count, packet, time, waiting, *withheld = state
        self._talks.update(talks)  # type: ignore[call-overload]
        self._strangers.update(strangers)  # type: ignore[call-overload]
        self._past.update({key: _past(each) for key, each in past.items()})  # type: ignore[attr-defined]
        self._used.update(used)  # type: ignore[call-overload]
        self._reset.extend(reset)  # type: ignore[arg-type]
        for mine, theirs in zip((self._repeats, self._beginnings), withheld, strict=False):  # missing in earlier versions
            mine.update(theirs)  # type: ignore[attr-defined]
        self._count, self._packet, self._time, self._waiting = [typed(each, int) for each in (count, packet, time, waiting)]

    def memory(self) -> tuple[object, ...]:
        """Returns the memory of a quiet one as plain values, for `recall`."""
        past = [(key, *each) for key, each in self._past.items()]
        return past, list(self._used.items()), self._count, self._packet, self._time

    def recall(self, memory: tuple[Any, ...]) -> None:
        """Restores the memory of a quiet one."""
        past, used, self._count, self._packet, self._time = memory
        self._past.update([(key, Past(*each)) for key, *each in past])
        self._used.update(used)

    def finish(self) -> None:
        """Ends everything that is still open: the file is over."""
        for key in list(self._beginnings):
            self._hear_beginning(key)
        for key, repeat in list(self._repeats.items()):
            self._conclude(key, repeat.tells)
        for text in self._left_out.sentences():
            self._warn(text)
        for flow in [*self._strangers.values(), *self._talks.values()]:
            self._close(flow)

    def floor(self) -> int:
        """Returns the lowest number of a packet from which events may still come."""
        lowest = self._packet + 1
        for open_ends in (self._stalled, self._unfinished):
            if (first := open_ends.next) is not None:
                lowest = min(lowest, int(first))
        for repeat in self._repeats.values():
            lowest = min(lowest, repeat.segments[0].packet)
        return lowest

    def _segment(self, found: TcpIn, data: bytes) -> None:
        source_port, target_port, sequence, acknowledged, offset, flags = _TCP(data, found.start)
        start = found.start + (offset >> 4) * 4
        if start < found.start + 20 or start > found.end:
            return
        here = (found.source, source_port)
        there = (found.target, target_port)
        side = 0 if here <= there else 1
        key = (*there, *here) if side else (*here, *there)
        end = min(found.end, len(data))
        self.segment(key, side, sequence, acknowledged, flags, data[start:end], found.end - max(end, start))

    def at(self, packet: int, time: int) -> None:
        """Sets the packet of the next octets.  Packet numbers may have gaps but must grow."""
        self._packet, self._time = packet, time
        self._count += 1

    def segment(self, key: FlowKey, side: int, sequence: int, acknowledged: int, flags: int, octets: bytes, cut: int) -> None:
        """Takes a TCP segment of the present packet.  `key` has the lower address and port first, `side` is the sender's; `cut`
        octets after `octets` were not captured."""
        if key[1] == key[3] and key[0] == key[2]:
            self._alike(key, flags, octets)
            return
        if self._beginnings and key in self._beginnings:
            here = Withheld(side, sequence, acknowledged, flags, octets, cut, self._packet, self._time)
            if self._in_beginning(key, here):
                return
        if self._repeats and key in self._repeats:
            here = Withheld(side, sequence, acknowledged, flags, octets, cut, self._packet, self._time)
            if self._behind_repeat(key, here):
                return
        flow = self._talks.get(key) or self._strangers.get(key)
        if flags & SYN and not flags & RST:
            if flow is not None and flow.reopened(side, sequence):
                self._close(flow)
                flow = None
            elif (repeat := self._repeat(key, flow, side, sequence)) is not None:
                here = Withheld(side, sequence, acknowledged, flags, octets, cut, self._packet, self._time)
                self._withhold(key, repeat, here)
                return
        elif flow is None or not ((flow.sides[0].known and flow.sides[1].known) or flags & RST):
            if flow is not None or self._begins(key, side, sequence, flags):
                self._beginnings[key] = Beginning(self._asked(key))
                if self.floors:
                    self._stalled.note(key, self._packet)
                here = Withheld(side, sequence, acknowledged, flags, octets, cut, self._packet, self._time)
                self._in_beginning(key, here)
            return
        if flow is None:
            flow = self._begin(key, flags)
        if flags & SYN:
            flow.syn[side] = sequence
            self._roles(flow, side, flags)
        self._pass(flow, side, sequence, acknowledged, flags, octets, cut)

    def _pass(self, flow: AmqpFlow, side: int, sequence: int, acknowledged: int, flags: int, octets: bytes, cut: int) -> None:
        """Passes a segment of the present packet to its connection."""
        conversation = flow.conversation
        self._talking = flow
        if conversation.recognised:
            self._talks.move_to_end(flow.key)
            conversation.packet, conversation.time = self._packet, self._time
            conversation.silence(self._time)
        before = flow.waiting
        flow.hear(side, sequence, acknowledged, flags, octets, cut, self._packet, self._time)
        self._waiting += flow.waiting - before
        self._after(flow)

    def _alike(self, key: FlowKey, flags: int, octets: bytes) -> None:
        """Takes a segment of a connection whose ends are the same, so that it may be of either side."""
        flow = self._talks.get(key) or self._strangers.get(key)
        if flow is None:
            if not self._begins(key, 0, 0, flags):
                return
            flow = self._begin(key, flags)
            flow.conversation.unreadable = ALIKE
        self._talking = flow
        flow.skip(1, (len(octets), 0), self._packet, self._time)
        if octets:
            flow.conversation.data(0, octets, self._packet, self._time)
        self._after(flow)

    def steady(self, key: FlowKey) -> AmqpFlow | None:
        """Returns the conversation on these ports if it is in its steady state: nothing waits, nothing ends."""
        flow = self._talks.get(key)
        if flow is None or self._reset or key in self._repeats or not flow.steady:
            return None
        self._talking = flow
        return flow

    def skip(self, count: int, packet: int, time: int) -> None:
        """Counts packets that were replayed elsewhere; `packet` is the last of them."""
        self._packet, self._time = packet, time
        self._count += count

    def linger(self) -> None:
        """Ends connections that were reset some packets ago."""
        while self._reset and self._reset[0][0] < self._count:
            self._close(self._reset.popleft()[1])

    def _repeat(self, key: FlowKey, flow: AmqpFlow | None, side: int, sequence: int) -> Repeat | None:
        """Returns what a SYN begins that repeats an earlier one after octets; None if it does not."""
        if flow is not None:
            again = flow.payload and flow.sides[side].known  # and it begins with that number: else it is `reopened`
            return Repeat(_remembered(flow, False).said, True, flow.over) if again else None
        past = self._past.get(key)
        again = past is not None and past.syn[side] == sequence and not past.foreign
        return Repeat(past.said, False, True) if past is not None and again else None

    def _behind_repeat(self, key: FlowKey, segment: Withheld) -> bool:
        """Whether a segment is withheld, as are those before it."""
        repeat = self._repeats[key]
        if segment.flags & (SYN | RST) == SYN:
            answers = segment.flags & ACK
            if repeat.differs(segment):
                self._conclude(key, repeat.tells and not answers)
                return False
            if repeat.octets and not answers:  # it begins once more
                self._conclude(key, repeat.tells)
                return False
        self._withhold(key, repeat, segment)
        return True

    def _withhold(self, key: FlowKey, repeat: Repeat, segment: Withheld) -> None:
        """Keeps a segment after a repeated SYN until it is known to which connection it belongs."""
        self._repeats[key] = repeat
        repeat.hear(segment)
        if repeat.is_same is not None:
            self._conclude(key, repeat.is_same)
        elif len(self._repeats) > REPEATS:
            self._conclude(next(iter(self._repeats)), False)

    def _conclude(self, key: FlowKey, is_same: bool) -> None:
        """Hears what was withheld, as a part of the earlier connection or of another one."""
        repeat = self._repeats.pop(key)
        here = self._packet, self._time
        flow = self._talks.get(key) or self._strangers.get(key)
        alike = not is_same and repeat.is_alike
        if not is_same:
            if flow is not None:
                self._close(flow)
            self._past.pop(key, None)
        for each in repeat.segments:
            self._packet, self._time = each.packet, each.time
            if not is_same or not each.flags & SYN:
                self.segment(key, *each[:-2])
                if alike and (begun := self._talks.get(key) or self._strangers.get(key)) is not None:
                    begun.conversation.again, alike = True, False
            elif flow is not None and flow.syn[each.side] is None:  # it was captured after the octets
                flow.syn[each.side] = each.sequence
                self._roles(flow, each.side, each.flags)
        self._packet, self._time = here

    def _in_beginning(self, key: FlowKey, segment: Withheld) -> bool:
        """Whether a segment is withheld at the beginning of its connection, as are those before it."""
        beginning = self._beginnings[key]
        if segment.flags & RST or not beginning.takes(segment):
            self._hear_beginning(key)
            return False
        if beginning.add(segment):
            self._hear_beginning(key)
        elif len(self._beginnings) > BEGINNINGS:
            self._hear_beginning(next(iter(self._beginnings)))
        return True

    def _hear_beginning(self, key: FlowKey) -> None:
        """Hears what was withheld of a connection, whose first sequence numbers are as certain now as they will be."""
        beginning = self._beginnings.pop(key)
        self._stalled.forget(key)
        here = self._packet, self._time
        first = beginning.segments[0]
        self._packet, self._time = first.packet, first.time
        flow = self._talks.get(key) or self._strangers.get(key)
        if flow is None:
            flow = self._begin(key, SYN if any(beginning.syns) else 0, beginning.asked)
        for side, known in enumerate(flow.sides):
            syn, sequence = beginning.syns[side], beginning.firsts[side]
            if syn is not None:
                flow.syn[side] = syn[0]
                self._roles(flow, side, syn[1])
            if sequence is not None and (not known.known or (beginning.certain[side] and not known.position)):
                known.begin(sequence)
        for each in beginning.segments:
            self._packet, self._time = each.packet, each.time
            if flow.closed:
                self.segment(key, *each[:-2])
            else:
                self._pass(flow, *each[:-2])
        self._packet, self._time = here

    def _begins(self, key: FlowKey, side: int, sequence: int, flags: int) -> bool:
        """Whether a segment begins a connection: it is not a late one of another."""
        past = self._past.get(key)
        late = past is not None and not flags & SYN and (past.foreign or _near(sequence, past.ends[side]))
        return not (flags & RST or late)

    def _asked(self, key: FlowKey) -> tuple[int, ...]:
        """Returns the sides whose ports the caller named as those of AMQP."""
        return tuple([side for side in (0, 1) if key[1 + 2 * side] in self._ports])

    def _begin(self, key: FlowKey, flags: int, asked: tuple[int, ...] | None = None) -> AmqpFlow:
        """Begins a connection, with a SYN or without."""
        conversation = Conversation(self.make, self.hears)
        flow = AmqpFlow(conversation, key, bool(flags & SYN or key in self._past), (self._packet, self._time))
        if not flags & SYN:
            ours = self._asked(key) if asked is None else asked
            if ours:
                conversation.asked = True
                conversation.server = ours[0] if len(ours) == 1 else None
        self._strangers[key] = flow
        if len(self._strangers) > STRANGERS:
            self._close(next(iter(self._strangers.values())))
        return flow

    def _number(self, key: FlowKey, another: bool) -> int:
        """Returns its ordinal among the AMQP connections on these ports; `another`: it is not the same as the last one."""
        name = b"%s%d,%s%d" % key
        which = int.from_bytes(blake2b(name, digest_size=8).digest(), "big")  # the same in every process
        number = self._used.pop(which, 0)
        number += another or not number
        self._used[which] = number
        if len(self._used) > USED:
            self._used.popitem(last=False)
        return number

    def _roles(self, flow: AmqpFlow, side: int, flags: int) -> None:
        conversation = flow.conversation
        if conversation.recognised:
            return
        conversation.begun = True
        conversation.server = side if flags & ACK else 1 - side
        conversation.asked = flow.key[1 + 2 * conversation.server] in self._ports

    def _after(self, flow: AmqpFlow) -> None:
        """Updates the state of a connection after its packet."""
        conversation = flow.conversation
        key = flow.key
        if conversation.foreign:
            self._close(flow)
            return
        if conversation.recognised and key in self._strangers:
            self._adopt(flow)
        if self._waiting > WAITING_OCTETS:
            self._waiting -= flow.waiting
            flow.give_up()
            self._waiting += flow.waiting
        if self.floors:
            self._note_floor(flow)
        if flow.sides[0].ended and flow.sides[1].ended:
            self._close(flow)
        elif flow.reset_by is not None and not flow.closed and not any(each is flow for _, each in self._reset):
            self._reset.append((self._count + LINGER_PACKETS, flow))

    def _note_floor(self, flow: AmqpFlow) -> None:
        key = flow.key
        if flow.sides[0].pieces or flow.sides[1].pieces:
            self._stalled.note(key, self._packet)
        elif self._stalled:
            self._stalled.forget(key)
        unfinished = flow.conversation.unfinished()
        if self._unfinished:
            self._unfinished.forget(key)  # it may be a later packet by now
        self._unfinished.note(key, unfinished)

    def _adopt(self, flow: AmqpFlow) -> None:
        """Moves a connection from the strangers to the conversations."""
        self._strangers.pop(flow.key, None)
        self._talks[flow.key] = flow
        self._baptise(flow)
        if len(self._talks) > CONVERSATIONS:
            self._close(next(iter(self._talks.values())))

    def _baptise(self, flow: AmqpFlow) -> None:
        if not flow.name:
            flow.number = self._number(flow.key, flow.another)
            client, server = flow.ends
            flow.name = f"{client}>{server}#{flow.number}"

    def _heard(self, conversation: Conversation, heard: LocatedEvent) -> None:
        flow = self._talking
        assert flow is not None
        if not flow.name:
            self._baptise(flow)
        self._tell(flow, heard)

    def _close(self, flow: AmqpFlow) -> None:
        if flow.closed:
            return
        flow.closed = True
        self._talking = flow
        self._waiting -= flow.waiting
        flow.give_up()
        conversation = flow.conversation
        open_ended = conversation.foreign
        conversation.finish(flow.packet, self._time)
        key = flow.key
        self._talks.pop(key, None)
        self._strangers.pop(key, None)
        self._stalled.forget(key)
        self._unfinished.forget(key)
        self._past[key] = _remembered(flow, open_ended)
        self._past.move_to_end(key)
        if len(self._past) > ENDED:
            self._past.popitem(last=False)
        if conversation.recognised:
            self._baptise(flow)
            self._say_ended(flow)
            conversation.tidy()


def _remembered(flow: AmqpFlow, foreign: bool) -> Past:
    """Returns what is remembered of an ended connection."""
    first, second = flow.sides
    ends = (first.first + first.position) & _MASK, (second.first + second.position) & _MASK
    said = _said(flow, 0), _said(flow, 1)
    return Past(ends, (flow.syn[0], flow.syn[1]), foreign, said)


def _said(flow: AmqpFlow, side: int) -> SideSaid:
    direction, sums = flow.sides[side], flow.conversation.sums
    if not direction.known:
        return NOTHING
    said = direction.pieces[-1].end if direction.pieces else direction.position - direction.ended
    summed = sums[side]
    return direction.first, said, ~summed if summed < 0 else summed, sums[2 + side]


def _past(stored: Past) -> Past:
    """Returns it from a state; earlier versions kept something else after `foreign`."""
    ends, syn, foreign, *rest = stored
    return Past(ends, syn, foreign, rest[0] if len(rest) == 1 else (NOTHING, NOTHING))


def _near(sequence: int, end: int) -> bool:
    return abs(serial_diff(sequence, end)) < _NEAR
