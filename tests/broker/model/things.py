"""What the tests of the model are made with."""

from __future__ import annotations

from typing import Any

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions.front import Reception
from amqp_sansio.broker.journal import Journal
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.model.message import Cursor, Intake, Message, QueueEntry
from amqp_sansio.broker.model.queue import Queue
from amqp_sansio.broker.model.subscribers import Owner
from amqp_sansio.spec.message import Transfer
from amqp_sansio.wire.layouts.properties import write_properties

INTAKE = Intake()


def message(
    key: str = "k", body: bytes = b"", exchange: str = "", now: float = 0.0, intake: Intake = INTAKE, **properties: Any
) -> Message:
    """A message with these delivery- and message-properties."""
    header = write_properties(routing_key=key, **properties)
    return read(intake, Transfer(exchange, 0, 0), header, body, now)


def read(intake: Intake, transfer: Transfer, header: bytes, body: bytes, now: float = 0.0, **more: Any) -> Message:
    """The message of a transfer."""
    return Reception(intake).read(transfer, header, body, now, **more)


class Sink:
    """A consumer that takes as many messages as it has credit for."""

    def __init__(
        self,
        credit: int = 1000000,
        acquires: bool = True,
        exclusive: bool = False,
        owner: Owner | None = None,
        name: str = "",
        explicit: bool = False,
        wanted: bytes | None = None,
        priority: int = 0,
    ) -> None:
        self.priority = priority
        self.credit = credit
        self.acquires = acquires
        self.exclusive = exclusive
        self.owner = owner
        self.name = name
        self.explicit = explicit
        self.wanted = wanted
        """The bodies that its selector selects begin so; None: it has no selector."""
        self.selective = wanted is not None
        self.looked = 0
        self.octets: int | None = None
        """Octets of credit; None: without end."""
        self.octets_left: int | None = None
        self.got: list[QueueEntry] = []
        self.asked = 0
        self.heard: list[Queue] = []

    def offer(self, entry: QueueEntry) -> bool:
        self.asked += 1
        self.octets_left = None
        if not self.credit:
            return False
        if self.octets is not None:
            if self.size(entry) > self.octets:
                self.octets_left = self.octets
                return False
            self.octets -= self.size(entry)
        self.credit -= 1
        self.got.append(entry)
        return True

    def size(self, entry: QueueEntry) -> int:
        return len(entry.message.body)

    def selects(self, entry: QueueEntry) -> bool:
        self.looked += 1
        return self.wanted is None or entry.message.body.startswith(self.wanted)

    def able(self, message: Message) -> bool:
        return self.credit > 0

    def gone(self, queue: Queue, by: object = None) -> None:
        self.heard.append(queue)

    @property
    def bodies(self) -> list[bytes]:
        return [entry.message.body for entry in self.got]


def durable_host(**settings: Any) -> VirtualHost:
    """A virtual host whose journal is kept."""
    return VirtualHost("h", Journal(enabled=True), **settings)


def publish(host: VirtualHost, exchange: str, key: str, body: bytes = b"", explicit: bool = True, **properties: Any) -> Any:
    """Routes and enqueues; what became of it."""
    sent = message(key, body, exchange, intake=host.intake, **properties)
    routed = host.route(host.destination(exchange), sent, explicit)
    host.enqueue(sent, routed.queues)
    return routed


def following(cursor: Cursor) -> QueueEntry | None:
    """The next message that a cursor has not seen, which it then has; None when there is none now."""
    found = cursor.peek()
    if found is None:
        return None
    cursor.see(*found)
    return found[1]


def bodies(queue: Queue) -> list[bytes]:
    """What is on the queue, in order."""
    return [entry.message.body for entry in queue.all()]


def refusal(call: Any, *args: Any, **more: Any) -> Refused:
    """What the call is refused with."""
    try:
        call(*args, **more)
    except Refused as refused:
        return refused
    raise AssertionError("it was not refused")


def journalled(host: VirtualHost) -> list[Any]:
    """Everything in the journal becomes journalled: the operations that were not taken before."""
    entries = host.journal.take()
    host.journal.journalled(host.journal.last)
    return [operation for entry in entries for operation in entry.operations]
