"""Why a connection ended or could not be opened, in one sentence for a person."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import SessionFailed
from amqp_sansio.events import ConnectionClosed, ExceptionReceived, Origin


def cause_of(closed: ConnectionClosed) -> str:
    """Describes the end of a connection in one sentence."""
    code = f" ({closed.code})" if closed.code is not None else ""
    violation = closed.violation
    if violation is not None and violation.rule == "connection.start.client-support":
        return f"the other side speaks another protocol: {violation.text.removeprefix('version mismatch: ')}"
    if violation is not None:
        return f"the other side broke the protocol{code}: {violation.rule}: {violation.text or violation.said}"
    if closed.origin == Origin.EOF:
        return "the other side ended the connection without a close"
    who = {Origin.PEER: "the other side closed it", Origin.TIMEOUT: "time ran out"}.get(closed.origin, "it was closed here")
    return f"{who}{code}{f': {closed.text}' if closed.text else ''}"


def reason_of(error: BaseException) -> str:
    """Describes in one sentence an error of the operating system, or of TLS, that prevented or ended a connection."""
    inner = error.__cause__
    if isinstance(inner, BaseExceptionGroup):
        return "; ".join(dict.fromkeys([reason_of(each) for each in inner.exceptions]))
    if isinstance(inner, OSError) and not isinstance(error, TimeoutError):
        return reason_of(inner)
    not_trusted = getattr(error, "verify_message", None)
    if not_trusted:
        return f"its certificate is not accepted: {not_trusted}"
    reason = getattr(error, "reason", None)
    if isinstance(error, OSError) and isinstance(reason, str) and reason:
        plain = ": the other side does not seem to speak TLS" if reason in _NO_TLS else ""
        return f"TLS failed: {reason.replace('_', ' ').lower()}{plain}"
    for kind, text in _SYSTEM:
        if isinstance(error, kind):
            return text
    return (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__


_NO_TLS: Final = frozenset(("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"))
_SYSTEM: Final = (
    (ConnectionRefusedError, "connection refused: nobody listens there"),
    (ConnectionResetError, "the connection was reset"),
    (BrokenPipeError, "the connection was reset"),
)


def failure_of(session: bytes, exception: ExceptionReceived, command: str) -> SessionFailed:
    """Returns the client's error for an exception of the peer."""
    return SessionFailed(session, exception.error_code, exception.description, command)
