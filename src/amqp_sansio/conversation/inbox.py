"""Received messages of one subscription that the program has not taken yet, the credit for more, and accepts to send."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.ticket import Ticket, seen
from amqp_sansio.engine.inbound import parts
from amqp_sansio.errors import EncodeError, SubscriptionClosed
from amqp_sansio.errors.checks import check_types
from amqp_sansio.events import TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, FlowMode, RejectCode
from amqp_sansio.spec.message import Subscribe

if TYPE_CHECKING:
    from amqp_sansio.conversation.session_core import SessionCore
    from amqp_sansio.engine.session import Session
    from amqp_sansio.engine.subscription import Subscription


M = TypeVar("M")
PREFETCH: Final = 100
"""Default number of messages of a subscription that are received and not settled."""


def release(session: Session, ids: RangeSet, redelivered: bool = False) -> None:
    """Releases messages of an attached session, however many ranges their ids are."""
    for part in parts(session, ids):
        session.release(part, redelivered)


class BaseInbox(Generic[M]):
    """Base of the inboxes of both families: received messages that the program has not taken yet."""

    def __init__(self, queue: str, name: str) -> None:
        self._queue = queue
        self.messages: Final[deque[M]] = deque()
        self._name: Final = name  # of the subscription
        self._closed = False
        self._error: Exception | None = None
        self._waiting: Ticket[None] | None = None
        self._cancelling: Ticket[None] | None = None

    @property
    def queue(self) -> str:
        """The queue subscribed to."""
        return self._queue

    @property
    def closed(self) -> bool:
        """Whether no more messages come: it was cancelled here, or its session or channel is over (then `error` says why)."""
        return self._closed

    @property
    def error(self) -> Exception | None:
        """Why its session or channel is over; None while it is not, or when it ended well."""
        return self._error

    def take(self) -> M | None:
        """Returns the next message; None when there is none now.  Raises `error`, if there is one, when it is closed and
        empty."""
        raise NotImplementedError

    def cancel(self) -> Ticket[None]:
        """Ends the subscription; settled when nothing comes any more."""
        raise NotImplementedError

    def release(self) -> None:
        """Gives received messages that were not taken back to the queue, where its end has left some."""

    def must_be_open(self) -> None:
        """Raises SubscriptionClosed when it is closed without an error."""
        if self._closed:
            raise SubscriptionClosed(self._name, self.queue)

    @property
    def more(self) -> Ticket[None]:
        """Settled when there is a message to take, or no more will come."""
        if self._waiting is None or self._waiting.done:
            self._waiting = Ticket()
            if self.messages or self._closed:
                self._waiting.settle(None)
        return self._waiting

    def _must_not_have_failed(self) -> None:
        if self._closed and self._error is not None:
            raise seen(self._error)

    def _end(self, error: Exception | None) -> None:
        self._closed = True
        self._error = error
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None:
            self._waiting.settle(None)

    def __repr__(self) -> str:
        return f"<Inbox {self._name!r} of {self.queue!r}, {len(self.messages)} waiting>"


class Inbox(BaseInbox[Message]):
    """A subscription with backpressure: at most `prefetch` messages are received and unsettled (or, without accepting, not
    taken), so that a slow consumer stops the broker and memory stays bounded.

    With explicit accept the broker's window does that: settling a message lets the next one come.  Without it, credit is
    granted again as messages are taken.
    """

    def __init__(
        self, core: SessionCore, queue: str, destination: str, prefetch: int, octets: int, explicit: bool, browse: bool
    ) -> None:
        super().__init__(queue, destination)
        self.core: Final = core
        self.destination: Final = destination
        self.prefetch: Final = prefetch
        self.octets: Final = octets
        """Octets of credit for all prefetched messages together; INFINITE: no bound."""
        self.explicit: Final = explicit
        self.browse: Final = browse
        self._taken = 0
        self._taken_octets = 0
        self._owing = False  # credit is granted when the session is resumed
        self._subscription: Subscription | None = None
        self._said: int | None = None  # the id of message.subscribe in its session

    def _subscribe(self) -> None:
        """Sends message.subscribe and grants credit; again for a session that was opened again."""
        session = self.core.session
        accept_mode = AcceptMode.EXPLICIT if self.explicit else AcceptMode.NONE
        acquire_mode = AcquireMode.NOT_ACQUIRED if self.browse else AcquireMode.PRE_ACQUIRED
        self._said = session.send(Subscribe(self.queue, self.destination, accept_mode, acquire_mode))
        subscription = session.subscriptions[self.destination]
        self._subscription = subscription
        self._taken = self._taken_octets = 0
        self._owing = False
        if not self.explicit:
            subscription.set_mode(FlowMode.CREDIT)
        subscription.grant(self.prefetch, self.octets)

    def _begin(self) -> None:
        """Subscribes once the session is resumed, unless it was cancelled before."""
        if not self._closed:
            self._subscribe()

    def _arrive(self, received: TransferReceived) -> None:
        """Stores a message that arrived."""
        session = self.core._session
        assert session is not None  # the message came on it
        self.messages.append(Message(received, self, session))
        self._wake()

    def take(self) -> Message | None:
        """Returns the next message, None when there is none for now.  When closed and empty, raises `error` if there is one."""
        if not self.messages:
            self._must_not_have_failed()
            return None
        message = self.messages.popleft()
        if not self.explicit:
            self._give_back(message)
        if self.core.traces is not None:
            self.core.traces.received(message)
        return message

    @property
    def more(self) -> Ticket[None]:
        """Settled when there is a message to take, or no more will come."""
        core = self.core
        core.open_again()
        if core._accepts and self._subscription is not None and not self._subscription.message_credit:
            core._flush()  # the window that they open is what it waits for
            core.wake()
        return super().more

    @property
    def _window(self) -> int:
        """The messages that may be here and not settled; 0 where a bound of octets may come first."""
        return self.prefetch if self.octets == INFINITE else 0

    def settle(self, message: Message, how: str, redelivered: bool = False) -> None:
        """Accepts or releases a message of this subscription.

        During a reconnect that waits until the session is resumed.  Raises SessionDetachedError when the session that delivered
        the message is over; the message will be redelivered.
        """
        with self.core.guard:
            if redelivered is not False:
                check_types(bool, redelivered=redelivered)
            if how == "accept":
                self.core.transactions.check()
                self.core.transactions.must_count("accept", message.session)
                if self.core.accept(message):
                    self.core.transactions.accepted(message.id)
                    self.core.wake()
                else:
                    self._settle(message, lambda: message.session.accept(message.id))
            else:
                self._settle(message, lambda: message.session.release(message.id, redelivered))
            self._trace(message, how)

    def reject(self, message: Message, code: RejectCode, text: str) -> None:
        """Rejects a message of this subscription.  Raises EncodeError for a code that the specification does not have."""
        check_types(str, text=text)
        try:
            code = RejectCode(code)
        except ValueError:
            known = ", ".join([f"{each.value} {each.name.lower()}" for each in RejectCode])
            raise EncodeError("message.reject.code", f"{known}, not {code!r}") from None
        with self.core.guard:
            self._settle(message, lambda: message.session.reject(message.id, code, text))
            self._trace(message, "reject")

    def _trace(self, message: Message, how: str) -> None:
        if self.core.traces is not None:
            self.core.traces.settled(message, how)

    def _settle(self, message: Message, how: Callable[[], object]) -> None:
        core = self.core
        core._flush()
        if core.speakable or message.session is not core.session or not message.session.resumable or core.ended.done:
            how()  # or raises the reason why it cannot be sent
            core.wake()
        else:
            core._once_attached(how)

    def cancel(self) -> Ticket[None]:
        """Ends the subscription; settled when no more messages come.  Received messages that were not taken are released.

        During a reconnect it is settled at once, and the client does not subscribe again.
        """
        if self._cancelling is None:
            self._cancelling = Ticket()
            open_there = not self._closed and self._subscription is not None
            if open_there:
                self.core._once_attached(self._cancel)
            if not open_there or not self.core.speakable:
                self._cancelled()
        return self._cancelling

    def _cancel(self) -> None:
        subscription = self._subscription
        assert subscription is not None
        said = self.core._track(subscription.cancel(sync=True), "message.cancel")
        said.on_done(lambda: self._cancelled(said.error and self.core.failure.of(self._said, said.error)))

    def _cancelled(self, error: Exception | None = None) -> None:
        unsettled = [message.id for message in self.messages if message.session is self.core.session]
        self.messages.clear()
        self._close(None)
        self.core.inboxes.pop(self.destination, None)
        if unsettled and self.explicit and error is None:
            session = self.core.session
            self.core._once_attached(lambda: release(session, RangeSet.of(*unsettled)))
        if self._cancelling is not None and error is None:
            self._cancelling.settle(None)
        elif self._cancelling is not None and error is not None:
            self._cancelling.fail(error)

    def _close(self, error: Exception | None) -> None:
        """Ends it.  Messages of a session that is over cannot be settled and are dropped."""
        if error is not None:
            self.messages.clear()
        self._end(error)

    def _interrupt(self, error: Exception | None) -> None:
        """Makes pending receives raise the error of the failed session.  Received messages are dropped; they will come again
        when the session is opened again."""
        self.messages.clear()
        if self._waiting is not None and error is not None:
            self._waiting.fail(error)

    def _resubscribe(self) -> None:
        """Subscribes again on a session that was opened again; messages of the old one are dropped and will be redelivered."""
        self.messages.clear()
        self._subscribe()

    def _give_back(self, message: Message) -> None:
        self._taken += 1
        self._taken_octets += len(message.body) + (len(message.received.header) if message.session.counts_headers else 0)
        bounded = self.octets != INFINITE and not self.messages  # then the rest may be too little for the next message
        if (self._taken * 2 < self.prefetch and not bounded) or self._subscription is None or self._closed:
            return
        if self.core.speakable:
            self._grant()
        elif not self._owing:
            self._owing = True
            self.core._once_attached(self._grant)

    def _grant(self) -> None:
        self._owing = False
        if self._subscription is None or self._closed or not self._taken:
            return
        octets = INFINITE if self.octets == INFINITE else self._taken_octets
        self._subscription.grant(self._taken, octets)
        self._taken = self._taken_octets = 0
        self.core.wake()
