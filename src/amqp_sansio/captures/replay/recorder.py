"""Hears one AMQP connection and writes its rows."""

from __future__ import annotations

from bisect import bisect_left
from hashlib import blake2b
from typing import Final

from amqp_sansio.captures.conversation import Heard
from amqp_sansio.captures.findings import VIOLATION, finding_of
from amqp_sansio.captures.flows import Talk, address
from amqp_sansio.captures.replay.branches import Branches
from amqp_sansio.captures.replay.controls import Controls
from amqp_sansio.captures.replay.half import C_COMPLETED, C_LAST
from amqp_sansio.captures.replay.headers import properties_of
from amqp_sansio.captures.replay.message import NOTHING, Properties
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import Rows, place
from amqp_sansio.captures.replay.session import Place, Session, When
from amqp_sansio.captures.tables import TRANSACTIONS
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.engine.quick import Answered, Transfers
from amqp_sansio.errors import DecodeError
from amqp_sansio.events.observed import CommandSeen, ControlSeen, FrameSeen, HeaderSeen, Note, OpaqueSeen
from amqp_sansio.events.violation import Violation
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.spec.base import Control, Struct
from amqp_sansio.spec.connection import Close, Open, OpenOk, StartOk, TuneOk
from amqp_sansio.spec.message import Accept, Transfer
from amqp_sansio.spec.session import Attach, Attached, Completed, Detach, Detached, Timeout
from amqp_sansio.wire.assembly import KnownCommand
from amqp_sansio.wire.breaches import KINDS
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT, FRAME_HEADER_SIZE, LAST_FRAME, LAST_SEGMENT

INFINITE: Final = 0xFFFFFFFF
UNREAD: Final = NOTHING, None
_T_COMPLETED: Final = place(TRANSACTIONS, "completed_at")
_T_END: Final = place(TRANSACTIONS, "ended_at")
PLACE_BITS: Final = 48
"""Bits of the offset in a packet's number."""
_FILE_BITS: Final = 32
_PLACE: Final = (1 << PLACE_BITS) - 1
_FILE: Final = (1 << _FILE_BITS) - 1


def packet_number(order: int, file: int, offset: int) -> int:
    """One number for a packet: it grows with `order`, and holds the file and the offset in it."""
    return order << PLACE_BITS + _FILE_BITS | file << PLACE_BITS | offset


def packet_place(number: int) -> tuple[int, int]:
    """File and offset of a packet."""
    return number >> PLACE_BITS & _FILE, number & _PLACE


def connection_id(key: tuple[bytes, int, bytes, int], number: int, mark: int) -> int:
    """The hash that tells a connection from all others: `number` counts those on its ports, `mark` is of its beginning."""
    text = f"{key[0].hex()} {key[1]} {key[2].hex()} {key[3]} {number} {mark}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


class Recorder:
    """The rows of one connection go to `rows`; `common` are capture, broker and connection id of each."""

    __slots__ = ("_branches", "_close", "_controls", "_header", "_heard", "_late", "_mechanism", "_names", "_negative",
                 "_notes", "_opaque", "_opened", "_options", "_rows", "_sessions", "_talk", "_tuned", "_verbs",
                 "_vhost", "_violations", "commands", "common", "transferred")  # fmt: skip

    def __init__(self, talk: Talk, rows: Rows, options: ReplayOptions, capture: str) -> None:
        self._talk: Final = talk
        self._rows: Final = rows
        self._options: Final = options
        client = talk.conversation.client
        key = talk.key
        ends = address(key[0], key[1]), address(key[2], key[3])
        self._names = ends[client], ends[1 - client]
        mark = talk.syn[client]
        if mark is None:
            mark = talk.syn[1 - client]
        mark = talk.begun[1] if mark is None else mark
        self.common = (capture, options.broker_of(self._names[1]), connection_id(key, talk.number, mark))
        self._late = {"C": talk.conversation.middle, "S": talk.conversation.middle}
        self._sessions: dict[int, Session] = {}
        self._heard: dict[int, Session] = {}
        """Those of which something was heard since some of the server's words were lost."""
        self._branches = Branches(rows)
        self._controls: Final = Controls(rows)
        self._verbs: dict[str, dict[str, int]] = {"C": {}, "S": {}}
        self.commands = {"C": 0, "S": 0}
        self.transferred = {"C": 0, "S": 0}
        self._opened: int | None = None
        self._close: tuple[str, int | None, str | None] | None = None
        self._mechanism: str | None = None
        self._vhost: str | None = None
        self._tuned: tuple[int | None, int | None, int | None] = (None, None, None)
        self._violations = 0
        self._notes = 0
        self._negative = 0
        """Latencies that would be negative."""
        self._header: bytes | None = None
        """The protocol header of the client."""
        self._opaque: str | None = None
        """Why something could not be read: the first reason."""

    def hear(self, heard: Heard) -> None:
        """One thing heard."""
        said = heard.said
        kind = type(said)
        if kind is CommandSeen:
            self.command(heard, said)  # type: ignore[arg-type]
        elif kind is ControlSeen:
            self._control(heard, said)  # type: ignore[arg-type]
        elif kind is FrameSeen:
            self._frame(heard, said)  # type: ignore[arg-type]
        elif kind is HeaderSeen:
            if heard.speaker == "C":
                self._header = said.octets  # type: ignore[union-attr]
        else:
            self._found(heard)

    def _frame(self, heard: Heard, said: FrameSeen) -> None:
        flags = said.flags
        marks = [bool(flags & bit) for bit in (FIRST_SEGMENT, LAST_SEGMENT, FIRST_FRAME, LAST_FRAME)]
        kind = KINDS[said.kind] if said.kind < len(KINDS) else str(said.kind)
        self._rows.frames.append(
            (heard.time, heard.speaker, heard.start, said.channel, said.track, kind, *marks, heard.end - heard.start, said.verb,
             *packet_place(heard.packet))
        )  # fmt: skip

    # Commands.

    def command(self, heard: Heard, said: CommandSeen) -> None:
        """One command heard."""
        speaker = heard.speaker
        verb = said.verb
        verbs = self._verbs[speaker]
        verbs[verb] = verbs.get(verb, 0) + 1
        self.commands[speaker] += 1
        channel = said.channel
        session = self._session(channel)
        last = heard.time
        start = heard.start
        file, offset = heard.packet >> PLACE_BITS & _FILE, heard.packet & _PLACE
        conversation = self._talk.conversation
        first = conversation.time_of(speaker, start + 1)
        if session is None:
            session = self._begin(channel, said.session, first, False)
        command = said.command
        if not isinstance(command, Transfer):
            session.command(speaker, said, When(first, last, start, file, offset))
            return
        self.transferred[speaker] += 1
        header, body = said.header, said.body
        content = None
        if header is not None or body is not None:
            content = last
            if first != last:
                content = conversation.time_of(speaker, start + 2 * FRAME_HEADER_SIZE + len(said.payload) + 1)
        properties = properties_of(structs_of(said)) if header else UNREAD
        kept = self._options.body_head
        known = KnownCommand(channel, command, bool(said.sync), said.payload)
        size = None if body is None else len(body)
        item = known, len(header or b""), size, (body or b"")[:kept], start, heard.end, *properties
        session.transfers(speaker, said.id, True, [item], [(first, content, last, heard.packet)], bool(kept), said.complete)

    def transfers(self, run: Transfers[Properties]) -> None:
        """Many transfers heard, one behind the other: as `command` does it one by one."""
        speaker, channel, name, id, alike, items = run
        verbs = self._verbs[speaker]
        count = len(items)
        verbs["message.transfer"] = verbs.get("message.transfer", 0) + count
        self.commands[speaker] += count
        self.transferred[speaker] += count
        marks = self._talk.conversation.marks(speaker)
        ends, packets, times = marks.ends, marks.packets, marks.times
        at = bisect_left(ends, items[0][4] + 1)
        session = self._session(channel)
        if session is None:
            session = self._begin(channel, name, times[at], False)
        places: list[Place] = []
        for known, _, _, _, start, end, _, _ in items:
            while ends[at] <= start:
                at += 1
            first = times[at]
            if end <= ends[at]:  # nearly always
                places.append((first, first, first, packets[at]))
                continue
            within = start + 2 * FRAME_HEADER_SIZE + len(known.payload)
            while ends[at] <= within:
                at += 1
            content = times[at]
            while ends[at] < end:
                at += 1
            last = times[at]
            places.append((first, last if first == last else content, last, packets[at]))
        session.transfers(speaker, id, alike, items, places, bool(self._options.body_head))

    def answered(self, answer: Answered) -> None:
        """What answers messages: as `hear` does it."""
        speaker, channel, ids, start, end = answer.speaker, answer.channel, answer.ids, answer.start, answer.end
        verb = Accept.VERB if answer.accepts else Completed.VERB
        verbs = self._verbs[speaker]
        verbs[verb] = verbs.get(verb, 0) + 1
        marks = self._talk.conversation.marks(speaker)
        packet, time = marks.at(end)
        file, offset = packet >> PLACE_BITS & _FILE, packet & _PLACE
        session = self._session(channel)
        if answer.accepts:
            self.commands[speaker] += 1
            first = marks.at(start + 1)[1]
            if session is None:
                session = self._begin(channel, answer.session, first, False)
            octets = end - start - FRAME_HEADER_SIZE
            session.accept(speaker, answer.id, answer.sync, ids, octets, When(first, time, start, file, offset))
            return
        self._controls.often((time, speaker, channel, verb, ids.ranges, start, file, offset))
        if session is not None:
            session.completed(speaker, ids, time)

    def _begin(self, channel: int, name: bytes | None, time: int, known: bool) -> Session:
        whole = not self._late["C"], not self._late["S"]
        session = Session(self._rows, self._branches, self._talk.conversation, channel, name, time, known, whole)
        self._sessions[channel] = self._heard[channel] = session
        return session

    def _session(self, channel: int) -> Session | None:
        """The session on a channel, of which something is heard now."""
        session = self._sessions.get(channel)
        if session is not None:
            self._heard[channel] = session
        return session

    # Controls.

    def _control(self, heard: Heard, said: ControlSeen) -> None:
        speaker = heard.speaker
        verbs = self._verbs[speaker]
        verbs[said.verb] = verbs.get(said.verb, 0) + 1
        control = said.control
        time = heard.time
        place = heard.start, *packet_place(heard.packet)
        self._controls.hear(time, speaker, said.channel, said.verb, control, place)
        if control is None:
            return
        if isinstance(control, Completed):
            session = self._session(said.channel)
            if session is not None and control.commands:
                session.completed(speaker, control.commands, time)
        elif control.VERB.startswith("session."):
            self._of_session(speaker, said.channel, control, time)
        elif isinstance(control, StartOk):
            self._mechanism = control.mechanism
        elif isinstance(control, TuneOk):
            self._tuned = control.channel_max, control.max_frame_size, control.heartbeat or 0
        elif isinstance(control, Open):
            self._vhost = control.virtual_host
        elif isinstance(control, OpenOk):
            self._opened = time
        elif isinstance(control, Close) and self._close is None:
            self._close = speaker, control.reply_code, control.reply_text

    def _of_session(self, speaker: str, channel: int, control: Control, time: int) -> None:
        session = self._session(channel)
        if isinstance(control, Attach):
            if session is None:
                self._begin(channel, control.name, time, True)
            return
        if session is None:
            if isinstance(control, Attached):
                self._begin(channel, control.name, time, False).attached = time
            return
        if isinstance(control, Attached):
            if session.attached is None:
                session.attached = time
        elif isinstance(control, Detach):
            if session.detach is None:
                session.detach, session.detach_by = time, speaker
        elif isinstance(control, Detached):
            if control.name and session.raw is not None and control.name != session.raw:
                return  # about another one, which was asked for while this one was there
            session.detach_code = control.code
            refused = session.attached is None and bool(control.code)
            del self._sessions[channel], self._heard[channel]
            session.finish("refused" if refused else "detached", time)
        elif isinstance(control, Timeout):
            session.timeout = INFINITE if control.timeout is None else control.timeout

    # What else was found.

    def _found(self, heard: Heard) -> None:
        said = heard.said
        finding = finding_of(heard)
        if finding is None:
            return
        code, channel, at = None, None, heard.start
        if isinstance(said, Violation):
            code, channel, at = said.code, said.channel, said.offset
        elif isinstance(said, Note):
            channel = said.channel
            if said.rule == "gap":
                self._lost(heard.speaker, heard.time)
        elif isinstance(said, OpaqueSeen):
            self._opaque = self._opaque or said.reason
            self._lost(heard.speaker, heard.time)
        if finding.level == VIOLATION:
            self._violations += 1
            self._controls.violation()
        else:
            self._notes += 1
        self._rows.violations.append(
            (heard.time, finding.speaker, finding.level, finding.rule, finding.said, list(finding.legal), finding.text, code,
             channel, at, *packet_place(heard.packet))
        )  # fmt: skip

    def _lost(self, speaker: str, time: int) -> None:
        """Some of a speaker's words were lost: what depends on them is unknown."""
        self._late[speaker] = True
        self._branches.lost()
        if speaker == "S":
            for session in self._heard.values():
                session.lost_of_server()
            self._heard.clear()
            return
        for session in self._sessions.values():
            session.finish("unknown", time)
        self._sessions.clear()
        self._heard.clear()

    # The end.

    @property
    def not_judged(self) -> str | None:
        """Why nothing that was said was judged; None when something was."""
        if self._verbs["C"]:
            return None
        header = self._header
        if header is None:
            if self._verbs["S"]:
                return None
            return self._opaque or ("the client ended before" if any(self._talk.conversation.octets) else "nothing was said")
        if header == AMQP_0_10.header:
            return None if self._verbs["S"] or self._opaque is None else self._opaque
        if len(header) < SIZE:
            return "the client ended within its protocol header"
        return f"{ProtocolHeader(header).name} is not read here"

    def leave(self) -> None:
        """The rows go out now: latencies among them that would be negative are counted."""
        if self._talk.back is None:
            return
        rows = self._rows
        self._negative += sum([each.settled is not None and each.settled < each.last for each in rows.messages])
        self._negative += sum([each.completed is not None and each.completed < each.last for each in rows.transfers])
        self._negative += sum([_before(row[C_COMPLETED], row[C_LAST]) for row in rows.commands])
        self._negative += sum([_before(row[_T_COMPLETED], row[_T_END]) for row in rows.transactions])

    @property
    def time_back(self) -> Heard | None:
        """A note where time went back in the capture of the connection, once it is over."""
        talk = self._talk
        back = talk.back
        if back is None:
            return None
        often = "once" if back.often == 1 else f"{back.often} times"
        lost = "1 latency is" if self._negative == 1 else f"{self._negative} latencies are"
        text = f"the time of packets goes back {often}, by up to {back.most / 1e9:.6f} s; {lost} left out"
        speaker: Speaker = "C" if back.side == talk.conversation.client else "S"
        return Heard(back.packet, back.time, speaker, Note("capture.time", text), 0, 0)

    @property
    def _end(self) -> str:
        """How it has ended so far: close, reset, eof or open."""
        if self._close is not None:
            return "close"
        conversation = self._talk.conversation
        return "reset" if conversation.was_reset else "eof" if conversation.has_ended else "open"

    @property
    def waking_port(self) -> int:
        """The server's port, if what would still come can be read from its middle; else 0: it has ended, or is unreadable."""
        if self._end != "open" or self._opaque is not None:
            return 0
        _, first, _, second = self._talk.key
        return first if self._talk.conversation.client else second

    def finish(self, idle: str | None = None) -> None:
        """Nothing more will be heard of it.  `idle`: why it counts as over although nobody ended it."""
        talk = self._talk
        conversation = talk.conversation
        time = talk.last  # not that of another connection that has taken its ports
        end = self._end
        for session in self._sessions.values():
            session.finish("open" if end == "open" else "connection", time)
        self._sessions.clear()
        self._branches.finish()
        self.leave()
        note = self.time_back
        if note is not None:
            self._found(note)
        if idle is not None and end == "open":
            self._found(Heard(talk.packet, time, "C", Note("capture.idle", idle), 0, 0))
        first, second = conversation.client, 1 - conversation.client
        octets, lost, frames = conversation.octets, conversation.lost, conversation.frames
        unread = sum(conversation.unread)
        self._rows.connections.append(
            (talk.begun[1], talk.name, *self._names, conversation.dialect, not conversation.middle, time, self._opened, end,
             *(self._close or (None, None, None)), self._mechanism, self._vhost, *self._tuned, talk.segments, octets[first],
             octets[second], max(0, talk.payload - sum(octets)), conversation.gaps, lost[first], lost[second], unread,
             frames("C"), frames("S"), self.commands["C"], self.commands["S"], self.transferred["C"], self.transferred["S"],
             sorted(self._verbs["C"].items()), sorted(self._verbs["S"].items()), self._violations, self._notes,
             self.not_judged)
        )  # fmt: skip


def _before(end: object, start: object) -> bool:
    return isinstance(end, int) and isinstance(start, int) and end < start


def structs_of(said: CommandSeen) -> tuple[Struct, ...]:
    """The structs of a header; none when they cannot be read, which was told apart."""
    try:
        return said.structs
    except DecodeError:
        return ()
