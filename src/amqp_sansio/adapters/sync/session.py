"""Sessions and subscriptions for blocking code."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

from amqp_sansio.adapters.sync.driver import Driver
from amqp_sansio.conversation.inbox import Inbox
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.credit import INFINITE
from amqp_sansio.errors import AmqpError
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid


class Session:
    """A session, to be used as `with connection.session() as session`."""

    def __init__(self, talk: Talk, driver: Driver, lock: threading.RLock) -> None:
        self.talk: Final = talk
        self._driver: Final = driver
        self._lock: Final = lock

    def __enter__(self) -> Self:
        with self._lock:
            self._driver.wait(self.talk.attached)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            if self.talk.ended.done:
                return
            try:
                if error is None:
                    self._driver.wait(self.talk.sync())
                self._driver.wait(self.talk.detach())
            except AmqpError:
                if error is None:
                    raise

    def say(self, command: Command) -> None:
        """Says a command and waits until the other side has executed it."""
        with self._lock:
            self._driver.wait(self.talk.say(command))

    def ask(self, command: Command) -> Struct | None:
        """Says a command and waits for its result."""
        with self._lock:
            return self._driver.wait(self.talk.ask(command))

    def sync(self) -> None:
        """Waits until everything said so far is executed."""
        with self._lock:
            self._driver.wait(self.talk.sync())

    def send(self, exchange: str = "", routing_key: str | None = None, body: bytes = b"", **properties: Any) -> Ticket[None]:
        """Publishes a message as soon as there is room for it; the ticket tells when the broker has it for certain.

        `properties` are those of `Talk.publish`.
        """
        with self._lock:
            while not self.talk.has_room:
                self._driver.wait(self.talk.room)
            self._driver.wait_writable()
            return self.talk.publish(exchange, routing_key, body, **properties)

    def publish(self, exchange: str = "", routing_key: str | None = None, body: bytes = b"", **properties: Any) -> None:
        """Publishes a message and waits until the broker has it for certain."""
        self.confirmed(self.send(exchange, routing_key, body, **properties))

    def confirmed(self, ticket: Ticket[None]) -> None:
        """Waits for what `send` gave."""
        with self._lock:
            if not ticket.done:
                self.talk.prompt()
            self._driver.wait(ticket)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """A local transaction: committed at the end of the block, rolled back when the block raises.

        What is published and accepted in it counts together or not at all.  TransactionFailed when it was not committed, or
        when nobody can know.
        """
        with self._lock:
            self.talk.transactions.select_tx()
        try:
            yield
        except BaseException:
            with self._lock:
                if self.talk.session.state == "attached":
                    self.talk.transactions.rollback()
            raise
        with self._lock:
            self._driver.wait(self.talk.transactions.commit())

    @contextmanager
    def branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Iterator[None]:
        """Work in the branch of a distributed transaction: ended with the block, marked as failed when the block raises.

        Then `prepare`, `commit` or `rollback` decide about it.
        """
        with self._lock:
            self._driver.wait(self.talk.transactions.start(xid, join=join, resume=resume))
        try:
            yield
        except BaseException:
            with self._lock:
                if self.talk.session.state == "attached":
                    self.talk.transactions.end(xid, fail=True)
            raise
        with self._lock:
            self._driver.wait(self.talk.transactions.end(xid))

    def prepare(self, xid: Xid) -> XaStatus:
        """The first phase: XA_OK, or XA_RDONLY where nothing is to be decided.  BranchFailed for any other answer."""
        with self._lock:
            return self._driver.wait(self.talk.transactions.prepare(xid))

    def commit(self, xid: Xid, *, one_phase: bool = False) -> None:
        """The second phase: the work of the branch is final; `one_phase` without a first."""
        with self._lock:
            self._driver.wait(self.talk.transactions.commit_branch(xid, one_phase=one_phase))

    def rollback(self, xid: Xid) -> None:
        """The work of the branch is undone."""
        with self._lock:
            self._driver.wait(self.talk.transactions.rollback_branch(xid))

    def recover(self) -> tuple[Xid, ...]:
        """The branches in doubt at this broker."""
        with self._lock:
            return self._driver.wait(self.talk.transactions.recover())

    def subscribe(
        self, queue: str, *, prefetch: int = 100, octets: int = INFINITE, accept: bool = True, browse: bool = False
    ) -> Subscription:
        """Subscribes to a queue; see `Talk.subscribe`."""
        with self._lock:
            inbox = self.talk.subscribe(queue, prefetch=prefetch, octets=octets, accept=accept, browse=browse)
        return Subscription(inbox, self._driver, self._lock)


class Subscription:
    """Messages as they come: `for message in subscription`; as `with` it is cancelled at the end."""

    def __init__(self, inbox: Inbox, driver: Driver, lock: threading.RLock) -> None:
        self.inbox: Final = inbox
        self._driver: Final = driver
        self._lock: Final = lock

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self.inbox.closed:
            self.cancel()

    def __iter__(self) -> Iterator[Message]:
        while (message := self.receive()) is not None:
            yield message

    def receive(self, timeout: float | None = None) -> Message | None:
        """The next message; None when the subscription was cancelled.  TimeoutError when none came within `timeout` seconds."""
        with self._lock:
            while (message := self.inbox.take()) is None:
                if self.inbox.closed:
                    return None
                self._driver.wait(self.inbox.more, timeout)
            return message

    def cancel(self) -> None:
        """Ends the subscription; messages that came and were not received go back to the queue."""
        with self._lock:
            self._driver.wait(self.inbox.cancel())
