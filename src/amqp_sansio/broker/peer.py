"""One connection of the broker: its input and output."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.access.rule import Kind, Request, Verb
from amqp_sansio.broker.model.owner import CONNECTION, Owner
from amqp_sansio.config import Accepted, Rejected, ServerConfig
from amqp_sansio.engine.doorstep import Doorstep
from amqp_sansio.events import Authenticated, ConnectionClosed, Event, OpenRequested
from amqp_sansio.spec.codes import CloseCode

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.fronts.front import Holder, Subscription
    from amqp_sansio.broker.host_runtime import Site
    from amqp_sansio.dialects import ConnectionCode


class Peer:
    """A connection of the broker, made by `Broker.connect`; the application owns the socket.

    `receive_data` and `receive_eof` store; `Broker.next_event` acts.  `Broker.ready` returns it when there is output to take.
    """

    __slots__ = (
        "_broker",
        "_config",
        "_connection",
        "_door",
        "_ended",
        "_eof",
        "_freed",
        "_identity",
        "_in_turn",
        "_lingered",
        "_most",
        "_service",
        "_site",
        "_stalled",
        "_waits",
        "_writable",
        "number",
        "_owner",
    )

    def __init__(self, broker: Broker, number: int, config: ServerConfig) -> None:
        self.number: Final = number
        """Its number among the broker's connections, from 1; it identifies the origin of messages."""
        self._owner: Final = Owner(CONNECTION, number)
        """Its identity in the model: the owner of queues that are exclusive to the connection."""
        self._broker: Final = broker
        self._config: Final = config
        self._most: Final = broker.limits.outbox_octets
        self._door: Doorstep | None = Doorstep(config)
        self._connection = self._door.connection
        self._connection._most_waiting = self._most
        self._identity: str | None = None
        self._site: Site | None = None
        """The virtual host that it opened, at run time."""
        self._stalled: Final[dict[Subscription, None]] = {}
        """Consumers that could have had a message if our output had been taken."""
        self._freed: Final[dict[Holder, None]] = {}
        """Sessions that keep less for replay than before, and for which something waited for that."""
        self._waits = False
        """Whether its request waits for the journal: none of its octets is read before."""
        self._in_turn = False
        self._eof = False
        self._ended = False
        self._writable = True
        self._lingered = False
        self._service = broker._serving(self) if self._door.passed else Service(self)

    # --- the socket -------------------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets from the client.  Raises LocalProtocolError after `receive_eof`."""
        if self._door is None:
            self._connection.receive_data(data)
        else:
            self._door.receive_data(data)
            self._enter()
        self._broker._stored(self)

    def receive_eof(self) -> None:
        """Records that the client sends nothing more.  May be repeated."""
        if self._door is None:
            self._connection.receive_eof()
        else:
            self._door.receive_eof()
            self._enter()
        self._eof = True
        self._broker._stored(self)

    def _enter(self) -> None:
        """Takes over the connection once the client's dialect is known."""
        assert self._door is not None
        if self._door.passed:
            self._connection = self._door.connection
            self._connection._most_waiting = self._most
            self._service = self._broker._serving(self)
            self._door = None

    def data_to_send(self) -> bytes:
        """Takes all pending output.  What waited for room continues, perhaps with more output at once."""
        octets = self._connection.data_to_send()
        self._broker._taken(self)
        return octets

    @property
    def bytes_to_send(self) -> int:
        """Octets of pending output, a lower bound; 0 when there are none."""
        return self._connection.bytes_to_send

    @property
    def wants_data(self) -> bool:
        """False while nothing more should be read: it has ended, it has stored enough, or its output must be taken first."""
        return self._connection.wants_data and not self.full

    @property
    def full(self) -> bool:
        """Whether too much output is pending for further deliveries (BrokerLimits.outbox_octets)."""
        return self._connection.bytes_to_send >= self._most

    @property
    def writable(self) -> bool:
        """Whether its socket accepts octets; set it to False while it does not.

        `Broker.ready` then omits the connection, so that a client that never reads costs the others nothing.
        """
        return self._writable

    @writable.setter
    def writable(self, writable: bool) -> None:
        self._writable = writable
        if writable and self._connection.bytes_to_send:
            self._broker._wrote(self)

    @property
    def finished(self) -> bool:
        """True when it is over and all output was taken: close the socket."""
        return self._connection.finished

    @property
    def identity(self) -> str | None:
        """The client's authenticated identity, "" when it is anonymous; None until it is known."""
        return self._identity

    @property
    def ended(self) -> bool:
        """Whether the connection has ended."""
        return self._ended

    @property
    def is_open(self) -> bool:
        """Whether the client has logged in and opened a virtual host."""
        return self._connection.is_open

    def take_deferred(self) -> Callable[[], Accepted | Rejected] | None:
        """See `ServerConnection.take_deferred`."""
        return self._connection.take_deferred()

    def decided(self, verdict: Accepted | Rejected) -> None:
        """See `ServerConnection.decided`."""
        self._connection.decided(verdict)
        self._broker._stored(self)
        self._broker._wrote(self)

    def close(self, code: ConnectionCode = CloseCode.NORMAL, text: str = "") -> None:
        """Closes the connection, as `ServerConnection.close` does and with the same errors."""
        self._connection.close(code, text)
        self._broker._wrote(self)
        self._broker._agenda.note(self, self._connection.due)
        if self._connection.eventful:  # before the headers agree it is over at once
            self._broker._stored(self)

    @property
    def _stopped_lingering(self) -> bool:
        """Returns whether the wait for the answer to our close has just ended; once."""
        if self._lingered and not self._connection.lingers:
            self._lingered = False
            return True
        return False

    # --- internals ------------------------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Ends the connection."""
        self._ended = True
        self._lingered = self._connection.lingers
        self._broker._forget_peer(self)

    def _tick(self, now: float) -> None:
        """Sets the time (monotonic seconds)."""
        broker, connection = self._broker, self._connection
        moment = connection.tick(now)
        if connection.bytes_to_send or self._stopped_lingering:
            broker._wrote(self)
        broker._agenda.note(self, moment)
        if connection.eventful:
            broker._in_turn(self)

    @property
    def held_up(self) -> bool:
        """Whether nothing is read from it now: it waits for the journal, or for its output to be taken."""
        return self._waits or (self.full and not self._eof)

    def __repr__(self) -> str:
        return f"<Peer {self._identity!r} {self._connection.state}>"


class Service:
    """Acts on the events of a connection, before they are returned.

    A base class, from which each family derives its own with one method per event.  It handles what all families share: the
    client's identity, the virtual host, and the end.  It serves a connection until its dialect is known.
    """

    serves = False
    """Whether clients are admitted."""

    def __init__(self, peer: Peer) -> None:
        self.peer: Final = peer

    def act_on(self, event: Event) -> None:
        """Acts on an event.  Never raises because of a client."""
        match event:
            case Authenticated():
                self.peer._identity = event.identity
            case OpenRequested():
                self._open(event.virtual_host)
            case ConnectionClosed():
                self.peer._end()
            case _:
                pass  # nothing depends on it

    def _open(self, name: str) -> None:
        """Admits the client to a virtual host, or refuses with the reason.

        402 for one that does not exist or that the rules deny; 320 beyond the limit, and for a dialect without a front.
        """
        peer = self.peer
        broker, allowed = peer._broker, peer._config.virtual_hosts
        guard, identity = broker._guard, peer._identity or ""
        may = guard is None or guard.may(Request(identity, Verb.OPEN, Kind.HOST, name, None, name))
        there = may and broker.exists(name) and (allowed is None or name in allowed)
        site = broker._open(name) if there and self.serves else None
        if site is not None:
            site.users += 1
            peer._site = site  # the connection accepts the client itself with its next event
        elif not there:
            peer._connection.close(CloseCode.INVALID_PATH, "no such virtual host")
        elif not self.serves:
            peer._connection.close(CloseCode.CONNECTION_FORCED, "this broker has no front for the dialect of the connection")
        else:
            peer._connection.close(CloseCode.CONNECTION_FORCED, "limits.virtual_hosts: no more virtual hosts can be opened")

    def drained(self) -> None:
        """Lets whatever waited for the client's input continue; called once all of it is handled."""
        freed = self.peer._freed
        if freed:
            holders = list(freed)
            freed.clear()
            for holder in holders:
                holder.replay_freed()
