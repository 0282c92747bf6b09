"""Writes the rows of one AMQP connection from its observations: its controls and findings, and the commands of its channels.

A family's `History` writes those of channels; that of sessions (0-10) keeps each attachment and what is open on it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, ClassVar, Final, NamedTuple, TypeAlias, get_args

from amqp_sansio.captures.conversation import VIOLATION, Hearer, LocatedEvent, PacketIndex, finding_of
from amqp_sansio.captures.flows import AmqpFlow
from amqp_sansio.captures.json_values import compact, fields
from amqp_sansio.captures.replay.credit import Books, CreditLine, SubscriberCommand, SubscriptionRecord
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import (
    C_COMPLETED,
    C_LAST,
    NOTHING,
    OUTSIDE,
    UNKNOWN,
    Fate,
    Half,
    HeaderColumns,
    Rows,
    RowValues,
    TransactionPair,
    TransferKind,
    TransferRecord,
    fields_text,
    packet_place,
    place,
    properties_of,
    struct_text,
    text_of,
)
from amqp_sansio.captures.replay.transactions import Branch, BranchCommand, Branches, TransactionRecord, TransactionRecords
from amqp_sansio.captures.tables import TRANSACTIONS
from amqp_sansio.engine.checker import Answered, Transfers, TransferSeen
from amqp_sansio.engine.observer import Speaker
from amqp_sansio.errors import DecodeError
from amqp_sansio.events.observed import CommandSeen, ControlSeen, FrameSeen, HeaderSeen, MethodSeen, Note, OpaqueSeen
from amqp_sansio.events.violation import Violation
from amqp_sansio.kernel.serials import EMPTY, TOP, ById, RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.connection import Close, Heartbeat, Open, OpenOk, StartOk, TuneOk
from amqp_sansio.spec.dtx import End, Start, XaResult
from amqp_sansio.spec.dtx import Select as DtxSelect
from amqp_sansio.spec.execution import Exception_, Result
from amqp_sansio.spec.message import Accept, Acquired, Reject, Release, Transfer
from amqp_sansio.spec.session import Attach, Attached, Completed, Confirmed, Detach, Detached, Flush, KnownCompleted, Timeout
from amqp_sansio.spec.tx import Commit, Rollback, Select
from amqp_sansio.wire.framing import KnownCommand
from amqp_sansio.wire.segments import FIRST_FRAME, FIRST_SEGMENT, FRAME_HEADER_SIZE, KINDS, LAST_FRAME, LAST_SEGMENT


def time_of(marks: PacketIndex, end: int) -> int:
    """Returns when the octet before `end` of a stream was captured; for distant ones, slightly too late."""
    ends = marks.ends
    return marks.times[min(bisect_left(ends, end), len(ends) - 1)]


class History:
    """Base class.  Rows go to `rows`; `late` says for each speaker whether its beginning was missed.

    `marks` are where the octets of each packet end in the speaker's stream.
    """

    __slots__ = ("_head", "_rows", "_talk", "late")

    PARTS: ClassVar[tuple[type, ...]] = ()
    """The classes of its parts, for a snapshot."""

    def __init__(self, flow: AmqpFlow, rows: Rows, options: ReplayOptions, late: dict[str, bool]) -> None:
        self._talk: Final = flow
        self._rows: Final = rows
        self._head: Final = options.body_head
        self.late: Final = late
        """For each speaker, whether something was missed."""

    def command(self, heard: LocatedEvent, said: CommandSeen, marks: PacketIndex) -> bool:
        """Takes a command; returns whether it is a message."""
        self._row(heard, said, marks, said.command, said.id, bool(said.sync))
        return False

    def method(self, heard: LocatedEvent, said: MethodSeen, marks: PacketIndex) -> bool:
        """Takes a method; returns whether it is a message."""
        self._row(heard, said, marks, said.method)
        return False

    def _row(
        self, heard: LocatedEvent, said: CommandSeen | MethodSeen, marks: PacketIndex, word: ValueObject | None,
        id: int | None = None, sync: bool = False,
    ) -> None:  # fmt: skip
        """Writes a row of `commands`; `word` None: it could not be decoded."""
        first = time_of(marks, heard.start + 1)
        arguments = None if word is None else fields_text(word, False)
        octets = len(said.payload) + len(said.header or b"") + len(said.body or b"")
        self._rows.commands.append(
            (first, heard.speaker, None, said.channel, id, said.verb, sync, said.complete and word is not None, arguments,
             octets, heard.time, None, None, None, None, UNKNOWN, None, None, heard.start, *packet_place(heard.packet))
        )  # fmt: skip

    def control(self, speaker: str, channel: int, control: Control, time: int) -> None:
        """Takes a control that is not about the connection; its own row is written elsewhere."""

    def transfers(self, run: Transfers[HeaderColumns], marks: PacketIndex) -> None:
        """Takes consecutive messages, as `command` would one by one."""
        raise NotImplementedError

    def answered(self, answer: Answered, marks: PacketIndex, time: int, file: int, offset: int) -> None:
        """Takes answers to messages, sent at that time and in that packet, as `command` and `control` would."""
        raise NotImplementedError

    def lost(self, speaker: str, time: int) -> None:
        """Notes a gap in a speaker's stream, which makes everything that depends on it unknown."""
        self.late[speaker] = True

    def finish(self, end: str, time: int) -> None:
        """Writes the rows of what is open.  `end` is how the connection ended."""


ABOUT: Final = 4096
"""Commands about branches whose results are awaited; beyond it the oldest is dropped."""

MOST_KINDS: Final = 256
"""Kinds of transfers cached per session, so that those of one subscription share one."""

DOUBTED: Final = 256
"""Accepts that wait for a first commit to show whether they are in a transaction, where the octets of tx.select may be missing.
Beyond it they count as sent, because real sessions commit sooner."""


TransferTimes: TypeAlias = tuple[int, int | None, int, int]
"""When the octets of a transfer were captured: its first, the first of its header or body, the last; and its last packet's
number."""


class When(NamedTuple):
    """When and where a command was captured: first octet, last octet; stream offset; file; packet."""

    first: int
    last: int
    start: int
    file: int
    offset: int


class Attachment:
    """One attachment; `known`: it was observed from its attach on; otherwise unknown values are null."""

    __slots__ = ("_about", "_branches", "_kinds", "_maybe", "_rows", "_xid", "attached", "channel", "client", "credit",
                 "demarcation", "detach", "detach_by", "detach_code", "error", "name", "raw", "server", "timeout", "ts",
                 "tx")  # fmt: skip

    def __init__(
        self, rows: Rows, branches: Branches, books: Books, channel: int, raw: bytes | None, ts: int, known: bool,
        whole: tuple[bool, bool],
    ) -> None:  # fmt: skip
        self._rows: Final = rows
        self._branches: Final = branches
        self.channel: Final = channel
        self.raw: Final = raw
        self.name: Final = text_of(raw)
        self.ts: Final = ts
        self.client: Final = Half(rows, known and whole[1])
        self.server: Final = Half(rows, known and whole[0])
        self.credit: Final = CreditLine(rows, books, ("C", self.name, channel))
        self.tx: TransactionRecords | None = None
        self.demarcation: str | None = "none" if known and whole[0] else None
        self.attached: int | None = None
        self.detach: int | None = None
        self.detach_by: str | None = None
        self.detach_code: int | None = None
        self.timeout: int | None = None
        self.error: tuple[int | None, str | None] | None = None
        self._xid: str | None = None
        self._about: ById[tuple[str, str]] = ById()
        self._kinds: dict[TransferKind, TransferKind] = {}
        self._maybe: list[TransferRecord] = []

    # Commands.

    def within(self, time: int, count: int = 1) -> TransactionPair:
        """Counts `count` messages that the client publishes, the first of them at `time`; returns their transaction."""
        if self.tx is not None:
            current = self.tx.touch(time)
            current.transfers += count
            return current.number, None
        if self._xid is not None:
            self._branches.of(self._xid, time).transfers += count
            return None, self._xid
        return OUTSIDE

    def transfers(
        self, speaker: str, id: int | None, alike: bool, items: Sequence[TransferSeen[HeaderColumns]],
        places: Sequence[TransferTimes], heads: bool, whole: bool = True,
    ) -> None:  # fmt: skip
        """Takes consecutive transfers, with ids from `id` on.

        `alike`: all of them have the same command.  `heads`: bodies are kept.  `whole`: they arrived complete.
        """
        published = speaker == "C"
        count = len(items)
        half = self.client if published else self.server
        half.count += count
        half.transfers += count
        demarcation = self.within(places[0][0], count) if published else OUTSIDE
        ids: Sequence[int | None] = [None] * count if id is None else range(id, id + count)
        if id is not None and id + count > TOP:
            alike, ids = False, [each & TOP for each in range(id, id + count)]
        queue: str | None = None
        if not published and alike:
            queue = self.credit.deliveries(items[0][0].command.destination or "", id, [place[2] for place in places])
        messages: list[TransferRecord] = []
        kind: TransferKind | None = None
        acquires = False
        for item, captured, each in zip(items, places, ids, strict=True):
            known, header, body, head, start, _, properties, id_octets = item
            first, content, last, packet = captured
            if not published and not alike:
                queue = self.credit.deliveries(known.command.destination or "", each, (last,))
            if kind is None or not alike:
                kind = self._kind_of(speaker, known, queue, whole)
                acquires = kind.acquires and not published
            messages.append(
                TransferRecord(
                    kind,
                    properties,
                    id_octets,
                    each,
                    header,
                    body or 0,
                    first,
                    content,
                    last,
                    last if acquires else None,
                    start,
                    packet,
                    demarcation,
                    head if heads else None,
                )
            )
        half.send_all(messages, alike)

    def _kind_of(self, speaker: str, known: KnownCommand[Transfer], queue: str | None, whole: bool) -> TransferKind:
        """Returns their kind, from the cache."""
        said = known.command
        explicit, acquires, sync = not said.accept_mode, not said.acquire_mode, bool(known.sync)
        made = TransferKind(
            speaker, self.name, self.channel, said.destination, queue, explicit, acquires, sync, whole, len(known.payload)
        )
        if made not in self._kinds and len(self._kinds) >= MOST_KINDS:
            self._kinds.clear()
        return self._kinds.setdefault(made, made)

    def command(self, speaker: str, said: CommandSeen, when: When) -> None:
        """Takes any other command, or an incomplete transfer."""
        command = said.command
        arguments = None if command is None else arguments_of(command)
        octets = len(said.payload) + len(said.header or b"") + len(said.body or b"")
        awaits = "" if command is not None and command.RESULT else None
        whole = said.complete and command is not None
        other = self._said(speaker, said.id, said.verb, said.sync, whole, arguments, octets, when, awaits)
        if command is None or not said.complete:
            return
        take = _COMMANDS.get(type(command)) or (_COMMANDS_OF_CLIENT.get(type(command)) if speaker == "C" else None)
        if take is not None:
            take(self, other, said.id, command, when.last)

    def accept(self, speaker: str, id: int | None, sync: bool, ids: RangeSet, octets: int, when: When) -> None:
        """Takes a message.accept of one range, as `command` would."""
        low, high = ids.ranges[0]
        arguments = f'{{"transfers":[[{low},{high}]]}}'
        other = self._said(speaker, id, Accept.VERB, sync, True, arguments, octets, when)
        self._accept(other, ids, when.last)

    def _said(
        self, speaker: str, id: int | None, verb: str, sync: bool, whole: bool, arguments: str | None, octets: int, when: When,
        awaits: str | None = None,
    ) -> Half:  # fmt: skip
        """Begins the row of a command; returns the other side's half.  `awaits`: "" where a result is awaited."""
        own, other = (self.client, self.server) if speaker == "C" else (self.server, self.client)
        own.count += 1
        own.say(
            id,
            [when.first, speaker, self.name, self.channel, id, verb, sync, whole, arguments, octets, when.last, None, None,
             None, awaits, None, None, None, when.start, when.file, when.offset],
        )  # fmt: skip
        return other

    def _accept(self, other: Half, ids: RangeSet, time: int) -> None:
        transaction = xid = None
        maybe = False
        if other is self.server:
            if self.tx is not None:
                transaction = self.tx.touch(time).number
            else:
                xid = self._xid
                maybe = self.demarcation is None
        found = other.settle(ids, "accepted", time, transaction, xid, maybe=maybe)
        if maybe:
            self._maybe += found
            if len(self._maybe) > DOUBTED:
                self.server.sealed(self._maybe)
                self._maybe = []
        elif transaction is not None and self.tx is not None:
            current = self.tx.current
            current.accepts += len(found)
            current.accepted += found
        elif xid is not None:
            self._branches.of(xid, time).accepts += len(found)

    def _select(self) -> None:
        self.demarcation = "tx"
        if self.tx is None:
            self._begin_tx()

    def _select_dtx(self) -> None:
        self.demarcation = "dtx"

    def _end_tx(self, id: int | None, command: Commit | Rollback, time: int) -> None:
        if self.tx is None and self.demarcation is None:  # selected before the capture began
            self._begin_tx()
        if self.tx is not None:
            self.tx.ends(time, id, isinstance(command, Commit))

    def _of_branch(self, id: int | None, command: BranchCommand, time: int) -> None:
        xid = self._branches.said(command, time, id)
        if xid is None:
            return
        if isinstance(command, Start):
            self._xid = xid
        elif isinstance(command, End):
            self._xid = None
        if id is not None:
            self._about.push(id, (command.VERB, xid), ABOUT)

    def _begin_tx(self) -> None:
        """Begins local transactions: from here on accepts wait for a commit, and so do the doubtful earlier ones."""
        self.demarcation = "tx"
        self.tx = TransactionRecords(self._rows, (self.name, self.channel), self.server)
        current = self.tx.current
        for message in self._maybe:
            message.fated().transaction = current.number
        current.accepts += len(self._maybe)
        current.accepted += self._maybe
        self._maybe = []

    def _result(self, other: Half, command: Result, time: int) -> None:
        id, value = command.command_id, command.value
        if id is None:
            return
        other.result(id, time, struct_text(value) if isinstance(value, Struct) else None)
        about = self._about.drop(id) if other is self.client else None
        if about is not None:
            verb, xid = about
            self._branches.result(verb, xid, value, time)
            if verb == "dtx.start" and self._xid == xid and isinstance(value, XaResult) and value.status:
                self._xid = None
        elif isinstance(value, Acquired) and value.transfers and other is self.client:
            unsettled = self.server.unsettled
            for each in unsettled.among(value.transfers):
                message = unsettled[each]
                if message.acquired is None:
                    message.acquired = time

    def _exception(self, other: Half, command: Exception_) -> None:
        code, text = command.error_code, command.description
        if self.error is None:
            self.error = code, text
        id = command.command_id
        if id is None:
            return
        other.refused(id, code, text)
        if other is self.client:
            if self.tx is not None:
                self.tx.refused(id)
            about = self._about.drop(id)
            if about is not None:
                self._branches.refused(*about, code)

    # Controls.

    def completed(self, speaker: str, ids: RangeSet, time: int) -> None:
        """Notes that `speaker` has completed these commands of the other side."""
        if speaker == "C":
            self.server.completed(ids, time)
            self.credit.completed(time)
            return
        self.client.completed(ids, time)
        if self.tx is not None:
            self.tx.completed(ids, time)
        for id in self._about.among(ids) if self._about else ():
            verb, xid = self._about[id]
            if verb in ("dtx.forget", "dtx.set-timeout"):
                del self._about[id]
                self._branches.completed(verb, xid)

    def lost_of_server(self) -> None:
        """Notes a gap in the server's stream: its answers to the client's commands, and its own ids, are unknown."""
        self.client.flush("unknown")
        self.client.known = self.server.known = False
        self.credit.forget()
        if self.tx is not None:
            self.tx.finish("unknown")

    def finish(self, end: str, time: int) -> None:
        """Ends it; `end` as in the column.  Writes every open row."""
        known = end != "unknown"
        if self.tx is not None:
            self.tx.finish("open" if end == "open" else "abandoned" if known else "unknown")
        if known:
            self.credit.end(time)
        self.server.reopened(self._maybe, False)
        doubts = [self.client.doubtful(), self.server.doubtful()] if known else [None, None]
        for half in (self.client, self.server):
            half.flush("open" if known and half.known else "unknown")
        count = None if doubts[0] is None or doubts[1] is None else len(doubts[0]) + len(doubts[1])
        self._rows.by_table["sessions"].append(
            (self.ts, self.name, self.channel, self.attached, self.detach, time, end, self.detach_by, self.detach_code,
             self.timeout, self.demarcation, *(self.error or (None, None)), self.client.count, self.server.count,
             self.client.transfers, self.server.transfers, *[None if each is None else each.ranges for each in doubts], count)
        )  # fmt: skip


def _take_accept(session: Attachment, other: Half, id: int | None, command: Accept, time: int) -> None:
    if command.transfers:
        session._accept(other, command.transfers, time)


_Take: TypeAlias = Callable[[Attachment, Half, int | None, Any, int], object]  # Any: each row takes its own commands
_COMMANDS: Final[dict[type[Command], _Take]] = {
    Accept: _take_accept,
    Reject: lambda session, other, id, command, time: other.settle(
        command.transfers or EMPTY, "rejected", time, code=command.code, text=command.text
    ),
    Release: lambda session, other, id, command, time: other.settle(command.transfers or EMPTY, "released", time),
    Result: lambda session, other, id, command, time: session._result(other, command, time),
    Exception_: lambda session, other, id, command, time: session._exception(other, command),
}
_COMMANDS_OF_CLIENT: Final[dict[type[Command], _Take]] = {
    Select: lambda session, other, id, command, time: session._select(),
    DtxSelect: lambda session, other, id, command, time: session._select_dtx(),
    **dict.fromkeys((Commit, Rollback), lambda session, other, id, command, time: session._end_tx(id, command, time)),
    **dict.fromkeys(get_args(SubscriberCommand), lambda session, other, id, command, time: session.credit.hear(time, command)),
    **dict.fromkeys(get_args(BranchCommand), lambda session, other, id, command, time: session._of_branch(id, command, time)),
}


def arguments_of(command: Command) -> str:
    """Returns the fields of a command as JSON."""
    if type(command) is Accept and command.transfers:  # by far the most frequent one
        return f'{{"transfers":[{",".join([f"[{low},{high}]" for low, high in command.transfers.ranges])}]}}'
    return fields_text(command, False)


class SessionHistory(History):
    """See `History`."""

    __slots__ = ("_branches", "_heard", "_sessions")

    PARTS: ClassVar[tuple[type, ...]] = (
        Attachment, Branch, Branches, CreditLine, Fate, Half, HeaderColumns, SubscriptionRecord, TransactionRecord,
        TransactionRecords, TransferKind, TransferRecord,
    )  # fmt: skip

    def __init__(self, flow: AmqpFlow, rows: Rows, options: ReplayOptions, late: dict[str, bool]) -> None:
        super().__init__(flow, rows, options, late)
        self._sessions: dict[int, Attachment] = {}
        self._heard: dict[int, Attachment] = {}
        """Those used since the last gap in the server's stream."""
        self._branches = Branches(rows)

    def command(self, heard: LocatedEvent, said: CommandSeen, marks: PacketIndex) -> bool:
        speaker = heard.speaker
        channel = said.channel
        last = heard.time
        start = heard.start
        first = time_of(marks, start + 1)
        session = self._session(channel) or self._begin(channel, said.session, first)
        command = said.command
        if not isinstance(command, Transfer):
            session.command(speaker, said, When(first, last, start, *packet_place(heard.packet)))
            return False
        header, body = said.header, said.body
        content = None
        if header is not None or body is not None:
            content = last
            if first != last:
                content = time_of(marks, start + 2 * FRAME_HEADER_SIZE + len(said.payload) + 1)
        properties = properties_of(structs_of(said)) if header else (NOTHING, None)
        kept = self._head
        known = KnownCommand(channel, command, bool(said.sync), said.payload)
        size = None if body is None else len(body)
        item = known, len(header or b""), size, (body or b"")[:kept], start, heard.end, *properties
        session.transfers(speaker, said.id, True, [item], [(first, content, last, heard.packet)], bool(kept), said.complete)
        return True

    def transfers(self, run: Transfers[HeaderColumns], marks: PacketIndex) -> None:
        speaker, channel, name, id, alike, items = run
        ends, packets, times = marks.ends, marks.packets, marks.times
        at = bisect_left(ends, items[0][4] + 1)
        session = self._session(channel) or self._begin(channel, name, times[at])
        places: list[TransferTimes] = []
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
        session.transfers(speaker, id, alike, items, places, bool(self._head))

    def answered(self, answer: Answered, marks: PacketIndex, time: int, file: int, offset: int) -> None:
        speaker, channel, start = answer.speaker, answer.channel, answer.start
        session = self._session(channel)
        if answer.accepts:
            first = time_of(marks, start + 1)
            session = session or self._begin(channel, answer.session, first)
            octets = answer.end - start - FRAME_HEADER_SIZE
            session.accept(speaker, answer.id, answer.sync, answer.ids, octets, When(first, time, start, file, offset))
        elif session is not None:
            session.completed(speaker, answer.ids, time)

    def _begin(self, channel: int, name: bytes | None, time: int, known: bool = False) -> Attachment:
        whole = not self.late["C"], not self.late["S"]
        session = Attachment(self._rows, self._branches, self._talk.conversation, channel, name, time, known, whole)
        self._sessions[channel] = self._heard[channel] = session
        return session

    def _session(self, channel: int) -> Attachment | None:
        """Returns the session on the channel of the present event."""
        session = self._sessions.get(channel)
        if session is not None:
            self._heard[channel] = session
        return session

    def control(self, speaker: str, channel: int, control: Control, time: int) -> None:
        session = self._session(channel)
        if session is None:
            if isinstance(control, Attach):
                self._begin(channel, control.name, time, True)
            elif isinstance(control, Attached):
                self._begin(channel, control.name, time).attached = time
        elif isinstance(control, Completed):
            if control.commands:
                session.completed(speaker, control.commands, time)
        elif isinstance(control, Attached):
            if session.attached is None:
                session.attached = time
        elif isinstance(control, Detach):
            if session.detach is None:
                session.detach, session.detach_by = time, speaker
        elif isinstance(control, Detached):
            if control.name and session.raw is not None and control.name != session.raw:
                return  # about another session, requested while this one was attached
            session.detach_code = control.code
            refused = session.attached is None and bool(control.code)
            del self._sessions[channel], self._heard[channel]
            session.finish("refused" if refused else "detached", time)
        elif isinstance(control, Timeout):
            session.timeout = INFINITE if control.timeout is None else control.timeout

    def lost(self, speaker: str, time: int) -> None:
        super().lost(speaker, time)
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

    def finish(self, end: str, time: int) -> None:
        for session in self._sessions.values():
            session.finish("open" if end == "open" else "connection", time)
        self._sessions.clear()
        self._branches.finish()


def structs_of(said: CommandSeen) -> tuple[Struct, ...]:
    """Returns the structs of a header; none when they cannot be decoded, which has its own row."""
    try:
        return said.structs
    except DecodeError:
        return ()


HISTORIES: Final[dict[str, type[History]]] = {"sessions": SessionHistory}
"""By the name of the family (`Checker.FAMILY`).  A family without an entry gets the rows common to all."""


NEAR: Final = 8
"""Frequent controls kept on either side of a violation."""
SHOWN_RANGES: Final = 16
"""Ranges of ids kept of each."""

_SETS: Final = (Completed, Confirmed, KnownCompleted)


def control_arguments(control: Control | None) -> str | None:
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
        self._last: list[RowValues] = []
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
            self._rows.by_table["controls"].append((time, speaker, channel, verb, control_arguments(control), *place))
            return
        self.often((time, speaker, channel, verb, said, *place))

    def often(self, row: RowValues) -> None:
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

    def _tell(self, row: RowValues) -> None:
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
        self._names = flow.ends
        mark = flow.syn[client]
        if mark is None:
            mark = flow.syn[1 - client]
        mark = flow.begun[1] if mark is None else mark
        self.common = (capture, options.broker_of(self._names[1]), connection_id(flow.key, flow.number, mark))
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
        code = None
        if isinstance(said, Violation):
            code = said.code
        elif isinstance(said, Note):
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
             finding.channel, finding.octet, *packet_place(heard.packet))
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
