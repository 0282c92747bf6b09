"""A transcript of a conversation, in plain text."""

from __future__ import annotations

from typing import Final

from amqp_sansio.dialects import DEFAULT, READABLE, Dialect
from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.protocol import SIZE, ProtocolHeader
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import COMMAND, CONTROL, Assembly, Malformed, Reader


class SpeakerReader:
    """Reads the octets of one speaker of one connection, from the first octet.

    `dialect` is the speaker's dialect, unless its protocol header names another one of `READABLE`.  `opens` is true for the
    client; in some dialects a server sends no header, and its first octets are a frame.
    """

    def __init__(self, dialect: Dialect[Codec] = DEFAULT, opens: bool = True) -> None:
        self.dialect = dialect
        self._opens: Final = opens
        self._head = b""
        self._reader: Reader | None = None

    def hear(self, octets: bytes) -> list[str]:
        """Returns a text for each protocol header, control, command or method that these octets complete."""
        said: list[str] = []
        if self._reader is None:
            self._head += octets
            silent = not (self._opens or self.dialect.handshake.greets)
            frames = silent and bool(self._head) and self.dialect.framing.begins(self._head[0])
            if len(self._head) < SIZE and not frames:
                return said
            start = 0 if frames else SIZE
            if not frames:
                header = ProtocolHeader(self._head[:SIZE])
                said.append(f"protocol header {header.name}")
                if self._opens and header.octets not in self.dialect.spellings:
                    self.dialect = next((each for each in READABLE if header.octets in each.spellings), self.dialect)
            octets = self._head[start:]
            self._reader = self.dialect.framing.overhearing(DEFAULT_LIMITS, self.dialect.codec.carries, start)
        self._reader.receive(octets)
        while (thing := self._reader.next()) is not None:
            said.append(self._words(thing))
        return said

    def _words(self, thing: Assembly | Malformed) -> str:
        if isinstance(thing, Malformed):
            return f"[{thing.channel}] {thing.said}: {thing.text} ({thing.rule})"
        if thing.kind not in (CONTROL, COMMAND):  # out of band, or a trace, in 0-8 and 0-9
            return f"[{thing.channel}] a frame of type {thing.kind}, {len(thing.payload)} octets"
        codec = self.dialect.codec
        try:
            word, sync = codec.read_unit(thing)
            shown = f"{fields_of(word)}{' sync' if sync else ''}"
        except DecodeError as error:
            shown = f" that cannot be read: {error}"
        content = "" if thing.header is None else f", header of {many(len(thing.header), 'octet')}"
        content += "" if thing.body is None else f", body of {many(len(thing.body), 'octet')}"
        return f"[{thing.channel}] {codec.verb_in(thing)}{shown}{content}"


def fields_of(said: ValueObject) -> str:
    """Formats the fields of a control, command or struct that are set, in parentheses; of a secret, only the length."""
    given = [name for name in said.FIELDS if getattr(said, name) is not None and getattr(said, name) is not False]
    shown = [f"{name}={_shown(said, name)}" for name in given]
    return f"({', '.join(shown)})"


def _shown(said: ValueObject, name: str) -> str:
    value = getattr(said, name)
    if name in said.SECRETS:
        return f"<{len(value)} octets>"
    return str(value) if isinstance(value, RangeSet) else repr(value)


class Transcript:
    """The lines of a conversation: `moment speaker: [channel] method`.  Of a secret, they show only the length.

    The client's protocol header decides the dialect, in either family; `dialect` is for an edition that is not in `READABLE`.
    """

    def __init__(self, dialect: Dialect[Codec] = DEFAULT) -> None:
        self._dialect: Final = dialect
        self.lines: list[str] = []
        self._ears: dict[str, SpeakerReader] = {}

    def begin(self, moment: int, connection: int) -> None:
        """Starts a new connection."""
        self._ears = {"client": SpeakerReader(self._dialect), "server": SpeakerReader(self._dialect, opens=False)}
        self.note(moment, f"--- connection {connection} ---")

    def hear(self, moment: int, speaker: str, octets: bytes) -> None:
        """Adds the lines for octets that `speaker` sent."""
        for words in self._ears[speaker].hear(octets):
            self.lines.append(f"{moment:5} {speaker}: {words}")
        self._ears["server"].dialect = self._ears["client"].dialect

    def note(self, moment: int, text: str) -> None:
        """Adds a line that no speaker sent."""
        self.lines.append(f"{moment:5} {text}")

    def __str__(self) -> str:
        return "\n".join(self.lines)
