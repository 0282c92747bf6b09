"""How what a reader of frames found is called: verbs, violations, frames."""

from __future__ import annotations

from typing import Final

from amqp_sansio.dialects import Dialect
from amqp_sansio.engine.carrier import legal_of, rule_of
from amqp_sansio.engine.findings import Findings
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import CommandSeen
from amqp_sansio.events.observed import SECRET_VERBS, FrameSeen
from amqp_sansio.limits import Limits
from amqp_sansio.protocol import ProtocolHeader
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.wire.assembly import COMMAND
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT
from amqp_sansio.wire.framing import FrameCut
from amqp_sansio.wire.layouts.layout import Layout
from amqp_sansio.wire.reading import Reading

_BEGINS: Final = FIRST_SEGMENT | FIRST_FRAME


def verb_of(layout: Layout, kind: str, payload: bytes) -> str:
    """A method by its name or its numbers; "?" for a number that did not come."""
    if len(payload) >= 2:
        return layout.verb_of(kind, payload[0], payload[1])
    return f"{payload[0]}.?" if payload else "?.?"


def frame_of(layout: Layout, cut: FrameCut) -> FrameSeen:
    """A frame as it stands in `Reader.trace`."""
    _, _, flags, kind, track, channel, payload = cut
    verb = None
    if kind <= COMMAND and flags & _BEGINS == _BEGINS:
        verb = verb_of(layout, ("control", "command")[kind], payload)
    return FrameSeen(flags, kind, track, channel, verb)


def why_unread(header: ProtocolHeader, client: ProtocolHeader | None, dialect: Dialect[Codec]) -> str | None:
    """Why what a side begins with is not judged; None where it is.  `client`: the header that a server answers, if it came."""
    if header.tls:
        return "TLS is not read here"
    if not header.amqp and client is not None and client.version is not None and client.octets not in dialect.spellings:
        return f"{client.name} is not read here"  # before 0-10 the server begins with connection.start
    if header.strange and (client is None or not client.amqp):
        return "not AMQP"  # nobody breaks a protocol that neither side speaks
    return None


def judge_encoding(findings: Findings, layout: Layout, verb: str, payload: bytes, thing: Control | Command, sync: bool) -> None:
    """Tells octets that say nothing: behind the last field, in session.header, in a form that nobody writes."""
    try:
        again = layout.encode_control(thing) if isinstance(thing, Control) else layout.encode_command(thing, sync)
    except EncodeError as error:
        text = f"it is not to be written again: {error}"
    else:
        if again == payload:
            return
        text = f"{len(payload)} octets where {len(again)} say the same"
        if verb not in SECRET_VERBS:
            text += f": {again[:40].hex(' ')}"
    said = verb if verb in SECRET_VERBS else f"{verb} as {payload[:40].hex(' ')}"
    findings.divergence("encoding", said, text, about=verb)


def judge_headers(
    findings: Findings, layout: Layout, seen: CommandSeen, header: bytes, limits: Limits, reading: Reading
) -> None:
    """Reads a header; tells what cannot be read in it, and lets `seen` remember what can."""
    try:
        layout.walk_headers(header, 0, len(header), limits)
        seen.remember(layout.decode_headers(header, 0, len(header), reading))
    except DecodeError as error:
        findings.breach(rule_of("header", error), seen.verb, str(error), legal_of(error), error.code)
