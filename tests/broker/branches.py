"""A virtual host with queues, a journal and a coordinator, for tests of transactions."""

from __future__ import annotations

from typing import Final

from tests.broker.model.things import read

from amqp_sansio.broker.journal import Journal
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import AVAILABLE, Message, QueueEntry
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import SESSION, Owner
from amqp_sansio.broker.transactions import Work
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.message import DeliveryProperties, Transfer
from amqp_sansio.wire.layouts.layout import encode_headers

ME: Final = Owner(SESSION)
YOU: Final = Owner(SESSION)
XID: Final = Xid(1, b"global", b"branch")


class Stage:
    """`q` and `r` are durable queues, `t` is a transient one; every message is persistent unless said otherwise."""

    def __init__(self, journal: bool = False, limits: BrokerLimits = DEFAULT_BROKER_LIMITS) -> None:
        self.journal = Journal(enabled=journal)
        self.host = VirtualHost("h", self.journal, limits)
        for name in ("q", "r"):
            self.host.declare_queue(name, durable=True)
        self.host.declare_queue("t")
        self.stored()
        self.coordinator = self.host.coordinator
        self.limits = limits

    def queue(self, name: str = "q") -> Queue:
        return self.host.queues[name]

    def message(self, body: bytes = b"body", persistent: bool = True, ttl: int | None = None) -> Message:
        header = encode_headers([DeliveryProperties(delivery_mode=2 if persistent else 1, ttl=ttl)])
        return read(self.host.intake, Transfer(""), header, body)

    def put(self, body: bytes = b"body", queue: str = "q", persistent: bool = True) -> QueueEntry:
        """A message that is on a queue and acquired by somebody."""
        self.host.enqueue(self.message(body, persistent), [self.queue(queue)])
        self.stored()
        (entry,) = [each for each in self.queue(queue).all() if each.message.body == body]
        assert self.queue(queue).acquire(entry)
        return entry

    def publish(self, body: bytes, *queues: str, persistent: bool = True, owner: Owner = ME) -> None:
        """In the transaction of the session."""
        self.work(owner).publish(self.message(body, persistent), [self.queue(name) for name in queues or ("q",)])

    def work(self, owner: Owner = ME) -> Work:
        return self.coordinator.working[owner].work

    def stored(self) -> int:
        """Takes what is in the journal and says that it is stored; how many entries that were."""
        entries = self.journal.take()
        self.journal.journalled(self.journal.last)
        return len(entries)

    def on(self, queue: str = "q") -> list[bytes]:
        """The bodies that can be had from a queue."""
        return [entry.message.body for entry in self.queue(queue).all() if entry.state == AVAILABLE]


def started(journal: bool = False, limits: BrokerLimits = DEFAULT_BROKER_LIMITS) -> Stage:
    stage = Stage(journal, limits)
    stage.coordinator.start(ME, XID)
    return stage


def with_work(journal: bool = False, limits: BrokerLimits = DEFAULT_BROKER_LIMITS) -> Stage:
    """A branch that publishes one message and accepts another, and on which nobody works any more."""
    stage = started(journal, limits)
    stage.publish(b"published", "q", "t")
    stage.work().accept([stage.put(b"accepted")])
    stage.coordinator.end(ME, XID)
    return stage
