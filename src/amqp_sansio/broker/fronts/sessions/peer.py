"""One connection of the broker: what its socket carries goes in and out here."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.fronts.sessions.holder import Holder
from amqp_sansio.broker.fronts.sessions.publishing import publish
from amqp_sansio.broker.fronts.sessions.table import execute
from amqp_sansio.broker.model.owner import CONNECTION, Owner
from amqp_sansio.config import Accepted, Rejected, ServerConfig
from amqp_sansio.engine.doorstep import Doorstep
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.events import (
    AttachRequested,
    Authenticated,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    Event,
    ExceptionReceived,
    OpenRequested,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.spec.codes import CloseCode, DetachCode

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.fronts.sessions.consumer import Consumer
    from amqp_sansio.broker.fronts.sessions.site import Site

SESSION_FLOW: Final = "qpid.session_flow"
"""The client property by which a client says that it understands to be throttled."""


class Peer:
    """A connection of the broker, which `Broker.connect` makes; the socket is yours.

    `receive_data` and `receive_eof` store; `Broker.next_event` acts.  `Broker.ready` tells when there is something to take.
    """

    __slots__ = (
        "_broker",
        "_clogged",
        "_config",
        "_connection",
        "_door",
        "_ended",
        "_eof",
        "_holders",
        "_identity",
        "_in_turn",
        "_lingered",
        "_most",
        "_requested",
        "_session_flow",
        "_site",
        "_stalled",
        "number",
        "_owner",
    )

    def __init__(self, broker: Broker, number: int, config: ServerConfig) -> None:
        self.number: Final = number
        """Among the connections of this broker, 1 and up: by it a message knows where it came from."""
        self._owner: Final = Owner(CONNECTION, number)
        """As the model knows it: whoever has the queues that are exclusive to the connection."""
        self._broker: Final = broker
        self._config: Final = config
        self._most: Final = broker.limits.outbox_octets
        self._door: Doorstep | None = Doorstep(config)
        self._connection = self._door.connection
        self._connection._most_waiting = self._most
        self._identity: str | None = None
        self._site: Site | None = None
        """The virtual host that it opened, and what belongs to it."""
        self._holders: Final[dict[bytes, Holder]] = {}
        """By name, what the sessions hold that were attached here last."""
        self._stalled: Final[dict[Consumer, None]] = {}
        """Who could have had a message, were our octets taken."""
        self._clogged: Final[dict[Consumer, None]] = {}
        """Who could have had a message, were not too much kept for replay."""
        self._session_flow = False
        self._in_turn = False
        self._eof = False
        self._ended = False
        self._lingered = False
        self._requested: AttachRequested | None = None

    # --- the socket -------------------------------------------------------------------------------------------------------

    def receive_data(self, data: bytes | bytearray | memoryview) -> None:
        """Stores octets of the client.  Raises LocalProtocolError after `receive_eof`."""
        if self._door is None:
            self._connection.receive_data(data)
        else:
            self._door.receive_data(data)
            self._enter()
        self._broker._stored(self)

    def receive_eof(self) -> None:
        """The client sends nothing more.  Saying so twice does no harm."""
        if self._door is None:
            self._connection.receive_eof()
        else:
            self._door.receive_eof()
            self._enter()
        self._eof = True
        self._broker._stored(self)

    def _enter(self) -> None:
        """What the client speaks is known, or not yet."""
        assert self._door is not None
        if self._door.passed:
            self._connection = self._door.connection
            self._connection._most_waiting = self._most
            self._door = None

    @property
    def _sessions(self) -> ServerConnection:
        """The connection, where sessions are spoken on it."""
        assert isinstance(self._connection, ServerConnection)
        return self._connection

    def data_to_send(self) -> bytes:
        """Takes everything that is to be written now.  What waited for room goes on, and may be there to be taken at once."""
        octets = self._connection.data_to_send()
        self._broker._taken(self)
        return octets

    @property
    def bytes_to_send(self) -> int:
        """Octets that wait to be taken, at least so many; 0 when there is nothing to take."""
        return self._connection.bytes_to_send

    @property
    def wants_data(self) -> bool:
        """False when nothing more is read now: it ended, it has stored enough, or its own octets must be taken first."""
        return self._connection.wants_data and not self.full

    @property
    def full(self) -> bool:
        """Whether so many octets wait to be taken that there are no more deliveries (BrokerLimits.outbox_octets)."""
        return self._connection.bytes_to_send >= self._most

    @property
    def finished(self) -> bool:
        """True when it is over and everything was taken: close the socket."""
        return self._connection.finished

    @property
    def identity(self) -> str | None:
        """Who the client proved to be, "" when it is anonymous; None as long as nobody knows."""
        return self._identity

    @property
    def ended(self) -> bool:
        """Whether the connection is over: nothing more happens on it."""
        return self._ended

    @property
    def is_open(self) -> bool:
        """Whether the client has logged in and opened a virtual host."""
        return self._connection.is_open

    def take_deferred(self) -> Callable[[], Accepted | Rejected] | None:
        """As `ServerConnection.take_deferred`."""
        return self._connection.take_deferred()

    def decided(self, verdict: Accepted | Rejected) -> None:
        """As `ServerConnection.decided`."""
        self._connection.decided(verdict)
        self._broker._stored(self)
        self._broker._wrote(self)

    def close(self, code: int = CloseCode.NORMAL, text: str = "") -> None:
        """Says connection.close, as `ServerConnection.close` does and with the same errors."""
        self._connection.close(code, text)
        self._broker._wrote(self)
        self._broker._agenda.note(self, self._connection.due)
        if self._connection.eventful:  # before the headers agree it is over at once
            self._broker._stored(self)

    @property
    def _stopped_lingering(self) -> bool:
        """Whether it waited for the answer to our close and does so no more; said once."""
        if self._lingered and not self._connection.lingers:
            self._lingered = False
            return True
        return False

    # --- what happens -----------------------------------------------------------------------------------------------------

    def _act_on(self, event: Event) -> None:
        """Does what an event of the connection asks for.  Never raises for what a client says."""
        kind = type(event)
        if kind is TransferReceived:
            assert isinstance(event, TransferReceived)
            holder = self._holders.get(event.session)
            if holder is not None and not holder.ended:
                publish(holder, event)
        elif kind is CommandsCompleted:
            assert isinstance(event, CommandsCompleted)
            holder = self._holders.get(event.session)
            if holder is not None and not holder.ended:
                holder.completed(event.ids)
        elif kind is CommandReceived:
            assert isinstance(event, CommandReceived)
            holder = self._holders.get(event.session)
            if holder is not None and not holder.ended:
                execute(holder, event)
        else:
            self._act(event)

    def _act(self, event: Event) -> None:
        match event:
            case Authenticated():
                self._identity = event.identity
                self._session_flow = SESSION_FLOW in event.client_properties
            case OpenRequested():
                self._open(event.virtual_host)
            case AttachRequested():
                self._attach(event)
            case SessionAttached():
                holder = self._holders.get(event.session)
                if holder is not None:
                    holder.attached()
            case SessionDetached():
                self._detached(event.session)
            case ExceptionReceived():
                holder = self._holders.get(event.session)
                if holder is not None:
                    holder.end()
            case ConnectionClosed():
                self._ended = True
                self._lingered = self._connection.lingers
                self._broker._forget_peer(self)
            case _:
                pass  # what a session confirmed or skipped, a result that nobody asked for: nothing depends on it

    def _open(self, name: str) -> None:
        """Lets the client into a virtual host, or says why not: 402 for one that does not exist, 320 for one too many."""
        allowed = self._config.virtual_hosts
        site = None
        if allowed is None or name in allowed:
            site = self._broker._open(name)
        if site is not None:
            self._site = site  # the connection lets the client in itself when its next event is asked for
        elif self._broker.exists(name) and (allowed is None or name in allowed):
            self._connection.close(CloseCode.CONNECTION_FORCED, "limits.virtual_hosts: no more virtual hosts can be opened")
        else:
            self._connection.close(CloseCode.INVALID_PATH, "no such virtual host")

    def _attach(self, event: AttachRequested) -> None:
        """Attaches a session: a new one, or the one of that principal and name that was kept."""
        site, name = self._site, event.session
        assert site is not None  # nobody attaches before open-ok
        if self._config.attach == "refuse":
            self._sessions.refuse(name)
            return
        key = (site.host.name, self._identity or "", name)
        number = self._broker._touched(key)
        if number > self._broker._journals.done:  # until then a restart would bring back the session, or messages, as they were
            self._requested = event
            self._broker._journals.after(number, self._attach_again)
            return
        known = self._broker._sessions.get(key)
        if known is not None:
            session = known.session
            holder = session._channel
            if holder is not None and not event.force:
                self._sessions.refuse(name, DetachCode.SESSION_BUSY)
                return
            if session._timeout == 0 or session.state not in ("attached", "resuming", "detached"):
                # Nobody wanted it to live on its own: whoever attaches by force begins anew (as old clients do).
                if holder is not None:
                    holder.force_off()
                known.end()
                if known.peer is not None and known.peer is not self:
                    self._broker._wrote(known.peer)
            else:
                before = known.peer
                self._sessions.accept(name, resume=session)
                known.moved(self)
                if before is not None and before is not self:
                    self._broker._wrote(before)
                self._holders[name] = known
                return
        timeout = self._config.session_timeout
        if timeout != 0 and not self._broker._kept.has_room(key):
            timeout = 0
        session = self._sessions.accept(name, timeout=timeout)
        session._timeout = 0  # it is kept when its client asks for that: others begin anew, and must not find theirs held
        self._holders[name] = Holder(self._broker, self, site, key, session)

    def _drained(self) -> None:
        """All that the client said was heard: who waited until some of what is kept for replay was confirmed goes on."""
        if self._clogged:
            clogged = list(self._clogged)
            self._clogged.clear()
            for consumer in clogged:
                consumer.wake()
        throttle = self._broker._throttle
        if throttle.owing:
            for holder in list(self._holders.values()):
                if holder in throttle.owing:
                    throttle.attached(holder)

    @property
    def waits(self) -> bool:
        """Whether a session that it asks for waits for the journal: nothing of what it says is read before."""
        return self._requested is not None

    @property
    def held_up(self) -> bool:
        """Whether nothing is read from it now: it waits for the journal, or for its octets to be taken."""
        return self.waits or (self.full and not self._eof)

    def _attach_again(self) -> None:
        event, self._requested = self._requested, None
        if event is not None and not self._ended and self._connection._closed_cause is None:
            self._attach(event)
            self._broker._wrote(self)
        self._broker._stored(self)

    def _detached(self, name: bytes) -> None:
        holder = self._holders.get(name)
        if holder is None:
            return
        if holder.peer is not self:  # it was taken to another connection, or is over
            del self._holders[name]
        elif holder.session._channel is None:
            del self._holders[name]
            holder.detached()

    def __repr__(self) -> str:
        return f"<Peer {self._identity!r} {self._connection.state}>"
