"""Findings in a conversation: violations, which accuse their speaker, and notes, which accuse nobody."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.captures.conversation import Heard
from amqp_sansio.events.observed import Note, OpaqueSeen
from amqp_sansio.events.violation import Violation

VIOLATION: Final = "violation"
NOTE: Final = "note"


class Finding(NamedTuple):
    """One finding.  A "violation" accuses its speaker, a "note" nobody.

    `said` is the offending word (for a note: one sentence), `legal` the legal ones; `text` is one sentence.  `channel` is None
    for the connection, `code` that of a matching close, 0 for none, `octet` the offset of its beginning in its speaker's
    stream.
    """

    level: str
    speaker: str
    packet: int
    rule: str
    said: str
    legal: tuple[str, ...]
    text: str
    channel: int | None = None
    code: int = 0
    octet: int | None = None


def finding_of(heard: Heard) -> Finding | None:
    """Returns the finding that an event makes; None for others."""
    said = heard.said
    if isinstance(said, Violation):
        found = VIOLATION, said.speaker, heard.packet, said.rule, said.said, tuple(said.legal), said.text
        return Finding(*found, said.channel, said.code, said.offset)
    if isinstance(said, Note):
        found = NOTE, heard.speaker, heard.packet, said.rule, said.text, (), said.text
        return Finding(*found, said.channel, octet=heard.start)
    if isinstance(said, OpaqueSeen):
        text = f"cannot be read from here on: {said.reason}"
        return Finding(NOTE, heard.speaker, heard.packet, "opaque", text, (), text, octet=heard.start)
    return None
