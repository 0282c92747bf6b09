"""Those who use queues: their owners, and their subscribers by what they wait for, so that only those affected are checked."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import TYPE_CHECKING, Final, Literal, Protocol, TypeAlias

from amqp_sansio.kernel.timers import Agenda

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message, QueueEntry
    from amqp_sansio.broker.model.queue import Queue


Lifetime: TypeAlias = Literal["session", "connection"]
"""The kind of an owner, which determines its lifetime."""
SESSION: Final = "session"
"""A session may outlive its connection, and move to another one later."""
CONNECTION: Final = "connection"
"""A connection's resources end with it."""


class Owner:
    """The owner of exclusive queues, subscriptions and transactions; compared by identity.

    Fronts make one for each session and each connection, and call `VirtualHost.owner_ended` at its end.
    """

    __slots__ = ("_on", "lifetime", "number")

    def __init__(self, lifetime: Lifetime, number: int = 0, connection: Owner | None = None) -> None:
        self.lifetime: Final = lifetime
        self.number: Final = number
        """The number of a connection among those of the broker, from 1 on, which identifies the origin of messages; 0: none."""
        self._on = connection

    @property
    def connection(self) -> Owner | None:
        """The connection of a session, None while it has none; a connection itself."""
        return self if self.lifetime == CONNECTION else self._on

    def moved(self, connection: Owner | None) -> None:
        """Moves the session to another connection, or to none."""
        self._on = connection

    def __repr__(self) -> str:
        return f"<Owner: a {self.lifetime}{f', number {self.number}' if self.number else ''}>"


def connection_of(owner: Owner | None) -> Owner | None:
    """Returns the connection of an owner; None without an owner, and for a session without a connection."""
    return None if owner is None else owner.connection


def published_by(message: Message, owner: Owner | None) -> bool:
    """Returns whether the message came from the connection that is this owner, or its own; False when the origin is unknown."""
    if not message.publisher or owner is None:
        return False
    connection = owner.connection
    return connection is not None and connection.number == message.publisher


class Consumer(Protocol):
    """A subscription, as a queue sees it.  Compared and hashed by identity."""

    @property
    def acquires(self) -> bool:
        """Whether messages offered to it are acquired for it (pre-acquired), or only shown (not-acquired)."""
        ...

    @property
    def explicit(self) -> bool:
        """Whether it accepts its messages (accept-mode explicit).  Without acquiring, it then sees released messages again."""
        ...

    @property
    def selective(self) -> bool:
        """Whether it has a selector: it browses the queue itself, and takes what it `selects`."""
        ...

    def selects(self, entry: QueueEntry) -> bool:
        """Returns whether its selector matches the message; only called if it is selective."""
        ...

    @property
    def priority(self) -> int:
        """Its fixed priority; higher ones are served first, as long as they can take messages."""
        ...

    @property
    def exclusive(self) -> bool:
        """Whether it demands to be the only subscriber."""
        ...

    @property
    def owner(self) -> Owner | None:
        """The owner of the subscription, by which queues are exclusive."""
        ...

    def offer(self, entry: QueueEntry) -> bool:
        """Takes the message, already acquired when `acquires`; False, which puts it back, when it cannot.

        A consumer that returned False is not asked again before `Queue.wake`.  It may settle the message at once, and leave the
        queue.
        """
        ...

    def able(self, message: Message) -> bool:
        """Returns whether it has credit for this message now."""
        ...

    @property
    def octets_left(self) -> int | None:
        """Its octets of credit, too few for the message it refused last; None when it refused for another reason."""
        ...

    def size(self, entry: QueueEntry) -> int:
        """Returns the octets that its credit counts for the message."""
        ...

    def gone(self, queue: Queue, by: Owner | None) -> None:
        """Reports that `by` (None: no owner) deleted the queue (408); the consumer has left it already."""
        ...


SELECTING: Final = 64
"""The steps of routing that asking one with a selector costs."""


def browses(consumer: Consumer) -> bool:
    """Returns whether it browses the queue itself; other consumers get the head."""
    return not consumer.acquires or consumer.selective


class Asks:
    """Limits how many subscribers are asked whether they can take one immediate message, over all queues.

    `left` is in steps, BrokerLimits.routing_steps at first; a subscriber with a selector costs SELECTING.
    """

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left

    def asks(self, consumer: Consumer) -> bool:
        """Counts one more; returns whether it may be asked."""
        self.left -= SELECTING if consumer.selective else 1
        return self.left >= 0


class Passed:
    """Browsers that have seen all messages, by the position reached on each level."""

    __slots__ = ("_heaps", "_last", "consumers")

    def __init__(self) -> None:
        self.consumers: Final[OrderedDict[Consumer, int]] = OrderedDict()
        self._heaps: Final[dict[int, list[tuple[int, int, Consumer]]]] = {}  # entries with another number are out of date
        self._last = 0

    def add(self, consumer: Consumer, places: Iterable[tuple[int, int]]) -> None:
        """Adds a browser that has seen the messages up to these positions, by level."""
        self._last += 1
        self.consumers[consumer] = self._last
        for level, position in places:
            heap = self._heaps.setdefault(level, [])
            heappush(heap, (position, self._last, consumer))
            if len(heap) > 2 * len(self.consumers) + 16:
                heap[:] = [each for each in heap if self.consumers.get(each[2]) == each[1]]
                heapify(heap)

    def forget(self, consumer: Consumer) -> None:
        """Removes a browser that looks again, or is gone."""
        self.consumers.pop(consumer, None)

    def before(self, level: int, position: int) -> list[Consumer]:
        """Removes and returns the browsers that have not reached this position."""
        found: list[Consumer] = []
        heap = self._heaps.get(level)
        while heap and heap[0][0] < position:
            _, number, consumer = heappop(heap)
            if self.consumers.get(consumer) == number:
                del self.consumers[consumer]
                found.append(consumer)
        return found

    def all(self) -> list[Consumer]:
        """Removes and returns all browsers."""
        found = list(self.consumers)
        self.consumers.clear()
        self._heaps.clear()
        return found


class Rank:
    """The acquiring consumers of one priority, by what they wait for.  Consumers without credit are in none of the sets."""

    __slots__ = ("consumers", "priority", "selecting", "small", "resting", "taking")

    def __init__(self, priority: int) -> None:
        self.priority: Final = priority
        self.consumers = 0
        """The number of subscribers of this priority, including those that do not acquire."""
        self.taking: Final[OrderedDict[Consumer, None]] = OrderedDict()
        """Consumers that are offered the head of the queue in turn."""
        self.selecting: Final[OrderedDict[Consumer, None]] = OrderedDict()
        """Consumers that browse the queue themselves, in turn."""
        self.resting: Final[OrderedDict[Consumer, None]] = OrderedDict()
        """The browsing ones that have seen all messages, with credit left."""
        self.small: Final = SmallCredit()
        """Consumers without a cursor whose octets were too few for the head."""


class SmallCredit(Agenda["Consumer"]):
    """Consumers that refused a message because their octets were too few, the largest credit first.

    What an agenda has as a moment is the credit, negated.
    """

    __slots__ = ()

    def largest(self, entry: QueueEntry) -> Consumer | None:
        """Removes and returns the consumer with the most octets, if they suffice for the message."""
        if self.next is None:
            return None
        octets, _, consumer = self._heap[0]
        if consumer.size(entry) > -octets:
            return None
        self.forget(consumer)
        return consumer
