"""Writes the rows of one AMQP connection from its observations."""

from __future__ import annotations

from bisect import bisect_left
from hashlib import blake2b
from typing import Final

from amqp_sansio.captures.conversation import VIOLATION, Hearer, LocatedEvent, PacketIndex, finding_of
from amqp_sansio.captures.flows import AmqpFlow, address
from amqp_sansio.captures.json_values import compact, fields
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import C_COMPLETED, C_LAST, HeaderColumns, Row, Rows, packet_place, place, text_of
from amqp_sansio.captures.replay.sessions import History, SessionHistory
from amqp_sansio.captures.tables import TRANSACTIONS
from amqp_sansio.engine.checker import Answered, Transfers
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.events.observed import CommandSeen, ControlSeen, FrameSeen, HeaderSeen, MethodSeen, Note, OpaqueSeen
from amqp_sansio.events.violation import Violation
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.connection import Close, Heartbeat, Open, OpenOk, StartOk, TuneOk
from amqp_sansio.spec.session import Completed, Confirmed, Flush, KnownCompleted
from amqp_sansio.wire.segments import FIRST_FRAME, FIRST_SEGMENT, KINDS, LAST_FRAME, LAST_SEGMENT

HISTORIES: Final[dict[str, type[History]]] = {"sessions": SessionHistory}
"""By the name of the family (`Checker.FAMILY`).  A family without an entry gets the rows common to all."""


NEAR: Final = 8
"""Frequent controls kept on either side of a violation."""
SHOWN_RANGES: Final = 16
"""Ranges of ids kept of each."""

_SETS: Final = (Completed, Confirmed, KnownCompleted)


def arguments_of(control: Control | None) -> str | None:
    """Returns the fields of a control as JSON, the name of a session as text where it is text; None when it could not be
    decoded."""
    if control is None:
        return None
    said = fields(control, False)
    name = getattr(control, "name", None)
    if isinstance(name, bytes):
        said["name"] = text_of(name)
    return compact(said)


class Controls:
    """The controls of one connection."""

    __slots__ = ("_after", "_last", "_rows")

    def __init__(self, rows: Rows) -> None:
        self._rows: Final = rows
        self._last: list[Row] = []
        self._after = 0

    def hear(
        self, time: int, speaker: str, channel: int, verb: str, control: Control | None, place: tuple[int, int, int]
    ) -> None:
        """Takes a control (None: it could not be decoded); `place` is its offset in the stream, the file, and its packet's
        offset."""
        kind = type(control)
        if isinstance(control, _SETS):
            said: object = control.commands.ranges[:SHOWN_RANGES] if control.commands else ()
        elif kind is Heartbeat or kind is Flush:
            said = None
        else:
            self._rows.by_table["controls"].append((time, speaker, channel, verb, arguments_of(control), *place))
            return
        self.often((time, speaker, channel, verb, said, *place))

    def often(self, row: Row) -> None:
        """Takes a frequent control: its columns, with ranges of ids in place of the arguments."""
        if self._after:
            self._after -= 1
            self._tell(row)
        else:
            self._last.append(row)
            if len(self._last) > NEAR:
                del self._last[0]

    def violation(self) -> None:
        """Keeps the controls just before and after a violation."""
        for row in self._last:
            self._tell(row)
        self._last.clear()
        self._after = NEAR

    def _tell(self, row: Row) -> None:
        time, speaker, channel, verb, said, *place = row
        ranges = f'{{"commands":[{",".join([f"[{low},{high}]" for low, high in said])}]}}' if isinstance(said, tuple) else "{}"
        self._rows.by_table["controls"].append((time, speaker, channel, verb, ranges, *place))


_T_COMPLETED: Final = place(TRANSACTIONS, "completed_at")
_T_END: Final = place(TRANSACTIONS, "ended_at")


def connection_id(key: tuple[bytes, int, bytes, int], number: int, mark: int) -> int:
    """Returns the hash that identifies a connection: `number` counts those on its ports, `mark` identifies its beginning."""
    text = f"{key[0].hex()} {key[1]} {key[2].hex()} {key[3]} {number} {mark}"
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big", signed=True)


class Recorder(Hearer):
    """Writes the rows of one connection to `rows`; `common` are capture, broker and connection id of each."""

    __slots__ = ("_close", "_controls", "_header", "_mechanism", "_names", "_negative",
                 "_notes", "_opaque", "_opened", "_options", "_rows", "_talk", "_tuned", "_verbs",
                 "_vhost", "_violations", "commands", "common", "history", "transferred")  # fmt: skip

    def __init__(self, flow: AmqpFlow, rows: Rows, options: ReplayOptions, capture: str) -> None:
        self._talk: Final = flow
        self._rows: Final = rows
        self._options: Final = options
        client = flow.conversation.client
        key = flow.key
        ends = address(key[0], key[1]), address(key[2], key[3])
        self._names = ends[client], ends[1 - client]
        mark = flow.syn[client]
        if mark is None:
            mark = flow.syn[1 - client]
        mark = flow.begun[1] if mark is None else mark
        self.common = (capture, options.broker_of(self._names[1]), connection_id(key, flow.number, mark))
        middle = flow.conversation.middle
        self.history = History(flow, rows, options, {"C": middle, "S": middle})
        """Writes the rows of the channels, by the family of the dialect."""
        self._choose()
        self._controls: Final = Controls(rows)
        self._verbs: Final[dict[str, dict[str, int]]] = {"C": {}, "S": {}}
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
        """Number of latencies that would be negative."""
        self._header: bytes | None = None
        """The client's protocol header."""
        self._opaque: str | None = None
        """Why something could not be decoded: the first reason."""

    def hear(self, heard: LocatedEvent, marks: PacketIndex) -> None:
        """Takes an observation."""
        said = heard.said
        kind = type(said)
        if kind is CommandSeen:
            self.command(heard, said, marks)  # type: ignore[arg-type]
        elif kind is ControlSeen:
            self._control(heard, said)  # type: ignore[arg-type]
        elif kind is MethodSeen:
            self._method(heard, said, marks)  # type: ignore[arg-type]
        elif kind is FrameSeen:
            self._frame(heard, said)  # type: ignore[arg-type]
        elif kind is HeaderSeen:
            if heard.speaker == "C":
                self._header = said.octets  # type: ignore[union-attr]
            self._choose()
        else:
            self._found(heard)

    def _frame(self, heard: LocatedEvent, said: FrameSeen) -> None:
        flags = said.flags
        marks = [bool(flags & bit) for bit in (FIRST_SEGMENT, LAST_SEGMENT, FIRST_FRAME, LAST_FRAME)]
        kind = KINDS[said.kind] if said.kind < len(KINDS) else str(said.kind)
        self._rows.by_table["frames"].append(
            (heard.time, heard.speaker, heard.start, said.channel, said.track, kind, *marks, heard.end - heard.start, said.verb,
             *packet_place(heard.packet))
        )  # fmt: skip

    # Commands and methods on channels.

    def command(self, heard: LocatedEvent, said: CommandSeen, marks: PacketIndex) -> None:
        """Takes a command."""
        speaker = heard.speaker
        self._count(speaker, said.verb)
        self.commands[speaker] += 1
        if self.history.command(heard, said, marks):
            self.transferred[speaker] += 1

    def _method(self, heard: LocatedEvent, said: MethodSeen, marks: PacketIndex) -> None:
        speaker = heard.speaker
        self._count(speaker, said.verb)
        if self.history.method(heard, said, marks):
            self.transferred[speaker] += 1

    def transfers(self, run: Transfers[HeaderColumns], marks: PacketIndex) -> None:
        """Takes consecutive messages, as `command` would one by one."""
        count = len(run.items)
        self._count(run.speaker, run.items[0][0].command.VERB, count)
        self.commands[run.speaker] += count
        self.transferred[run.speaker] += count
        self.history.transfers(run, marks)

    def answered(self, answer: Answered, marks: PacketIndex) -> None:
        """Takes answers to messages, as `hear` would."""
        speaker, verb = answer.speaker, answer.verb
        self._count(speaker, verb)
        at = bisect_left(marks.ends, answer.end)
        time, place = marks.times[at], packet_place(marks.packets[at])
        if answer.accepts:
            self.commands[speaker] += 1
        else:
            self._controls.often((time, speaker, answer.channel, verb, answer.ids.ranges, answer.start, *place))
        self.history.answered(answer, marks, time, *place)

    def _count(self, speaker: Speaker, verb: str, count: int = 1) -> None:
        verbs = self._verbs[speaker]
        verbs[verb] = verbs.get(verb, 0) + count

    def _choose(self) -> None:
        """Selects the history of the family, before the first method: the dialect is now known as well as it ever will be."""
        make = HISTORIES.get(self._talk.conversation.family, History)
        if type(self.history) is not make:
            self.history = make(self._talk, self._rows, self._options, self.history.late)

    # Controls.

    def _control(self, heard: LocatedEvent, said: ControlSeen) -> None:
        speaker = heard.speaker
        self._count(speaker, said.verb)
        control = said.control
        time = heard.time
        place = heard.start, *packet_place(heard.packet)
        self._controls.hear(time, speaker, said.channel, said.verb, control, place)
        if control is None:
            return
        if not control.VERB.startswith("connection."):
            self.history.control(speaker, said.channel, control, time)
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

    # Violations and notes.

    def _found(self, heard: LocatedEvent) -> None:
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
                self.history.lost(heard.speaker, heard.time)
            elif said.rule == "framing":
                self._choose()
        elif isinstance(said, OpaqueSeen):
            self._opaque = self._opaque or said.reason
            self.history.lost(heard.speaker, heard.time)
        if finding.level == VIOLATION:
            self._violations += 1
            self._controls.violation()
        else:
            self._notes += 1
        self._rows.by_table["violations"].append(
            (heard.time, finding.speaker, finding.level, finding.rule, finding.said, list(finding.legal), finding.text, code,
             channel, at, *packet_place(heard.packet))
        )  # fmt: skip

    # The end.

    @property
    def not_judged(self) -> str | None:
        """Returns why nothing was judged; None when something was."""
        if self._verbs["C"]:
            return None
        header = self._header
        if header is None:
            if self._verbs["S"]:
                return None
            return self._opaque or ("the client ended before" if any(self._talk.conversation.octets) else "nothing came")
        if self._talk.conversation.reads(header):
            return None if self._verbs["S"] or self._opaque is None else self._opaque
        if len(header) < SIZE:
            return "the client ended within its protocol header"
        return f"{ProtocolHeader(header).name} is not read here"

    def leave(self) -> None:
        """Counts latencies that would be negative in the rows about to be taken."""
        if self._talk.back is None:
            return
        rows = self._rows
        self._negative += sum([each.settled is not None and each.settled < each.last for each in rows.messages])
        self._negative += sum([each.completed is not None and each.completed < each.last for each in rows.transfers])
        self._negative += sum([_before(row[C_COMPLETED], row[C_LAST]) for row in rows.commands])
        self._negative += sum([_before(row[_T_COMPLETED], row[_T_END]) for row in rows.by_table["transactions"]])

    @property
    def time_back(self) -> LocatedEvent | None:
        """Returns a note where time went back in the capture of the connection, once it is over."""
        flow = self._talk
        back = flow.back
        if back is None:
            return None
        often = "once" if back.often == 1 else f"{back.often} times"
        lost = "1 latency is" if self._negative == 1 else f"{self._negative} latencies are"
        text = f"the time of packets goes back {often}, by up to {back.most / 1e9:.6f} s; {lost} left out"
        speaker: Speaker = "C" if back.side == flow.conversation.client else "S"
        return LocatedEvent(back.packet, back.time, speaker, Note("capture.time", text), 0, 0)

    @property
    def _end(self) -> str:
        """Returns how it has ended so far: close, reset, eof or open."""
        if self._close is not None:
            return "close"
        conversation = self._talk.conversation
        return "reset" if conversation.was_reset else "eof" if conversation.has_ended else "open"

    @property
    def waking_port(self) -> int:
        """The server's port, if the rest can be read from its middle; 0 if it has ended or is unreadable."""
        if self._end != "open" or self._opaque is not None:
            return 0
        _, first, _, second = self._talk.key
        return first if self._talk.conversation.client else second

    def finish(self, idle: str | None = None) -> None:
        """Ends it.  `idle`: why it counts as over although neither side ended it."""
        flow = self._talk
        conversation = flow.conversation
        time = flow.last  # not that of another connection that has taken its ports
        end = self._end
        self.history.finish(end, time)
        self.leave()
        note = self.time_back
        if note is not None:
            self._found(note)
        if idle is not None and end == "open":
            self._found(LocatedEvent(flow.packet, time, "C", Note("capture.idle", idle), 0, 0))
        first, second = conversation.client, 1 - conversation.client
        octets, lost, frames = conversation.octets, conversation.lost, conversation.frames
        unread = sum(conversation.unread)
        self._rows.by_table["connections"].append(
            (flow.begun[1], flow.name, *self._names, conversation.dialect, not conversation.middle, time, self._opened, end,
             *(self._close or (None, None, None)), self._mechanism, self._vhost, *self._tuned, flow.segments, octets[first],
             octets[second], max(0, flow.payload - sum(octets)), conversation.gaps, lost[first], lost[second], unread,
             frames("C"), frames("S"), self.commands["C"], self.commands["S"], self.transferred["C"], self.transferred["S"],
             sorted(self._verbs["C"].items()), sorted(self._verbs["S"].items()), self._violations, self._notes,
             self.not_judged)
        )  # fmt: skip


def _before(end: object, start: object) -> bool:
    return isinstance(end, int) and isinstance(start, int) and end < start
