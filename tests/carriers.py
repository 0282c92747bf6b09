"""Sessions and channels without connections: carriers made of lists, and two with sessions joined by a wire that can be cut.

For testing the layer of sessions, or of channels, alone.  The wire hands over octets, as a socket would; what it cuts off is
lost.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel import Channel, Channels
from amqp_sansio.engine.channels.base import BaseChannel
from amqp_sansio.engine.channels.endpoint import Channels as OlderChannels
from amqp_sansio.engine.connection import Capabilities, Carrier, Endpoints, Role
from amqp_sansio.engine.session import Session
from amqp_sansio.events import AttachRequested, Event, Origin, Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Command, Control, Method
from amqp_sansio.spec.methods import channel as words
from amqp_sansio.spec.session import Attach, Attached, CommandPoint
from amqp_sansio.tables.channel import CAPABILITIES
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import CONTROL, Assembly, Reader
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.method_frames import frame_content, frame_method
from amqp_sansio.wire.segments import SegmentReader, frame_command, frame_control


class Bare(Carrier):
    """A carrier without a connection: what is written is in `out`, what happened in `events`, violations in `failed`.

    A base class: a family brings its endpoints and its reader.
    """

    channels: Endpoints
    reader: Reader

    def __init__(
        self,
        role: Role,
        codec: Codec,
        *,
        profile: Profile = DEFAULT_PROFILE,
        limits: Limits = DEFAULT_LIMITS,
        max_frame_size: int = 65535,
        eager_headers: bool = False,
    ) -> None:
        super().__init__(role, codec, limits, profile, max_frame_size, eager_headers=eager_headers)
        self._out = bytearray()
        self.events: list[Event] = []
        self.failed: list[Violation] = []

    @property
    def out(self) -> bytearray:
        """What was written so far, and not cleared by the test."""
        self._out += b"".join(self._outbox)
        self._outbox.clear()
        return self._out

    @property
    def _has_room(self) -> bool:
        """Always."""
        return True

    def _emit(self, event: Event) -> None:
        """See Carrier."""
        self.events.append(event)

    def _fail(self, violation: Violation, verb: str = "") -> None:
        """See Carrier."""
        self.failed.append(violation)

    def _ask(self) -> None:
        """Nobody answers by itself."""

    def feed(self, octets: bytes) -> None:
        """The other side's octets arrive."""
        self.reader.receive(octets)
        while (unit := self.reader.next()) is not None:
            if not isinstance(unit, Assembly):
                if unit.code > 501:
                    self.channels.hear_malformed(unit)
                else:
                    self._fail(Violation("", unit.rule, unit.said, unit.legal, unit.code, unit.channel, unit.offset, unit.text))
            else:
                self.channels.hear(unit)

    def take(self) -> bytes:
        """All there is to send."""
        self.channels.flush()
        octets = bytes(self.out)
        self.out.clear()
        return octets

    def happened(self) -> list[Event]:
        """The events since the last time."""
        events, self.events = self.events, []
        return events

    def lost(self, text: str = "cut") -> None:
        """The connection ends."""
        self._closed_cause = text
        self.channels.lose(Origin.EOF, text, None)


class BareCarrier(Bare):
    """One with sessions."""

    def __init__(
        self,
        role: Role,
        *,
        profile: Profile = DEFAULT_PROFILE,
        limits: Limits = DEFAULT_LIMITS,
        max_frame_size: int = 65535,
        eager_headers: bool = False,
    ) -> None:
        self.layout: Final = LAYOUT
        super().__init__(
            role, LAYOUT, profile=profile, limits=limits, max_frame_size=max_frame_size, eager_headers=eager_headers
        )
        self.channels: Channels = Channels(self, LAYOUT)
        self.reader: SegmentReader = SegmentReader(limits, max_frame_size)
        self.channels.begin(self.reader)

    def channel(self, number: int) -> Channel:
        """The channel of a number."""
        return self.channels.at(number)

    def hear(self, *said: Control | Command, channel: int = 0, header: bytes | None = None, body: bytes | None = None) -> None:
        """The other side says controls and commands."""
        for thing in said:
            if isinstance(thing, Control):
                self.feed(frame_control(channel, self.layout.encode_control(thing)))
            else:
                self.feed(b"".join(frame_command(channel, self.layout.encode_command(thing, False), header, body)))

    def said(self) -> list[Control | Command]:
        """What there was to send, decoded."""
        reader = SegmentReader(DEFAULT_LIMITS)
        reader.receive(self.take())
        things: list[Control | Command] = []
        while (unit := reader.next()) is not None:
            assert isinstance(unit, Assembly), unit
            if unit.kind == CONTROL:
                things.append(self.layout.decode_control(unit.payload, 0, len(unit.payload)))
            else:
                things.append(self.layout.decode_command(unit.payload, 0, len(unit.payload))[0])
        return things


class BareChannelCarrier(Bare):
    """One with channels of the older dialects; the other side can do all that RabbitMQ can."""

    def __init__(
        self,
        role: Role,
        dialect: ChannelDialect = AMQP_0_9_1,
        *,
        profile: Profile = DEFAULT_PROFILE,
        limits: Limits = DEFAULT_LIMITS,
        max_frame_size: int = 4096,
    ) -> None:
        self.dialect: Final = dialect
        super().__init__(role, dialect.codec, profile=profile, limits=limits, max_frame_size=max_frame_size)
        able = frozenset(CAPABILITIES.values())
        self._capabilities = Capabilities(able, able)
        self.channels: OlderChannels = OlderChannels(self, dialect.codec, dialect.handshake.numbering.counted)
        self.reader: Reader = dialect.framing.reader(
            limits, max_frame_size, strict=profile.strict, carries=dialect.codec.carries, offset=0, opening=False
        )
        self.channels.begin(self.reader)

    def _code(self, said: str, code: object) -> int:
        """Any number is one."""
        assert isinstance(code, int)
        return int(code)

    def hear(self, *said: Method, channel: int = 1, body: bytes | None = None) -> None:
        """The other side says methods; with a content without properties those that carry one."""
        codec = self.dialect.codec
        for method in said:
            payload = codec.encode(method)
            if method.VERB in codec.carrying:
                self.feed(b"".join(frame_content(channel, payload, int.from_bytes(payload[:2], "big"), b"\0\0", body or b"")))
            else:
                self.feed(frame_method(channel, payload))

    def said(self) -> list[Method]:
        """The methods among what there was to send, without their contents."""
        codec = self.dialect.codec
        reader = self.dialect.framing.overhearing(DEFAULT_LIMITS, codec.carries, 0)
        reader.receive(self.take())
        things: list[Method] = []
        while (unit := reader.next()) is not None:
            assert isinstance(unit, Assembly), unit
            method = codec.read(unit.payload)
            assert isinstance(method, Method)
            things.append(method)
        return things


def open_channel(carrier: BareChannelCarrier, number: int = 1) -> BaseChannel:
    """A channel that is open, on a carrier on which nothing of that was said or happened."""
    before = len(carrier.out), len(carrier.events)
    if carrier.role == "client":
        channel: BaseChannel = carrier.channels.open(number)
        carrier.hear(words.OpenOk(), channel=number)
    else:
        carrier.hear(words.Open(), channel=number)
        channel = carrier.channels.accept(number)
    del carrier.out[before[0] :], carrier.events[before[1] :]
    return channel


class Wire:
    """A client and a server joined by one wire; `sessions` is what the server keeps across cuts."""

    def __init__(
        self,
        *,
        session_timeout: int | None = 0,
        profile: Profile = DEFAULT_PROFILE,
        limits: Limits = DEFAULT_LIMITS,
        max_frame_size: int = 65535,
    ) -> None:
        self.session_timeout: Final = session_timeout
        self.profile: Final = profile
        self.limits: Final = limits
        self.max_frame_size = max_frame_size
        self.sessions: dict[bytes, Session] = {}
        self.to_server = bytearray()
        self.to_client = bytearray()
        self.client = self._carrier("client")
        self.server = self._carrier("server")

    def _carrier(self, role: Role) -> BareCarrier:
        return BareCarrier(role, profile=self.profile, limits=self.limits, max_frame_size=self.max_frame_size)

    def session(self, name: bytes = b"s", timeout: int | None = 0) -> tuple[Session, Session]:
        """A session attached at both ends, the client's first."""
        ours = Session(name, "client", timeout=timeout, profile=self.profile, limits=self.limits)
        self.client.channel(0).bind(ours)
        ours.attach()
        self.run()
        return ours, self.sessions[name]

    def collect(self) -> None:
        """Takes what both sides have to send."""
        self.to_server += self.client.take()
        self.to_client += self.server.take()

    def step(self, to_server: int | None = None, to_client: int | None = None) -> None:
        """Hands over so many octets each way (None: all)."""
        self.collect()
        up, down = bytes(self.to_server[:to_server]), bytes(self.to_client[:to_client])
        del self.to_server[: len(up)]
        del self.to_client[: len(down)]
        self.server.feed(up)
        self._answer()
        self.client.feed(down)

    def _answer(self) -> None:
        """The server accepts what is asked for: a session that it has, when that still lives, else a new one."""
        for event in self.server.events:
            if not isinstance(event, AttachRequested):
                continue
            channel = self.server.channel(event.channel)
            if channel.requested != event.session:
                continue
            session = self.sessions.get(event.session)
            if session is None or session.state == "ended":
                session = Session(
                    event.session, "server", max_timeout=self.session_timeout, profile=self.profile, limits=self.limits
                )
                self.sessions[event.session] = session
            channel.accept(session)

    def run(self) -> None:
        """Hands over everything until nobody has anything to say."""
        self.collect()
        while self.to_server or self.to_client:
            self.step()
            self.collect()

    def cut(self, to_server: int = 0, to_client: int = 0) -> None:
        """Hands over so many octets each way, then both connections end and new ones stand ready."""
        self.step(to_server, to_client)
        self.client.lost()
        self.server.lost()
        self.to_server.clear()
        self.to_client.clear()
        events = self.client.events, self.server.events
        self.client = self._carrier("client")
        self.server = self._carrier("server")
        self.client.events, self.server.events = events


def attached_session(
    role: Role,
    name: bytes = b"s",
    *,
    timeout: int | None = 0,
    max_timeout: int | None = 0,
    profile: Profile = DEFAULT_PROFILE,
    limits: Limits = DEFAULT_LIMITS,
    max_frame_size: int = 65535,
    eager_headers: bool = False,
    pointed: bool = True,
) -> tuple[BareCarrier, Session]:
    """A session attached on channel 0 of a carrier on which nothing else was said or happened.

    `pointed`: the other side has said command-point(0, 0).
    """
    carrier = BareCarrier(
        role, profile=profile, limits=limits, max_frame_size=max_frame_size, eager_headers=eager_headers
    )  # fmt: skip
    session = Session(name, role, timeout=timeout, max_timeout=max_timeout, profile=profile, limits=limits)
    if role == "client":
        carrier.channel(0).bind(session)
        session.attach()
        carrier.hear(Attached(name))
    else:
        carrier.hear(Attach(name))
        carrier.channel(0).accept(session)
    if pointed:
        carrier.hear(CommandPoint(0, 0))
    carrier.happened()
    carrier.take()
    return carrier, session
