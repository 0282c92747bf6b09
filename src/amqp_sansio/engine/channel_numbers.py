"""The channels of one connection, by number and by the name of the session on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.carrier import Carrier, Role
from amqp_sansio.engine.channel import Channel
from amqp_sansio.engine.controls import completed_run
from amqp_sansio.engine.endpoints import UNHEARD, Answered, Endpoints
from amqp_sansio.engine.feedback import replies_of
from amqp_sansio.engine.hearing import hear_transfer
from amqp_sansio.engine.replaying import go_on
from amqp_sansio.engine.session import Session
from amqp_sansio.engine.standing import Standing
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.events import Event, Origin, Violation
from amqp_sansio.limits import MAX_FRAME_SIZE
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.session import Attach
from amqp_sansio.wire.assembly import COMMAND, Assembly, Cut, Malformed
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import Reader
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.segments import OneRange, Segmentation, SegmentReader


def check_role(said: str, session: object, role: Role) -> None:
    """Raises for what is no session, or one of the other side's role."""
    if not isinstance(session, Session):
        raise EncodeError("session", f"takes a Session, not {type(session).__name__}")
    if session.role != role:
        legal = (f"{said} of a session of role {role}",)
        raise LocalProtocolError(f"{said} of a session of role {session.role}", session.state, legal, "one role, both halves")


def layout_of(setting: str, dialect: Dialect[Codec]) -> Layout:
    """How a dialect with sessions writes them.  EncodeError for a dialect in which there are none."""
    if not isinstance(dialect.framing, Segmentation) or not isinstance(dialect.codec, Layout):
        raise EncodeError(setting, f"a dialect with sessions, not {dialect.name}")
    return dialect.codec


class Channels(Endpoints):
    """Remembers the channels in use: the other side may name 65536 of them, and any number of sessions."""

    __slots__ = (
        "_carrier",
        "_lowest",
        "_named",
        "_names",
        "_reader",
        "_replies",
        "_roomless",
        "_touched",
        "discarded",
        "layout",
        "requests",
        "used",
    )

    def __init__(self, carrier: Carrier, layout: Layout) -> None:
        self._carrier: Final = carrier
        self.layout: Final = layout
        """Encodes the methods on them."""
        self.used: Final[dict[int, Channel]] = {}
        """By number, those of which something is remembered."""
        self.requests: Final[dict[bytes, Channel]] = {}
        """Attaches that wait for their answers, by the name of the session."""
        self._named: Final[dict[bytes, Channel]] = {}
        self._names: Final[dict[int, bytes]] = {}
        self._lowest = 1  # from channel 1 up to here none is free
        self._touched: dict[Standing, None] = {}
        self._roomless: Final[dict[Session, None]] = {}
        self._reader: SegmentReader | None = None
        self._replies: OneRange | None = None
        self.discarded = 0
        """Octets that came for no session, as far as they count (limits.discarded_octets)."""

    # --- by number and by name --------------------------------------------------------------------------------------------

    def at(self, number: int) -> Channel:
        """The channel of this number."""
        channel = self.used.get(number)
        if channel is None:
            channel = self.used[number] = Channel(number, self._carrier, self)
        return channel

    def free(self, channel_max: int) -> Channel:
        """The lowest one, of so many, on which a session can be attached; LimitError when there is none.

        From 1 on, as C++ clients do: channel 0 stays readable for the connection's own controls as long as it can.
        """
        for number in range(self._lowest, channel_max):
            if number not in self.used or self.used[number].free:
                self._lowest = number
                return self.at(number)
        self._lowest = max(1, channel_max)
        if 0 not in self.used or self.used[0].free:
            return self.at(0)
        raise LimitError("channels", channel_max, channel_max + 1)

    def all(self) -> list[Channel]:
        """Those that are remembered, by number."""
        return [channel for _, channel in sorted(self.used.items())]

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions on them, by channel."""
        return tuple([channel.session for channel in self.all() if channel.session is not None])

    def session_named(self, name: bytes) -> Session | None:
        """The session of that name, None when there is none."""
        channel = self._named.get(name)
        if channel is None or channel.session is None or channel.session.name != name:
            return None
        return channel.session

    @property
    def attached(self) -> int:
        """On how many channels there is a session."""
        return len(self._names)

    def name(self, channel: Channel) -> None:
        """The session that is on the channel from now on can be asked for by its name."""
        if channel.session is not None:
            self._named[channel.session.name] = channel
            self._names[channel.number] = channel.session.name

    def forget(self, number: int) -> None:
        """No session is on the channel any more: drops its name, and what is under way on track 1."""
        self._unname(number)
        self.break_off(number)

    def break_off(self, number: int) -> None:
        """What is under way on track 1 of the channel goes no further, and what was learned is forgotten."""
        if self._reader is not None:
            self._reader.forget(number)
            self._reader.unlearn()

    def _unname(self, number: int) -> None:
        self._lowest = max(1, min(self._lowest, number))
        name = self._names.pop(number, None)
        if name is None:
            return
        channel = self._named.get(name)
        if channel is not None and channel.number == number:
            del self._named[name]

    def sweep(self, channel: Channel) -> None:
        """Forgets the channel when there is nothing to remember of it."""
        if channel.free:
            self._lowest = max(1, min(self._lowest, channel.number))
        if channel.pristine:
            self.used.pop(channel.number, None)

    # --- what comes again with every message ------------------------------------------------------------------------------

    def learn(self, number: int, payload: bytes, transfer: Transfer, sync: bool, account: object) -> None:
        """Remembers a transfer command by the octets of its frame: within a subscription it comes again and again."""
        limits = self._carrier.limits
        if limits.header_structs < 2 or min(limits.header_octets, limits.assembly_octets // 3) < MAX_FRAME_SIZE:
            return  # limits that the fast path does not look at
        if self._reader is not None:
            self._reader.learn(number, payload, transfer, sync, account)

    def unlearn(self) -> None:
        """Forgets them: subscriptions have changed."""
        if self._reader is not None:
            self._reader.unlearn()

    # --- what the other side says (engine.endpoints) ----------------------------------------------------------------------

    def begin(self, reader: Reader) -> None:
        assert isinstance(reader, SegmentReader)  # see `layout_of`
        self._reader = reader
        self._replies = replies_of(self.layout)

    def hear(self, unit: Assembly) -> None:
        if unit.kind == COMMAND:
            channel = self.at(unit.channel)
            channel.receive_command(unit)
            if channel.session is None:
                self.sweep(channel)
        else:
            self._hear_control(unit)

    def _hear_control(self, unit: Assembly) -> None:
        carrier = self._carrier
        control = carrier._decode(unit)
        if control is None:
            return
        channel = self.at(unit.channel)
        most = carrier.limits.sessions
        if type(control) is Attach and channel.session is None and self.attached >= most:
            legal = (f"at most {most} sessions",)
            carrier._blame(
                unit, "limits.sessions", control.VERB, legal, "more sessions than our limit", CloseCode.CONNECTION_FORCED
            )
            return
        channel.receive_control(control, unit.start, len(unit.payload))
        if channel.requested is not None:
            self.requests[channel.requested] = channel
            carrier._ask()
        self.sweep(channel)

    def hear_plain(self, cut: Cut) -> Event | None:
        known, header, _, body, offset, end = cut
        session: Session
        session, subscription = known.account
        if session._speaks:  # what was learned is forgotten when another session takes the channel
            return hear_transfer(session, known.command, header, body, known.sync, offset, subscription)
        number = known.channel
        channel = self.at(number)
        channel.receive_command(Assembly(number, 1, COMMAND, known.payload, header, body or None, offset, end))
        self.sweep(channel)
        return None

    def hear_answer(self) -> Answered:
        replies, reader = self._replies, self._reader
        assert replies is not None
        assert reader is not None
        reply = replies.cut(reader, False)
        if reply is None:
            return UNHEARD
        _, timely, number, low, high, start, end = reply
        channel = self.used.get(number)
        session = None if channel is None else channel.session
        if session is None or not session._hears:
            replies.put_back(reader, end - start)
            return UNHEARD
        return completed_run(session, low, high, timely, start)

    def hear_malformed(self, malformed: Malformed) -> None:
        self.at(malformed.channel).receive_breach(
            malformed.rule, malformed.text, malformed.code, malformed.said, malformed.legal, malformed.offset
        )

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        for number, octets in passed.items():
            if (channel := self.used.get(number)) is not None:
                channel.discard(octets, offset)
            else:
                self.discard(octets, number, offset)

    def discard(self, octets: int, number: int, offset: int) -> None:
        """So many octets came on a channel for no session: too many end the connection."""
        self.discarded += octets
        carrier = self._carrier
        most = carrier.limits.discarded_octets
        if self.discarded > most and carrier._closed_cause is None:
            carrier._fail(
                Violation(
                    carrier.peer, "limits.discarded_octets", "octets for no session",
                    ("session.attach", f"at most {most} octets on channels without a session"), CloseCode.CONNECTION_FORCED,
                    number, offset, f"{self.discarded} octets came on channels on which no session is attached",
                )
            )  # fmt: skip

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        for channel in self.all():
            channel.lost(origin, text, violation)
        self._touched.clear()

    # --- what they gathered -----------------------------------------------------------------------------------------------

    @property
    def pending(self) -> int:
        return len(self._touched)

    def touch(self, session: Standing) -> None:
        """The session has something to write before the next octets are taken."""
        if self._carrier._wake is not None and not self._touched:
            self._carrier._wake()
        self._touched[session] = None

    def flush(self) -> None:
        touched = list(self._touched)
        self._touched.clear()
        for session in touched:
            session._flush_pending()

    @property
    def roomless(self) -> int:
        return len(self._roomless)

    def wait_for_room(self, session: Session) -> None:
        """The session goes on saying again what is in doubt when octets were taken."""
        self._roomless[session] = None

    def go_on(self) -> None:
        session = next(iter(self._roomless))
        del self._roomless[session]
        if session._replaying is not None:  # else it was detached meanwhile
            go_on(session)
