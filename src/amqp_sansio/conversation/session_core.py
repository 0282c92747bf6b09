"""A session as the program sees it: commands with their answers, messages with their confirms, inboxes, and why it failed.

It lives over as many connections as the program wants: the engine's session in it is resumed where the peer keeps it, and
opened again as a new one where it does not.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from amqp_sansio.conversation.base_client import BaseCore
from amqp_sansio.conversation.inbox import PREFETCH, Inbox
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.pending_commands import IN_FLIGHT, IN_FLIGHT_OCTETS, PendingCommands, check_executable
from amqp_sansio.conversation.properties import Body, PlainHeaders, SessionProperties, encoded, written
from amqp_sansio.conversation.ticket import Ticket, seen
from amqp_sansio.conversation.transactions import Transactions
from amqp_sansio.engine.inbound import parts
from amqp_sansio.engine.outbound import transfer
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import (
    AmqpError,
    LimitError,
    LocalProtocolError,
    SessionFailed,
    SessionLost,
    SessionReopened,
    SharedSessionFailed,
)
from amqp_sansio.errors.checks import check_types
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    Event,
    ExceptionReceived,
    ProducerCreditChanged,
    ResultReceived,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import EMPTY, RangeSet, whole
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec import message, queue
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import AcceptMode
from amqp_sansio.tables.transfer import ACQUIRED, EXPLICIT, TRANSFER

if TYPE_CHECKING:
    from amqp_sansio.conversation.client import Client


Result = TypeVar("Result")


class SessionEnd:
    """What ended a session.  `error` is None while nothing did; `id` is that of the refused command, where known."""

    def __init__(self) -> None:
        self.error: AmqpError | None = None
        self.id: int | None = None
        self.again = False
        """Whether the next call opens the session again."""
        self._shared: SharedSessionFailed | None = None  # `for_others`, made once for each `error`
        self._exclusive: Final[dict[str, None]] = {}  # queues that end with the session
        self._gone: Final[dict[str, None]] = {}  # those that ended with an earlier one, until the next call reports them

    @property
    def seen(self) -> bool:
        """Whether the error was raised to a caller; True when there is none."""
        return self.error is None or self.heard

    @property
    def heard(self) -> bool:
        """Whether there is an error and it was raised to a caller."""
        return any(each is not None and each.seen for each in (self.error, self.for_others))

    @property
    def for_others(self) -> AmqpError | None:
        """The error for calls whose command was not the refused one."""
        error = self.error
        if self.id is None or not isinstance(error, SessionFailed):
            return error
        if self._shared is None or self._shared.__cause__ is not error:
            self._shared = SharedSessionFailed(error.session, error.code, error.text, error.command)
            self._shared.__cause__ = error
        return self._shared

    def for_whom(self, id: int | None) -> AmqpError | None:
        """Returns the error for the call that sent the command of this id; None without a failure."""
        return self.error if id is not None and id == self.id else self.for_others

    def of(self, id: int | None, error: Exception) -> Exception:
        """Returns `error`, or the refusal where the command of that id was refused, which then caused `error`."""
        return self.error if id is not None and id == self.id and self.error is not None else error

    def ended(self, name: bytes, event: SessionDetached, wanted: bool) -> None:
        """Notes that the session `name` is over; `wanted`: we ended it.  An earlier refusal stays the cause."""
        if event.violation is None and wanted and not event.code:
            return
        if self.error is None:
            self.error = SessionLost(name, self.words(event), event.in_doubt)

    def words(self, event: SessionDetached) -> str:
        """Describes why a session is over, for a person."""
        violation = event.violation
        if violation is not None:
            return f"the other side broke {violation.rule}: {violation.text or violation.said}"
        return event.text or f"the other side detached it ({event.code})"

    def interrupt(self, inboxes: dict[str, Inbox]) -> None:
        """Makes pending receives raise the error of a session that failed and may be opened again.

        Closes a subscription that the peer refused: sent again, it would end every later session, too.
        """
        for inbox in list(inboxes.values()):
            error = self.for_whom(inbox._said)
            inbox._interrupt(error)
            if error is not None and error is not self.for_others:
                inbox._close(error)
                del inboxes[inbox.destination]

    def close(self, inboxes: dict[str, Inbox], well: bool) -> None:
        """Closes the inboxes of a session that is over; unless it ended `well`, pending receives raise the error."""
        for inbox in list(inboxes.values()):
            inbox._close(None if well else self.for_whom(inbox._said))
        inboxes.clear()

    def said(self, command: Command) -> None:
        """Notes a sent command, to remember the queues that end with the session."""
        if isinstance(command, queue.Declare) and command.exclusive and not command.passive:
            self._exclusive[command.queue or ""] = None
        elif isinstance(command, queue.Delete):
            self._exclusive.pop(command.queue or "", None)

    def over(self) -> tuple[str, ...]:
        """Prepares for a new session in place of the old one; returns the exclusive queues that are gone."""
        gone = tuple(self._exclusive)
        self._gone.update(self._exclusive)
        self._exclusive.clear()
        self.error, self.id, self.again = None, None, False
        return gone

    def must_live(self) -> None:
        """Raises the error that ended it, to a call that has sent nothing yet."""
        error = self.for_others
        if error is None:
            return
        raised = seen(error)
        if isinstance(raised, SharedSessionFailed):
            raise raised.unsent() from raised.__cause__
        raise raised

    def check(self, session: bytes) -> None:
        """Raises the error of a failed session, or, once, SessionReopened when some of its queues are gone."""
        if self.error is not None:
            self.must_live()
        if self._gone:
            gone = tuple(self._gone)
            self._gone.clear()
            raise SessionReopened(session, gone)


class SessionCore(BaseCore):
    """The client's state of one session.

    Every request returns a `Ticket`, which is settled by the answer, or fails with what happened instead.
    """

    def __init__(self, client: Client, name: bytes, timeout: int | None) -> None:
        super().__init__(client)
        self._client: Final = client
        self._name = name
        self.timeout: Final = timeout
        """Seconds that the peer should keep the session without a connection; 0: not at all; None: for ever."""
        self.inboxes: Final[dict[str, Inbox]] = {}
        self.most_in_flight = IN_FLIGHT
        self.most_in_flight_octets = IN_FLIGHT_OCTETS
        self._detaching = False
        self._resuming = False  # it is not known yet whether the peer kept it
        self._was_open = False
        self._first_name: Final = name
        self._session: Session | None = None
        self._accepts: Final[dict[int, None]] = {}  # ids of accepted messages; one message.accept carries them all
        self.pending: Final = PendingCommands()
        self._headers: Final = PlainHeaders()
        self._unprompted = False  # there was a publish since the last request for completion
        self.failure: Final = SessionEnd()
        self._numbers = 0
        self._later: Final[list[Callable[[], object]]] = []  # what to send once the session is resumed
        self.transactions: Final = Transactions(self)

    @property
    def session(self) -> Session:
        """The engine's session, after owed accepts were sent.

        Raises LocalProtocolError before it was first opened.
        """
        if self._accepts:
            self._flush()
        if self._session is None:
            raise LocalProtocolError("a word on a session", "not attached yet", ("after `opened`",))
        return self._session

    @property
    def name(self) -> bytes:
        """Its name on the present connection; a session that was opened again has another name."""
        return self._name

    @property
    def over(self) -> bool:
        """Whether it is over, or failed and was not opened again: nothing more will be executed."""
        return self.ended.done or self.failure.again

    @property
    def in_flight(self) -> int:
        """Messages published and not confirmed."""
        return self.pending.messages

    @property
    def speakable(self) -> bool:
        """Whether the session can send now."""
        return self._session is not None and self._session._speaks

    def open_again(self) -> None:
        """Opens a failed session again; every call that waits begins with this.  Raises the error of one not detached yet."""
        if self.failure.again:
            self.failure.again = False
            self._client.open_again(self)
        elif self._opened.done and self._opened.error is None:
            self.failure.must_live()

    def _check(self) -> None:
        """Raises the reason when a call cannot send: the session failed, or its transaction or its queues are gone."""
        if self.transactions._within is not None:
            self.transactions.check()
        self.failure.check(self._name)

    # --- sending -----------------------------------------------------------------------------------------------------------

    def execute(self, command: Command[Result]) -> Ticket[Result]:
        """Sends a command; settled with its result, or with None when a command without a result is executed.

        Raises LocalProtocolError for a command that carries a content: `publish` sends messages.
        """
        check_executable(command)
        self._check()
        id = self.session.send(command, sync=True)
        ticket: Any  # Any: a ticket for any result
        if command.RESULT:
            ticket = self.pending.result(id, command.VERB)
        else:
            ticket = self._track(id, command.VERB)
            self.failure.said(command)
        self.wake()
        answer: Ticket[Result] = ticket
        return answer

    def _track(self, id: int, verb: str) -> Ticket[None]:
        """Returns the ticket for a command that was sent with its sync bit, settled when it is complete."""
        self._unprompted = False
        return self.pending.completion(id, verb)

    def sync(self) -> Ticket[None]:
        """Sends a barrier; settled when everything sent so far is executed."""
        ticket = self._track(self.session.sync(), "execution.sync")
        self.wake()
        return ticket

    @property
    def has_room(self) -> bool:
        """Whether a message may be published within the limit for messages in flight and the peer's credit."""
        session = self._session
        if session is None or not session._speaks:
            return False
        outbound = session._outbound
        if outbound.throttled:
            return False
        pending = self.pending
        return pending.messages < self.most_in_flight and pending.octets < self.most_in_flight_octets

    @property
    def room(self) -> Ticket[None]:
        """Settled when there is room; fails with the session's error when there never will be."""
        self.open_again()
        return super().room

    def publish(
        self, exchange: str, routing_key: str | None, body: Body, properties: SessionProperties, sync: bool = False
    ) -> Ticket[None]:
        """Transfers a message to an exchange; settled when the peer has certainly taken it.

        `mandatory`: fails with MessageReturned when no queue takes it; without, such a message is dropped or goes to an
        alternate exchange.  Without waiting for `room` it raises LimitError, or NoCredit when the peer throttles us.
        """
        if type(exchange) is not str:  # None would be sent as ""
            check_types(str, exchange=exchange)
        if not isinstance(body, bytes):
            body, properties = encoded(body, properties)
        if self.traces is not None:
            written(routing_key, properties)  # raises for wrong properties
            return self.traces.publish(
                lambda said: self._post(exchange, routing_key, body, said, sync), exchange, routing_key, body, properties
            )
        return self._post(exchange, routing_key, body, properties, sync)

    def _post(
        self, exchange: str, routing_key: str | None, body: bytes, properties: SessionProperties, sync: bool
    ) -> Ticket[None]:
        if properties:
            accept_mode, header = written(routing_key, properties)
        else:
            accept_mode, header = AcceptMode.NONE, self._headers.of(routing_key)
        pending = self.pending
        if pending.messages >= self.most_in_flight:
            raise LimitError("most_in_flight", self.most_in_flight, pending.messages + 1)
        if pending.octets >= self.most_in_flight_octets:
            raise LimitError("most_in_flight_octets", self.most_in_flight_octets, pending.octets + len(body))
        self._check()
        session = self._session
        if self.transactions._selected is not None:
            self.transactions.must_count("publish", session)
        prompt = sync
        if not sync:
            often = max(1, self.most_in_flight // 4)  # one in this many asks for completion, so that later ones need not wait
            prompt = pending.messages % often == often - 1
        if session is None or (self._accepts and not self._gathers):
            session = self.session
        id = transfer(session, exchange, accept_mode, 0, (), body, prompt, header)
        ticket = pending.message(id, len(body), exchange, routing_key)
        self._unprompted = not prompt
        self.wake()
        return ticket

    def prompt(self) -> None:
        """Asks for the completion of everything sent so far, unless that was done since the last message; called when a call
        waits.

        It uses a barrier: session.flush asks for what is complete by now, and a broker with a slow store (Broker-J) then does
        not report the rest.
        """
        if self._unprompted and self.speakable:
            self.session.sync()
            self._unprompted = False
            self.wake()

    def subscribe(
        self, queue: str, destination: str | None = None, *, prefetch: int = PREFETCH, octets: int = INFINITE,
        accept: bool = True, browse: bool = False,
    ) -> Inbox:  # fmt: skip
        """Subscribes to a queue, once the session is open again if it is not; see `Session.subscribe`."""
        check_types(str, queue=queue)
        check_types(bool, accept=accept, browse=browse)
        for name, most in (("prefetch", prefetch), ("octets", octets)):
            if not whole(most, INFINITE) or isinstance(most, bool) or not most:
                raise LocalProtocolError("message.subscribe", f"{name} {most!r}", (f"{name} of 1 to {INFINITE}",))
        self.transactions.check()
        if destination is None:
            self._numbers += 1
            destination = f"{queue}-{self._numbers}"
        inbox = Inbox(self, queue, destination, prefetch, octets, accept, browse)
        failure = self.failure
        if self._was_open and not (self.ended.done or self.speakable) and (failure.error is None or failure.again):
            self._later.append(inbox._begin)  # a session that was made again has all inboxes
        else:
            self._check()
            inbox._subscribe()
        self.inboxes[destination] = inbox
        self.wake()
        return inbox

    def accept(self, message: Message) -> bool:
        """Notes that a message is accepted; returns False for one that cannot be: its session has the reason."""
        session, id = message.session, message.id
        if session is not self._session or not (session.state == "attached" or session.resumable) or id in self._accepts:
            return False
        delivery = session._transfers.deliveries.get(id)
        if delivery is None or delivery.state != ACQUIRED or TRANSFER[delivery.accept_mode] is not EXPLICIT:
            return False
        self._accepts[id] = None
        self._client.owes(self)
        return True

    @property
    def _gathers(self) -> bool:
        """Whether pending accepts wait for more: up to half a window, in a block, for they count with its end only."""
        if self.transactions._within is None:
            return False
        windows = [each._window for each in self.inboxes.values() if each.explicit]
        return len(self._accepts) < min(windows, default=0) // 2

    def flush(self) -> None:
        """Sends the pending accepts, before output is taken, unless they wait for more."""
        if not self._gathers:
            self._flush()

    def _flush(self) -> None:
        """Sends the pending accepts, unless the session is not attached now; then they stay until it is resumed."""
        session = self._session
        if session is None or not self._accepts or session.state != "attached":
            return
        waiting = parts(session, RangeSet.of(*self._accepts))
        with suppress(AmqpError):  # the connection closes: these messages come again
            for part in waiting:
                session.accept(part)
                if len(waiting) == 1:
                    self._accepts.clear()
                else:  # more ranges than fit into a frame
                    for id in [id for id in self._accepts if id in part]:
                        del self._accepts[id]

    def close(self) -> Ticket[None]:
        """Ends the session; settled when it is over.  What was published and not confirmed is in doubt: call `sync` first."""
        if self.ended.done:
            return self.ended
        self._flush()
        self._detaching = True
        if self._session is None or self._session.state in ("ended", "detached"):
            self.failure.again = False
            self._over(None if self.failure.seen else self.failure.error)
        elif self._session.state in ("attached", "resuming", "attaching"):
            self._session.detach()
            self.wake()
        return self.ended

    # --- receiving ---------------------------------------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        """Handles an event of this session."""
        match event:
            case TransferReceived(transfer=transfer):
                inbox = self.inboxes.get(transfer.destination or "")
                if inbox is not None:
                    inbox._arrive(event)
                elif event.id in self.session._transfers.deliveries and transfer.accept_mode == 0:
                    subscription = self.session._subscriptions.current.get(transfer.destination or "")
                    if subscription is None or subscription.cancelled:
                        self.session.release(event.id)  # it was in flight when its subscription was cancelled
            case CommandsCompleted(ids=ids):
                self._completed(ids)
            case ResultReceived(id=id, value=value):
                self.pending.resulted(id, value, self._name)
            case CommandReceived(command=message.Reject() as reject):
                self.pending.returned(reject.transfers or EMPTY, reject.code or 0, reject.text or "")
            case ExceptionReceived(id=id):
                subscribing = message.Subscribe.VERB if id in [inbox._said for inbox in self.inboxes.values()] else ""
                verb = self.pending.verb(id) or self.transactions.verb(id or 0) or subscribing
                refused = SessionFailed(self._name, event.error_code, event.description, verb)
                self.failure.error, self.failure.id = refused, id
                self.pending.refused(id, refused)
            case ProducerCreditChanged():
                self._check_room()
            case SessionAttached():
                self._resuming = False
                self._was_open = True
                later = self._later[:]
                self._later.clear()
                if event.resumed:
                    for each in later:
                        each()
                elif self.timeout == 0:  # requested, because the peer may otherwise keep the session
                    self.session.request_timeout(0)
                self._flush()
                self._check_room()
                self._opened.settle(None)
            case _:
                self.transactions.hear(event)

    def _completed(self, ids: RangeSet) -> None:
        """Settles commands that the peer has executed."""
        self.pending.completed(ids, self._name, self.failure.error is not None)
        if self._room is not None:
            self._check_room()

    def _detached(self, event: SessionDetached, comes_back: bool) -> None:
        """Handles the end of an attachment; `comes_back`: the connection was lost, and the client will reconnect.

        Where the session still exists, nothing counts as lost yet: it will be resumed.
        """
        if self._opened.done:  # else a caller waits for it, which the next attachment or the end will wake
            self._opened = Ticket()
        if comes_back and not event.ended:
            return
        self.failure.ended(self._name, event, self._detaching)
        if comes_back:
            self._in_doubt(event.in_doubt)
            self.failure.error = None
        else:
            self._over(self.failure.error)

    def _fail(self, event: SessionDetached | None) -> None:
        """Fails the session on its open connection (None: its end did not come); the next call opens it again."""
        if event is not None:
            self.failure.ended(self._name, event, self._detaching)
        self.failure.again = True
        self._opened = Ticket()
        self._in_doubt(self.session.in_doubt if event is None else event.in_doubt)
        self.failure.interrupt(self.inboxes)
        if self._room is not None:
            self._room.fail(self.failure.for_others or self._closed_here)

    def _in_doubt(self, ids: RangeSet) -> None:
        """Fails all pending calls: the session is gone."""
        error = self.failure.for_others or SessionLost(self._name, "the session ended", ids)
        self.transactions.lost()
        self._accepts.clear()  # the session no longer holds its messages
        self.pending.lost(error)

    def _over(self, error: Exception | None) -> None:
        """Ends the session for good."""
        if error is not None and self.failure.error is None:
            doubt = self._session.in_doubt if self._session is not None else EMPTY
            self.failure.error = error if isinstance(error, SessionLost) else SessionLost(self._name, str(error), doubt)
        error = error and self.failure.error
        self._in_doubt(EMPTY)
        self.failure.close(self.inboxes, error is None)
        self._end(error, (error and self.failure.for_others) or self._closed_here)

    @property
    def _closed_here(self) -> SessionLost:
        return SessionLost(self._name, "it was ended here", EMPTY)

    def _remake(self, session: Session) -> None:
        """Replaces the session, which the peer has lost, by a new one under another name."""
        self._name = session.name
        self._session = session
        self._remade += 1
        gone = self.failure.over()
        for inbox in [inbox for inbox in self.inboxes.values() if inbox.queue in gone]:
            inbox._close(SessionReopened(self._name, (inbox.queue,)))
            del self.inboxes[inbox.destination]

    def _once_attached(self, action: Callable[[], object]) -> None:
        """Calls `action` now, or when the session is resumed; never, where the peer has forgotten the session."""
        if self.speakable:
            action()
            self.wake()
        else:
            self._later.append(action)

    def __repr__(self) -> str:
        return f"<SessionCore {self._name!r}, {self.in_flight} in flight>"
