"""Who talks to whom in the tests of rules: a machine and a peer that says what it is told, or an observer of two speakers."""

from __future__ import annotations

from struct import pack
from typing import NamedTuple, TypeAlias

from tests.scripted import ScriptedPeer, Word

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.observer import Observer, Speaker
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import Event, Note, TransferReceived, Violation
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.spec.connection import Open, OpenOk, Start, StartOk, Tune, TuneOk
from amqp_sansio.spec.message import Transfer
from amqp_sansio.spec.session import Attach, Attached, CommandPoint, Flush
from amqp_sansio.wire.segments import frame_command, frame_control

HEADER = AMQP_0_10.header
START = Start({}, ("ANONYMOUS",), ("en_US",))
START_OK = StartOk({}, "ANONYMOUS", b"", "en_US")
TUNE = Tune(65535, 65535, 0, 120)
TUNE_OK = TuneOk(65535, 65535, 0)
OPENING: tuple[tuple[Speaker, Word], ...] = (
    ("C", HEADER), ("S", HEADER), ("S", START), ("C", START_OK), ("S", TUNE), ("C", TUNE_OK), ("C", Open("")), ("S", OpenOk()),
)  # fmt: skip

Said: TypeAlias = tuple[Speaker, Word]


def octets(word: Word, channel: int = 0) -> bytes:
    """The frames of a word; the connection's controls go on channel 0 whatever is asked."""
    layout = AMQP_0_10.codec
    if isinstance(word, Control):
        return frame_control(0 if word.VERB.startswith("connection.") else channel, layout.encode_control(word))
    if isinstance(word, Command):
        return b"".join(frame_command(channel, layout.encode_command(word, False), None, None, 65535))
    return word


def frame(flags: int, kind: int, payload: bytes, channel: int = 0) -> bytes:
    """A frame with any flags on the track of its kind."""
    return pack(">BBHBBHI", flags, kind, 12 + len(payload), 0, 0 if kind == 0 else 1, channel, 0) + payload


def peer_of_server(config: ServerConfig | None = None) -> ScriptedPeer:
    """The client, told what to say, of a server that has heard nothing yet."""
    return ScriptedPeer(ServerConnection(config))


def peer_of_client(config: ClientConfig | None = None) -> ScriptedPeer:
    """The server, told what to say, of a client that has heard nothing yet."""
    return ScriptedPeer(ClientConnection(config))


def of_open_server(config: ServerConfig | None = None, tune_ok: TuneOk = TUNE_OK) -> ScriptedPeer:
    """The client, told what to say, of an open server."""
    peer = peer_of_server(config)
    peer.say(HEADER, START_OK, tune_ok, Open(""))
    peer.hear()
    assert peer.connection.is_open
    return peer


def of_open_client(config: ClientConfig | None = None, tune: Tune = TUNE) -> ScriptedPeer:
    """The server, told what to say, of an open client."""
    peer = peer_of_client(config)
    peer.say(HEADER, START, tune, OpenOk())
    peer.hear()
    assert peer.connection.is_open
    return peer


def with_client_session(name: bytes = b"s", timeout: int | None = 0, tune: Tune = TUNE) -> tuple[Speaking, Session]:
    """The server, told what to say, of a client whose session was just attached; and that session."""
    peer = of_open_client(tune=tune)
    session = peer.client.session(name, timeout)
    assert session._channel is not None
    speaking = Speaking(peer, session._channel.number)
    speaking.say(Attached(name))
    speaking.hear()
    return speaking, session


def with_server_session(
    name: bytes = b"s", config: ServerConfig | None = None, *, pointed: bool = True
) -> tuple[Speaking, Session]:
    """The client, told what to say, of a server to which it attached a session; and that session.

    `pointed`: it has said command-point(0, 0).
    """
    speaking = Speaking(of_open_server(config), 0)
    speaking.say(Attach(name), *((CommandPoint(0, 0),) if pointed else ()))
    speaking.hear()
    (session,) = speaking.peer.server.sessions
    return speaking, session


class Speaking(NamedTuple):
    """A peer that is told what to say on one channel."""

    peer: ScriptedPeer
    channel: int

    def say(self, *said: Word) -> list[Event]:
        """Says some things; answers the connection's events."""
        return self.peer.say(*said, channel=self.channel)

    def hear(self) -> list[Control | Command]:
        """What the connection has to say."""
        return self.peer.hear()

    def asked(self, *, expected: bool = False, confirmed: bool = False, completed: bool = False) -> list[Control | Command]:
        """What it answers to a flush."""
        self.hear()
        assert self.say(Flush(expected, confirmed, completed)) == []
        return self.hear()

    def begun(self, body: bytes = b"half", destination: str = "") -> bytes:
        """The first half of a transfer: its command, and one frame of a body that has not ended."""
        command = self.peer.octets_of(Transfer(destination), self.channel)
        return b"\x0b" + command[1:] + frame(0x06, 3, body, self.channel)

    def rest(self, body: bytes = b"rest") -> bytes:
        """The last frame of that body."""
        return frame(0x05, 3, body, self.channel)


def overheard(*said: Said, strict: bool = False, channel: int = 0, opened: bool = True) -> list[str]:
    """What an observer holds against the speakers, in order: letter and rule, and in brackets what accuses nobody."""
    watch = Observer(strict=strict)
    found: list[str] = []
    for speaker, word in (*(OPENING if opened else ()), *said):
        watch.receive_data(speaker, octets(word, channel))
        for observed in watch.events():
            if isinstance(observed.event, Violation):
                found.append(f"{observed.speaker} {observed.event.rule}")
            elif isinstance(observed.event, Note):
                found.append(f"({observed.speaker} {observed.event.rule})")
    return found


ATTACHING: tuple[Said, ...] = (("C", Attach(b"s")), ("S", Attached(b"s")))


def bodies(events: list[Event]) -> list[tuple[int, bytes]]:
    return [(event.id, event.body) for event in events if isinstance(event, TransferReceived)]
