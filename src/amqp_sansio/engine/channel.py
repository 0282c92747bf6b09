"""A channel: the transport of at most one session, and the place where attach and detach are spoken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.breach import violate
from amqp_sansio.engine.controls import hear_control
from amqp_sansio.engine.hearing import hear_assembly
from amqp_sansio.engine.transmit import check_modes
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.events import AttachRequested, Origin, Violation
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.spec.message import Transfer
from amqp_sansio.tables.session import ATTACH, ATTACHMENT_VERBS, OTHER, AttachmentDialogue, attachment_verb
from amqp_sansio.wire.assembly import Assembly
from amqp_sansio.wire.frames import FRAME_HEADER_SIZE, frame_begun, frame_control

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import Carrier
    from amqp_sansio.engine.channel_numbers import Channels
    from amqp_sansio.engine.session import Session

_REMEMBERED: Final = 256
"""Command segments of transfers that one channel remembers."""

_REFUSED: Final[dict[int, str]] = {
    DetachCode.NORMAL: "detached by the other side",
    DetachCode.SESSION_BUSY: "session-busy, it is attached elsewhere",
    DetachCode.TRANSPORT_BUSY: "transport-busy, the channel has another session",
    DetachCode.NOT_ATTACHED: "not-attached",
    DetachCode.UNKNOWN_IDS: "unknown-ids",
}
"""What detached says to attach, by its code (session.detach-code)."""


class Channel:
    """One channel of a connection.

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
        """Octets that came for no session, and count as such (limits.discarded_octets)."""

    @property
    def free(self) -> bool:
        """Whether no session is on it and no answer is awaited: its number may be used again."""
        return self.session is None and self.requested is None and self.dialogue.state(self.own) in ("detached", "cut")

    @property
    def pristine(self) -> bool:
        """Whether it is as good as one that was never used."""
        return self.session is None and self.requested is None and self.dialogue.pristine

    def can_say(self, verb: str) -> bool:
        """Whether we may say attach, attached, detach or detached now."""
        return self.dialogue.can(self.own, verb)

    def say(self, control: Control) -> None:
        """Writes a control of class session about the session of this channel."""
        frame = self._frame(control)
        if control.VERB in ATTACHMENT_VERBS:
            self.dialogue.step(self.own, control.VERB)
        self.carrier._write(frame)

    def encode_transfer(self, destination: str, accept_mode: int, acquire_mode: int, sync: bool) -> tuple[bytes, bytes]:
        """The command segment of a transfer, and the frame with it where content follows; remembered."""
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
        """A control of class session arrived, of so many octets; `offset` is that of its frame in the peer's octets."""
        verb = attachment_verb(control.VERB)
        if verb == OTHER:
            if self._hears(FRAME_HEADER_SIZE + octets, offset):
                assert self.session is not None
                hear_control(self.session, control, offset)
            return
        if self._about_another(control):
            return
        refusal = self.dialogue.step(self.peer, verb)
        if isinstance(control, controls.Attach):
            self._attach(control.name or b"", control.force)
        elif isinstance(control, controls.Attached):
            self._attached(control.name or b"", refusal is not None, offset)
        elif isinstance(control, controls.Detach):
            self._detach(control.name or b"")
        elif isinstance(control, controls.Detached):
            self._detached(control.code or 0)

    def _about_another(self, control: Control) -> bool:
        """Words about another session than the one attached here: they are answered, and change nothing.

        An empty name stands for whatever is attached: a side that thinks nothing is has no name to send.
        """
        session = self.session
        if session is None or not isinstance(control, (controls.Attach, controls.Detach, controls.Detached)):
            return False
        name = control.name or b""
        if name == session.name or (not name and not isinstance(control, controls.Attach)):
            return False
        if session.state != "detaching" and isinstance(control, controls.Attach):
            self._write(controls.Detached(name, DetachCode.TRANSPORT_BUSY))
        elif session.state != "detaching" and isinstance(control, controls.Detach):
            self._write(controls.Detached(name, DetachCode.NOT_ATTACHED))
        return True

    def receive_command(self, assembly: Assembly) -> None:
        """An assembly of track 1 arrived: decodes the command, walks the header, steps the session."""
        payload, header, body = assembly.payload, assembly.header, assembly.body
        if self._hears(FRAME_HEADER_SIZE + len(payload) + len(header or b"") + len(body or b""), assembly.start):
            assert self.session is not None
            hear_assembly(self.session, payload, header, body, assembly.start)

    def receive_breach(self, rule: str, text: str, code: int, said: str, legal: tuple[str, ...], offset: int) -> None:
        """A command on this channel could not be put together (error codes above 501 concern the session alone)."""
        if self._hears(FRAME_HEADER_SIZE, offset):
            session = self.session
            assert session is not None
            id: int | None = None
            if code == ErrorCode.RESOURCE_LIMIT_EXCEEDED and session._inbound.pointed:
                id = session._inbound.take()  # of the command that is too large: its sender wants to know which
                session._inbound.outstanding.add(id)
            violate(session, rule, said, legal, code, offset, text, id)

    def discard(self, octets: int, offset: int) -> None:
        """So many octets, up to there, came for no session that hears them."""
        self.discarded += octets
        self.channels.discard(octets, self.number, offset)

    def in_step(self) -> None:
        """The other side knows what became of the session: what was discarded was on its way."""
        self.channels.discarded -= self.discarded
        self.discarded = 0

    def _hears(self, octets: int, offset: int) -> bool:
        """Whether what comes, so many octets, counts.  Where no session is attached it is discarded and the other side told so.

        Behind an exception of its own the other side says nothing but detach: the rest is as good as discarded.
        """
        session = self.session
        if session is not None and session._hears:
            if session._state == "refused":
                self.discard(octets, offset)
            return True
        self.discard(octets, offset)
        in_flight = self.dialogue.can(self.peer, OTHER)  # said before the other side heard our detach or detached
        if not in_flight and self.requested is None and self.session is None:
            self.say(controls.Detached(b"", DetachCode.NOT_ATTACHED))
        return False

    def _attach(self, name: bytes, force: bool) -> None:
        session = self.session
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
        if not force and self.channels.session_named(name) is not None:
            self.say(controls.Detached(name, DetachCode.SESSION_BUSY))
            return
        self.requested = name
        self.requested_force = force
        self.carrier._emit(AttachRequested(name, self.number, force))

    def _attached(self, name: bytes, refused: bool, offset: int) -> None:
        session = self.session
        if session is not None and session.state == "attaching" and session.name == name:
            session._attached(self.peer)
        elif session is not None and session.name != name and session._hears and session.profile.strict:
            text = f"another session is attached here: {session.name!r}"
            violate(session, "session.attached", f"attached({name!r})", (), ErrorCode.INVALID_ARGUMENT, offset, text)
        elif session is None and refused and self.dialogue.state(self.own) == "detached":
            self.say(controls.Detached(name, DetachCode.NOT_ATTACHED))

    def _detach(self, name: bytes) -> None:
        session = self.session
        if session is None:
            waits = self.dialogue.state(self.own) == "detaching"
            self.requested = None
            self.say(controls.Detached(name, DetachCode.NORMAL if waits else DetachCode.NOT_ATTACHED))
            return
        self.say(controls.Detached(session.name, DetachCode.NORMAL))
        if session.state != "detaching":  # else the two crossed, and we go on waiting for our own answer
            refused = session.state == "refused"
            text = session._cause if refused else ""
            session._leave(Origin.PEER, DetachCode.NORMAL, text, ended=refused, keep=session.state == "attaching")

    def _detached(self, code: int) -> None:
        session = self.session
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
        """The channel is this session's."""
        session._bind(self)
        self.session = session
        self.channels.name(self)
        self.in_step()

    def vacate(self) -> None:
        """No session is on it any more."""
        self.session = None
        self.channels.forget(self.number)

    # --- what we answer -------------------------------------------------------------------------------------------------------

    def accept(self, session: Session) -> None:
        """Answers `requested` with attached.

        With force, a session that is attached elsewhere is taken from there; without, that is a LocalProtocolError.
        """
        if self.requested is None or session.name != self.requested:
            legal = () if self.requested is None else (f"accept or refuse {self.requested!r}",)
            raise LocalProtocolError(f"accept {session.name!r}", "not asked for", legal, "session.attach")
        if session.state == "ended":
            raise SessionDetachedError(f"accept {session.name!r}", session.name, session._cause)
        holder = session._channel
        if holder is not None and not self.requested_force:
            legal = (f"refuse {session.name!r} with session-busy",)
            raise LocalProtocolError(
                f"accept {session.name!r}", "attached elsewhere", legal, "session.attach.one-transport-per-session"
            )
        if holder is not None:
            holder.force_off()
        self.requested = None
        self._take(session)
        self.say(controls.Attached(session.name))
        session._accepted()

    def refuse(self, code: DetachCode = DetachCode.SESSION_BUSY) -> None:
        """Answers `requested` with detached and this detach code."""
        if self.requested is None:
            raise LocalProtocolError("refuse", "nothing asked for", (), "session.attach")
        self.say(controls.Detached(self.requested, code))
        self.requested = None

    def force_off(self) -> None:
        """The session is taken to another transport: here it is detached, and lives on."""
        session = self.session
        if session is not None:
            if self.carrier._closed_cause is None:
                self.say(controls.Detached(session.name, DetachCode.SESSION_BUSY))
            text = "taken to another transport"
            session._leave(Origin.PEER, DetachCode.SESSION_BUSY, text, keep=True)

    def lost(self, origin: Origin, text: str, violation: Violation | None = None) -> None:
        """The connection ended: the session, if any, is detached (event SessionDetached) and may live on by itself."""
        self.requested = None
        if self.session is not None:
            ended = self.session.state == "refused"
            self.session._leave(origin, None, text, ended=ended, violation=violation)

    def __repr__(self) -> str:
        return f"<Channel {self.number}>"
