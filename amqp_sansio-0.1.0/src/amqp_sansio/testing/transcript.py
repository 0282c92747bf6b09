"""Who said what, in the third person, for a person to read."""

from __future__ import annotations

from typing import Final

from amqp_sansio.dialects import DEFAULT, SessionDialect
from amqp_sansio.errors import DecodeError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import Value
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.wire.segments import COMMAND, Assembly, Malformed, SegmentReader


class Ear:
    """Hears one speaker of one connection, from its first octet."""

    def __init__(self, dialect: SessionDialect = DEFAULT) -> None:
        self._dialect: Final = dialect
        self._header: bytes | None = b""
        self._reader: Final = SegmentReader(DEFAULT_LIMITS, tolerant=True, offset=SIZE)

    def hear(self, octets: bytes) -> list[str]:
        """What these octets complete, in words: one text for each protocol header, control and command."""
        said: list[str] = []
        if self._header is not None:
            self._header += octets
            if len(self._header) < SIZE:
                return said
            header, octets = ProtocolHeader(self._header[:SIZE]), self._header[SIZE:]
            self._header = None
            said.append(f"protocol header {header.name}")
        self._reader.receive(octets)
        while (thing := self._reader.next()) is not None:
            said.append(self._words(thing))
        return said

    def _words(self, thing: Assembly | Malformed) -> str:
        if isinstance(thing, Malformed):
            return f"[{thing.channel}] {thing.said}: {thing.text} ({thing.rule})"
        payload, layout = thing.payload, self._dialect.codec
        kind = "command" if thing.kind == COMMAND else "control"
        verb = layout.verb_of(kind, payload[0], payload[1]) if len(payload) > 1 else f"an empty {kind}"
        try:
            if thing.kind == COMMAND:
                command, sync = layout.decode_command(payload, 0, len(payload))
                shown = f"{fields_of(command)}{' sync' if sync else ''}"
            else:
                shown = fields_of(layout.decode_control(payload, 0, len(payload)))
        except DecodeError as error:
            shown = f" that cannot be read: {error}"
        content = "" if thing.header is None else f", header of {len(thing.header)} octets"
        content += "" if thing.body is None else f", body of {len(thing.body)} octets"
        return f"[{thing.channel}] {verb}{shown}{content}"


def fields_of(said: Value) -> str:
    """The fields of a control, command or struct that are set, in parentheses; secrets as their length."""
    given = [name for name in said.FIELDS if getattr(said, name) is not None and getattr(said, name) is not False]
    shown = [f"{name}={_shown(said, name)}" for name in given]
    return f"({', '.join(shown)})"


def _shown(said: Value, name: str) -> str:
    value = getattr(said, name)
    if name in said.SECRETS:
        return f"<{len(value)} octets>"
    return str(value) if isinstance(value, RangeSet) else repr(value)


class Transcript:
    """The lines of a conversation: `moment speaker: [channel] method`.  Secrets show as their length."""

    def __init__(self, dialect: SessionDialect = DEFAULT) -> None:
        self._dialect: Final = dialect
        self.lines: list[str] = []
        self._ears: dict[str, Ear] = {}

    def begin(self, moment: int, connection: int) -> None:
        """A new connection begins."""
        self._ears = {speaker: Ear(self._dialect) for speaker in ("client", "server")}
        self.note(moment, f"--- connection {connection} ---")

    def hear(self, moment: int, speaker: str, octets: bytes) -> None:
        """`speaker` said these octets."""
        for words in self._ears[speaker].hear(octets):
            self.lines.append(f"{moment:5} {speaker}: {words}")

    def note(self, moment: int, text: str) -> None:
        """Something that nobody said."""
        self.lines.append(f"{moment:5} {text}")

    def __str__(self) -> str:
        return "\n".join(self.lines)
