"""How a session gets onto a transport and off it again, and how it lives in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.engine import outcomes
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.events import Origin, SessionAttached, SessionDetached, Violation
from amqp_sansio.kernel.deadlines import AT_ONCE
from amqp_sansio.spec import session as controls
from amqp_sansio.wire.reading import DEFAULT_READING

if TYPE_CHECKING:
    from amqp_sansio.engine.channel import Channel
    from amqp_sansio.engine.session import Session


def bind(session: Session, channel: Channel) -> None:
    """Puts the session on a free channel, on which `attach` then speaks."""
    if session.state != "detached" or session.channel is not None:
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
    if session.state == "ended":
        raise SessionDetachedError("session.attach", session.name, session.cause)
    if session.state in ("resuming", "attached"):
        return
    if session.channel is None:
        raise SessionDetachedError("session.attach", session.name, f"{session.cause}; resume it on a connection")
    if session.state not in ("detached", "attaching"):
        raise SessionDetachedError("session.attach", session.name, session.cause)
    session.check_open("session.attach")
    if session.state == "attaching" and not force:
        return
    if not session.channel.can_say("session.attach"):
        raise LocalProtocolError("session.attach", "detaching", ("after session.detached",))
    session.channel.say(controls.Attach(session.name, force))
    if session.state == "detached":
        session.state = "attaching"
        session.cause = "waiting for attached"
        begin(session)


def detach(session: Session) -> None:
    """Ends the attachment; `SessionDetached` follows.  With a timeout of 0 it ends the session as well."""
    if session.state not in ("attaching", "resuming", "attached"):
        raise SessionDetachedError("session.detach", session.name, session.cause)
    session.check_open("session.detach")
    assert session.channel is not None
    session._flush_pending()
    session.channel.say(controls.Detach(session.name))
    session.state = "detaching"
    session.cause = "detached by us"


def tick(session: Session, now: float) -> float | None:
    """For a detached session: begins its time, ends it when that is over; `due`."""
    moment = due(session)
    if moment is None:
        return None
    if session.detached_at is None:
        session.detached_at = now
        moment = due(session)
    if moment is not None and now >= moment:
        session.state = "ended"
        session.cause = f"detached for {session.timeout} s"
        return None
    return moment


def due(session: Session) -> float | None:
    """When a detached session ends; at once when its time is to begin, None when it has no end or is not detached."""
    if session.state != "detached" or session.channel is not None or session.timeout is None or not session.established:
        return None
    return AT_ONCE if session.detached_at is None else session.detached_at + session.timeout


def attached(session: Session) -> None:
    """The transport is ours: either speak, or first find out what the other side has."""
    if session.established:
        session.state = "resuming"
        session.resumed_at = session.outbound.next_id
        session.cause = "waiting for what the other side expects"
        assert session.channel is not None
        session.channel.say(controls.Flush(True, True, True))
        session.outbound.expected_asked += 1
    else:
        ready(session, False)


def take(session: Session, channel: Channel) -> None:
    """The channel is this session's."""
    session.channel = channel
    channel.session = session
    carrier = channel.carrier
    session.minds_headers = carrier.eager_headers or carrier.reading != DEFAULT_READING
    session.command_cache.clear()


def accepted(session: Session) -> None:
    """As `attached`, on the side that was asked."""
    begin(session)
    attached(session)


def ready(session: Session, resumed: bool) -> None:
    """May be spoken on."""
    assert session.channel is not None
    session.state = "attached"
    session.cause = ""
    session.established = True
    session._emit(SessionAttached(session.name, session.channel.number, resumed))
    session._emit_held()
    if session.role == "client" and session.timeout != 0 and not session.timeout_known:
        session.channel.say(controls.RequestTimeout(session.timeout))


def granted(session: Session, seconds: int | None) -> None:
    """Somebody granted a detached lifetime: it is ours from now on."""
    session.timeout = seconds
    session.timeout_known = True
    if seconds == 0:
        session.outbound.stop_retaining()
    else:
        session.outbound.retain = True


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
    channel = session.channel
    assert channel is not None
    code = None if code is None else int(code)
    ended = ended or (session.timeout == 0 and not keep and session.state != "attaching")
    session.state = "ended" if ended else "detached"
    session._emit_held()
    session.cause = text or f"{origin} detached it" + (f" (code {code})" if code else "")
    if violation is not None:
        session.cause = f"{violation.rule}: {violation.text or violation.said}"
    if ended and session.role == "client":
        outcomes.ended(session)
    session._emit(
        SessionDetached(session.name, channel.number, origin, code, text, violation, session.in_doubt, ended)
    )  # fmt: skip
    session.detached_at = None  # its time begins at its next tick: the last one of the connection may be long ago
    session._untouch()
    session.channel = None
    channel.session = None
    channel.carrier._forget(channel.number)


def begin(session: Session) -> None:
    """Both halves begin an attachment: nothing is known of the new channel yet."""
    session.attachments += 1
    session.outbound.begin_attachment()
    session.inbound.begin_attachment()
