"""A client over as many connections as it needs, for sessions and channels alike: the I/O-free half of every adapter.

An adapter supplies the socket.  It calls `begin` for each connection; in each round it passes input, ticks, takes output, and
asks when the next round is due.  When a connection is over, `Attempts` says what to try next; when there is nothing left, the
adapter calls `give_up`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Final, Generic, TypeAlias

from typing_extensions import TypeVar

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.causes import KEPT
from amqp_sansio.conversation.happenings import ClientEvent, Connected, GaveUp
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.conversation.tracing import Traces, Tracing
from amqp_sansio.engine.handshake import ClientHandshake
from amqp_sansio.errors import AmqpError, ConnectionClosedError, ConnectionLost, LocalProtocolError, SessionLost
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, ConnectionRedirected, Event
from amqp_sansio.kernel.serials import EMPTY
from amqp_sansio.kernel.timers import earliest

if TYPE_CHECKING:
    from amqp_sansio.conversation.session_core import SessionCore

Tap: TypeAlias = Callable[[bool, bytes, bool], None]
"""A callback for octets: whether this side sends them, the octets, and whether the connection was open."""


M = TypeVar("M", bound=ClientHandshake, default=ClientHandshake, covariant=True)
K = TypeVar("K", bound="BaseCore", default=Any)  # Any: an adapter need not know whether it carries sessions or channels


class BaseCore:
    """Base of the state of a session or a channel.

    `opened` is settled when something may be sent (after a loss there is another ticket), `ended` when it is over for good.
    """

    def __init__(self, client: BaseClient) -> None:
        self.guard: Final = client.guard
        self.traces: Final = client.traces
        self.wake: Final = client.wake
        self.ended: Final[Ticket[None]] = Ticket()
        self._opened: Ticket[None] = Ticket()
        self._remade = 0
        self._room: Ticket[None] | None = None

    @property
    def opened(self) -> Ticket[None]:
        """Settled when something may be sent; replaced by another ticket after a loss."""
        return self._opened

    @property
    def remade(self) -> int:
        """How often it was opened again after a loss."""
        return self._remade

    @property
    def over(self) -> bool:
        """Whether it is over, or failed and was not opened again: nothing more will be executed."""
        return self.ended.done

    @property
    def has_room(self) -> bool:
        """Whether a message may be published within the limits."""
        raise NotImplementedError

    @property
    def room(self) -> Ticket[None]:
        """Settled when there is room; fails when there never will be."""
        if self._room is None or self._room.done:
            self._room = Ticket()
            if self.ended.done:
                self._room.fail(self.ended.error or self._closed_here)
            self._check_room()
        self.prompt()
        return self._room

    def _check_room(self) -> None:
        if self._room is not None and self.has_room:
            self._room.settle(None)

    def prompt(self) -> None:
        """Asks for the confirms of what was published; called when a call waits for them."""
        raise NotImplementedError

    def flush(self) -> None:
        """Sends what is owed, before output is taken."""
        raise NotImplementedError

    def close(self) -> Ticket[None]:
        """Ends it; settled when it is over."""
        raise NotImplementedError

    @property
    def _closed_here(self) -> AmqpError:
        """The error for calls after `close`."""
        raise NotImplementedError

    def _over(self, error: Exception | None) -> None:
        """Ends it for good, with everything that is pending; `error` is None where it was closed here."""
        raise NotImplementedError

    def _end(self, error: Exception | None, gone: Exception) -> None:
        """Settles `ended`; calls that wait to send something raise the error `gone`."""
        if self._opened.done:
            self._opened = Ticket()
        self._opened.fail(gone)
        if self._room is not None:
            self._room.fail(gone)
        if error is None:
            self.ended.settle(None)
        else:
            self.ended.fail(error)


class BaseClient(Generic[M, K]):
    """Base of a client: what the program wants of a broker, for as long as the retry policy allows reconnecting.

    `opened` is settled with each open connection (after a loss there is a new ticket), `ended` when there will be no further
    one. `wake` is called when there is something to send.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        prefix: str,
        retry: RetryPolicy = NEVER,
        tell: Callable[[ClientEvent], None] = lambda event: None,
        tap: Tap | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        self.config = config
        self.prefix: Final = prefix
        """The random prefix of the names of its sessions, or of the tags of its consumers, which no other client uses."""
        self.traces: Final = None if tracing is None else Traces(tracing, lambda: self.endpoint)
        self.guard: AbstractContextManager[object] = nullcontext()
        """Held during each call: a lock, where several threads make calls."""
        self.retry: Final = retry
        self.wake: Callable[[], None] = lambda: None
        self.tell = tell
        """Called with each event of the client; raises nothing."""
        self.tap: Final = tap
        self.endpoint = ""
        """The address of the present connection."""
        self.opened: Ticket[ConnectionOpened] = Ticket()
        self.ended: Final[Ticket[None]] = Ticket()
        self.closing = False
        self.confidential = True
        """Whether nobody else can read what we send on the next connection; set by `Attempts`."""
        self.closed: ConnectionClosed | None = None
        """How the last connection ended."""
        self.redirected: ConnectionRedirected | None = None
        """Where the broker redirects us, until the next connection begins."""
        self.known_hosts: tuple[str, ...] = ()
        """The other hosts that the last open connection named."""
        self.connections = 0
        """How many connections were open so far."""
        self.heard = 0
        """How often octets arrived."""
        self.entered = False
        """Whether an adapter has started it; without that, every call would wait for ever."""
        self.useful = False
        """Whether the last open connection was of any use: a command was answered or something arrived."""
        self._since: float | None = None  # when it was first ticked, and when last
        self._until = 0.0
        self._greeted = False
        self._hides = False  # the next output contains a secret
        self.said = b""
        """The first octets from the peer on the present connection, until it is open."""
        self.failure: OSError | None = None
        """The error of the operating system or TLS that ended the present connection."""
        self._machine: M | None = None
        self.cores: Final[dict[bytes | int, K]] = {}
        """Its sessions by name, or its channels by ordinal."""
        self._owing: Final[dict[K, None]] = {}
        self._later: Final[dict[K, float]] = {}  # those for which something is due, and when
        self._numbers = 0  # of sessions or channels opened so far
        self._make()  # raises for a wrong config in the caller, not in a background task

    # --- implemented by each family -----------------------------------------------------------------------------------------

    def _make(self) -> M:
        """Returns the machine of a new connection."""
        raise NotImplementedError

    @property
    def right_door(self) -> str:
        """The end of the error about a peer with another protocol: which `connect` speaks it, where one does."""
        return ""

    def _hear(self) -> None:
        """Handles all pending events; `_heard` handles those of the connection."""
        raise NotImplementedError

    def _open(self, core: K) -> None:
        """Opens a session or channel on the open connection."""
        raise NotImplementedError

    # --- sessions or channels -----------------------------------------------------------------------------------------------

    @property
    def _opens(self) -> bool:
        """Whether a session or channel can be opened now."""
        return self.is_open

    def _add(self, key: bytes | int, core: K) -> K:
        """Adds a session or channel, which is opened as soon as that can be."""
        if self._opens:
            self._open(core)
        self.cores[key] = core
        return core

    def _open_all(self, cores: list[K]) -> None:
        for core in cores:
            if not core.ended.done:  # else the program left it while there was no connection
                try:
                    self._open(core)
                except AmqpError as error:  # more than this connection can carry
                    core._over(error)
            if core.ended.done:
                self.gone(core)

    def _connected(self) -> None:
        """Starts what the program wants of the connection, which is open now."""
        self._open_all(list(self.cores.values()))

    def _come_due(self) -> list[K]:
        """Returns the sessions or channels whose moment has come, and forgets the moments."""
        due = [core for core, moment in self._later.items() if moment <= self._until]
        for core in due:
            del self._later[core]
        return due

    def gone(self, core: K) -> None:
        """Forgets a session or channel that is over."""
        self._owing.pop(core, None)
        self._later.pop(core, None)

    def enter(self) -> None:
        """Notes that an adapter starts it.  Raises LocalProtocolError when it was started before."""
        if self.entered:
            raise LocalProtocolError("opening a connection", "opened before", ("connect again",))
        self.entered = True

    def must_be_entered(self, said: str) -> None:
        """Raises LocalProtocolError before `enter`."""
        if not self.entered:
            raise LocalProtocolError(said, "before its connection is open", ("async with connect(...)", "await connect(...)"))

    def must_go_on(self, said: str) -> None:
        """Raises ConnectionClosedError, with the reason, when there will be no further connection."""
        if self.ended.done:
            raise ConnectionClosedError(said, str(self.ended.error or "the client is closed"))

    @property
    def is_open(self) -> bool:
        """Whether there is an open connection now."""
        return self._machine is not None and self._machine.is_open and self.closed is None

    @property
    def remade(self) -> int:
        """How many connections were opened after the first one."""
        return max(self.connections - 1, 0)

    # --- called by the adapter ----------------------------------------------------------------------------------------------

    def owes(self, core: K) -> None:
        """Notes that a session or channel has something to send before output is taken."""
        self._owing[core] = None

    def flush(self) -> None:
        """Lets sessions or channels send what they owe, before output is taken."""
        if self._owing:
            for core in list(self._owing):
                core.flush()
            self._owing.clear()

    def begin(self) -> M:
        """Begins a new connection and returns its machine; input and output go through this object."""
        self._machine = machine = self._make()
        self.closed = None
        self.redirected = None
        self._since = None
        self._greeted = False
        self.said = b""
        self.failure = None
        return machine

    @property
    def machine(self) -> M:
        """The machine of the present connection.  Raises ConnectionClosedError when there is none yet."""
        if self._machine is None:
            raise ConnectionClosedError("a word", "no connection was begun yet")
        return self._machine

    def receive_data(self, data: bytes) -> None:
        """Stores received octets; `tick` handles them."""
        machine = self._machine or self.machine
        if not self._greeted and len(self.said) < KEPT:
            self.said += data[: KEPT - len(self.said)]
        self.heard += 1
        if self.tap is not None:
            self.tap(False, data, self._greeted)
        machine.receive_data(data)

    def receive_eof(self, error: OSError | None = None) -> None:
        """Notes the end of this connection's input; `error` is that of the operating system or TLS.  `tick` handles it."""
        self.failure = error
        self.machine.receive_eof()

    def tick(self, now: float) -> float | None:
        """Sets the time (monotonic seconds) and handles what was received.

        Returns the value that `due` had before.
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
        """Takes the octets that are to be written now."""
        machine = self._machine or self.machine
        octets = machine.data_to_send()
        if self.tap is not None and octets:
            self.tap(True, octets, self._greeted and not self._hides)
            self._hides = False
        return octets

    @property
    def due(self) -> float | None:
        """The moment of the next tick unless something happens before; ask for it after `data_to_send`.  None: never."""
        return earliest(self.machine.due, *self._later.values()) if self._later else self.machine.due

    @property
    def awaits_end(self) -> bool:
        """Whether `due` may be sooner than before octets came."""
        return bool(self._later)

    def lasted(self, seconds: float) -> bool:
        """Whether the last connection was open for at least this long, by the times of `tick`."""
        return self._since is not None and self._until - self._since >= seconds

    @property
    def comes_back(self) -> bool:
        """Whether the client will reconnect when the present connection is lost."""
        return not self.closing and self.retry.attempts != 0 and self.connections > 0

    def give_up(self, error: Exception) -> None:
        """Ends the client: there will be no further connection, and everything pending fails with the reason."""
        if not (self.ended.done or self.closing):
            self.tell(GaveUp(str(error)))
        self.opened.fail(error)
        for core in list(self.cores.values()):
            core._over(error)
        self.cores.clear()
        self._owing.clear()
        self._later.clear()
        if self.closing and isinstance(error, ConnectionLost):
            self.ended.settle(None)
        else:
            self.ended.fail(error)

    def close(self) -> Ticket[None]:
        """Closes the connection; settled when it is closed for good.  One that is not open is just dropped."""
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
        """Handles an event of the connection."""
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
                pass  # an event of a family


class Ending:
    """Gives the peer `seconds` to answer; but once it has let them pass and has sent nothing since on that connection, further
    ends do not wait for it."""

    def __init__(self, client: BaseClient, seconds: float) -> None:
        self.seconds: Final = seconds
        """The timeout asked for."""
        self._client: Final = client
        self._missed: tuple[int, int] | None = None  # the connection, and how often octets had come by then

    @property
    def timeout(self) -> float:
        """Seconds to wait now for an end."""
        return 0.0 if self._missed == (self._client.connections, self._client.heard) else self.seconds

    @property
    def opened(self) -> Ticket[ConnectionOpened]:
        """Settled while there is an open connection.  Only then `seconds` count; before, the retry policy limits the wait."""
        return self._client.opened

    def come(self, core: SessionCore) -> tuple[int, bool, int]:
        """Returns a value that changes whenever the peer makes progress with the commands of a session."""
        session = core._session
        done = 0 if session is None else session._outbound.next_id - len(session.in_doubt)
        return self._client.connections, core.opened.done, done & 0xFFFFFFFF

    def missed(self) -> None:
        """Notes that there was no answer in time."""
        self._missed = self._client.connections, self._client.heard

    def silent(self, core: SessionCore, awaited: str) -> None:
        """Ends a session that got no answer to `awaited` in time; its error names what is in doubt."""
        self.missed()
        in_doubt = EMPTY if core._session is None else core._session.in_doubt
        core._over(SessionLost(core.name, f"no answer to {awaited} within {self.seconds} seconds", in_doubt))
