"""A broker for tests: in memory, on a free port on loopback, with access to its state."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

import attrs

from amqp_sansio.adapters.base_server import LOG
from amqp_sansio.adapters.sync.server import Server
from amqp_sansio.broker import Broker, BrokerConfig, Kind, Peer, Rule, Rules, Verb
from amqp_sansio.broker.access import LEGAL
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.config import ServerConfig, ServerMechanism
from amqp_sansio.conversation.hosting import Host
from amqp_sansio.engine.sasl import AnonymousServer, PlainServer
from amqp_sansio.errors import EncodeError
from amqp_sansio.events import ConnectionClosed, Event, TransferReceived
from amqp_sansio.spec.values import Map, Value

REMEMBERED: Final = 100_000
"""The most published messages that a served broker remembers; the oldest go first."""
_MECHANISMS: Final[tuple[ServerMechanism, ...]] = (AnonymousServer(), PlainServer(lambda username, password: True))


@attrs.frozen
class Published:
    """A message as a client published it."""

    exchange: str
    """Empty for the default exchange."""
    routing_key: str
    body: bytes
    headers: Mapping[str, Value]
    """The application headers."""
    identity: str
    """The publisher's identity, "" for an anonymous client."""


@attrs.frozen
class QueueSeen:
    """A queue as it was at one moment."""

    name: str
    bodies: tuple[bytes, ...]
    """The bodies of all its messages, in order, including those that a client has and did not settle."""
    unsettled: int
    """How many of its messages a client has and did not settle."""
    consumers: int
    durable: bool


class _Recording(Host[Peer]):
    """A broker whose clock can be put forward, and which records published messages."""

    def __init__(self, broker: Broker) -> None:
        self.broker: Final = broker
        self.ahead = 0.0  # seconds
        self.published: Final[deque[Published]] = deque(maxlen=REMEMBERED)

    def next_event(self) -> tuple[Peer, Event] | None:
        happened = self.broker.next_event()
        if happened is not None:
            event = happened[1]
            if isinstance(event, TransferReceived):
                self.published.append(_published(*happened))
            elif isinstance(event, ConnectionClosed) and event.violation is not None:
                LOG.warning("a client's connection has ended: %s", event.text)
        return happened

    def ready(self) -> tuple[Peer, ...]:
        return self.broker.ready()

    def tick(self, now: float) -> float | None:
        self.broker.tick(now + self.ahead)
        return self.due

    @property
    def due(self) -> float | None:
        due = self.broker.due
        return None if due is None else due - self.ahead


def _published(peer: Peer, event: Event) -> Published:
    assert isinstance(event, TransferReceived)
    delivery, message = event.delivery_properties, event.message_properties
    return Published(
        event.transfer.destination or "",
        (delivery.routing_key if delivery is not None else None) or "",
        event.body,
        (message.application_headers if message is not None else None) or Map(),
        peer.identity or "",
    )


class ServedBroker:
    """A broker for tests: `with ServedBroker() as broker`; clients connect to `broker.url`.

    It runs in a thread of its own until the end of the block, accepts any name and password, and asks for no heartbeats, so
    that `advance` ends no connection.  Each property is a consistent view of one moment.
    """

    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.broker: Final = Broker(config or BrokerConfig(epoch=time.time() - time.monotonic()))
        """The model broker.  Hold `lock` to look into it."""
        self._host: Final = _Recording(self.broker)
        self._server: Final = Server(self._host, self._connect, ("127.0.0.1", 0), None)
        self._denied: Final[list[Rule]] = []

    def _connect(self) -> Peer:
        settings = ServerConfig(mechanisms=_MECHANISMS, heartbeat_min=None, heartbeat_max=None, session_timeout=3600)
        return self.broker.connect(settings)

    def __enter__(self) -> Self:
        self._server.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.__exit__(kind, error, trace)

    @property
    def url(self) -> str:
        """The URL for clients: amqp://127.0.0.1:PORT, with the virtual host ""."""
        return "amqp://{}:{}".format(*self._server.address)

    @property
    def queues(self) -> Mapping[str, QueueSeen]:
        """The queues of virtual host "" now, by name."""
        with self._server.lock:
            return {name: _seen(queue) for name, queue in self.broker.host().queues.items()}

    @property
    def published(self) -> tuple[Published, ...]:
        """The messages that clients have published so far, in every virtual host, in order of arrival."""
        with self._server.lock:
            return tuple(self._host.published)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        with self._server.lock:
            return len(self.broker.peers)

    def advance(self, seconds: float) -> None:
        """Puts the broker's clock forward: messages expire, kept sessions end, branches time out.  ValueError below 0."""
        if not seconds >= 0:
            raise ValueError(f"time goes forward: at least 0 seconds, not {seconds!r}")
        with self._server.lock:
            self._host.ahead += seconds
            self._host.tick(time.monotonic())
        self._server.wake()

    def cut(self) -> None:
        """Drops every connection without closing it, as a network failure does.  Clients may connect again."""
        self._server.cut()

    def refuse(
        self, verb: Verb | str, *, queue: str | None = None, exchange: str | None = None, key: str | None = None, who: str = "*"
    ) -> None:
        """Makes the broker answer matching requests with 403, besides those that it refuses already; `allow` undoes this.

        `queue`, `exchange` and `key` are patterns in which `*` is any sequence; without any of them everything matches that the
        verb applies to.  Raises EncodeError for an unknown verb.  Rules in the config (`access`) are suspended.
        """
        try:
            said = Verb(verb)
        except ValueError:
            raise EncodeError("refuse", f"{verb!r} is not a verb; there are {', '.join(Verb)}") from None
        named = {Kind.QUEUE: queue, Kind.EXCHANGE: exchange, Kind.KEY: key}
        wanted = {kind: pattern for kind, pattern in named.items() if pattern is not None}
        wanted = wanted or {kind: "*" for kind in named if said in LEGAL[kind]}
        rules = [Rule(allow=False, who=who, verbs=[said], kind=kind, pattern=pattern) for kind, pattern in wanted.items()]
        with self._server.lock:
            self._denied.extend(rules)
            self.broker.set_access(Rules(self._denied, default=True))
        self._server.wake()

    def allow(self) -> None:
        """Undoes every `refuse`."""
        with self._server.lock:
            self._denied.clear()
            self.broker.set_access(self.broker.config.access)


def _seen(queue: Queue) -> QueueSeen:
    bodies = tuple([entry.message.body for entry in queue.all()])
    return QueueSeen(queue.name, bodies, queue.acquired, queue.subscribers, queue.durable)
