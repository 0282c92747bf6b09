"""What the spooler asks of a broker: messages of some queues, and words about its branches; on one connection."""

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
    """Subscriptions to some queues in one session.  LiveError when the connection does not hold: then it is over."""

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
        """Messages on the queues before any of them came here."""

    def open(self) -> None:
        """Connects.  LiveSetupError when one of the queues is not there."""
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
        """Messages come from now on, as many as there is credit for."""
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
        """Ends the connection: what was not accepted goes back to its queue."""
        self.link.close()

    def depth(self) -> int:
        """Messages on the queues, and here but not in a segment; some brokers count the latter, too, and some do not."""
        return self._depth() + (self._held() if self._apart else 0)

    def _depth(self) -> int:
        return sum([self.link.queue(name) or 0 for name in self.queues])

    def _held(self) -> int:
        return sum([len(inbox.messages) for _, inbox in self._inboxes])

    def receive(self, seconds: float) -> tuple[Message, Taken] | None:
        """The next message of any queue, in turn; None when there is none within `seconds`."""
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
        """Until something comes for one of the subscriptions, or the time is over."""
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
        """What is accepted from now on belongs to the branch, which may take `timeout` seconds (see the options)."""
        self._ask(lambda: self._session._talk.transactions.start(branch))
        with self.link.told(" (option branchTimeout)"):
            self._bounded = give_time(self._session, branch, timeout, self._bounded)

    def accept(self, messages: Sequence[Message]) -> None:
        """They are done with, as far as the branch, or the broker's completion, says so."""
        with self.link.told():
            for each in messages:
                each.accept()

    def end(self, branch: Xid) -> None:
        """What follows belongs to it no more."""
        self._ask(lambda: self._session._talk.transactions.end(branch))

    def prepare(self, branch: Xid) -> None:
        """The broker promises that it can be committed, whatever happens.  LiveError when it does not."""
        status = self._ask(lambda: self._session._talk.transactions.prepare(branch))
        if status != XaStatus.XA_OK:
            raise LiveSetupError(
                f"{self.link.access.shown}: the broker answers {status.name} to dtx.prepare of a branch with messages in it: "
                f"it does not keep what it accepts; choose mode at-least-once"
            )

    def commit(self, branch: Xid) -> None:
        """Its messages are gone from their queues.  LiveError when that is not certain."""
        self._ask(lambda: self._session._talk.transactions.commit_branch(branch))

    def rollback(self, branch: Xid) -> None:
        """Its messages are on their queues again."""
        self._ask(lambda: self._session._talk.transactions.rollback_branch(branch))

    def sync(self) -> None:
        """Everything sent so far is done."""
        with self.link.told():
            self._session.sync()

    def _ask(self, what: Callable[[], Ticket[XaStatus]]) -> XaStatus:
        with self.link.told(""):
            return self._session._asked(what)
