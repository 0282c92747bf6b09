"""A 0-10 channel, which carries at most one session and its attach and detach; and all channels of a connection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.connection import UNHEARD, AnswerEvent, Carrier, Endpoints, Role
from amqp_sansio.engine.inbound import CONTROLS, completed_run, hear_assembly, hear_transfer, octets_in, replies_of, tell
from amqp_sansio.engine.outbound import check_modes, go_on, violate
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError, SessionDetachedError
from amqp_sansio.errors.core import session_name
from amqp_sansio.events import AttachRequested, Event, Origin, Violation
from amqp_sansio.limits import MAX_FRAME_SIZE
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import CloseCode, DetachCode, ErrorCode
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.session import Attach
from amqp_sansio.tables.session import ATTACH, ATTACHMENT_VERBS, OTHER, AttachmentDialogue, attachment_verb
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, Cut, Malformed, Reader, assembly_of
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.segments import (
    CONTROL_SIZE,
    FRAME_HEADER_SIZE,
    OneRange,
    Segmentation,
    SegmentReader,
    frame_begun,
    frame_control,
)

_REMEMBERED: Final = 256
"""The most command segments of transfers that one channel remembers."""

_REFUSED: Final[dict[int, str]] = {
    DetachCode.NORMAL: "detached by the other side",
    DetachCode.SESSION_BUSY: "session-busy, it is attached elsewhere",
    DetachCode.TRANSPORT_BUSY: "transport-busy, the channel has another session",
    DetachCode.NOT_ATTACHED: "not-attached",
    DetachCode.UNKNOWN_IDS: "unknown-ids",
}
"""The reasons for detached as the answer to attach, by code (session.detach-code)."""


class Channel:
    """A channel of a connection with sessions.

    `session` is the one that is attached to it or about to be; `requested` names one that the other side asks for, until
    `accept` or `refuse` (then `requested_force` tells whether it is to be taken from another transport).
    """

    __slots__ = (
        "carrier",
        "channels",
        "commands",
        "dialogue",
        "discarded",
        "layout",
        "number",
        "own",
        "peer",
        "requested",
        "requested_force",
        "session",
    )

    def __init__(self, number: int, carrier: Carrier, channels: Channels) -> None:
        self.number: Final = number
        self.carrier: Final = carrier
        self.channels: Final = channels
        self.layout: Final = channels.layout
        self.own: Final = carrier.role
        self.peer: Final = carrier.peer
        self.dialogue: Final = AttachmentDialogue()
        self.session: Session | None = None
        self.requested: bytes | None = None
        self.requested_force = False
        self.commands: Final[dict[tuple[str, int, int, bool], tuple[bytes, bytes]]] = {}
        """Command segments of transfers, and frames with them, by destination, modes and sync."""
        self.discarded = 0
        """Octets that arrived for no session, as far as they count (limits.discarded_octets)."""

    @property
    def free(self) -> bool:
        """Whether no session is on it and no answer is awaited, so that its number may be used again."""
        return self.session is None and self.requested is None and self.dialogue.state(self.own) in ("detached", "cut")

    @property
    def pristine(self) -> bool:
        """Whether its state is that of an unused channel."""
        return self.session is None and self.requested is None and self.dialogue.pristine

    def say(self, control: Control) -> None:
        """Writes a control of class session about the session of this channel."""
        frame = self._frame(control)
        if control.VERB in ATTACHMENT_VERBS:
            self.dialogue.step(self.own, control.VERB)
        self.carrier._write(frame)

    def encode_transfer(self, destination: str, accept_mode: int, acquire_mode: int, sync: bool) -> tuple[bytes, bytes]:
        """Encodes the command segment of a transfer, and the frame with it where content follows; remembers both."""
        check_modes(accept_mode, acquire_mode)
        payload = self.layout.encode_command(Transfer(destination, accept_mode, acquire_mode), bool(sync))
        command = payload, frame_begun(self.number, payload)
        if len(self.commands) >= _REMEMBERED:
            self.commands.clear()
        self.commands[destination, accept_mode, acquire_mode, bool(sync)] = command
        return command

    def _write(self, control: Control) -> None:
        self.carrier._write(self._frame(control))

    def _frame(self, control: Control) -> bytes:
        most = self.carrier._max_frame_size
        payload = self.layout.encode_control(control)
        if isinstance(control, controls.Detached) and len(payload) + FRAME_HEADER_SIZE > most:
            # The longest name that fits into an attach is one octet too long for its detached: answered without the name.
            payload = self.layout.encode_control(controls.Detached(b"", control.code))
        return frame_control(self.number, payload, most)

    # --- what the other side says -----------------------------------------------------------------------------------------

    def receive_control(self, control: Control, offset: int, octets: int = 0) -> None:
        """Handles a control of class session of `octets` octets, whose frame begins at `offset` in the peer's octets."""
        self.channels.offset = offset
        verb = attachment_verb(control.VERB)
        if verb == OTHER:
            if self._hears(FRAME_HEADER_SIZE + octets):
                assert self.session is not None
                CONTROLS[type(control)](self.session, control)
            return
        if self._about_another(control):
            return
        _ATTACHMENT[type(control)](self, control, self.dialogue.step(self.peer, verb) is not None)

    def _about_another(self, control: Control) -> bool:
        """Words about another session than the one attached here: they are answered, and change nothing.

        An empty name stands for whatever is attached: a side that thinks nothing is has no name to send.
        """
        session = self.session
        if session is None or not isinstance(control, (controls.Attach, controls.Detach, controls.Detached)):
            return False
        name, attach = control.name or b"", isinstance(control, controls.Attach)
        if name == session.name or (not name and not attach):
            return False
        if session.state != "detaching" and not isinstance(control, controls.Detached):
            self._write(controls.Detached(name, DetachCode.TRANSPORT_BUSY if attach else DetachCode.NOT_ATTACHED))
        return True

    def receive_command(self, assembly: Assembly) -> None:
        """Handles an assembly of track 1: decodes the command, checks the header, steps the session."""
        self.channels.offset, session = assembly.start, self.session
        hears = session is not None and session._hears and session._state != "refused"
        if (hears or self._hears(FRAME_HEADER_SIZE + octets_in(assembly))) and session is not None:
            hear_assembly(session, assembly)

    def receive_malformed(self, malformed: Malformed) -> None:
        """Handles a command that could not be assembled (error codes above 501 concern the session alone)."""
        self.channels.offset = malformed.offset
        if self._hears(FRAME_HEADER_SIZE):
            session = self.session
            assert session is not None
            id: int | None = None
            if malformed.code == ErrorCode.RESOURCE_LIMIT_EXCEEDED and session._inbound.pointed:
                id = session._inbound.take()  # of the command that is too large: its sender wants to know which
                session._inbound.outstanding.add(id)
            codes = divmod(malformed.method, 1 << 16) if malformed.method else (None, None)
            violate(session, malformed.rule, malformed.said, malformed.legal, malformed.code, malformed.text, id, codes)

    def discard(self, octets: int) -> None:
        """Counts `octets` octets that no session processes."""
        self.discarded += octets
        self.channels.discard(octets, self.number)

    def in_step(self) -> None:
        """Counts discarded octets no longer: the other side now knows that the session had ended when it sent them."""
        self.channels.discarded -= self.discarded
        self.discarded = 0

    def _hears(self, octets: int) -> bool:
        """Whether the `octets` octets that come count.  Without an attached session it discards them, and tells the other side.

        After an exception of its own the other side says nothing but detach, so the rest counts as discarded.
        """
        session = self.session
        if session is not None and session._hears:
            if session._state == "refused":
                self.discard(octets)
            return True
        self.discard(octets)
        in_flight = self.dialogue.can(self.peer, OTHER)  # said before the other side heard our detach or detached
        if not in_flight and self.requested is None and self.session is None:
            self.say(controls.Detached(b"", DetachCode.NOT_ATTACHED))
        return False

    def _attach(self, control: controls.Attach, refused: bool) -> None:
        session, name = self.session, control.name or b""
        if session is not None:
            if session._hears:
                self.say(controls.Attached(name))
            return
        if not self.dialogue.can(self.own, "session.attached"):
            return  # we wait for detached: what was said before it does not count
        if self.requested is not None:
            if self.requested != name:
                self._write(controls.Detached(name, DetachCode.TRANSPORT_BUSY))
            return
        if self.own == "client":
            self.say(controls.Detached(name, DetachCode.NOT_ATTACHED))
            return
        if not control.force and self.channels.session_named(name) is not None:
            self.say(controls.Detached(name, DetachCode.SESSION_BUSY))
            return
        self.requested = name
        self.requested_force = control.force
        self.carrier._emit(AttachRequested(name, self.number, control.force))

    def _attached(self, control: controls.Attached, refused: bool) -> None:
        session, name = self.session, control.name or b""
        if session is not None and session.state == "attaching" and session.name == name:
            session._attached(self.peer)
        elif session is not None and session.name != name and session._hears and session.profile.strict:
            text = f"another session is attached here: {session_name(session.name)}"
            violate(session, "session.attached", f"attached({session_name(name)})", (), ErrorCode.INVALID_ARGUMENT, text)
        elif session is None and refused and self.dialogue.state(self.own) == "detached":
            self.say(controls.Detached(name, DetachCode.NOT_ATTACHED))

    def _detach(self, control: controls.Detach, refused: bool) -> None:
        session = self.session
        if session is None:
            waits = self.dialogue.state(self.own) == "detaching"
            self.requested = None
            self.say(controls.Detached(control.name or b"", DetachCode.NORMAL if waits else DetachCode.NOT_ATTACHED))
            return
        self.say(controls.Detached(session.name, DetachCode.NORMAL))
        if session.state != "detaching":  # else the two crossed, and we go on waiting for our own answer
            over = session.state == "refused"
            text = session._cause if over else ""
            session._leave(Origin.PEER, DetachCode.NORMAL, text, ended=over, keep=session.state == "attaching")

    def _detached(self, control: controls.Detached, refused: bool) -> None:
        session, code = self.session, control.code or 0
        self.in_step()
        if session is None:
            return  # never answer detached with detached
        if session.state == "detaching":
            session._leave(Origin.LOCAL, code, "" if session._cause == "detached by us" else session._cause)
        elif session.state == "attaching":
            why = _REFUSED.get(code, f"detached with code {code}")
            session._leave(Origin.PEER, code, f"attach was refused: {why}", keep=True)
        else:
            session._leave(Origin.PEER, code, session._cause, ended=session.state == "refused")

    def bind(self, session: Session) -> None:
        """Puts a session on this channel, if it is free; `Session.attach` then speaks on it."""
        if session._channel is not None or not session._may(ATTACH):
            raise LocalProtocolError("session.attach", session.state, session.legal, "session.attach.one-transport-per-session")
        if not self.free:
            raise LocalProtocolError(
                "session.attach", "the channel is in use", ("a free channel",), "session.attach.one-session-per-transport"
            )
        self._take(session)

    def _take(self, session: Session) -> None:
        """Puts the session on the channel."""
        session._bind(self)
        self.session = session
        self.channels.name(self, session)
        self.in_step()

    def vacate(self) -> None:
        """Takes the session off the channel."""
        self.session = None
        self.channels.forget(self.number)

    # --- what we answer -------------------------------------------------------------------------------------------------------

    def accept(self, session: Session) -> None:
        """Answers `requested` with attached.

        With force, a session that is attached elsewhere is taken from there; without, that is a LocalProtocolError.
        """
        if self.requested is None or session.name != self.requested:
            legal = () if self.requested is None else (f"accept or refuse {session_name(self.requested)}",)
            raise LocalProtocolError(f"accept {session_name(session.name)}", "not asked for", legal, "session.attach")
        if session.state == "ended":
            raise SessionDetachedError(f"accept {session_name(session.name)}", session.name, session._cause)
        elsewhere = session._channel
        if elsewhere is not None and not self.requested_force:
            legal = (f"refuse {session_name(session.name)} with session-busy",)
            raise LocalProtocolError(
                f"accept {session_name(session.name)}", "attached elsewhere", legal, "session.attach.one-transport-per-session"
            )
        if elsewhere is not None:
            elsewhere.force_off()
        self.requested = None
        self._take(session)
        self.say(controls.Attached(session.name))
        session._begin()
        session._attached(self.own)

    def refuse(self, code: DetachCode = DetachCode.SESSION_BUSY) -> None:
        """Answers `requested` with detached and this detach code."""
        if self.requested is None:
            raise LocalProtocolError("refuse", "nothing asked for", (), "session.attach")
        self.say(controls.Detached(self.requested, code))
        self.requested = None

    def force_off(self) -> None:
        """Detaches the session here, because another transport takes it; the session lives on."""
        session = self.session
        if session is not None:
            if self.carrier._closed_cause is None:
                self.say(controls.Detached(session.name, DetachCode.SESSION_BUSY))
            session._leave(Origin.PEER, DetachCode.SESSION_BUSY, "taken to another transport", keep=True)

    def lost(self, origin: Origin, text: str, violation: Violation | None = None) -> None:
        """Detaches the session, if any, at the end of the connection (event SessionDetached); it may outlive the connection."""
        self.requested = None
        if self.session is not None:
            self.session._leave(origin, None, text, ended=self.session.state == "refused", violation=violation)

    def __repr__(self) -> str:
        return f"<Channel {self.number}>"


_ATTACHMENT: Final[dict[type[Control], Callable[[Channel, Any, bool], None]]] = {  # Any: each row takes its own control
    controls.Attach: Channel._attach,
    controls.Attached: Channel._attached,
    controls.Detach: Channel._detach,
    controls.Detached: Channel._detached,
}


def check_role(said: str, session: object, role: Role) -> None:
    """Raises unless it is a session of this side's role."""
    if not isinstance(session, Session):
        raise EncodeError("session", f"takes a Session, not {type(session).__name__}")
    if session.role != role:
        legal = (f"{said} of a session of role {role}",)
        raise LocalProtocolError(f"{said} of a session of role {session.role}", session.state, legal, "one role, both halves")


def layout_of(setting: str, dialect: Dialect[Codec]) -> Layout:
    """Returns the layout of a dialect with sessions.  Raises EncodeError for another dialect."""
    if not isinstance(dialect.framing, Segmentation) or not isinstance(dialect.codec, Layout):
        raise EncodeError(setting, f"a dialect with sessions, not {dialect.name}")
    return dialect.codec


class Channels(Endpoints):
    """Remembers the channels in use: the other side may name 65536 of them, and any number of sessions."""

    def __init__(self, carrier: Carrier, layout: Layout) -> None:
        super().__init__()
        self._carrier: Final = carrier
        self.layout: Final = layout
        """The encoder of the methods on the channels."""
        self.used: Final[dict[int, Channel]] = {}
        """The channels with any state, by number."""
        self.requests: Final[dict[bytes, Channel]] = {}
        """Attach requests that await answers, by the name of the session."""
        self._named: Final[dict[bytes, Channel]] = {}
        self._names: Final[dict[int, bytes]] = {}
        self._lowest = 1  # from channel 1 up to here none is free
        self._touched: dict[Session, None] = {}
        self._roomless: Final[dict[Session, None]] = {}
        self._reader: SegmentReader | None = None
        self._replies: OneRange | None = None
        self.discarded = 0
        """Octets that arrived for no session, as far as they count (limits.discarded_octets)."""
        self.offset = 0
        """Where in the other side's octets the unit begins that is handled now."""

    # --- by number and by name --------------------------------------------------------------------------------------------

    def at(self, number: int) -> Channel:
        """Returns the channel of this number."""
        channel = self.used.get(number)
        if channel is None:
            channel = self.used[number] = Channel(number, self._carrier, self)
        return channel

    def free(self, channel_max: int) -> Channel:
        """Returns the lowest channel up to `channel_max` that is free for a session.  Raises LimitError when none is.

        From 1 on, as C++ clients do: channel 0 stays readable for the connection's own controls as long as it can.
        """
        for number in range(self._lowest, channel_max):
            if number not in self.used or self.used[number].free:
                self._lowest = number
                return self.at(number)
        self._lowest = max(1, channel_max)
        if 0 not in self.used or self.used[0].free:
            return self.at(0)
        raise LimitError("channels", channel_max)

    def all(self) -> list[Channel]:
        """Returns the channels with any state, by number."""
        return [channel for _, channel in sorted(self.used.items())]

    @property
    def sessions(self) -> tuple[Session, ...]:
        """The sessions on the channels, by channel."""
        return tuple([channel.session for channel in self.all() if channel.session is not None])

    def session_named(self, name: bytes) -> Session | None:
        """Returns the session of that name, None when there is none."""
        channel = self._named.get(name)
        if channel is None or channel.session is None or channel.session.name != name:
            return None
        return channel.session

    @property
    def attached(self) -> int:
        """The number of channels with a session."""
        return len(self._names)

    def name(self, channel: Channel, session: Session) -> None:
        """Registers the channel under the name of its session."""
        self._named[session.name] = channel
        self._names[channel.number] = session.name

    def forget(self, number: int) -> None:
        """Drops the name of the session that was on the channel, and what is under way on track 1."""
        self._lowest = max(1, min(self._lowest, number))
        name = self._names.pop(number, None)
        if name is not None and (channel := self._named.get(name)) is not None and channel.number == number:
            del self._named[name]
        self.break_off(number)

    def break_off(self, number: int) -> None:
        """Drops what is under way on track 1 of the channel, and what the reader has learned."""
        if self._reader is not None:
            self._reader.forget(number)
            self._reader.unlearn()

    def sweep(self, channel: Channel) -> None:
        """Forgets the channel when it has no state."""
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

    # --- what the other side says (`Endpoints`) --------------------------------------------------------------------------

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
        known, header, _, body, self.offset, _ = cut
        session: Session
        session, subscription = known.account
        if session._speaks:  # what was learned is forgotten when another session takes the channel
            return hear_transfer(session, known.command, header, body, known.sync, subscription)
        channel = self.at(known.channel)
        channel.receive_command(assembly_of(cut))
        self.sweep(channel)
        return None

    def hear_answer(self) -> AnswerEvent:
        replies, reader = self._replies, self._reader
        assert replies is not None
        assert reader is not None
        buffer, at = reader.buffer, reader.position
        if len(buffer) - at < CONTROL_SIZE or buffer[at + 1] != CONTROL:  # as `cut` finds, with one call less for each step
            return UNHEARD
        reply = replies.cut(reader, False)
        if reply is None:
            return UNHEARD
        _, timely, number, low, high, self.offset, end = reply
        channel = self.used.get(number)
        session = None if channel is None else channel.session
        if session is None or not session._hears:
            replies.put_back(reader, end - self.offset)
            return UNHEARD
        return completed_run(session, low, high, timely)

    def hear_malformed(self, malformed: Malformed) -> None:
        self.at(malformed.channel).receive_malformed(malformed)

    def hear_passed(self, passed: Mapping[int, int], offset: int) -> None:
        self.offset = offset
        for number, octets in passed.items():
            if (channel := self.used.get(number)) is not None:
                channel.discard(octets)
            else:
                self.discard(octets, number)

    def discard(self, octets: int, number: int) -> None:
        """Counts `octets` octets on a channel that has no session; too many end the connection."""
        self.discarded += octets
        carrier = self._carrier
        most = carrier.limits.discarded_octets
        if self.discarded > most and carrier._closed_cause is None:
            carrier._fail(
                Violation(
                    carrier.peer, "limits.discarded_octets", "octets for no session",
                    ("session.attach", f"at most {most} octets on channels without a session"), CloseCode.CONNECTION_FORCED,
                    number, self.offset, f"{self.discarded} octets came on channels on which no session is attached",
                )
            )  # fmt: skip

    def lose(self, origin: Origin, text: str, violation: Violation | None) -> None:
        for channel in self.all():
            channel.lost(origin, text, violation)
        self._touched.clear()
        self.pending = 0

    # --- what they gathered -----------------------------------------------------------------------------------------------

    def touch(self, session: Session) -> None:
        """Schedules the session to write before the next octets are taken."""
        if self._carrier._wake is not None and not self._touched:
            self._carrier._wake()
        self._touched[session] = None
        self.pending = len(self._touched)

    def flush(self) -> None:
        touched = list(self._touched)
        self._touched.clear()
        self.pending = 0
        for session in touched:
            tell(session)

    def wait_for_room(self, session: Session) -> None:
        """Schedules the session to continue its replay once octets were taken."""
        self._roomless[session] = None
        self.roomless = len(self._roomless)

    def go_on(self) -> None:
        session = next(iter(self._roomless))
        del self._roomless[session]
        self.roomless = len(self._roomless)
        if session._replaying is not None:  # else it was detached meanwhile
            go_on(session)
