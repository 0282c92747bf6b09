"""Why a connection ended or could not be opened, in one sentence for a person, and what a peer sent that never opened one."""

from __future__ import annotations

from typing import Final

from amqp_sansio.dialects import CHANNEL_PROTOCOLS, DEFAULT
from amqp_sansio.events import ConnectionClosed, Origin
from amqp_sansio.protocol import SIZE, ProtocolHeader

_NO_TLS: Final = frozenset(("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "PACKET_LENGTH_TOO_LONG", "RECORD_LAYER_FAILURE"))
_SYSTEM: Final = (
    (ConnectionRefusedError, "connection refused: nobody listens there"),
    (ConnectionResetError, "the connection was reset"),
    (BrokenPipeError, "the connection was reset"),
)
KEPT: Final = 64
"""How many of the first octets are kept until the connection is open, for the error if it never is."""


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


def quoted(octets: bytes) -> str:
    """Returns the first line of the octets, in quotes where it is text, else as hex digits."""
    line = octets.split(b"\n")[0].rstrip(b"\r")
    if line and all(32 <= octet < 127 for octet in line):
        return f'"{line.decode()}"'
    return octets[:16].hex(" ") + (" ..." if len(octets) > 16 else "")


def of_ours(octets: bytes) -> bool:
    """Whether the octets begin like AMQP: with a protocol header, and then more."""
    return octets[:4] == b"AMQP" and len(octets) > SIZE


def offered(octets: bytes) -> str:
    """Returns the version, by its name in URLs, of a peer that answered with nothing but its protocol header; "" for none."""
    known = {DEFAULT.name: DEFAULT, **CHANNEL_PROTOCOLS}
    return next((name for name, dialect in known.items() if octets in dialect.spellings), "")


def when_silent(octets: bytes) -> str:
    """Returns the end of a sentence about a peer that sent nothing more."""
    if not octets:
        return "the other side said nothing"
    if of_ours(octets):
        return "the other side stopped in the middle of the opening"
    return f"the other side said only {quoted(octets)}{_meaning(octets)}"


def when_ended(octets: bytes, tls: bool) -> str:
    """Describes in one sentence a peer that ended the connection before it was open."""
    begin = "the other side ended the connection before it was open"
    if not octets:
        return f"{begin}, and did not say why" + ("" if tls else " (a port for amqps:// does that to amqp://)")
    if of_ours(octets):
        return f"{begin}, in the middle of the opening, and did not say why"
    return f"{begin}: it said {quoted(octets)}{_meaning(octets)}"


def of_text(octets: bytes) -> str:
    """Returns the end of the error about another protocol: its first line, where that is text; else ""."""
    found = quoted(octets)
    return f", and said {found}" if found.startswith('"') else ""


def _meaning(octets: bytes) -> str:
    name = ProtocolHeader(octets[:SIZE]).name
    if name == "TLS":
        return ", which is TLS: amqps:// may be meant"
    return "" if name == "nothing known" else f", which is {name}"
