"""Ends a session when its peer breaks a rule, and reports the rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.carrier import legal_of, rule_of
from amqp_sansio.engine.transmit import say_exception
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import Origin, Violation
from amqp_sansio.spec import execution
from amqp_sansio.spec import session as controls
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.tables.session import RULE_UNPOINTED

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session

_ERROR_CODES: Final = frozenset(ErrorCode)


def violate(
    session: Session,
    rule: str,
    said: str,
    legal: tuple[str, ...],
    code: int,
    offset: int,
    text: str,
    id: int | None = None,
    codes: tuple[int | None, int | None] = (None, None),
) -> None:
    """Reports the rule that the peer broke, and ends the session.

    A detach code (0 to 4) goes out in session.detached; an error code goes out in execution.exception, followed by a detach.
    """
    channel = session._channel
    assert channel is not None
    code = int(code)
    violation = Violation(session.peer, rule, said, legal, code, channel.number, offset, text)
    detach_code = code if code <= DetachCode.UNKNOWN_IDS else None
    if detach_code is not None:
        channel.say(controls.Detached(session.name, code))
    else:
        say_exception(session, execution.Exception_(code, id, codes[0], codes[1], None, f"{rule}: {text}"[:1000]))
    session._leave(Origin.VIOLATION, detach_code, text, ended=True, violation=violation)


def unpointed(session: Session, said: str, offset: int) -> None:
    """Reports command data that came before any command-point on this attachment."""
    code: int = DetachCode.UNKNOWN_IDS if session.profile.unpointed == "unknown-ids" else ErrorCode.ILLEGAL_STATE
    violate(session, RULE_UNPOINTED, said, ("session.command-point",), code, offset, "command data before any command-point")


def undecodable(session: Session, id: int, what: str, codes: tuple[int, int], error: DecodeError, offset: int) -> None:
    """Reports a command that cannot be decoded, or its header (`what`)."""
    session._inbound.outstanding.add(id)
    said = session._layout.verb_of("command", *codes)
    code = error.code if error.code in _ERROR_CODES else ErrorCode.COMMAND_INVALID
    violate(session, rule_of(what, error), said, legal_of(error), code, offset, str(error), id, codes)
