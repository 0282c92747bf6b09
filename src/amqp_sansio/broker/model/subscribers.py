"""The subscribers of a queue, and the choice of the one that gets the next message."""

from __future__ import annotations

from collections import OrderedDict
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.model.ranks import Passed, Rank
from amqp_sansio.errors.core import many

if TYPE_CHECKING:
    from amqp_sansio.broker.model.entry import Cursor, Entry
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.owner import Owner
    from amqp_sansio.broker.model.queue import Queue


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

    def selects(self, entry: Entry) -> bool:
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

    def offer(self, entry: Entry) -> bool:
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

    def size(self, entry: Entry) -> int:
        """Returns the octets that its credit counts for the message."""
        ...

    def gone(self, queue: Queue, by: Owner | None) -> None:
        """Reports that `by` (None: no owner) deleted the queue (408); the consumer has left it already."""
        ...


ASKED: Final = 64
"""The most subscribers asked whether they can take an immediate message."""
SELECTING: Final = 64
"""The steps of routing that asking one with a selector costs."""
VAIN: Final = 64
"""The most subscribers that take nothing in one turn of their queue; the others are asked in the next turn."""
LOOK_OCTETS: Final = 256
"""The octets of a header that cost a subscriber whose selector decodes it as much as a delivery."""
LARGE: Final = 16
"""The deliveries by which a turn may run over; more is deducted from the next turns."""

_priority: Final = attrgetter("priority")


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


class Dispatcher:
    """Serves consumers that can take messages in turn; those that refused wait until they are woken, and cost nothing.

    A consumer that acquires and has no selector gets the head of the queue.  All others have a cursor: browsers, and those with
    a selector, which look at each message once, and once more after each release.  Among those that acquire, the highest
    priority comes first: lower ones get what none of them can take now.  Browsers take nothing from others, and get turns
    whatever their priority.  A consumer with credit, but too few octets of it for one message, is asked again when its next
    message is another one that fits.
    """

    __slots__ = (
        "_browsing",
        "_by_priority",
        "_cursors",
        "_owing",
        "_passed",
        "_queue",
        "_ranks",
        "_resting",
        "_too_large",
        "_too_small",
        "changed",
        "consumers",
    )

    def __init__(self, queue: Queue) -> None:
        self._queue: Final = queue
        self.consumers: Final[OrderedDict[Consumer, None]] = OrderedDict()
        self._ranks: Final[list[Rank]] = []  # the highest priority first
        self._by_priority: Final[dict[int, Rank]] = {}
        self._browsing: Final[OrderedDict[Consumer, None]] = OrderedDict()  # those that do not acquire
        self._resting: Final[OrderedDict[Consumer, None]] = OrderedDict()  # browsers that have seen everything, with credit
        self._cursors: Final[dict[Consumer, Cursor]] = {}
        self._passed: Final = Passed()  # like the resting ones, but they do not see released messages again
        self._too_small: Final[dict[Consumer, None]] = {}  # all members of a `Rank.small`
        self._too_large: Final[dict[Consumer, Entry]] = {}  # by consumer with a cursor, the message that exceeds its octets
        self.changed = False
        """Whether the head may have changed for a consumer with too few octets: a message left, arrived or came back."""
        self._owing = 0  # deliveries by which turns were too long: headers of a megabyte must not delay all others

    @property
    def waits_for_smaller(self) -> bool:
        """Whether a consumer waits for a smaller message, so that a message that leaves the queue may help it."""
        return bool(self._too_small or self._too_large)

    def ranks_with(self, priority: int) -> int:
        """Returns how many different priorities there are once a subscriber of this one has joined."""
        return len(self._ranks) + (priority not in self._by_priority)

    def join(self, consumer: Consumer) -> None:
        """Adds a subscriber.  Raises Refused (405) when it or another demands to be the only one."""
        others = self.consumers
        if others and (consumer.exclusive or next(iter(others)).exclusive):
            raise Refused(
                conditions.SUBSCRIBE_EXCLUSIVE,
                queue=self._queue.name,
                subscribers=many(len(others), "subscriber"),
                why="; an exclusive subscription allows no others" if consumer.exclusive else ", an exclusive one",
            )
        self.consumers[consumer] = None
        rank = self._by_priority.get(consumer.priority)
        if rank is None:
            rank = self._by_priority[consumer.priority] = Rank(consumer.priority)
            self._ranks.append(rank)
            self._ranks.sort(key=_priority, reverse=True)
        rank.consumers += 1
        if browses(consumer):
            self._cursors[consumer] = self._queue.cursor(released=consumer.acquires or consumer.explicit)
        self.wake(consumer)

    def leave(self, consumer: Consumer) -> None:
        """Removes a subscriber."""
        if consumer not in self.consumers:
            return
        rank = self._by_priority[consumer.priority]
        for each in (self.consumers, rank.taking, rank.selecting, rank.resting, self._browsing, self._resting):
            each.pop(consumer, None)
        self._cursors.pop(consumer, None)
        self._too_large.pop(consumer, None)
        self._too_small.pop(consumer, None)
        self._passed.forget(consumer)
        rank.small.forget(consumer)
        rank.consumers -= 1
        if not rank.consumers:
            del self._by_priority[rank.priority]
            self._ranks.remove(rank)

    def wake(self, consumer: Consumer) -> bool:
        """Wakes a subscriber that may take messages again; returns False when it is not one."""
        if consumer not in self.consumers:
            return False
        rank = self._by_priority[consumer.priority]
        if consumer not in self._cursors:
            self._too_small.pop(consumer, None)
            rank.small.forget(consumer)
            rank.taking[consumer] = None
            return True
        self._too_large.pop(consumer, None)
        if consumer.acquires:
            rank.resting.pop(consumer, None)
            rank.selecting[consumer] = None
        else:
            self._resting.pop(consumer, None)
            self._passed.forget(consumer)
            self._browsing[consumer] = None
        return True

    @property
    def browsers(self) -> int:
        """The number of subscribers that browse the queue themselves."""
        return len(self._cursors)

    def wake_resting(self, level: int = -1, position: int = -1) -> bool:
        """Handles a new message on the queue; returns whether there is a subscriber to offer it to.

        `level` and `position` are those of a released message.  A consumer that has passed its place and does not see it again
        keeps resting.
        """
        found = False
        self.changed = True
        for rank in self._ranks:
            if rank.resting:
                rank.selecting.update(rank.resting)
                rank.resting.clear()
            if rank.taking or rank.selecting:
                found = True
        if self._resting:
            self._browsing.update(self._resting)
            self._resting.clear()
        if self._passed.consumers:
            woken = self._passed.all() if level < 0 else self._passed.before(level, position)
            self._browsing.update(dict.fromkeys(woken))
        return found or bool(self._browsing) or self.waits_for_smaller

    def able(self, message: Message, asks: Asks) -> bool:
        """Returns whether a subscriber could take the message at once; of many that cannot, only some are asked each time.

        Returns False when no `asks` are left: they were used up by subscribers of other queues.
        """
        groups: list[OrderedDict[Consumer, None] | OrderedDict[Consumer, int]] = []
        for rank in self._ranks:
            groups += [rank.taking, rank.selecting, rank.resting]
        groups += [self._browsing, self._resting, self._passed.consumers]
        asked = 0
        for each in groups:
            for consumer in list(islice(each, ASKED - asked)):
                if not asks.asks(consumer):
                    return False
                if consumer.able(message):
                    return True
                each.move_to_end(consumer)
                asked += 1
        return False

    def dispatch(self, most: int) -> bool:
        """Offers at most `most` messages; returns whether there is more to do."""
        if self._owing:
            self._owing = max(0, self._owing - most)
            return True
        if self._too_large and self.changed:
            self.changed = False
            for waiting, large in list(self._too_large.items()):
                found = self._cursors[waiting].peek()
                if found is None or found[1] is not large:
                    self.wake(waiting)
        vain = VAIN
        while most > 0 and vain > 0:
            moved = False
            before = most
            if self._browsing:
                moved = True
                most -= self._show(self._browsing, self._resting)
            entry = self._queue.head if self._ranks else None
            rank = self._next(entry)
            if rank is not None:
                moved = True
                if rank.selecting:
                    most -= self._show(rank.selecting, rank.resting)
                    entry = self._queue.head
                if entry is not None and rank.taking:
                    most -= self._give(entry, rank)
            if not moved:
                return False
            if most == before:
                vain -= 1
        if most < -LARGE:
            self._owing = -most
        return bool(self._browsing or self.waits_for_smaller or self._next(self._queue.head) is not None)

    def _next(self, head: Entry | None) -> Rank | None:
        """Returns the highest rank with a subscriber to ask; None without one.

        Of those with too few octets, the one with the most is asked again if they suffice for the head.
        """
        for rank in self._ranks:
            if rank.selecting:
                return rank
            if head is not None:
                if rank.taking:
                    return rank
                if rank.small.consumers and (consumer := rank.small.largest(head)) is not None:
                    del self._too_small[consumer]
                    rank.taking[consumer] = None
                    return rank
        return None

    def _show(self, among: OrderedDict[Consumer, None], resting: OrderedDict[Consumer, None]) -> int:
        """Shows the next of these consumers a message that it has not seen; one that has seen all is `resting`, or has passed.

        Returns the number of deliveries that it counts as.
        """
        consumer = next(iter(among))
        cursor = self._cursors[consumer]
        found = cursor.peek()
        if found is None:
            del among[consumer]
            if cursor.sees_released:
                resting[consumer] = None
            else:
                self._passed.add(consumer, cursor.places())
            return 0
        entry = found[1]
        cost = 1
        if consumer.selective:
            cost += entry.message.envelope.size // LOOK_OCTETS
            if not consumer.selects(entry):
                cursor.see(*found)
                among.move_to_end(consumer)
                return cost
        changed = self.changed
        if consumer.acquires:
            self._queue.acquire(entry)
        if consumer.offer(entry):
            cursor.see(*found)
            if consumer in among:
                among.move_to_end(consumer)
            return cost
        among.pop(consumer, None)
        if consumer.acquires:
            self._queue.put_back(entry)
            self.changed = changed
        if consumer.octets_left is not None and consumer in self.consumers:
            self._too_large[consumer] = entry
        return cost - 1

    def _give(self, entry: Entry, rank: Rank) -> int:
        queue = self._queue
        taking = rank.taking
        consumer = next(iter(taking))
        changed = self.changed
        queue.acquire(entry)
        if consumer.offer(entry):
            if consumer in taking:
                taking.move_to_end(consumer)
            return 1
        taking.pop(consumer, None)
        queue.put_back(entry)
        self.changed = changed
        if consumer.octets_left is not None and consumer in self.consumers:
            rank.small.add(consumer, consumer.octets_left)
            self._too_small[consumer] = None
        return 0
