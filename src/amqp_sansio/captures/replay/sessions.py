"""The rows of a connection's sessions (0-10)."""

from __future__ import annotations

from bisect import bisect_left
from typing import ClassVar

from amqp_sansio.captures.conversation import Heard
from amqp_sansio.captures.flows import Talk
from amqp_sansio.captures.packet import packet_place
from amqp_sansio.captures.replay.branches import Branch, Branches
from amqp_sansio.captures.replay.credit import CreditLine, Subscription
from amqp_sansio.captures.replay.half import Half
from amqp_sansio.captures.replay.history import History
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.rows import NOTHING, Fate, Kind, Message, Properties, Rows, properties_of
from amqp_sansio.captures.replay.session import Place, Session, When
from amqp_sansio.captures.replay.transactions import Transaction, Transactions
from amqp_sansio.engine.observed import Answered, Transfers
from amqp_sansio.errors import DecodeError
from amqp_sansio.events.observed import CommandSeen
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.base import Control, Struct
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.session import Attach, Attached, Completed, Detach, Detached, Timeout
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE
from amqp_sansio.wire.framing import KnownCommand


class Sessions(History):
    """See `History`."""

    __slots__ = ("_branches", "_heard", "_sessions")

    PARTS: ClassVar[tuple[type, ...]] = (
        Branch, Branches, CreditLine, Fate, Half, Kind, Message, Properties, Session, Subscription, Transaction, Transactions,
    )  # fmt: skip

    def __init__(self, talk: Talk, rows: Rows, options: ReplayOptions, late: dict[str, bool]) -> None:
        super().__init__(talk, rows, options, late)
        self._sessions: dict[int, Session] = {}
        self._heard: dict[int, Session] = {}
        """Those used since the last gap in the server's stream."""
        self._branches = Branches(rows)

    def command(self, heard: Heard, said: CommandSeen) -> bool:
        speaker = heard.speaker
        channel = said.channel
        session = self._session(channel)
        last = heard.time
        start = heard.start
        conversation = self._talk.conversation
        first = conversation.time_of(speaker, start + 1)
        if session is None:
            session = self._begin(channel, said.session, first, False)
        command = said.command
        if not isinstance(command, Transfer):
            session.command(speaker, said, When(first, last, start, *packet_place(heard.packet)))
            return False
        header, body = said.header, said.body
        content = None
        if header is not None or body is not None:
            content = last
            if first != last:
                content = conversation.time_of(speaker, start + 2 * FRAME_HEADER_SIZE + len(said.payload) + 1)
        properties = properties_of(structs_of(said)) if header else (NOTHING, None)
        kept = self._head
        known = KnownCommand(channel, command, bool(said.sync), said.payload)
        size = None if body is None else len(body)
        item = known, len(header or b""), size, (body or b"")[:kept], start, heard.end, *properties
        session.transfers(speaker, said.id, True, [item], [(first, content, last, heard.packet)], bool(kept), said.complete)
        return True

    def transfers(self, run: Transfers[Properties]) -> None:
        speaker, channel, name, id, alike, items = run
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
        session.transfers(speaker, id, alike, items, places, bool(self._head))

    def answered(self, answer: Answered, time: int, file: int, offset: int) -> None:
        speaker, channel, start = answer.speaker, answer.channel, answer.start
        session = self._session(channel)
        if answer.accepts:
            first = self._talk.conversation.time_of(speaker, start + 1)
            if session is None:
                session = self._begin(channel, answer.session, first, False)
            octets = answer.end - start - FRAME_HEADER_SIZE
            session.accept(speaker, answer.id, answer.sync, answer.ids, octets, When(first, time, start, file, offset))
        elif session is not None:
            session.completed(speaker, answer.ids, time)

    def _begin(self, channel: int, name: bytes | None, time: int, known: bool) -> Session:
        whole = not self.late["C"], not self.late["S"]
        session = Session(self._rows, self._branches, self._talk.conversation, channel, name, time, known, whole)
        self._sessions[channel] = self._heard[channel] = session
        return session

    def _session(self, channel: int) -> Session | None:
        """Returns the session on the channel of the present event."""
        session = self._sessions.get(channel)
        if session is not None:
            self._heard[channel] = session
        return session

    def control(self, speaker: str, channel: int, control: Control, time: int) -> None:
        session = self._session(channel)
        if isinstance(control, Completed):
            if session is not None and control.commands:
                session.completed(speaker, control.commands, time)
            return
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
