"""The TCP connections of a capture: assigns segments to connections, and decides when one is over.

Bounded memory: open connections, and a short memory of ended ones.
"""

from __future__ import annotations

import struct
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

from amqp_sansio.captures.conversation import Conversation, LocatedEvent, MakeWitness
from amqp_sansio.captures.layers import (
    CUT,
    FRAGMENT,
    IN_TWO,
    LINKS,
    UNREAD,
    Inside,
    LeftOut,
    TcpIn,
    host,
    innermost,
    tcp_in,
    unknown_link,
)
from amqp_sansio.captures.tcp import ACK, RST, SYN, Flow
from amqp_sansio.captures.walk import Packet, Warn
from amqp_sansio.captures.withheld import BEGINNINGS, NOTHING, Beginning, Repeat, Said, Withheld
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

Key: TypeAlias = tuple[bytes, int, bytes, int]

_TCP: Final = struct.Struct(">HHIIBB").unpack_from
_MASK: Final = 0xFFFFFFFF
_NEAR: Final = 1 << 24


class AmqpFlow(Flow):
    """A TCP connection with its conversation."""

    __slots__ = ("another", "begun", "conversation", "key", "label", "name", "number", "syn")

    def __init__(self, conversation: Conversation, key: Key, another: bool, begun: tuple[int, int] = (0, 0)) -> None:
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

    def reopened(self, side: int, sequence: int) -> bool:
        """Whether a SYN with this sequence number opens another connection on the same ports."""
        seen, known = self.syn[side], self.sides[side]
        return seen != sequence if seen is not None else known.known and known.first != (sequence + 1) & _MASK


class Past(NamedTuple):
    """What is remembered of an ended connection."""

    ends: tuple[int, int]  # the next sequence number of each side
    syn: tuple[int | None, int | None]
    foreign: bool  # it did not speak AMQP and may still go on
    said: tuple[Said, Said] = (NOTHING, NOTHING)


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
        self._talks: OrderedDict[Key, AmqpFlow] = OrderedDict()
        self._strangers: OrderedDict[Key, AmqpFlow] = OrderedDict()
        self._past: OrderedDict[Key, Past] = OrderedDict()
        self._used: OrderedDict[int, int] = OrderedDict()  # keyed by a hash, which needs a quarter of the memory
        self._repeats: Final[dict[Key, Repeat]] = {}
        self._beginnings: Final[dict[Key, Beginning]] = {}
        self._reset: deque[tuple[int, AmqpFlow]] = deque()
        self._stalled: Final[Agenda[Key]] = Agenda()  # connections whose octets wait, by the packet since when
        self._unfinished: Final[Agenda[Key]] = Agenda()  # those with something unfinished, by the packet of its latest part
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

    def segment(self, key: Key, side: int, sequence: int, acknowledged: int, flags: int, octets: bytes, cut: int) -> None:
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

    def _alike(self, key: Key, flags: int, octets: bytes) -> None:
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

    def steady(self, key: Key) -> AmqpFlow | None:
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

    def _repeat(self, key: Key, flow: AmqpFlow | None, side: int, sequence: int) -> Repeat | None:
        """Returns what a SYN begins that repeats an earlier one after octets; None if it does not."""
        if flow is not None:
            again = flow.payload and flow.sides[side].known  # and it begins with that number: else it is `reopened`
            return Repeat(_remembered(flow, False).said, True, flow.over) if again else None
        past = self._past.get(key)
        again = past is not None and past.syn[side] == sequence and not past.foreign
        return Repeat(past.said, False, True) if past is not None and again else None

    def _behind_repeat(self, key: Key, segment: Withheld) -> bool:
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

    def _withhold(self, key: Key, repeat: Repeat, segment: Withheld) -> None:
        """Keeps a segment after a repeated SYN until it is known to which connection it belongs."""
        self._repeats[key] = repeat
        repeat.hear(segment)
        if repeat.is_same is not None:
            self._conclude(key, repeat.is_same)
        elif len(self._repeats) > REPEATS:
            self._conclude(next(iter(self._repeats)), False)

    def _conclude(self, key: Key, is_same: bool) -> None:
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

    def _in_beginning(self, key: Key, segment: Withheld) -> bool:
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

    def _hear_beginning(self, key: Key) -> None:
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

    def _begins(self, key: Key, side: int, sequence: int, flags: int) -> bool:
        """Whether a segment begins a connection: it is not a late one of another."""
        past = self._past.get(key)
        late = past is not None and not flags & SYN and (past.foreign or _near(sequence, past.ends[side]))
        return not (flags & RST or late)

    def _asked(self, key: Key) -> tuple[int, ...]:
        """Returns the sides whose ports the caller named as those of AMQP."""
        return tuple([side for side in (0, 1) if key[1 + 2 * side] in self._ports])

    def _begin(self, key: Key, flags: int, asked: tuple[int, ...] | None = None) -> AmqpFlow:
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

    def _number(self, key: Key, another: bool) -> int:
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
            client = flow.conversation.client
            ends = address(flow.key[0], flow.key[1]), address(flow.key[2], flow.key[3])
            flow.name = f"{ends[client]}>{ends[1 - client]}#{flow.number}"

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


def _said(flow: AmqpFlow, side: int) -> Said:
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
