"""How a session gets onto a transport and off it again, and how it lives in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.engine import outcomes
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.events import Origin, SessionAttached, SessionDetached, Violation
from amqp_sansio.kernel.deadlines import AT_ONCE
from amqp_sansio.spec import session as controls
from amqp_sansio.tables.endpoint import ATTACHED_AGAIN, KEPT, OVER, TRANSPORT
from amqp_sansio.tables.session import ATTACH, ATTACHED, DETACH, EXPECTED
from amqp_sansio.wire.reading import DEFAULT_READING

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import Role
    from amqp_sansio.engine.channel import Channel
    from amqp_sansio.engine.session import Session


def bind(session: Session, channel: Channel) -> None:
    """Puts the session on a free channel, on which `attach` then speaks."""
    if session._channel is not None or not session._may(ATTACH):
        raise LocalProtocolError("session.attach", session.state, session.legal, "session.attach.one-transport-per-session")
    if not channel.free:
        raise LocalProtocolError(
            "session.attach", "the channel is in use", ("a free channel",), "session.attach.one-session-per-transport"
        )
    take(session, channel)


def attach(session: Session, force: bool = False) -> None:
    """Asks for the attachment; `SessionAttached` or `SessionDetached` follows.  Said again it does no harm.

    `force` takes the session away from another transport.
    """
    if session.state in ("resuming", "attached"):
        return
    if not session._may(ATTACH):
        raise SessionDetachedError("session.attach", session.name, session._cause)
    if session._channel is None:
        raise SessionDetachedError("session.attach", session.name, f"{session._cause}; resume it on a connection")
    session.check_open("session.attach")
    if session.state == "attaching" and not force:
        return
    if not session._channel.can_say(ATTACH):
        raise LocalProtocolError("session.attach", "detaching", ("after session.detached",))
    session._channel.say(controls.Attach(session.name, force))
    first = session.state == "detached"
    session._step(session.role, ATTACH)
    if first:
        session._cause = "waiting for attached"
        begin(session)


def detach(session: Session) -> None:
    """Ends the attachment; `SessionDetached` follows.  With a timeout of 0 it ends the session as well."""
    if not session._may(DETACH):
        raise SessionDetachedError("session.detach", session.name, session._cause)
    session.check_open("session.detach")
    assert session._channel is not None
    session._flush_pending()
    session._channel.say(controls.Detach(session.name))
    session._step(session.role, DETACH)
    session._cause = "detached by us"


def tick(session: Session, now: float) -> float | None:
    """For a detached session: begins its time, ends it when that is over; `due`."""
    moment = due(session)
    if moment is None:
        return None
    if session._detached_at is None:
        session._detached_at = now
        moment = due(session)
    if moment is not None and now >= moment:
        session._step(TRANSPORT, OVER)
        session._cause = f"detached for {session._timeout} s"
        return None
    return moment


def due(session: Session) -> float | None:
    """When a detached session ends; at once when its time is to begin, None when it has no end or is not detached."""
    if session.state != "detached" or session._channel is not None or session._timeout is None or not session._established:
        return None
    return AT_ONCE if session._detached_at is None else session._detached_at + session._timeout


def attached(session: Session, speaker: Role) -> None:
    """`speaker` said attached: either commands may be said, or first we find out what the other side has."""
    if session._established:
        session._step(speaker, ATTACHED_AGAIN)
        session._resumed_at = session._outbound.next_id
        session._cause = "waiting for what the other side expects"
        assert session._channel is not None
        session._channel.say(controls.Flush(True, True, True))
        session._outbound.ask_expected()
    else:
        session._step(speaker, ATTACHED)
        _ready(session, False)


def take(session: Session, channel: Channel) -> None:
    """The channel is this session's."""
    session._channel = channel
    channel.session = session
    channel.channels.name(channel)
    channel.in_step()
    carrier = channel.carrier
    session._minds_headers = carrier.eager_headers or carrier.reading != DEFAULT_READING
    session._command_cache.clear()


def accepted(session: Session) -> None:
    """As `attached`, on the side that was asked."""
    begin(session)
    attached(session, session.role)


def resumed(session: Session, resumed: bool = True) -> None:
    """The other side has told what it expects.  `resumed`: it has state of the session, which goes on."""
    session._step(session.peer, EXPECTED)
    _ready(session, resumed)


def _ready(session: Session, resumed: bool) -> None:
    """Commands may be said."""
    assert session._channel is not None
    session._cause = ""
    session._established = True
    session._emit(SessionAttached(session.name, session._channel.number, resumed))
    session._emit_held()
    if session.role == "client" and session._timeout != 0 and not session._timeout_known:
        session._channel.say(controls.RequestTimeout(session._timeout))


def granted(session: Session, seconds: int | None) -> None:
    """Somebody granted a detached lifetime: it is ours from now on."""
    session._timeout = seconds
    session._timeout_known = True
    if seconds == 0:
        session._outbound.stop_retaining()
    else:
        session._outbound.begin_retaining()


def leave(
    session: Session,
    origin: Origin,
    code: int | None,
    text: str,
    *,
    ended: bool = False,
    keep: bool = False,
    violation: Violation | None = None,
) -> None:
    """The attachment is over: says so in an event and gives the channel free.

    The session ends with it when `ended`, or when nobody wants it to live detached and it is not to be kept.
    """
    channel = session._channel
    assert channel is not None
    code = None if code is None else int(code)
    ended = ended or (session._timeout == 0 and not keep and session.state != "attaching")
    session._step(TRANSPORT, OVER if ended else KEPT)
    session._emit_held()
    session._cause = text or f"{origin} detached it" + (f" (code {code})" if code else "")
    if violation is not None:
        session._cause = f"{violation.rule}: {violation.text or violation.said}"
    if ended and session.role == "client":
        outcomes.ended(session)
    session._emit(
        SessionDetached(session.name, channel.number, origin, code, text, violation, session.in_doubt, ended)
    )  # fmt: skip
    session._detached_at = None  # its time begins at its next tick: the last one of the connection may be long ago
    session._untouch()
    session._replaying = None
    session._channel = None
    channel.session = None
    channel.channels.forget(channel.number)


def begin(session: Session) -> None:
    """Both halves begin an attachment: nothing is known of the new channel yet."""
    session._attachments += 1
    session._outbound.begin_attachment()
    session._inbound.begin_attachment()
