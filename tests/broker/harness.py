"""Real clients at one broker, in memory: octets whole, or one at a time."""

from __future__ import annotations

from typing import Any, Final, TypeVar

from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, Session
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.front import SessionFront
from amqp_sansio.broker.fronts.sessions.holder import SessionService
from amqp_sansio.engine.outbound import write_point
from amqp_sansio.events import (
    CommandsCompleted,
    Event,
    ExceptionReceived,
    ResultReceived,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import queue
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.wire.segments import frame_command

E = TypeVar("E")


class Client:
    """A client, its connection at the broker, and what happened to it."""

    def __init__(self, world: World, connection: ClientConnection, peer: Peer) -> None:
        self.world: Final = world
        self.connection: Final = connection
        self.peer: Final = peer
        self.events: Final[list[Event]] = []
        self.lost = False
        self.deaf = False
        """Takes nothing of what the broker says."""

    def session(self, name: bytes = b"s", timeout: int | None = 0, *, force: bool = False) -> Session:
        """A session, attached."""
        session = self.connection.session(name, timeout, force=force)
        self.world.run()
        return session

    def all(self, kind: type[E]) -> list[E]:
        """Its events of that class, so far."""
        return [event for event in self.events if isinstance(event, kind)]

    def take(self, kind: type[E]) -> list[E]:
        """The same, and forgets all events."""
        found = self.all(kind)
        self.events.clear()
        return found

    def cut(self) -> None:
        """The socket is lost."""
        self.lost = True
        self.peer.receive_eof()
        self.connection.receive_eof()
        self.world.run()


class World:
    """A broker and its clients.  `chunk`: how many octets arrive at once, None for all."""

    def __init__(self, config: BrokerConfig | None = None, chunk: int | None = None, broker: Broker | None = None) -> None:
        self.broker: Final = broker or Broker(config or BrokerConfig())
        self.chunk: Final = chunk
        self.now = 0.0
        self.clients: Final[list[Client]] = []
        self.heard: Final[list[tuple[Peer, Event]]] = []

    def connect(self, config: ClientConfig | None = None, server: ServerConfig | None = None, *, run: bool = True) -> Client:
        """A client, its connection open."""
        client = Client(self, ClientConnection(config), self.broker.connect(server))
        self.clients.append(client)
        if run:
            self.run()
        return client

    def session(self, name: bytes = b"s", timeout: int | None = 0) -> tuple[Client, Session]:
        """A new client with a session."""
        client = self.connect()
        return client, client.session(name, timeout)

    def run(self) -> None:
        """Until nobody has anything to say."""
        for _ in range(10_000):
            moved = False
            for client in self.clients:
                octets = client.connection.data_to_send()
                if octets and not client.lost and not client.peer._connection.finished:
                    moved = True
                    self.feed(client.peer, octets)
            self.heard.extend(self.broker.events())
            by_peer = {client.peer: client for client in self.clients}
            for peer in self.broker.ready():
                client = by_peer[peer]
                if client.deaf and not client.lost:
                    continue
                octets = peer.data_to_send()
                if octets and not client.lost:
                    moved = True
                    self.feed(client.connection, octets)
                if peer.finished and not client.lost:
                    moved = True
                    client.lost = True
                    client.connection.receive_eof()
            for client in self.clients:
                client.events.extend(client.connection.events())
            if not moved and not [host for host in self.broker._hosts.values() if host.leaving]:
                return
        raise AssertionError("it never comes to rest")

    def feed(self, machine: Peer | ClientConnection, octets: bytes) -> None:
        """Octets arrive."""
        size = self.chunk or len(octets)
        for at in range(0, len(octets), size):
            machine.receive_data(octets[at : at + size])
            if self.chunk is not None and isinstance(machine, Peer):
                self.heard.extend(self.broker.events())

    def tick(self, seconds: float = 0.0) -> float | None:
        """Time goes on."""
        self.now += seconds
        for client in self.clients:
            client.connection.tick(self.now)
        moment = self.broker.tick(self.now)
        self.run()
        return moment


def blurt(session: Session, command: Command, *, header: bytes | None = None, body: bytes | None = None) -> int:
    """Says a command without a look at whether a client may say it."""
    assert session._channel is not None
    carrier = session._channel.carrier
    payload = session._place.layout.encode_command(command, True)
    write_point(session)
    carrier._write(b"".join(frame_command(session._channel.number, payload, header, body, carrier._max_frame_size)))
    id = session._outbound.say(payload, None, None)
    if command.RESULT:
        session._outbound.asked[id] = command
    return id


def done(client: Client, session: Session, command: Command) -> Struct | None:
    """Says a command, waits for it, and answers its result.  AssertionError when it is refused."""
    client.events.clear()
    id = blurt(session, command)
    client.world.run()
    refused = client.all(ExceptionReceived)
    assert not refused, refused
    completed = RangeSet()
    for event in client.all(CommandsCompleted):
        completed |= event.ids
    assert id in completed, (command, client.events)
    for result in client.all(ResultReceived):
        if result.id == id:
            return result.value
    return None


def refused(client: Client, session: Session, command: Command) -> ExceptionReceived:
    """Says a command that is refused: the exception.  The session is over."""
    client.events.clear()
    id = blurt(session, command)
    client.world.run()
    (exception,) = client.all(ExceptionReceived)
    assert exception.id == id
    assert [event.ended for event in client.all(SessionDetached)] == [True]
    return exception


def bodies(client: Client) -> list[bytes]:
    """What it was sent since this was asked last."""
    return [event.body for event in client.take(TransferReceived)]


def put(client: Client, session: Session, *texts: bytes, key: str = "q", **properties: Any) -> None:
    for text in texts:
        session.publish(routing_key=key, body=text, **properties)
    client.world.run()


def on(world: World, name: str = "q") -> list[bytes]:
    return [entry.message.body for entry in world.broker.host().queues[name].all()]


def scene(world: World, *names: str, session: bytes = b"s") -> tuple[Client, Session]:
    client, mine = world.session(session)
    for name in names or ("q",):
        done(client, mine, queue.Declare(name))
    client.events.clear()
    return client, mine


def front(broker: Broker) -> SessionFront:
    """What the broker knows of its sessions."""
    return next(each for each in broker._fronts if isinstance(each, SessionFront))


def service(peer: Peer) -> SessionService:
    """What the broker does for the sessions of a connection."""
    assert isinstance(peer._service, SessionService)
    return peer._service
