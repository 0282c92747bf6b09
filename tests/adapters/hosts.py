"""Servers of one's own for tests, and somebody who floods them."""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress

from tests.adapters.conditions import PATIENCE

from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.conversation.hosting import OwnServer
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import CommandReceived, ConnectionOpened, Event, TransferReceived
from amqp_sansio.limits import Limits
from amqp_sansio.spec import execution
from amqp_sansio.wire.segments import frame_control


class Collector:
    """Says yes to all that is said, and remembers what was published; reads little at a time."""

    def __init__(self) -> None:
        self.bodies: list[bytes] = []
        self.server = OwnServer(ServerConfig(limits=Limits(inbox_octets=100_000)), self.handle)

    def handle(self, connection: ServerConnection, event: Event) -> None:
        if isinstance(event, TransferReceived):
            self.bodies.append(event.body)
        command = event.command if isinstance(event, CommandReceived) else None
        if isinstance(event, TransferReceived | CommandReceived) and not isinstance(command, execution.Sync):
            session = connection.session_named(event.session)
            assert session is not None
            session.complete(event.id)


def attached(where: tuple[str, int], config: ClientConfig = ClientConfig()) -> tuple[socket.socket, ClientConnection, Session]:
    """A client by hand, with a session."""
    connected = socket.create_connection(where)
    connected.settimeout(20)
    machine = ClientConnection(config)
    session: Session | None = None
    while session is None or session.state != "attached":
        connected.sendall(machine.data_to_send())
        machine.receive_data(connected.recv(65536))
        for event in machine.events():
            if isinstance(event, ConnectionOpened):
                session = machine.session("by hand")
    return connected, machine, session


def flood(where: tuple[str, int], count: int, size: int) -> None:
    """Publishes and never asks for anything, nor reads; then closes and waits for the answer."""
    connected, machine, session = attached(where)
    with connected:
        for _ in range(count):
            session.publish("", body=b"x" * size, routing_key="q")
        connected.sendall(machine.data_to_send())
        session.sync()
        machine.close()
        while not machine.finished:
            connected.sendall(machine.data_to_send())
            machine.receive_data(connected.recv(65536))
            for _ in machine.events():
                pass


def subscribe_and_read_nothing(where: tuple[str, int], queue: str, count: int) -> socket.socket:
    """Somebody who wants messages, and does not take them."""
    connected, machine, session = attached(where)
    session.subscribe(queue, "d").grant(count)
    connected.sendall(machine.data_to_send())
    return connected


def patient() -> tuple[Broker, Callable[[], Peer]]:
    """A broker that waits long for the answer to its close, and what connects to it."""
    broker = Broker()
    return broker, lambda: broker.connect(ServerConfig(limits=Limits(close_seconds=1000)))


def speak_on(where: tuple[str, int], logged_in: bool) -> bool:
    """Breaks the protocol and speaks on without an end: whether the server hangs up before it has read it all."""
    if logged_in:
        connected = attached(where)[0]
    else:
        connected = socket.create_connection(where, PATIENCE)
        connected.sendall(b"AMQP\1\1\0\x0a")
    connected.sendall(frame_control(0, b"\1\x77"))
    ignored = frame_control(0, b"\2" + bytes(16_000), 65535) * 4
    with connected, suppress(ConnectionError):
        for _ in range(1000):  # 64 MB: what sockets may hold besides is a small part of it
            connected.sendall(ignored)
        return False
    return True
