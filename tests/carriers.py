"""Sessions without connections: a carrier made of lists, and two of them joined by a wire that can be cut.

For testing the session layer alone.  The wire hands over octets, as a socket would; what it cuts off is lost.
"""

from __future__ import annotations

from typing import Final

from amqp_sansio.config import DEFAULT_PROFILE, Profile
from amqp_sansio.engine.carrier import Carrier, Role
from amqp_sansio.engine.channel import Channel, Channels
from amqp_sansio.engine.session import Session
from amqp_sansio.events import AttachRequested, Event, Origin, Violation
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.session import Attach, Attached, CommandPoint
from amqp_sansio.wire.assembly import CONTROL, Assembly
from amqp_sansio.wire.frames import frame_command, frame_control
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import SegmentReader


class BareCarrier(Carrier):
    """A carrier without a connection: what is written is in `out`, what happened in `events`, violations in `failed`."""

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
        super().__init__(role, LAYOUT, limits, profile, max_frame_size, eager_headers=eager_headers)
        self.out = bytearray()
        self.events: list[Event] = []
        self.failed: list[Violation] = []
        self.channels: Final = Channels(self, LAYOUT)
        self.reader: Final = SegmentReader(limits, max_frame_size)
        self.channels.begin(self.reader)

    def _write(self, octets: bytes) -> None:
        """See Carrier."""
        self.out += octets

    @property
    def _has_room(self) -> bool:
        """Always."""
        return True

    def _emit(self, event: Event) -> None:
        """See Carrier."""
        self.events.append(event)

    def _fail(self, violation: Violation) -> None:
        """See Carrier."""
        self.failed.append(violation)

    def _ask(self) -> None:
        """Nobody answers by itself."""

    def channel(self, number: int) -> Channel:
        """The channel of a number."""
        return self.channels.at(number)

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

    def hear(self, *said: Control | Command, channel: int = 0, header: bytes | None = None, body: bytes | None = None) -> None:
        """The other side says controls and commands."""
        for thing in said:
            if isinstance(thing, Control):
                self.feed(frame_control(channel, self.layout.encode_control(thing)))
            else:
                self.feed(b"".join(frame_command(channel, self.layout.encode_command(thing, False), header, body)))

    def take(self) -> bytes:
        """All there is to send."""
        self.channels.flush()
        octets = bytes(self.out)
        self.out.clear()
        return octets

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

    def happened(self) -> list[Event]:
        """The events since the last time."""
        events, self.events = self.events, []
        return events

    def lost(self, text: str = "cut") -> None:
        """The connection ends."""
        self._closed_cause = text
        self.channels.lose(Origin.EOF, text, None)


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
