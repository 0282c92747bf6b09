"""A client over as many connections as it takes: the pure half of every adapter.

An adapter brings the socket: it calls `begin` for each connection, then in each round feeds what came, ticks, takes what is
to be sent, and asks when the next round is due.  When a connection is over, `Attempts` knows what to try next; when there is
nothing, the adapter says `give_up`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Final

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.greeting import KEPT
from amqp_sansio.conversation.happenings import ClientEvent, Connected, GaveUp, SessionEnded, SessionOpened, SessionResumed
from amqp_sansio.conversation.retry import NEVER, RetryPolicy
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.conversation.tracing import Traces, Tracing
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.standing import name_of
from amqp_sansio.errors import AmqpError, ConnectionClosedError, ConnectionLost, LocalProtocolError
from amqp_sansio.events import (
    CommandsCompleted,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    Event,
    ExceptionReceived,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.deadlines import earliest


class Client:
    """What one user wants of a broker: sessions, for as long as the policy lets it come back.

    `opened` is settled with each open connection (it is a new ticket after a loss), `ended` when there will be no other one.
    `wake` is called when there is something to send.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        prefix: str,
        retry: RetryPolicy = NEVER,
        wake: Callable[[], None] = lambda: None,
        guard: AbstractContextManager[object] = nullcontext(),
        tell: Callable[[ClientEvent], None] = lambda event: None,
        tap: Callable[[bool, bytes, bool], None] | None = None,
        tracing: Tracing | None = None,
    ) -> None:
        ClientConnection(config)  # whoever asks for what cannot be is told so himself, and not a task in the background
        self.config: Final = config
        self.prefix: Final = prefix
        """How the names of its sessions begin: nobody else may use it, so it is drawn by chance."""
        self.guard: Final = guard
        """Held during each call: a lock where several threads make calls."""
        self.retry: Final = retry
        self.wake = wake
        self.tell = tell
        """Is called with what happens; raises nothing."""
        self.tap: Final = tap
        """Is called with octets: whether this side sends them, they, and whether the connection was open by then."""
        self.traces: Final = None if tracing is None else Traces(tracing, lambda: self.endpoint)
        self.endpoint = ""
        """Where the present connection goes."""
        self.talks: Final[dict[bytes, Talk]] = {}
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
        """Whether somebody brings it onto connections: without, a session would wait for ever."""
        self.useful = False
        """Whether anything was answered or came on the last connection that was open."""
        self._since: float | None = None  # when that was first ticked, and when last
        self._until = 0.0
        self._greeted = False
        self.said = b""
        """How the other side began on the present connection, as long as it is not open."""
        self.failure: OSError | None = None
        """What the system or TLS said when the present connection ended."""
        self._machine: ClientConnection | None = None
        self._owing: Final[dict[Talk, None]] = {}
        self._refused: Final[dict[Talk, float]] = {}  # whose end must follow, and until when it is waited for
        self._numbers = 0

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

    def begin(self) -> ClientConnection:
        """A new connection: its machine, to be fed and emptied through this object."""
        self._machine = machine = ClientConnection(self.config, confidential=self.confidential)
        self.closed = None
        self.redirected = None
        self._since = None
        self._greeted = False
        self.said = b""
        self.failure = None
        return machine

    @property
    def machine(self) -> ClientConnection:
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
        self._hear(machine)
        if self._since is None and machine.is_open:
            self._since = now
        if self._refused:
            self._expire(now)
        return due

    def data_to_send(self) -> bytes:
        """The octets that are to be written now."""
        machine = self._machine or self.machine
        octets = machine.data_to_send()
        if self.tap is not None and octets:
            self.tap(True, octets, self._greeted)
        return octets

    @property
    def due(self) -> float | None:
        """The moment at which to tick when nothing comes before; asked last, behind the octets to send.  None: never."""
        return earliest(self.machine.due, *self._refused.values()) if self._refused else self.machine.due

    @property
    def awaits_end(self) -> bool:
        """Whether a session was refused whose end has not come: then `due` may be sooner than it was before octets came."""
        return bool(self._refused)

    def flush(self) -> None:
        """Lets sessions say what they owe, before octets are taken."""
        if self._owing:
            for talk in list(self._owing):
                talk._flush()
            self._owing.clear()

    def lasted(self, seconds: float) -> bool:
        """Whether the last connection was open for as long as that, by the times of `tick`."""
        return self._since is not None and self._until - self._since >= seconds

    @property
    def comes_back(self) -> bool:
        """Whether another connection is to be tried when this one is lost."""
        return not self.closing and self.retry.attempts != 0 and self.connections > 0

    def give_up(self, error: Exception) -> None:
        """There will be no other connection: calls that wait raise the error."""
        if not self.ended.done:
            self.tell(GaveUp(str(error)))
        self.opened.fail(error)
        for talk in list(self.talks.values()):
            talk._over(error)
        self.talks.clear()
        self._refused.clear()
        if self.closing and isinstance(error, ConnectionLost):
            self.ended.settle(None)
        else:
            self.ended.fail(error)

    # --- what a user wants -------------------------------------------------------------------------------------------------

    def open_session(self, name: bytes | str | None = None, timeout: int | None = 0) -> Talk:
        """A session, attached as soon as there is an open connection.

        `timeout`: seconds that the other side is asked to keep it when the connection is lost (None: for ever).  Without a name
        it gets one that no other session of this client has.
        """
        if self.ended.done:
            raise ConnectionClosedError("session.attach", "the client is closed")
        if name is None:
            self._numbers += 1
            name = f"{self.prefix}-{self._numbers}"
        octets = name_of(name)
        if octets in self.talks:
            raise LocalProtocolError(f"session.attach of {octets!r}", "in use by this client", ("another name",))
        talk = self.talks[octets] = Talk(octets, timeout, self.wake, self.guard, self._owing, self.traces)
        if self._machine is not None and self._machine.is_open:
            try:
                self._attach(talk)
            except AmqpError:
                del self.talks[octets]
                raise
        return talk

    def close(self) -> Ticket[None]:
        """Closes the connection; settled when it is closed and nobody comes back.  One that is not open is just left."""
        self.closing = True
        machine = self._machine
        self.flush()
        if machine is None or machine.finished or not machine.is_open:
            self.give_up(ConnectionLost("it was closed here"))
        elif machine._closed_cause is None:
            machine.close()
            self._hear(machine)
            self.wake()
        return self.ended

    # --- what happens ------------------------------------------------------------------------------------------------------

    def _hear(self, machine: ClientConnection) -> None:
        while (event := machine.next_event()) is not None:
            if type(event) is CommandsCompleted:  # these two are nearly all there is
                self.useful = True
                talk = self.talks.get(event.session)
                if talk is not None:
                    talk._completed(event.ids)
            elif type(event) is TransferReceived:
                self.useful = True
                talk = self.talks.get(event.session)
                if talk is not None:
                    talk._hear(event)
            else:
                self._heard(machine, event)

    def _heard(self, machine: ClientConnection, event: Event) -> None:
        match event:
            case ConnectionOpened():
                self._greeted = True
                self.connections += 1
                self.useful = False
                self.known_hosts = event.known_hosts
                self.tell(Connected(self.endpoint, self.connections))
                self._attach_all()
                self.opened.settle(event)
            case ConnectionRedirected():
                self.redirected = event
            case ConnectionClosed():
                self.closed = event
                if self.opened.done:
                    self.opened = Ticket()
            case SessionDetached(session=name):
                self._detached(machine, self.talks.get(name), event)
            case _:
                named = getattr(event, "session", None)
                found = self.talks.get(named) if isinstance(named, bytes) else None
                if found is not None:
                    found._hear(event)
                    if isinstance(event, ExceptionReceived):
                        self._refused[found] = self._until + self.config.limits.detach_seconds
                        self.tell(SessionEnded(found.name, str(found.failure.error).partition(": ")[2], found.session.in_doubt))
                    if isinstance(event, SessionAttached):
                        self.tell(SessionResumed(found.name) if event.resumed else SessionOpened(found.name, found.remade > 0))
                        if not event.resumed and found.remade:
                            found._resubscribe()

    def _attach_all(self) -> None:
        for talk in list(self.talks.values()):
            if talk.ended.done:  # its user left it while there was no connection
                del self.talks[talk.name]
                continue
            try:
                self._attach(talk)
            except AmqpError as error:  # more sessions than this connection can carry
                del self.talks[talk.name]
                talk._over(error)

    def _attach(self, talk: Talk) -> None:
        """Brings a session onto the open connection: resumed where it lives, new where not.

        It resumes by force: the other side may believe that the lost connection lives.
        """
        machine = self.machine
        if talk._session is None:
            talk._session = machine.session(talk.name, talk.timeout)
        elif talk.session.resumable:
            machine.resume(talk.session, force=True)
            talk._resuming = True
        else:
            # Another name: under the old one the other side may still keep something that this one would be taken for.
            name = talk._first_name + b"-again-%d" % (talk.remade + 1)
            session = machine.session(name, talk.timeout)
            self.talks.pop(talk.name, None)
            self.talks[name] = talk
            talk._remake(session)
            talk._resuming = False
        self.wake()

    def _open_again(self, talk: Talk) -> None:
        """Brings a session that failed onto the connection, if that is open; else it is brought onto the next one."""
        if self._machine is not None and self._machine.is_open:
            self._attach(talk)

    def _expire(self, now: float) -> None:
        """Gives up waiting for the end of sessions that were refused: it has to follow, and pending calls raise the refusal."""
        for talk in [talk for talk, until in self._refused.items() if now >= until]:
            del self._refused[talk]
            if self.comes_back and talk.attached.done and not talk._detaching:
                talk._fail(None, partial(self._open_again, talk))
            else:
                talk._over(talk.failure.error)

    def _detached(self, machine: ClientConnection, talk: Talk | None, event: SessionDetached) -> None:
        if talk is None:
            return
        refused = self._refused.pop(talk, None) is not None
        lost = machine._closed_cause is not None and self.comes_back and not talk._detaching
        forgotten = talk._resuming and event.ended and machine._closed_cause is None and self.comes_back
        violated = event.violation is not None
        if not (refused or (lost and not event.ended) or talk._detaching or self.closing):
            self.tell(SessionEnded(talk.name, talk.failure.words(event), event.in_doubt))
        failed = event.ended and not (lost or forgotten or violated or talk._detaching) and self.comes_back
        if failed and machine._closed_cause is None and talk.attached.done:
            talk._fail(event, lambda: self._open_again(talk))
            return
        talk._detached(event, lost or forgotten)
        if forgotten:  # the other side did not keep it: a new one under the same name
            self._attach(talk)
        elif not lost:
            self.talks.pop(talk.name, None)
