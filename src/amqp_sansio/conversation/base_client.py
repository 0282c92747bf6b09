"""A client over as many connections as it takes, whatever is spoken on them: the pure half of every adapter.

An adapter brings the socket: it calls `begin` for each connection, then in each round feeds what came, ticks, takes what is
to be sent, and asks when the next round is due.  When a connection is over, `Attempts` knows what to try next; when there is
nothing, the adapter says `give_up`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeAlias

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.greeting import KEPT
from amqp_sansio.conversation.happenings import ClientEvent, Connected, GaveUp
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.client_handshake import ClientHandshake
from amqp_sansio.errors import ConnectionClosedError, ConnectionLost, LocalProtocolError
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, ConnectionRedirected, Event

Tap: TypeAlias = Callable[[bool, bytes, bool], None]
"""Is called with octets: whether this side sends them, they, and whether the connection was open by then."""


class BaseClient:
    """What one user wants of a broker, for as long as the policy lets it come back.  A base class.

    `opened` is settled with each open connection (it is a new ticket after a loss), `ended` when there will be no other one.
    `wake` is called when there is something to send.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        retry: RetryPolicy = NEVER,
        tell: Callable[[ClientEvent], None] = lambda event: None,
        tap: Tap | None = None,
    ) -> None:
        self.config = config
        self.guard: AbstractContextManager[object] = nullcontext()
        """Held during each call: a lock where several threads make calls."""
        self.retry: Final = retry
        self.wake: Callable[[], None] = lambda: None
        self.tell = tell
        """Is called with what happens; raises nothing."""
        self.tap: Final = tap
        self.endpoint = ""
        """Where the present connection goes."""
        self.opened: Ticket[ConnectionOpened] = Ticket()
        self.ended: Final[Ticket[None]] = Ticket()
        self.closing = False
        self.confidential = True
        """Whether nobody else can read what the next connection says: `Attempts` knows."""
        self.closed: ConnectionClosed | None = None
        """How the last connection ended."""
        self.redirected: ConnectionRedirected | None = None
        """Where the broker sends us, until the next connection begins."""
        self.known_hosts: tuple[str, ...] = ()
        """What the last open connection told about other hosts."""
        self.connections = 0
        """How many were open so far."""
        self.heard = 0
        """How often octets came."""
        self.entered = False
        """Whether somebody brings it onto connections: without, every call would wait for ever."""
        self.useful = False
        """Whether anything was answered or came on the last connection that was open."""
        self._since: float | None = None  # when that was first ticked, and when last
        self._until = 0.0
        self._greeted = False
        self._hides = False  # what is sent next holds a secret
        self.said = b""
        """How the other side began on the present connection, as long as it is not open."""
        self.failure: OSError | None = None
        """What the system or TLS said when the present connection ended."""
        self._machine: ClientHandshake | None = None
        self._make()  # whoever asks for what cannot be is told so himself, and not a task in the background

    # --- what a family does ------------------------------------------------------------------------------------------------

    def _make(self) -> ClientHandshake:
        """The machine of a new connection."""
        raise NotImplementedError

    def flush(self) -> None:
        """Says what is owed, before octets are taken."""

    @property
    def right_door(self) -> str:
        """The rest of the error about another protocol: which `connect` speaks it, where one does."""
        return ""

    @property
    def awaits_end(self) -> bool:
        """Whether `due` may be sooner than it was before octets came."""
        return False

    def _hear(self) -> None:
        """All events there are; `_heard` has those of the connection."""
        raise NotImplementedError

    def _connected(self) -> None:
        """The connection is open: what is wanted of it begins."""
        raise NotImplementedError

    def _over(self, error: Exception) -> None:
        """There will be no other connection: all that is wanted of it fails."""
        raise NotImplementedError

    def enter(self) -> None:
        """Somebody opens it.  LocalProtocolError when it was opened before: `connect` makes another one."""
        if self.entered:
            raise LocalProtocolError("opening a connection", "opened before", ("connect again",))
        self.entered = True

    def must_be_entered(self, said: str) -> None:
        """LocalProtocolError before that."""
        if not self.entered:
            raise LocalProtocolError(said, "before its connection is open", ("async with connect(...)", "await connect(...)"))

    @property
    def is_open(self) -> bool:
        """Whether there is an open connection now."""
        return self._machine is not None and self._machine.is_open and self.closed is None

    @property
    def remade(self) -> int:
        """How many connections were opened behind the first one."""
        return max(self.connections - 1, 0)

    # --- what an adapter calls ---------------------------------------------------------------------------------------------

    def begin(self) -> ClientHandshake:
        """A new connection: its machine, to be fed and emptied through this object."""
        self._machine = machine = self._make()
        self.closed = None
        self.redirected = None
        self._since = None
        self._greeted = False
        self.said = b""
        self.failure = None
        return machine

    @property
    def machine(self) -> ClientHandshake:
        """The machine of the present connection.  ConnectionClosedError when there is none yet."""
        if self._machine is None:
            raise ConnectionClosedError("a word", "no connection was begun yet")
        return self._machine

    def receive_data(self, data: bytes) -> None:
        """Octets came: `tick` does what follows from them."""
        machine = self._machine or self.machine
        if not self._greeted and len(self.said) < KEPT:
            self.said += data[: KEPT - len(self.said)]
        self.heard += 1
        if self.tap is not None:
            self.tap(False, data, self._greeted)
        machine.receive_data(data)

    def receive_eof(self, error: OSError | None = None) -> None:
        """No more octets will come on this connection; `error` is what the system or TLS said.  `tick` does the rest."""
        self.failure = error
        self.machine.receive_eof()

    def tick(self, now: float) -> float | None:
        """Says what time it is (monotonic seconds); then everything happens that follows from what came.

        Answers what `due` would before that.
        """
        machine = self._machine or self.machine
        self.flush()
        due = machine.tick(now)
        self._until = now
        self._hear()
        if self._since is None and machine.is_open:
            self._since = now
        return due

    def data_to_send(self) -> bytes:
        """The octets that are to be written now."""
        machine = self._machine or self.machine
        octets = machine.data_to_send()
        if self.tap is not None and octets:
            self.tap(True, octets, self._greeted and not self._hides)
            self._hides = False
        return octets

    @property
    def due(self) -> float | None:
        """The moment at which to tick when nothing comes before; asked last, behind the octets to send.  None: never."""
        return self.machine.due

    def lasted(self, seconds: float) -> bool:
        """Whether the last connection was open for as long as that, by the times of `tick`."""
        return self._since is not None and self._until - self._since >= seconds

    @property
    def comes_back(self) -> bool:
        """Whether another connection is to be tried when this one is lost."""
        return not self.closing and self.retry.attempts != 0 and self.connections > 0

    def give_up(self, error: Exception) -> None:
        """There will be no other connection: everybody who waits hears why."""
        if not self.ended.done:
            self.tell(GaveUp(str(error)))
        self.opened.fail(error)
        self._over(error)
        if self.closing and isinstance(error, ConnectionLost):
            self.ended.settle(None)
        else:
            self.ended.fail(error)

    def close(self) -> Ticket[None]:
        """Closes the connection; settled when it is closed and nobody comes back.  One that is not open is just left."""
        self.closing = True
        if self.ended.done:
            return self.ended
        machine = self._machine
        self.flush()
        if machine is None or machine.finished or not machine.is_open:
            self.give_up(ConnectionLost("it was closed here"))
        elif machine._closed_cause is None:
            machine.close()
            self._hear()
            self.wake()
        return self.ended

    def _heard(self, event: Event) -> None:
        """What happened to the connection."""
        match event:
            case ConnectionOpened():
                self._greeted = True
                self.connections += 1
                self.useful = False
                self.known_hosts = event.known_hosts
                self.tell(Connected(self.endpoint, self.connections))
                self._connected()
                self.opened.settle(event)
            case ConnectionRedirected():
                self.redirected = event
            case ConnectionClosed():
                self.closed = event
                if self.opened.done:
                    self.opened = Ticket()
            case _:
                pass  # nothing that a connection without a family hears
