"""A peer that says whatever it is told, legal or not, and writes down what it hears."""

from __future__ import annotations

from typing import Final, TypeAlias

from amqp_sansio.dialects import DEFAULT, SessionDialect
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Event
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.protocol import SIZE
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.wire.assembly import COMMAND, Malformed
from amqp_sansio.wire.frames import frame_command, frame_control
from amqp_sansio.wire.segments import SegmentReader

Word: TypeAlias = bytes | Control | Command
"""Octets as they are, a control or a command."""


class ScriptedPeer:
    """The other side of `connection`, without any machine: what it says goes straight into `receive_data`.

    `chunk` is how many octets the connection is given at once, its events taken in between; None: all at once.
    """

    def __init__(self, connection: Connection, *, dialect: SessionDialect = DEFAULT, chunk: int | None = None) -> None:
        self.connection: Final = connection
        self.dialect: Final = dialect
        self.chunk: Final = chunk
        self.header = b""
        """The protocol header that it heard, as far as it has come."""
        self.octets = b""
        """All that it heard."""
        self._reader: Final = SegmentReader(DEFAULT_LIMITS)

    @property
    def client(self) -> ClientConnection:
        """The connection as the client that it is.  TypeError for another one."""
        if not isinstance(self.connection, ClientConnection):
            raise TypeError(f"a {type(self.connection).__name__} is no ClientConnection")
        return self.connection

    @property
    def server(self) -> ServerConnection:
        """The connection as the server that it is.  TypeError for another one."""
        if not isinstance(self.connection, ServerConnection):
            raise TypeError(f"a {type(self.connection).__name__} is no ServerConnection")
        return self.connection

    def octets_of(self, word: Word, channel: int = 0) -> bytes:
        """The frames of a word; octets stay as they are."""
        layout = self.dialect.codec
        if isinstance(word, Control):
            return frame_control(channel, layout.encode_control(word))
        if isinstance(word, Command):
            return b"".join(frame_command(channel, layout.encode_command(word, False), None, None, 65535))
        return word

    def say(self, *said: Word, channel: int = 0) -> list[Event]:
        """Says some things; answers the connection's events."""
        octets = b"".join([self.octets_of(word, channel) for word in said])
        size = self.chunk or len(octets) or 1
        events: list[Event] = []
        for at in range(0, len(octets), size):
            self.connection.receive_data(octets[at : at + size])
            events.extend(self.connection.events())
        events.extend(self.connection.events())
        return events

    def end(self) -> list[Event]:
        """Says nothing more, ever; answers the connection's events."""
        self.connection.receive_eof()
        return list(self.connection.events())

    def hear(self) -> list[Control | Command]:
        """Takes what the connection has to say; answers its controls and commands, in order."""
        octets = self.connection.data_to_send()
        self.octets += octets
        missing = SIZE - len(self.header)
        self.header += octets[:missing]
        self._reader.receive(octets[missing:])
        heard: list[Control | Command] = []
        while (thing := self._reader.next()) is not None:
            if isinstance(thing, Malformed):
                raise AssertionError(f"the connection broke the framing: {thing}")
            payload = thing.payload
            if thing.kind == COMMAND:
                heard.append(self.dialect.codec.decode_command(payload, 0, len(payload))[0])
            else:
                heard.append(self.dialect.codec.decode_control(payload, 0, len(payload)))
        return heard
