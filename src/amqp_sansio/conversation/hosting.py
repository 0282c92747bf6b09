"""What a server side of an adapter serves: a broker, or a server of one's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol, TypeVar

from amqp_sansio.config import ServerConfig
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Event
from amqp_sansio.kernel.deadlines import earliest


class Guest(Protocol):
    """One connection of a host: its socket is the adapter's."""

    def receive_data(self, data: bytes) -> None:
        """Stores octets of the client."""
        raise NotImplementedError

    def receive_eof(self) -> None:
        """The client sends nothing more."""
        raise NotImplementedError

    def data_to_send(self) -> bytes:
        """Takes everything that is to be written now."""
        raise NotImplementedError

    @property
    def wants_data(self) -> bool:
        """Whether more is read now."""
        raise NotImplementedError

    @property
    def finished(self) -> bool:
        """Whether the socket is to be closed."""
        raise NotImplementedError


Some = TypeVar("Some", bound=Guest, covariant=True)


class Host(Protocol[Some]):
    """Who serves many connections: `Broker`, or `OwnServer`."""

    def next_event(self) -> tuple[Some, Event] | None:
        """The next thing that happened, None when there is nothing to read."""
        raise NotImplementedError

    def ready(self) -> tuple[Some, ...]:
        """Who has octets to send now, or has ended."""
        raise NotImplementedError

    def tick(self, now: float) -> float | None:
        """Does what is due; the moment at which to call again."""
        raise NotImplementedError


class OwnServer:
    """A server of one's own: `handle` is called with each event and its connection, and says on it what it likes."""

    def __init__(self, config: ServerConfig, handle: Callable[[ServerConnection, Event], object]) -> None:
        self.config: Final = config
        self._handle: Final = handle
        self._connections: Final[dict[ServerConnection, None]] = {}

    def connect(self) -> ServerConnection:
        """A new connection."""
        connection = ServerConnection(self.config)
        self._connections[connection] = None
        return connection

    def next_event(self) -> tuple[ServerConnection, Event] | None:
        """The next thing that happened; it was handled."""
        for connection in list(self._connections):
            event = connection.next_event()
            if event is not None:
                del self._connections[connection]
                self._connections[connection] = None  # to the end: each in its turn
                self._handle(connection, event)
                return connection, event
        return None

    def ready(self) -> tuple[ServerConnection, ...]:
        """Who has octets to send now, or has ended."""
        ready = tuple([each for each in self._connections if each.bytes_to_send or each.finished])
        for connection in ready:
            if connection.finished:
                del self._connections[connection]
        return ready

    def tick(self, now: float) -> float | None:
        """Tells all of them the time."""
        moment: float | None = None
        for connection in list(self._connections):
            moment = earliest(moment, connection.tick(now))
        return moment
