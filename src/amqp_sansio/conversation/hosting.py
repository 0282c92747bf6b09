"""The interface between a server adapter and what it serves: a broker, or a server of your own."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import Any, Final, Protocol, TypeVar, cast, overload

from amqp_sansio.config import Accepted, Rejected, ServerConfig
from amqp_sansio.engine.handshake import Doorstep, ServerHandshake
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import Event
from amqp_sansio.kernel.timers import AT_ONCE, Agenda
from amqp_sansio.spec.codes import CloseCode

UNSENT: Final = 1024 * 1024
"""Unsent octets from which on a client of `OwnServer` is not read."""


class Guest(Protocol):
    """One connection of a host; the adapter owns its socket."""

    writable: bool
    """Whether its socket takes octets; set by the adapter.  While it is False, `Host.ready` does not return the guest."""

    def receive_data(self, data: bytes) -> None:
        """Stores octets from the client."""

    def receive_eof(self) -> None:
        """Notes that the client sends nothing more."""

    def data_to_send(self) -> bytes:
        """Takes everything that is to be written now."""

    @property
    def wants_data(self) -> bool:
        """Whether the socket should be read now."""

    @property
    def full(self) -> bool:
        """Whether it wants no data until its output is taken."""

    @property
    def finished(self) -> bool:
        """Whether the socket must be closed."""

    @property
    def is_open(self) -> bool:
        """Whether the client has logged in and opened a virtual host."""

    def take_deferred(self) -> Callable[[], Accepted | Rejected] | None:
        """Returns a password check, once, to be run where it blocks nobody."""

    def decided(self, verdict: Accepted | Rejected) -> None:
        """Passes on the verdict of that check."""


Some = TypeVar("Some", bound=Guest, covariant=True)
S = TypeVar("S", bound=ServerHandshake)


class Host(Protocol[Some]):
    """Serves many connections: a `Broker`, or an `OwnServer`."""

    def next_event(self) -> tuple[Some, Event] | None:
        """Handles and returns the next event; None when there is none."""

    def ready(self) -> tuple[Some, ...]:
        """Returns the connections that have octets to send and can, or have ended."""

    def tick(self, now: float) -> float | None:
        """Sets the time and does what is due.  Called before the events, in every turn."""

    @property
    def due(self) -> float | None:
        """The moment of the next turn, asked for last: not after the last tick when there is something to do at once."""


def load(config: ServerConfig) -> None:
    """Imports what a client of this config needs; once it connects, other clients may have used up all file descriptors."""
    for dialect in config.dialects:
        _ = dialect.codec


class OwnServer:
    """A server of your own: calls `handle` with each event and its connection, on which it may send whatever it likes.

    The connection is a ServerConnection, or the ChannelServerConnection of a client that speaks a dialect with channels.

    When `handle` raises, that connection is closed (320) and `failed` gets the error; without `failed` the server raises it.
    """

    @overload
    def __init__(
        self,
        config: ServerConfig,
        handle: Callable[[ServerConnection, Event], object],
        failed: Callable[[ServerConnection, Exception], object] | None = None,
    ) -> None: ...

    @overload
    def __init__(
        self,
        config: ServerConfig,
        handle: Callable[[S, Event], object],
        failed: Callable[[S, Exception], object] | None = None,
    ) -> None: ...

    def __init__(
        self,
        config: ServerConfig,
        handle: Callable[[Any, Event], object],  # Any: of either class, as the dialects of `config` say
        failed: Callable[[Any, Exception], object] | None = None,
    ) -> None:
        self.config: Final = config
        load(config)
        self._handle: Final = handle
        self._failed: Final = failed
        self._connections: Final[dict[OwnGuest, None]] = {}
        self._turns: Final[OrderedDict[OwnGuest, None]] = OrderedDict()
        self._said: dict[OwnGuest, None] = {}  # those that may have octets to send, or have ended
        self._agenda: Final[Agenda[OwnGuest]] = Agenda()
        self._untold: Final[dict[OwnGuest, None]] = {}  # those that received octets since the last tick
        self._now = AT_ONCE

    def connect(self) -> OwnGuest:
        """Returns a new connection."""
        guest = OwnGuest(self)
        self._connections[guest] = None
        self._untold[guest] = None
        return guest

    def _note(self, guest: OwnGuest) -> None:
        if guest in self._connections:
            self._agenda.note(guest, guest.connection.due)

    def next_event(self) -> tuple[OwnGuest, Event] | None:
        """Handles and returns the next event.  Connections take turns."""
        while self._turns:
            guest, _ = self._turns.popitem(last=False)
            event = guest.connection.next_event()
            self._said[guest] = None
            if event is None and guest.connection._undecoded:  # others have their turn
                self._turns[guest] = None
                break
            if event is not None:
                self._turns[guest] = None
                self._handle_one(guest.connection, event)
                return guest, event
            self._note(guest)
        return None

    def _handle_one(self, connection: ServerConnection, event: Event) -> None:
        try:
            self._handle(connection, event)
        except Exception as error:
            if connection._closed_cause is None:
                connection.close(CloseCode.CONNECTION_FORCED, "internal error")
            if self._failed is None:
                raise
            self._failed(connection, error)

    def ready(self) -> tuple[OwnGuest, ...]:
        """Returns the connections that have octets to send and can, or have ended."""
        ready = tuple([each for each in self._said if each.over or (each.writable and each.connection.bytes_to_send)])
        self._said = dict.fromkeys([each for each in ready if not each.over])
        for guest in ready:
            if guest.over:
                self._connections.pop(guest, None)
                self._untold.pop(guest, None)
                self._agenda.forget(guest)
        return ready

    def spoke(self, guest: OwnGuest) -> None:
        """Notes that a call made output on the connection; its machine calls this."""
        self._turns[guest] = None

    def tick(self, now: float) -> float | None:
        """Ticks the connections that received octets or have something due; returns `due`."""
        self._now = now
        due = dict.fromkeys([*self._untold, *self._agenda.due(now)])
        self._untold.clear()
        for guest in due:
            guest.connection.tick(now)
            if guest.connection.eventful:
                self._turns[guest] = None
            self._said[guest] = None
            self._note(guest)
        return self.due

    @property
    def due(self) -> float | None:
        """The moment of the next turn: not after the last tick when there is something to read."""
        return self._now if self._turns or self._untold else self._agenda.next


class OwnGuest(Guest):
    """One connection of an `OwnServer`."""

    def __init__(self, server: OwnServer) -> None:
        self._door: Final = Doorstep(server.config, partial(server.spoke, self))
        self._server: Final = server
        self._writable = True
        self._eof = False

    @property
    def connection(self) -> ServerConnection:
        """Its machine; replaced when the client's protocol header shows that it speaks another dialect."""
        # A handler for several families uses only what they have in common.
        return cast("ServerConnection", self._door.connection)

    def receive_data(self, data: bytes) -> None:
        """Stores octets from the client."""
        self._door.receive_data(data)
        self._stored()

    def receive_eof(self) -> None:
        """Notes that the client sends nothing more."""
        self._door.receive_eof()
        self._eof = True
        self._stored()

    def _stored(self) -> None:
        self._server._turns[self] = None
        self._server._untold[self] = None

    def data_to_send(self) -> bytes:
        """Takes everything that is to be written now."""
        octets = self.connection.data_to_send()
        self._server._said[self] = None
        self._server._note(self)
        return octets

    @property
    def writable(self) -> bool:
        """Whether its socket takes octets."""
        return self._writable

    @writable.setter
    def writable(self, writable: bool) -> None:
        self._writable = writable
        if writable:
            self._server._said[self] = None

    @property
    def wants_data(self) -> bool:
        """Whether the socket should be read now."""
        return self.connection.wants_data and not self.full

    @property
    def full(self) -> bool:
        """See `Guest`."""
        return self.connection.bytes_to_send >= UNSENT

    @property
    def finished(self) -> bool:
        """Whether the socket must be closed."""
        return self.connection.finished

    @property
    def over(self) -> bool:
        """Whether it has finished, or has ended after the client's end of input, so that the rest may have no reader."""
        return self.finished or (self._eof and self.connection._ended)

    @property
    def is_open(self) -> bool:
        """Whether the client has logged in and opened a virtual host."""
        return self.connection.is_open

    def take_deferred(self) -> Callable[[], Accepted | Rejected] | None:
        """See `Guest`."""
        return self.connection.take_deferred()

    def decided(self, verdict: Accepted | Rejected) -> None:
        """See `Guest`."""
        self.connection.decided(verdict)
        self._server.spoke(self)
