"""Sessions and subscriptions for blocking code."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self, TypeVar

from typing_extensions import Unpack

from amqp_sansio.adapters.sync.driver import Driver
from amqp_sansio.adapters.sync.pending import Pending
from amqp_sansio.adapters.sync.topology import Topology
from amqp_sansio.adapters.sync.turn import Turn
from amqp_sansio.conversation.ending import Ending
from amqp_sansio.conversation.inbox import PREFETCH, Inbox
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.properties import SessionProperties
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.two_phase import Ask, TwoPhase
from amqp_sansio.errors import AmqpError, SharedSessionFailed, SubscriptionClosed
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid

Result = TypeVar("Result")
Value = TypeVar("Value")


def in_time(
    driver: Driver, ending: Ending, talk: Talk, ticket: Ticket[Value], awaited: str, *, ends: bool = False,
    timeout: float | None = None, until: float | None = None,
) -> Value:  # fmt: skip
    """What comes of a ticket; after `close_timeout` seconds of an open connection without any progress, its session is lost.

    What `ends` something is not waited for where another end was waited for in vain, and nothing came since.  TimeoutError
    when the caller's own `timeout` is over before, at `until`.
    """
    while not ticket.done:
        if not ending.opened.done:
            with suppress(AmqpError):
                driver.wait(ending.opened, timeout, until)
            continue
        come = ending.come(talk)
        seconds = ending.timeout if ends else ending.seconds
        patience = time.monotonic() + seconds
        if until is not None and until < patience:
            return driver.wait(ticket, timeout, until)
        try:
            driver.wait(ticket, seconds, patience)
        except TimeoutError:
            if come == ending.come(talk):
                ending.silent(talk, awaited)
    return ticket.result()


def end_of(timeout: float | None) -> float | None:
    """When that many seconds are over; None: never."""
    return None if timeout is None else time.monotonic() + timeout


class Session(Topology):
    """A session, to be used as `with connection.session() as session`.

    During a reconnect calls wait; never longer than the retry policy lets them.
    Blocks and `cancel()` wait for the broker as long as `close_timeout` says; calls, as long as the connection lives, but no
    longer than their `timeout` (seconds; None: no limit): then TimeoutError, and commands that were sent stay sent.
    """

    def __init__(self, talk: Talk, driver: Driver, turn: Turn, ending: Ending) -> None:
        self._talk: Final = talk
        self._driver: Final = driver
        self._lock: Final = turn
        self._ending: Final = ending

    def __enter__(self) -> Self:
        return self._open(None)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        """Waits until everything said is executed, then ends the session; after an error it is just ended.

        Raises what became of a message that was sent and not confirmed, if it was not well and nobody asked.
        """
        with self._lock:
            try:
                if error is None:
                    over = self._talk.ended.done or self._talk.failure.again is not None
                    if not over and self._talk.failure.heard:  # nothing more will be executed, and its detach is on its way
                        self._end(quiet=True)
                    elif not over:
                        self._finish()
                    self._talk.unheard()
            finally:
                self._end(quiet=error is not None)

    @property
    def name(self) -> bytes:
        """What the session is called on the present connection; another name when it was opened again."""
        return self._talk.name

    @property
    def remade(self) -> int:
        """How often it was opened again because the other side had lost it: the exclusive queues of before are gone."""
        return self._talk.remade

    @property
    def is_open(self) -> bool:
        """Whether commands can be sent now."""
        return self._talk.speakable

    @property
    def closed(self) -> Pending[None]:
        """Comes when the session is over for good: None when it was closed here, else its error."""
        return Pending(self._talk.ended, self._ended)

    def _ended(self, ticket: Ticket[None], timeout: float | None) -> None:
        with self._lock:
            self._driver.wait(ticket, timeout)

    def _open(self, timeout: float | None) -> Self:
        with self._lock:
            try:
                self._attached(timeout, end_of(timeout))
            except BaseException:
                self._talk.detach()
                raise
        return self

    def close(self, timeout: float | None = None) -> None:
        """Waits until everything sent is executed, then ends the session: what the end of its block does.

        TimeoutError when that takes more than `timeout` seconds: it is ended all the same, and what was sent may be executed
        or not; without one it waits as `close_timeout` says.  Raises what became of a message that was sent and never
        awaited, if it failed.
        """
        failure = self._talk.failure
        if timeout is None or self._talk.ended.done or failure.again is not None or failure.heard:
            return self.__exit__(None, None, None)  # or nothing more will be executed
        try:
            self.sync(timeout=timeout)
        except BaseException as error:
            self.__exit__(type(error), error, None)
            raise
        return self.__exit__(None, None, None)

    def _finish(self) -> None:
        """Until everything said is executed, as long as the other side gets on with it; raises SessionLost when it does not."""
        self._talk.lost_before()
        self._attached()
        try:
            in_time(self._driver, self._ending, self._talk, self._talk.sync(), "execution.sync", ends=True)
        except SharedSessionFailed:
            self._talk.lost_before()
            raise

    def _in_time(self, ticket: Ticket[Value], awaited: str) -> Value:
        return in_time(self._driver, self._ending, self._talk, ticket, awaited)

    def _end(self, quiet: bool) -> None:
        quiet = quiet or self._talk.failure.heard
        try:
            self._driver.wait(self._talk.detach(), self._ending.timeout)
        except TimeoutError:
            self._ending.silent(self._talk, "detach")
            if not quiet:
                self._talk.ended.result()
        except AmqpError:
            if not quiet:
                raise

    def _attached(self, timeout: float | None = None, until: float | None = None) -> None:
        """Until the session can send; raises why it never will: SessionLost where nobody answers the attach.

        TimeoutError when the caller's own `timeout` is over before, at `until`.  Under the lock.
        """
        talk = self._talk
        talk.open_again()
        while not talk.attached.done:
            in_time(self._driver, self._ending, talk, talk.attached, "session.attach", timeout=timeout, until=until)
        talk.attached.result()

    def _asked(self, what: Callable[[], Ticket[Value]], timeout: float | None = None) -> Value:
        """Sends something as soon as the session is attached, and waits for the answer."""
        until = end_of(timeout)
        with self._lock:
            self._attached(timeout, until)
            return self._driver.wait(what(), timeout, until)

    def execute(self, command: Command[Result], *, timeout: float | None = None) -> Result:
        """Says a command, waits until the other side has executed it, and gives its result, if it has one.

        SessionFailed when the other side refuses it; NoResult when it calls it complete without the result; LocalProtocolError
        for one that carries a content: `publish` sends messages.
        """
        return self._asked(lambda: self._talk.execute(command), timeout)

    def sync(self, *, timeout: float | None = None) -> None:
        """Waits until everything said so far is executed.

        When the session failed, it raises what became of messages that were sent before and never awaited: SessionFailed when
        the broker refused one of them, else SharedSessionFailed or SessionLost: then they are in doubt.
        """
        with self._lock:
            self._talk.lost_before()
        try:
            self._asked(self._talk.sync, timeout)
        except SharedSessionFailed:
            with self._lock:
                self._talk.lost_before()
            raise

    def send(
        self,
        exchange: str = "",
        routing_key: str | None = None,
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[SessionProperties],
    ) -> Pending[None]:
        """Publishes a message as soon as there is room for it, and does not wait for more: ask what it gives for its `result`.

        After a TimeoutError it has published nothing.
        """
        until = end_of(timeout)
        with self._lock:
            self._room(timeout, until)
            return Pending(self._talk.post(exchange, routing_key, body, properties), self._confirmed)

    def _room(self, timeout: float | None, until: float | None) -> None:
        """Until a message may be published.  Under the lock."""
        driver, talk = self._driver, self._talk
        driver.wait_writable(timeout, until)
        if not talk.has_room:
            self._attached(timeout, until)
        while not talk.has_room:
            driver.wait(talk.room, timeout, until)
            driver.wait_writable(timeout, until)

    def publish(
        self,
        exchange: str = "",
        routing_key: str | None = None,
        body: bytes = b"",
        *,
        timeout: float | None = None,
        **properties: Unpack[SessionProperties],
    ) -> None:
        """Publishes a message and waits until the broker has it for certain."""
        until = end_of(timeout)
        with self._lock:
            self._room(timeout, until)
            self._driver.wait(self._talk.post(exchange, routing_key, body, properties, True), timeout, until)

    def _confirmed(self, ticket: Ticket[None], timeout: float | None) -> None:
        with self._lock:
            if not ticket.done:
                self._talk.prompt()
            self._driver.wait(ticket, timeout)

    # --- transactions --------------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A local transaction: committed at the end of the block, rolled back when the block raises.

        What is published and accepted in it counts together or not at all; after a rollback the broker has its messages back.
        The session is transactional for good: what is accepted behind the block counts with the next one, and nothing can be
        published there (LocalProtocolError).
        TransactionFailed when it was not committed, or when nobody can know: so, too, after `close_timeout` seconds in which
        the other side gets on with nothing.
        """
        transactions = self._talk.transactions
        with self._lock:
            self._attached()
            transactions.begin()
        try:
            yield
            with self._lock:
                transactions.check()
                self._attached()
        except BaseException:
            with self._lock:
                transactions.abandon()
            raise
        with self._lock:
            self._in_time(transactions.finish(), "tx.commit")

    @contextmanager
    def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Iterator[None]:
        """Work in the branch of a distributed transaction: ended with the block, marked as failed when the block raises.

        Then `prepare`, `commit` or `rollback` decide about it.  BranchFailed after `close_timeout` seconds without an answer.
        """
        transactions = self._talk.transactions
        with self._lock:
            self._attached()
            started = transactions.begin_branch(xid, join=join, resume=resume)
        try:
            with self._lock:
                self._in_time(started, "dtx.start")
            yield
            with self._lock:
                transactions.check()
                self._attached()
        except BaseException:
            with self._lock:
                transactions.abandon_branch(xid, started)
            raise
        with self._lock:
            self._in_time(transactions.finish_branch(xid), "dtx.end")

    def prepare(self, xid: Xid, *, timeout: float | None = None) -> XaStatus:
        """The first phase: XA_OK, or XA_RDONLY where nothing is to be decided.  BranchFailed for any other answer."""
        return self._asked(lambda: self._talk.transactions.prepare(xid), timeout)

    def commit(self, xid: Xid, *, one_phase: bool = False, timeout: float | None = None) -> None:
        """The second phase: the work of the branch is final; `one_phase` without a first."""
        self._asked(lambda: self._talk.transactions.commit_branch(xid, one_phase=one_phase), timeout)

    def rollback(self, xid: Xid, *, timeout: float | None = None) -> None:
        """The work of the branch is undone."""
        self._asked(lambda: self._talk.transactions.rollback_branch(xid), timeout)

    def recover(self, *, timeout: float | None = None) -> tuple[Xid, ...]:
        """The branches in doubt at this broker."""
        return self._asked(lambda: self._talk.transactions.recover(), timeout)

    def carry_out(self, ask: Ask, whole: TwoPhase, *, timeout: float | None = None) -> None:
        """Asks what a two-phase commit wants of this participant, and tells it the answer, or that there will be none."""
        until = end_of(timeout)
        with self._lock:
            try:
                self._attached(timeout, until)
            except AmqpError:
                whole.lost(ask.participant)
                raise
            self._driver.wait(self._talk.transactions.carry_out(ask, whole), timeout, until)

    def forget(self, xid: Xid, *, timeout: float | None = None) -> None:
        """The broker may forget a branch that it decided by itself."""
        self._asked(lambda: self._talk.transactions.forget(xid), timeout)

    def subscribe(
        self, queue: str, *, prefetch: int = PREFETCH, octets: int = INFINITE, accept: bool = True, browse: bool = False
    ) -> Subscription:
        """Subscribes to a queue: receive from it, or iterate over it.

        With `accept` each message is to be settled, and `prefetch` and `octets` bound those that are here and are not; without,
        the broker forgets a message when it sends it.  `browse` leaves the messages on the queue: without `accept` all are
        seen; with it each is to be released, for what was only shown cannot be accepted.
        """
        with self._lock:
            inbox = self._talk.subscribe(queue, prefetch=prefetch, octets=octets, accept=accept, browse=browse)
        return Subscription(inbox, self._driver, self._lock, self._ending)


class Subscription:
    """Messages as they come: `for message in subscription`; as `with` it is cancelled at the end."""

    def __init__(self, inbox: Inbox, driver: Driver, turn: Turn, ending: Ending) -> None:
        self._inbox: Final = inbox
        self._driver: Final = driver
        self._lock: Final = turn
        self._ending: Final = ending

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        with self._lock:
            if self._inbox.closed:
                return
            try:
                self._driver.wait(self._inbox.cancel(), self._ending.timeout)
            except (AmqpError, TimeoutError) as failure:
                if isinstance(failure, TimeoutError):
                    self._ending.missed()
                if error is None:  # else that one is told
                    raise

    def __iter__(self) -> Iterator[Message]:
        while True:
            try:
                message = self.receive()
            except SubscriptionClosed:
                return
            yield message

    def receive(self, timeout: float | None = None) -> Message:
        """The next message; TimeoutError when none comes within `timeout` seconds.

        SubscriptionClosed when nothing more comes because it was cancelled here.
        """
        until = end_of(timeout)
        with self._lock:
            while (message := self._inbox.take()) is None:
                self._inbox.must_be_open()
                self._driver.wait(self._inbox.more, timeout, until)  # another thread may take what comes
            return message

    def cancel(self) -> None:
        """Ends the subscription; messages that came and were not received go back to the queue.

        SessionLost after `close_timeout` seconds in which the other side gets on with nothing.
        """
        with self._lock:
            in_time(self._driver, self._ending, self._inbox.talk, self._inbox.cancel(), "message.cancel", ends=True)
