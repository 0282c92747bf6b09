"""One TCP connection with AMQP: which side is the client, what was sent, in which packets, and what is found fault with."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

from amqp_sansio.captures.replay.rows import HeaderColumns, properties_of
from amqp_sansio.captures.withheld import COMPARED_OCTETS
from amqp_sansio.dialects import DIALECTS, Dialect
from amqp_sansio.engine.checker import Answered, ChannelDoubt, Transfers
from amqp_sansio.engine.observer import Observer, Speaker
from amqp_sansio.events.observed import ControlSeen, HeaderSeen, Note, Observation, OpaqueSeen
from amqp_sansio.events.violation import Violation
from amqp_sansio.ledger.credit import Subscriptions
from amqp_sansio.spec.connection import TuneOk
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.layouts.layout import HeaderDecoder

CLIENT: Final = "C"
SERVER: Final = "S"

PRELUDE_OCTETS: Final = 4096
"""Octets kept per direction until it is known whether the connection speaks AMQP."""

_NAME: Final = b"AMQP"
_HEADER_OCTETS: Final = 8
_START: Final = b"\x01\x01"
_START_AT: Final = _HEADER_OCTETS + 12
_STARTS: Final = re.compile(rb"(?:AMQP....)?\x01\x00\x00....\x00\x0a\x00\x0a", re.DOTALL)
"""How a server of the older dialects begins, whatever header it got: with connection.start, and without a header of its own."""
_METHOD: Final = b"\x01"


def _as_server(head: bytes) -> bool:
    """Whether the first octets of a direction are a server's."""
    if _STARTS.match(head):
        return True
    return head[_START_AT : _START_AT + 2] == _START and head[_HEADER_OCTETS : _HEADER_OCTETS + 1] != _METHOD


MARKS: Final = 64
"""Packets per direction whose positions are remembered, even if nothing unfinished began in them."""
MOST_MARKS: Final = 4096
"""The most packets per direction remembered for unfinished units; beyond it older ones are thinned out."""


class PacketIndex:
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


MakeWitness: TypeAlias = Callable[[bool], Observer]
"""Makes an observer; the argument says whether the capture begins in the middle of the conversation."""


class LocatedEvent(NamedTuple):
    """One observation: its speaker, and the packet (with its time, ns since 1970 UTC) in which its last octet was captured.

    `speaker` is "C" or "S"; `start` and `end` are offsets in that speaker's stream.
    """

    packet: int
    time: int
    speaker: Speaker
    said: Observation
    start: int
    end: int


class Hearer:
    """Takes what a conversation reports; `marks` are those of the speaker's stream."""

    __slots__ = ()

    def hear(self, heard: LocatedEvent, marks: PacketIndex) -> None:
        """Takes an observation."""
        raise NotImplementedError

    def transfers(self, run: Transfers[HeaderColumns], marks: PacketIndex) -> None:
        """Takes consecutive messages, as `hear` would one by one."""
        raise NotImplementedError

    def answered(self, answer: Answered, marks: PacketIndex) -> None:
        """Takes answers to messages, as `hear` would."""
        raise NotImplementedError


NOBODY: Final = "the beginning is missing, and both ends have a server's port: nobody knows which side is the server"
"""Why a connection of two ports that were asked for is not judged."""
RESET: Final = "the connection was reset (TCP RST); packets just before it that nothing acknowledged may be missing"

AGAIN: Final = (
    "it begins as the connection before it, with the same sequence numbers and octets; beyond"
    f" {COMPARED_OCTETS} they are not compared: perhaps it was captured twice, and all its rows stand twice"
)


class Conversation:
    """Receives a TCP connection's streams; once it speaks AMQP, passes them to an observer and each observation to `tell`.

    `server` is the side (0 or 1) whose port was asked for or that accepted the connection, None while unknown; `asked`: its
    port was asked for, so it counts as AMQP whatever it sends.  `begun`: the SYN was captured.
    """

    foreign = False
    """Whether it does not speak AMQP; nothing of it is kept."""
    unreadable: str | None = None
    """Why nothing of it can be read, whatever comes."""
    _over: tuple[int, int] | None = None  # the packet of a reset, and its time
    gaps = 0
    again = False
    """Whether it is perhaps the connection before it, captured again."""
    _closing = False
    _differing = 0  # a bit for each side
    _hearer: Hearer | None = None
    _head = 0
    """How many octets of each body `transfers` gets."""
    sums: list[int] = [-1, -1, 0, 0]  # noqa: RUF012 -- what is below 0 stays as it is
    """The number of octets of each side, from its first one on, that a checksum covers, and the checksums (see `repeats`); `~`
    that number once a gap follows them, or in the state of an earlier version."""

    def __init__(self, make: MakeWitness, tell: Callable[[Conversation, LocatedEvent], None]) -> None:
        self._make: Final = make
        self._tell: Final = tell
        self.many: HeaderDecoder[HeaderColumns] | None = None
        """Reads headers of messages, for `transfers`."""
        self._witness: Observer | None = None
        self.client = 0
        self.server: int | None = None
        self.asked = False
        self.begun = False
        self.dialect: str | None = None
        self.sums = [0, 0, 0, 0]
        self.octets = [0, 0]
        """Captured octets of each side."""
        self.lost = [0, 0]
        """Octets of each side that are missing from the capture."""
        self.middle = False
        """Whether the capture begins in its middle."""
        self.packet = 0
        self.time = 0
        self._prelude: list[tuple[int, bytes, int, int, int]] = []
        self._heads = [b"", b""]
        self._offsets = [0, 0]
        self._marks = (PacketIndex(), PacketIndex())
        self._ended = [False, False]
        self._beat = 0  # ns between heartbeats
        self._last = [0, 0]
        self._silent = [False, False]

    @property
    def recognised(self) -> bool:
        """Whether it was recognised as AMQP (or asked for)."""
        return self._witness is not None

    @property
    def was_reset(self) -> bool:
        """Whether a side reset the TCP connection."""
        return self._over is not None

    @property
    def is_closing(self) -> bool:
        """Whether a side has sent connection.close, or nothing can be read any more."""
        return self._closing

    @property
    def has_ended(self) -> bool:
        """Whether a side has sent its last octet."""
        return any(self._ended)

    def marks(self, speaker: Speaker) -> PacketIndex:
        """Returns where the octets of each packet end in a speaker's stream."""
        return self._marks[self.client if speaker == CLIENT else 1 - self.client]

    def frames(self, speaker: Speaker) -> int:
        """Returns the number of frames of a speaker so far."""
        return 0 if self._witness is None else self._witness.frames(speaker)

    @property
    def unread(self) -> tuple[int, int]:
        """The octets of the client and of the server that were captured and cannot be decoded."""
        witness = self._witness
        return (0, 0) if witness is None else (witness.unread(CLIENT), witness.unread(SERVER))

    @property
    def family(self) -> str:
        """The family spoken, "" while unknown (`Checker.FAMILY`)."""
        return "" if self._witness is None else self._witness._family()

    def reads(self, header: bytes) -> bool:
        """Whether the dialect spoken is that of this protocol header."""
        return self._witness is not None and self._witness._reads(header)

    def subscriptions(self, channel: int) -> Subscriptions | None:
        """Returns the observer's book of the subscriptions of the session on a channel; None: there is none.  Not to be
        kept."""
        return None if self._witness is None else self._witness._books(channel)

    def in_doubt(self) -> ChannelDoubt:
        """Returns what is in doubt on channels when nothing more comes."""
        return ChannelDoubt() if self._witness is None else self._witness._in_doubt()

    def report_to(
        self, hearer: Hearer, headers: HeaderDecoder[HeaderColumns] | None, head: int = 0
    ) -> HeaderDecoder[HeaderColumns]:
        """Reports to `hearer` from now on, transfers that are alike at once, with `head` octets of each body.

        `headers` is what this has returned for another conversation.
        """
        assert self._witness is not None
        self._hearer, self._head = hearer, head
        self.many = headers or self._witness.read_headers(properties_of)
        return self.many

    # The sink of a Flow.

    def data(self, side: int, octets: bytes, packet: int, time: int) -> None:
        """Takes the next octets of a side (see `flows.Sink`)."""
        if 0 <= self.sums[side] < COMPARED_OCTETS:
            self._sum(side, octets)
        if self._witness is not None:
            self._feed(side, octets, 0, packet, time)
        elif not self.foreign:
            self._prelude.append((side, octets, 0, packet, time))
            if len(self._heads[side]) < PRELUDE_OCTETS:
                self._heads[side] += octets
            self._recognise(final=False)

    def gap(self, side: int, octets: int, packet: int, time: int) -> None:
        """Notes octets of a side that are missing from the capture."""
        if self.sums[side] >= 0:
            self.sums[side] = ~self.sums[side]
        if self._witness is not None:
            self._feed(side, b"", octets, packet, time)
        elif not self.foreign:
            self._prelude.append((side, b"", octets, packet, time))
            if len(self._heads[side]) < len(_NAME):
                self._heads[side] += b"\0" * min(octets, len(_NAME))

    def eof(self, side: int, packet: int, time: int) -> None:
        """Notes that a side has sent its last octet."""
        self.packet, self.time = packet, time
        if self._witness is None and not self.foreign:
            self._recognise(final=self._ended[1 - side])
        self._end(side)

    def reset(self, side: int, packet: int, time: int) -> None:
        """Notes that a side has reset the TCP connection."""
        self.packet, self.time = packet, time
        if self._witness is None and self.asked:
            self._recognise(final=False)
        self.silence(time)
        self._over = packet, time
        if self._witness is not None:
            self._note(side, "tcp.reset", RESET)

    def differs(self, side: int, start: int, end: int, packet: int, time: int) -> None:
        """Notes the first packet of a side that repeats octets with other contents."""
        if self._witness is None or self._differing >> side & 1:
            return
        self._differing |= 1 << side
        self.packet, self.time = packet, time
        who = "client" if side == self.client else "server"
        text = f"the packet repeats octets {start} to {end} of the {who} with other contents: the first ones were taken"
        self._note(side, "tcp.retransmission", text)

    def finish(self, packet: int, time: int) -> None:
        """Ends it: nothing more of this connection follows."""
        self.packet, self.time = max(packet, self.packet), max(time, self.time)
        if self._witness is None and not self.foreign:
            self._recognise(final=True)
        if self._witness is None:
            self.foreign = True
            self._prelude.clear()
            return
        self.silence(time)
        if self._over is not None:
            self.packet, self.time = self._over
            self._end(self.client)
            self._end(1 - self.client)
        else:
            self._witness.finish()
            self._drain()

    def _sum(self, side: int, octets: bytes) -> None:
        sums = self.sums
        summed = sums[side] + len(octets)
        if summed > COMPARED_OCTETS:
            octets, summed = octets[: COMPARED_OCTETS - sums[side]], COMPARED_OCTETS
        sums[side] = summed
        sums[2 + side] = crc32(octets, sums[2 + side])

    # Recognising AMQP.

    def listen(self) -> None:
        """Takes it for AMQP: makes an observer and feeds it everything so far."""
        if self.server is not None:
            self.client = 1 - self.server
        middle = self.middle = self._from_the_middle()
        self._witness = self._make(middle)
        prelude, self._prelude = self._prelude, []
        self._heads = [b"", b""]
        if self.unreadable is not None:
            self._witness._read_nothing(self.unreadable)
        elif middle:
            # The client's first octets are missing, and how many is unknown.
            self._witness.receive_gap(CLIENT, 0)
            while self._witness.next_event() is not None:
                pass
        for side, octets, lost, packet, time in prelude:
            self._feed(side, octets, lost, packet, time)
        if self.again:
            self._note(self.client, "tcp.repeated", AGAIN)

    def _from_the_middle(self) -> bool:
        """Whether the beginning of the client's stream is missing."""
        if not self.begun:
            return not self._heads[self.client].startswith(_NAME)
        return any(lost for side, _, lost, _, _ in self._prelude if side == self.client)

    def _recognise(self, final: bool) -> None:
        heads = self._heads
        if self.asked and (self.server is not None or self.unreadable is not None):
            if self.begun or self._prelude:
                self.listen()
            else:
                self.foreign = final
            return
        for side in (self._prelude[0][0], 1 - self._prelude[0][0]) if self._prelude else ():
            head = heads[side]
            if not head.startswith(_NAME):
                continue
            if self.server is None:
                # Without a SYN, the side that sent the header first is the client, unless it goes on as only a server does, or
                # comes after octets of the other side: a server never speaks first.
                if not (final or heads[1 - side] or len(head) >= _START_AT + 2 or self._ended[side]):
                    return
                answers = _as_server(head) or self._prelude[0][0] != side
                self.client = 1 - side if answers else side
            self.listen()
            return
        if final:
            client = 1 - self.server if self.server is not None else 0
            if self.server is not None and heads[client] and _NAME.startswith(heads[client]) and not heads[self.server]:
                self.listen()  # cut off within the first four octets of the header
                return
        for side, head in enumerate(heads):
            if self.server in (None, side) and _STARTS.match(head):  # the client's first octets were not captured
                self.client = 1 - side
                self.server = side
                self.listen()
                return
        others = [len(head) >= len(_NAME) or (bool(head) and not _NAME.startswith(head)) for head in heads]
        if all(others) or final or max(map(len, heads)) >= PRELUDE_OCTETS:
            if self.asked and self._prelude:
                self.unreadable = NOBODY
                self.listen()
                return
            self.foreign = True
            self._prelude.clear()
            self._heads = [b"", b""]

    # Input of the observer.

    def _name(self, side: int) -> Speaker:
        return CLIENT if side == self.client else SERVER

    def unfinished(self) -> int | None:
        """Returns the lowest number of a packet in which something unfinished may turn out to have ended."""
        witness = self._witness
        lowest = None
        if witness is None:
            may_speak = any(head.startswith(_NAME) or (head and _NAME.startswith(head)) for head in self._heads)
            lowest = self._prelude[0][3] if may_speak and self._prelude else None
        else:
            for side in (0, 1):
                end = witness.unfinished(self._name(side))
                if end is not None:
                    packet = self._marks[side].at(end)[0]
                    lowest = packet if lowest is None else min(packet, lowest)
        return lowest

    def _feed(self, side: int, octets: bytes, lost: int, packet: int, time: int) -> None:
        witness = self._witness
        assert witness is not None
        self.packet, self.time = packet, time
        self.silence(time)
        self._last[side] = time
        self._silent[side] = False
        self._offsets[side] += len(octets) + lost
        self._marks[side].add(self._offsets[side], packet, time)
        if lost:
            self.gaps += 1
            self.lost[side] += lost
            witness.receive_gap(self._name(side), lost)
        else:
            self.octets[side] += len(octets)
            witness.receive_data(self._name(side), octets)
        self._drain()
        marks = self._marks[side]
        if len(marks.ends) > marks.room:
            self._tidy(side)

    # Batches of packets.

    def room(self, side: int) -> int:
        """Returns how many packets of a side may come as a batch; 0: they must come one by one."""
        if self._witness is None or self._over or self._ended[side] or self._silent[0] or self._silent[1]:
            return 0
        return 2 * MOST_MARKS - 1 - len(self._marks[side].ends)

    def patience(self) -> tuple[int, int, int]:
        """Returns the nanoseconds of silence of a side that deserve a note (0: none), and since when each side was silent."""
        return 0 if self._closing else 2 * self._beat, self._last[0], self._last[1]

    def several(self, side: int, octets: bytes, begin: int, ends: Sequence[int], packets: list[int], times: list[int]) -> None:
        """Takes the octets of several packets of a side, as `data` would one by one: at most `room`, and none after silence.

        `ends` are where those of each packet end; all of them begin at `begin`.
        """
        witness = self._witness
        assert witness is not None
        self.packet, self.time = packets[-1], times[-1]
        if 0 <= self.sums[side] < COMPARED_OCTETS:
            self._sum(side, octets)
        self._last[side] = times[-1]
        marks = self._marks[side]
        at = self._offsets[side]
        begun = at - begin
        marks.ends += [begun + end for end in ends]
        marks.packets += packets
        marks.times += times
        self._offsets[side] = at + len(octets)
        self.octets[side] += len(octets)
        witness.receive_data(self._name(side), octets)
        self._drain()
        self._last[side] = times[-1]
        if len(marks.ends) > marks.room:
            self._tidy(side)

    def tidy(self) -> None:
        """Drops what will not be asked for any more, and its hearer."""
        self._hearer = self.many = None
        if self._witness is not None:
            self._tidy(0)
            self._tidy(1)

    def _tidy(self, side: int) -> None:
        marks = self._marks[side]
        witness = self._witness
        if witness is not None and witness.unfinished(self._name(side)) is None:
            marks.forget()
        elif len(marks.ends) > marks.room:
            marks.thin()

    def _end(self, side: int) -> None:
        if not self._ended[side]:
            self._ended[side] = True
            if self._witness is not None:
                self._witness.receive_eof(self._name(side))
                self._drain(ending=True)

    def _drain(self, ending: bool = False) -> None:
        """Reports all pending observations.  `ending`: notes are about the end of the stream, not its last octet."""
        witness = self._witness
        assert witness is not None
        while True:
            hearer, many = self._hearer, self.many
            if hearer is not None and many is not None:
                while (found := witness.next_alike(many, self._head)) is not None:
                    marks = self._marks[self.client if found.speaker == CLIENT else 1 - self.client]
                    if isinstance(found, Answered):
                        hearer.answered(found, marks)
                    else:
                        hearer.transfers(found, marks)
            event = witness.next_event()
            if event is None:
                break
            speaker, start, end, said = event
            marks = self._marks[self.client if speaker == CLIENT else 1 - self.client]
            packet, time = marks.at(end)
            if not packet or (ending and isinstance(said, Note)):
                packet, time = self.packet, self.time
            if isinstance(said, ControlSeen):
                self._control(said, time)
            elif isinstance(said, HeaderSeen):
                if said.version is not None and (self.dialect is None or speaker == CLIENT):
                    self.dialect = said.version
            elif isinstance(said, OpaqueSeen):
                self._closing = True  # heartbeats are indistinguishable from here on
            heard = LocatedEvent(packet, time, speaker, said, start, end)
            if hearer is None:
                self._tell(self, heard)
            else:
                hearer.hear(heard, marks)

    # Silence.

    def _control(self, said: ControlSeen, time: int) -> None:
        control = said.control
        if isinstance(control, TuneOk):
            self._beat = (control.heartbeat or 0) * 1_000_000_000
            self._last = [time, time]
        elif said.verb == "connection.close":
            self._closing = True

    def silence(self, time: int) -> None:
        """Notes each side that has sent nothing for more than two heartbeat intervals at `time`, once per silence."""
        if not self._beat or self._closing or self._over:
            return
        for side in (self.client, 1 - self.client):
            quiet = time - self._last[side]
            if quiet > 2 * self._beat and not self._silent[side] and not self._ended[side]:
                self._silent[side] = True
                who = "client" if side == self.client else "server"
                heard = f"the {who} was silent for {quiet / 1e9:.4f} s"
                text = f"{heard}; heartbeats were agreed every {self._beat / 1e9:.0f} s"
                self._note(side, "connection.silence", text)

    def _note(self, side: int, rule: str, text: str) -> None:
        at = self._offsets[side]
        heard = LocatedEvent(self.packet, self.time, self._name(side), Note(rule, text), at, at)
        if self._hearer is None:
            self._tell(self, heard)
        else:
            self._hearer.hear(heard, self._marks[side])


def observers(strict: bool = False, frames: bool = False, dialects: Sequence[Dialect[Codec]] = DIALECTS) -> MakeWitness:
    """Returns a factory of observers; `strict` also reports deviations that all deployed peers have, `frames` every frame.

    A conversation's protocol header selects one of the `dialects`; where the beginning is missing its frames do, as far as they
    differ between dialects.
    """

    def make(middle: bool) -> Observer:
        return Observer(strict=strict, frames=frames, dialects=dialects, middle=middle)

    return make


VIOLATION: Final = "violation"
NOTE: Final = "note"


class Finding(NamedTuple):
    """One finding.  A "violation" accuses its speaker, a "note" nobody.

    `said` is the offending word (for a note: one sentence), `legal` the legal ones; `text` is one sentence.  `channel` is None
    for the connection, `code` that of a matching close, 0 for none, `octet` the offset of its beginning in its speaker's
    stream.
    """

    level: str
    speaker: str
    packet: int
    rule: str
    said: str
    legal: tuple[str, ...]
    text: str
    channel: int | None = None
    code: int = 0
    octet: int | None = None


def finding_of(heard: LocatedEvent) -> Finding | None:
    """Returns the finding that an event makes; None for others."""
    said = heard.said
    if isinstance(said, Violation):
        found = VIOLATION, said.speaker, heard.packet, said.rule, said.said, tuple(said.legal), said.text
        return Finding(*found, said.channel, said.code, said.offset)
    if isinstance(said, Note):
        found = NOTE, heard.speaker, heard.packet, said.rule, said.text, (), said.text
        return Finding(*found, said.channel, octet=heard.start)
    if isinstance(said, OpaqueSeen):
        text = f"cannot be read from here on: {said.reason}"
        return Finding(NOTE, heard.speaker, heard.packet, "opaque", text, (), text, octet=heard.start)
    return None
