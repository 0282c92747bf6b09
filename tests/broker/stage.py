"""A broker in memory and clients around it, joined by wires on which octets fly until somebody lets them arrive."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import ConnectionOpened, Event, ExceptionReceived, SessionAttached, SessionDetached

KEPT = 600  # seconds that the broker keeps a session for who asks
CHUNK = 613  # octets that arrive at once: no multiple of anything


class Wire:
    """One connection of an actor: what was said and has not arrived, in either direction."""

    def __init__(self, client: ClientConnection, peer: Peer) -> None:
        self.client = client
        self.peer = peer
        self.to_broker: deque[bytes] = deque()
        self.to_client: deque[bytes] = deque()
        self.cut = False

    def say(self) -> None:
        """What the client has to say begins to fly."""
        fly(self.client.data_to_send(), self.to_broker)


def fly(octets: bytes, way: deque[bytes]) -> None:
    """Octets begin to fly, in chunks."""
    way.extend(octets[at : at + CHUNK] for at in range(0, len(octets), CHUNK))


class Actor:
    """One client: a connection at a time, and one session on it that may outlive the connection."""

    def __init__(self, stage: Stage, name: str, timeout: int, on_event: Callable[[Actor, Event], None]) -> None:
        self.stage = stage
        self.name = name
        self.timeout = timeout
        self.on_event = on_event
        self.session: Session | None = None
        self.wire: Wire | None = None
        self.events: list[Event] = []
        self.attached = False
        self.rounds = 0
        self.leaving = False
        self.resumed = 0

    @property
    def ready(self) -> bool:
        """Whether the session may be spoken on."""
        return self.session is not None and self.session.state == "attached" and self.attached

    def connect(self) -> None:
        """A new connection; the session is resumed when it lives, else there is a new one."""
        assert self.wire is None
        client = ClientConnection(ClientConfig())
        self.wire = Wire(client, self.stage.broker.connect(ServerConfig(session_timeout=KEPT)))
        self.stage.wires[self.wire.peer] = self.wire

    def hear(self, event: Event) -> None:
        """Acts on an event, and hands it on."""
        self.events.append(event)
        assert self.wire is not None
        match event:
            case ConnectionOpened():
                if self.session is not None and self.session.resumable:
                    self.wire.client.resume(self.session)
                else:
                    self._begin()
            case SessionAttached(resumed=resumed):
                self.attached = True
                self.resumed += resumed
            case SessionDetached():
                self.attached = False
            case ExceptionReceived():
                raise AssertionError(f"{self.name} got {event}")
            case _:
                pass
        self.on_event(self, event)
        if isinstance(event, SessionDetached) and event.ended and self.wire.client.is_open and not self.leaving:
            self._begin()  # the broker did not keep it: a new one

    def _begin(self) -> None:
        assert self.wire is not None
        self.rounds += 1
        self.session = self.wire.client.session(f"{self.name}-{self.rounds}", timeout=self.timeout)


class Stage:
    """Everything together; nothing happens but by its methods."""

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.broker = Broker(config) if config is not None else Broker()
        self.actors: list[Actor] = []
        self.wires: dict[Peer, Wire] = {}
        self.now = 0.0

    def actor(self, name: str, timeout: int, on_event: Callable[[Actor, Event], None]) -> Actor:
        """A new client, connected."""
        actor = Actor(self, name, timeout, on_event)
        self.actors.append(actor)
        actor.connect()
        return actor

    def step(self, actor: Actor, chunks: int) -> bool:
        """Lets up to `chunks` chunks of one wire arrive in each direction; whether anything happened."""
        wire = actor.wire
        if wire is None:
            return False
        wire.say()
        happened = False
        for _ in range(chunks):
            if wire.to_broker:
                wire.peer.receive_data(wire.to_broker.popleft())
                happened = True
            happened |= self.turn()
            if wire.to_client:
                wire.client.receive_data(wire.to_client.popleft())
                happened = True
            happened |= self._hear(actor)
            wire.say()
        return happened or bool(wire.to_broker or wire.to_client)

    def turn(self) -> bool:
        """The broker does all that it can, and whoever it names, and nobody else, is asked for octets."""
        happened = False
        for _peer, _event in self.broker.events():
            happened = True
        for peer in self.broker.ready():
            octets = peer.data_to_send()
            happened |= bool(octets)
            wire = self.wires.get(peer)
            if wire is not None and not wire.cut:
                fly(octets, wire.to_client)
        return happened

    def _hear(self, actor: Actor) -> bool:
        assert actor.wire is not None
        happened = False
        for event in actor.wire.client.events():
            happened = True
            actor.hear(event)
        return happened

    def cut(self, actor: Actor) -> None:
        """The wire breaks: what flies is lost, both sides hear the end."""
        wire = actor.wire
        if wire is None:
            return
        wire.cut = True
        wire.to_broker.clear()
        wire.to_client.clear()
        wire.peer.receive_eof()
        wire.client.receive_eof()
        self._hear(actor)
        actor.wire = None
        self.turn()
        del self.wires[wire.peer]

    def tick(self, seconds: float) -> None:
        """Time passes."""
        self.now += seconds
        self.broker.tick(self.now)
        self.turn()
        for actor in self.actors:
            if actor.wire is not None:
                actor.wire.client.tick(self.now)
            elif actor.session is not None:
                actor.session.tick(self.now)

    def settle(self, rounds: int = 2000) -> None:
        """Until nobody has anything more to say."""
        for _ in range(rounds):
            happened = [self.step(actor, 4) for actor in self.actors]
            if not self.turn() and not any(happened):
                return
        raise AssertionError("it does not come to rest")
