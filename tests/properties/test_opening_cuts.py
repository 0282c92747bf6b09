"""Connections of the older dialects, cut or damaged at every octet of what the other side says, from header to close-ok."""

from __future__ import annotations

from functools import cache

import pytest
from tests.engine.older import DIALECTS, frames

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.sasl import AmqPlain, AmqPlainServer
from amqp_sansio.events import ConnectionClosed, Event
from amqp_sansio.spec.codes import CloseCode
from amqp_sansio.spec.connection import Close, CloseOk, Heartbeat

SECRET = "hush-hush"
cases = pytest.mark.parametrize(
    ("dialect", "role", "closer"),
    [(dialect, role, closer) for dialect in DIALECTS for role in ("client", "server") for closer in ("client", "server")],
    ids=lambda value: getattr(value, "name", value),
)


def made(dialect: ChannelDialect, role: str) -> ChannelClientConnection | ChannelServerConnection:
    if role == "client":
        return ChannelClientConnection(ClientConfig(dialect=dialect, mechanisms=(AmqPlain("ann", SECRET),), heartbeat=7))
    return ChannelServerConnection(
        ServerConfig(dialects=(dialect,), mechanisms=(AmqPlainServer(lambda _, password: password == SECRET),))
    )


@cache
def heard_by(dialect: ChannelDialect, role: str, closer: str) -> bytes:
    """What the other side says: opening, what there is on channel 0, and a close."""
    sides = {role: made(dialect, role) for role in ("client", "server")}
    said = {"client": b"", "server": b""}

    def talk() -> None:
        while any(side.bytes_to_send for side in sides.values()):
            for role, side in sides.items():
                octets = side.data_to_send()
                said[role] += octets
                sides["server" if role == "client" else "client"].receive_data(octets)
                for other in sides.values():
                    list(other.events())

    talk()
    client, server = sides["client"], sides["server"]
    assert isinstance(client, ChannelClientConnection)
    assert isinstance(server, ChannelServerConnection)
    if dialect is AMQP_0_9_1:
        server.block("memory")
        client.update_secret(SECRET.encode(), "it expires")
        talk()
        server.unblock()
    for side in sides.values():
        side._write(frames(dialect, Heartbeat()))
    talk()
    sides[closer].close(CloseCode.NORMAL, "bye")
    talk()
    assert all(side.finished for side in sides.values())
    return said["server" if role == "client" else "client"]


class Listener:
    """Hears such octets in the role."""

    def __init__(self, dialect: ChannelDialect, role: str, octets: bytes) -> None:
        self.connection = made(dialect, role)
        self.events: list[Event] = []
        self.octets = b""
        self.hear(octets)

    def hear(self, octets: bytes) -> None:
        self.connection.receive_data(octets)
        self.take()

    def take(self) -> None:
        self.events += self.connection.events()
        self.octets += self.connection.data_to_send()

    def end(self) -> ConnectionClosed:
        """The octets end: that makes one event, the last one, and nothing shows a secret."""
        self.connection.receive_eof()
        self.take()
        (closed,) = [event for event in self.events if isinstance(event, ConnectionClosed)]
        assert self.events[-1] is closed
        assert self.connection.finished
        assert "hush" not in repr(self.events) + repr(self.connection) + str(self.connection.closed_cause)
        return closed


# However much of it comes before the octets end: every event before that is one of the whole, and one event tells the end.
@cases
def test_the_octets_end_at_each_octet(dialect: ChannelDialect, role: str, closer: str) -> None:
    octets = heard_by(dialect, role, closer)
    whole = Listener(dialect, role, octets).events
    for at in range(len(octets) + 1):
        cut = Listener(dialect, role, octets[:at])
        assert cut.events == whole[: len(cut.events)]
        cut.end()


# However they are cut into pieces, the events and the answers are the same.
@cases
@pytest.mark.parametrize("piece", [1, 7])
def test_pieces(dialect: ChannelDialect, role: str, closer: str, piece: int) -> None:
    octets = heard_by(dialect, role, closer)
    whole, pieces = Listener(dialect, role, octets), Listener(dialect, role, b"")
    for at in range(0, len(octets), piece):
        pieces.hear(octets[at : at + piece])
    assert (pieces.events, pieces.octets) == (whole.events, whole.octets)


# One damaged octet anywhere brings events and no exception, and the end comes in any case.
@cases
def test_each_octet_damaged(dialect: ChannelDialect, role: str, closer: str) -> None:
    octets = heard_by(dialect, role, closer)
    for at in range(len(octets)):
        for other in {0xFF, octets[at] ^ 1}:
            Listener(dialect, role, octets[:at] + bytes((other,)) + octets[at + 1 :]).end()


# Whoever has said close waits for its answer alone: a close that crosses it, cut at each octet, changes nothing any more.
@cases
def test_each_cut_behind_a_close(dialect: ChannelDialect, role: str, closer: str) -> None:
    octets = heard_by(dialect, role, closer)
    opened = next(at for at in range(len(octets)) if Listener(dialect, role, octets[:at]).connection.is_open)
    behind = frames(dialect, Heartbeat(), Close(200, "x", 0, 0), CloseOk(), Heartbeat()) + b"rubbish"
    for at in range(len(behind) + 1):
        listener = Listener(dialect, role, octets[:opened])
        listener.connection.close(CloseCode.CONNECTION_FORCED, "mine")
        listener.hear(behind[:at])
        closed = listener.end()
        assert (closed.code, closed.text) == (320, "mine")
