"""The spooler's access to a broker: messages of some queues, and commands about branches, on one connection."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Final

from amqp_sansio.adapters.sync import Session
from amqp_sansio.conversation.inbox import Inbox
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, SessionFailed
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spark.live.broker_link import Link, give_time
from amqp_sansio.spark.live.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live.options import Access
from amqp_sansio.spark.live.segment import Taken
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid


class Intake:
    """Subscriptions to some queues in one session.  Raises LiveError when the connection fails, which ends it."""

    def __init__(self, access: Access, queues: Sequence[str], prefetch: int, octets: int | None) -> None:
        self.link: Final = Link(access)
        self.queues: Final = tuple(queues)
        self._prefetch: Final = prefetch
        self._octets: Final = INFINITE if octets is None else octets
        self._inboxes: list[tuple[str, Inbox]] = []
        self._next = 0
        self._apart = False
        self._bounded: bool | None = None
        self.there = 0
        """Messages on the queues before any of them were received."""

    def open(self) -> None:
        """Connects.  Raises LiveSetupError when one of the queues does not exist."""
        self.link.__enter__()
        try:
            with self.link.told():
                depths = [(name, self.link.queue(name)) for name in self.queues]
                if missing := [repr(name) for name, depth in depths if depth is None]:
                    where = f"{' and none '.join(missing)} (option queue)"
                    raise LiveSetupError(f"{self.link.access.shown}: there is no queue {where}")
                self.there = sum([depth or 0 for _, depth in depths])
                self._session: Session = self.link.connection.session().__enter__()
        except LiveError:
            self.close()
            raise

    def subscribe(self) -> None:
        """Subscribes: messages arrive from now on, as credit allows."""
        with self.link.told():
            try:
                for name in self.queues:
                    subscription = self._session.subscribe(name, prefetch=self._prefetch, octets=self._octets)
                    self._inboxes.append((name, subscription._inbox))
                self._session.sync()
                self._apart = self._depth() + self._held() <= self.there
            except SessionFailed as error:
                raise LiveSetupError(f"{self.link.access.shown}: {error}") from None

    def close(self) -> None:
        """Closes the connection: messages that were not accepted go back to their queues."""
        self.link.close()

    def depth(self) -> int:
        """Returns how many messages are on the queues, or received and in no segment; some brokers count the latter too."""
        return self._depth() + (self._held() if self._apart else 0)

    def _depth(self) -> int:
        return sum([self.link.queue(name) or 0 for name in self.queues])

    def _held(self) -> int:
        return sum([len(inbox.messages) for _, inbox in self._inboxes])

    def receive(self, seconds: float) -> tuple[Message, Taken] | None:
        """Returns the next message of any queue, in turn; None when there is none within `seconds`."""
        until = time.monotonic() + seconds
        try:
            while True:
                for _ in self._inboxes:
                    name, inbox = self._inboxes[self._next]
                    self._next = (self._next + 1) % len(self._inboxes)
                    message = inbox.take()
                    if message is not None:
                        return message, Taken(name, time.time_ns() // 1000, message.received.header, message.body)
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self._wait(left)
        except (AmqpError, OSError) as error:
            raise LiveError(f"{self.link.access.shown}: {error}") from None

    def _wait(self, seconds: float) -> None:
        """Waits until a message arrives for one of the subscriptions, or the time is over."""
        coming: Ticket[None] = Ticket()
        waiting: list[Ticket[None]] = []

        def come() -> None:
            coming.settle(None)

        def ask() -> Ticket[None]:
            for _, inbox in self._inboxes:
                waiting.append(inbox.more)
                inbox.more.on_done(come)
            return coming

        try:
            self._session._asked(ask, seconds)
        except TimeoutError:
            for each in waiting:
                each.forget(come)

    def begin(self, branch: Xid, timeout: int | None) -> None:
        """Begins a branch for what is accepted from now on, with a timeout of `timeout` seconds (see the options)."""
        self._ask(lambda: self._session._talk.transactions.start(branch))
        with self.link.told(" (option branchTimeout)"):
            self._bounded = give_time(self._session, branch, timeout, self._bounded)

    def accept(self, messages: Sequence[Message]) -> None:
        """Accepts messages, as part of the branch, or for good."""
        with self.link.told():
            for each in messages:
                each.accept()

    def end(self, branch: Xid) -> None:
        """Ends the branch for what follows."""
        self._ask(lambda: self._session._talk.transactions.end(branch))

    def prepare(self, branch: Xid) -> None:
        """Prepares the branch, so that the broker can commit it whatever happens.  Raises LiveError when it does not."""
        self.link.must_keep(self._ask(lambda: self._session._talk.transactions.prepare(branch)), "accepts")

    def commit(self, branch: Xid) -> None:
        """Commits: the messages are gone from their queues.  Raises LiveError when that is not certain."""
        self._ask(lambda: self._session._talk.transactions.commit_branch(branch))

    def sync(self) -> None:
        """Waits until everything sent so far is executed."""
        with self.link.told():
            self._session.sync()

    def _ask(self, what: Callable[[], Ticket[XaStatus]]) -> XaStatus:
        with self.link.told(""):
            return self._session._asked(what)
