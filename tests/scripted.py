"""Peers that say whatever they are told, legal or not, and write down what they hear: one for each family."""

from __future__ import annotations

from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.dialects import AMQP_0_9_1, DEFAULT, ChannelDialect, Dialect, SessionDialect
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.connection import Connection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Event
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.protocol import SIZE
from amqp_sansio.spec.base import Command, Control, Method
from amqp_sansio.wire.codec import Codec
from amqp_sansio.wire.framing import COMMAND, Assembly, Malformed, Reader
from amqp_sansio.wire.method_codec import PROPERTIES_AT
from amqp_sansio.wire.method_frames import frame_content, frame_method
from amqp_sansio.wire.segments import frame_command, frame_control


class Carrying(NamedTuple):
    """A method of the older dialects with its content; `properties` are their flags and what follows those."""

    method: Method
    body: bytes = b""
    properties: bytes = b"\0\0"


Word: TypeAlias = bytes | Control | Command
"""Octets as they are, a control or a command."""
ChannelWord: TypeAlias = bytes | Control | Method | Carrying
"""Octets as they are, a control, or a method with or without a content."""

Said = TypeVar("Said")
Heard = TypeVar("Heard")


class Peer(Generic[Said, Heard]):
    """The other side of `connection`, without any machine: what it says goes straight into `receive_data`.

    `chunk` is how many octets the connection is given at once, its events taken in between; None: all at once.  A base class:
    a family brings `octets_of` and `_word`.
    """

    def __init__(self, connection: Connection, dialect: Dialect[Codec], chunk: int | None) -> None:
        self.connection: Final = connection
        self.chunk: Final = chunk
        self.header = b""
        """The protocol header that it heard, as far as it has come."""
        self.octets = b""
        """All that it heard."""
        self._reader: Final[Reader] = dialect.framing.overhearing(DEFAULT_LIMITS, dialect.codec.carries, 0)

    def octets_of(self, word: Said, channel: int = 0) -> bytes:
        """The frames of a word; octets stay as they are."""
        raise NotImplementedError

    def _word(self, unit: Assembly) -> Heard:
        raise NotImplementedError

    def say(self, *said: Said, channel: int = 0) -> list[Event]:
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

    def hear(self) -> list[Heard]:
        """Takes what the connection has to say; answers its words, in order."""
        octets = self.connection.data_to_send()
        headed = (self.octets or octets).startswith(b"A")  # a server of channels says no protocol header
        self.octets += octets
        missing = SIZE - len(self.header) if headed else 0
        self.header += octets[:missing]
        self._reader.receive(octets[missing:])
        heard: list[Heard] = []
        while (thing := self._reader.next()) is not None:
            if isinstance(thing, Malformed):
                raise AssertionError(f"the connection broke the framing: {thing}")
            heard.append(self._word(thing))
        return heard


class ScriptedPeer(Peer[Word, Control | Command]):
    """The other side of a connection with sessions."""

    def __init__(self, connection: Connection, *, dialect: SessionDialect = DEFAULT, chunk: int | None = None) -> None:
        super().__init__(connection, dialect, chunk)
        self.dialect: Final = dialect

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
        layout = self.dialect.codec
        if isinstance(word, Control):
            return frame_control(channel, layout.encode_control(word))
        if isinstance(word, Command):
            return b"".join(frame_command(channel, layout.encode_command(word, False), None, None, 65535))
        return word

    def _word(self, unit: Assembly) -> Control | Command:
        payload = unit.payload
        if unit.kind == COMMAND:
            return self.dialect.codec.decode_command(payload, 0, len(payload))[0]
        return self.dialect.codec.decode_control(payload, 0, len(payload))


class ChannelPeer(Peer[ChannelWord, Control | Method | Carrying]):
    """The other side of a connection with channels."""

    def __init__(self, connection: Connection, *, dialect: ChannelDialect = AMQP_0_9_1, chunk: int | None = None) -> None:
        super().__init__(connection, dialect, chunk)
        self.dialect: Final = dialect

    def octets_of(self, word: ChannelWord, channel: int = 0) -> bytes:
        codec = self.dialect.codec
        match word:
            case bytes():
                return word
            case Control():
                return self.dialect.framing.own(codec.write_control(word), 1 << 20)
            case Method():
                return frame_method(channel, codec.encode(word))
            case Carrying(method, body, properties):
                payload = codec.encode(method)
                return b"".join(frame_content(channel, payload, int.from_bytes(payload[:2], "big"), properties, body))

    def _word(self, unit: Assembly) -> Control | Method | Carrying:
        said = self.dialect.codec.read_unit(unit)[0]
        if isinstance(said, Control):
            return said
        assert isinstance(said, Method)
        if unit.header is None:
            return said
        return Carrying(said, unit.body or b"", unit.header[PROPERTIES_AT:])
