"""Queues: messages in order, first in first out within their priority; and the choice of the subscriber that gets the next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.model.message import ACQUIRED, AVAILABLE, GONE, HELD, BlockList, Cursor, Message, QueueEntry
from amqp_sansio.broker.model.queue_options import LastValues, MessageNumbering, Shares
from amqp_sansio.broker.model.subscribers import Asks, Consumer, Owner, Passed, Rank, browses, published_by
from amqp_sansio.errors.core import many
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.exchange import Binding, Exchange

MOST_LEVELS: Final = 10
"""Priorities are 0 to 9."""
REJECT: Final = "reject"
"""A full queue refuses further publishes."""
RING: Final = "ring"
"""A full queue drops its oldest messages for newer ones."""
SELF_DESTRUCT: Final = "self-destruct"
"""A queue that would exceed its limits is deleted."""
POLICIES: Final = (REJECT, RING, SELF_DESTRUCT)
"""The policies of a full queue, by their names in qpidd."""


def level_of(priority: int, levels: int) -> int:
    """Returns the level of a priority, 0 to `levels` - 1: the lowest priorities share level 0, the highest the last one.

    Rule message.priority-level-implementation.
    """
    return min(max(priority - 5 + (levels + 1) // 2, 0), levels - 1)


_by_release: Final = attrgetter("released")
_LEVELS: Final = tuple([tuple([level_of(priority, max(n, 1)) for priority in range(10)]) for n in range(MOST_LEVELS + 1)])


class Awaiting(Protocol):
    """A consumer that asked for a message which another has acquired.  Compared and hashed by identity."""

    def released(self) -> None:
        """Is called when the message is available again: at most once, and before it is offered to any subscriber."""
        ...


class Queue:
    """A queue: messages in order.  No operation slows down with the number of messages, acquired ones or idle consumers.

    `levels` is the number of priority levels, 1 to 10.  `most_messages` and `most_octets` are the limits of this queue.
    `owner` holds the queue exclusively; None: nobody does.  A queue knows neither the journal nor expiry nor where messages
    come from: whatever must be journalled goes through its `VirtualHost`.
    """

    __slots__ = (
        "_acquired", "_acquired_octets", "_awaited", "_dispatchable", "_lines", "_mask", "_next", "_released", "_releases",
        "_special", "acquired", "alternate", "arguments", "auto_delete", "available", "bindings", "deleted", "dispatcher",
        "durable", "given_up", "held", "last_values", "level", "levels", "linger", "messages", "most_messages", "most_octets",
        "most_plain", "name", "no_local", "numbering", "octets", "owner", "policy", "shares", "shortened",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        durable: bool = False,
        owner: Owner | None = None,
        auto_delete: bool = False,
        alternate: Exchange | None = None,
        arguments: Map | None = None,
        levels: int = MOST_LEVELS,
        most_messages: int = DEFAULT_BROKER_LIMITS.queue_messages,
        most_octets: int = DEFAULT_BROKER_LIMITS.queue_octets,
        dispatchable: dict[Queue, None] | None = None,
        no_local: bool = False,
        policy: str = REJECT,
        linger: int = 0,
        last_values: LastValues | None = None,
        numbering: MessageNumbering | None = None,
        shares: Shares | None = None,
    ) -> None:
        self.name: Final = name
        self.durable: Final = durable
        self.owner = owner
        self.auto_delete: Final = auto_delete
        self.alternate: Final = alternate
        """The exchange for rejected messages, and for those left when the queue is deleted."""
        self.arguments: Final = arguments if arguments is not None else Map()
        self.levels: Final = levels
        self.most_messages: Final = most_messages
        self.most_octets: Final = most_octets
        self.no_local: Final = no_local
        """Whether it ignores what the connection of its `user` publishes."""
        self.policy: Final = policy
        """The policy when it is full, one of `POLICIES`."""
        self.linger: Final = linger
        """Seconds that an auto-delete queue stays after its last use."""
        self.last_values: Final = last_values
        """The last message of each key, for a last-value queue."""
        self.numbering: Final = numbering
        """The numbering of arriving messages, if any."""
        self.shares: Final = shares
        """The turns of its levels; None: the highest level with messages always goes first."""
        self.most_plain: Final = most_messages if last_values is None and numbering is None else 0
        """Below this number a message is simply added if its octets fit; from it on, the slow path applies."""
        self.level: Final = _LEVELS[levels]
        """The level of each priority."""
        self.bindings: Final[dict[tuple[Exchange, str], Binding]] = {}
        """Bindings by exchange and key, without those of the default exchange."""
        self.dispatcher: Dispatcher | None = None
        """Its subscribers, once it had one."""
        self.deleted = False
        self.shortened: Callable[[Queue], object] | None = None
        """Called when a message has left or the queue is deleted, while a publisher waits for that."""
        self.messages = 0
        """The number of messages on the queue, in any state."""
        self.available = 0
        """The number of available messages."""
        self.acquired = 0
        """The number of messages acquired and not settled."""
        self.held = 0
        """The number of messages not visible yet."""
        self.octets = 0
        """The octets of header and body of all messages."""
        self.given_up = 0
        """The number of messages dropped or refused because a ring was full."""
        self._lines: Final[list[BlockList | None]] = [None] * levels  # of available and held messages
        self._mask = 0  # a bit for each non-empty line
        self._acquired: Final[dict[int, QueueEntry]] = {}
        self._special: Final = policy == RING or last_values is not None or shares is not None
        self._acquired_octets = 0  # of a special queue
        self._awaited: Final[dict[QueueEntry, dict[Awaiting, None]]] = {}  # acquired entries that other consumers asked for
        self._next = 0
        self._releases = 0
        self._released: list[BlockList | None] | None = None  # entries released again, for cursors that ask for them
        self._dispatchable: Final[dict[Queue, None]] = dispatchable if dispatchable is not None else {}

    # --- what comes and goes ----------------------------------------------------------------------------------------------

    def put(self, message: Message, held: bool = False) -> QueueEntry:
        """Adds a message after all others of its level.  With `held` it stays invisible until `unhold`."""
        position = self._next
        self._next = position + 1
        self.messages += 1
        self.octets += message.size
        level = self.level[message.envelope.priority]
        line = self._lines[level]
        if line is None:
            line = self._lines[level] = BlockList()
        if held:
            entry = QueueEntry(self, message, position, HELD)
            self.held += 1
            line.append(entry)
            self._mask |= 1 << level
        else:
            entry = QueueEntry(self, message, position, AVAILABLE)
            self.available += 1
            line.append(entry)
            self._mask |= 1 << level
            dispatcher = self.dispatcher
            if dispatcher is not None and dispatcher.wake_resting():  # `_note_dispatchable` inlined
                self._dispatchable[self] = None
        if self._special and self.last_values is not None:
            self.last_values.add(entry)
        return entry

    def unhold(self, entry: QueueEntry) -> None:
        """Makes a held message visible, in its place.  Does nothing when it is not held (any more)."""
        if entry.state == HELD:
            entry.state = AVAILABLE
            self.held -= 1
            self.available += 1
            self._note_dispatchable()

    @property
    def head(self) -> QueueEntry | None:
        """The message that would be taken next."""
        mask = self._mask
        if self.shares is not None:
            for level in self.shares.order():
                line = self._lines[level]
                entry = None if line is None else line.head
                if entry is not None and entry.state == AVAILABLE:
                    return entry
            return None
        while mask:
            level = mask.bit_length() - 1
            line = self._lines[level]
            assert line is not None
            entry = line.head
            if entry is not None and entry.state == AVAILABLE:
                return entry
            mask ^= 1 << level  # a held message only blocks its own level
        return None

    @property
    def oldest(self) -> QueueEntry | None:
        """The first message of the lowest level that is not acquired, visible or not: the one that a ring drops next."""
        mask = self._mask
        line = self._lines[(mask & -mask).bit_length() - 1] if mask else None
        return None if line is None else line.head

    def has_room(self, message: Message) -> bool:
        """Returns whether the message fits within the limits, not counting the message that it replaces.

        Acquired messages do not count in a ring, which keeps the newest messages for the next consumer.
        """
        messages, octets = self.messages, self.octets + message.size
        if self.policy == RING:
            messages, octets = messages - self.acquired, octets - self._acquired_octets
        older = None if self.last_values is None else self.last_values.replaceable(message)
        if older is not None:
            messages, octets = messages - 1, octets - older.message.size
        return messages < self.most_messages and octets <= self.most_octets

    def take(self) -> QueueEntry | None:
        """Acquires the next message; returns None when none is available."""
        entry = self.head
        if entry is not None:
            self.acquire(entry)
        return entry

    def acquire(self, entry: QueueEntry) -> bool:
        """Acquires this message; returns False when it is not available."""
        if entry.state != AVAILABLE:
            return False
        self._unline(entry)
        entry.state = ACQUIRED
        self.available -= 1
        self.acquired += 1
        self._acquired[entry.position] = entry
        if self._special:
            self._acquired_octets += entry.message.size
            if self.shares is not None:
                self.shares.took(self.level[entry.message.envelope.priority])
        if self.dispatcher is not None and self.dispatcher.waits_for_smaller:
            self.dispatcher.changed = True
            self._dispatchable[self] = None  # another message may be next now, and small enough for a consumer
        return True

    def await_release(self, entry: QueueEntry, awaiting: Awaiting) -> None:
        """Registers `awaiting`, which asks for an acquired message: `released` is called when its holder releases it."""
        if entry.state == ACQUIRED:
            self._awaited.setdefault(entry, {})[awaiting] = None

    def await_no_more(self, entry: QueueEntry, awaiting: Awaiting) -> None:
        """Cancels `await_release`."""
        awaited = self._awaited.get(entry)
        if awaited is not None:
            awaited.pop(awaiting, None)
            if not awaited:
                del self._awaited[entry]

    def release(self, entry: QueueEntry, set_redelivered: bool = False) -> None:
        """Makes an acquired message available again, in its place.  Other states are not affected.

        Rule message.release.ordering.  Messages that may be overdue, or whose queue was deleted, go through
        `VirtualHost.release`.
        """
        if entry.state != ACQUIRED:
            return
        if set_redelivered:
            entry.redelivered = True
        if self._released is not None:
            self._releases += 1
            entry.released = self._releases
        self._back(entry)
        if self._awaited:
            for awaiting in self._awaited.pop(entry, ()):
                awaiting.released()
        dispatcher = self.dispatcher
        if dispatcher is not None and dispatcher.wake_resting(self.level[entry.message.envelope.priority], entry.position):
            self._dispatchable[self] = None

    def put_back(self, entry: QueueEntry) -> None:
        """Undoes the last `acquire`: no subscriber received the message, so no cursor sees it again."""
        self._back(entry)
        if self.shares is not None:
            self.shares.undo()

    def _back(self, entry: QueueEntry) -> None:
        del self._acquired[entry.position]
        if self._special:
            self._acquired_octets -= entry.message.size
        entry.state = AVAILABLE
        self.acquired -= 1
        self.available += 1
        level = self.level[entry.message.envelope.priority]
        line = self._lines[level]
        assert line is not None
        line.insert(entry)
        self._mask |= 1 << level
        if entry.released and self._released is not None:
            released = self._released[level]
            if released is None:
                released = self._released[level] = BlockList(_by_release)
            released.insert(entry)

    def remove(self, entry: QueueEntry) -> bool:
        """Removes a message for good; returns False when it was gone already."""
        state = entry.state
        if state == ACQUIRED:
            del self._acquired[entry.position]
            self.acquired -= 1
            if self._special:
                self._acquired_octets -= entry.message.size
            if self._awaited:
                self._awaited.pop(entry, None)
        elif state == AVAILABLE:
            self._unline(entry)
            self.available -= 1
            if self.dispatcher is not None and self.dispatcher.waits_for_smaller:
                self.dispatcher.changed = True
                self._dispatchable[self] = None
        elif state == HELD:
            self._unline(entry)
            self.held -= 1
            self._note_dispatchable()  # consumers that waited for it look at the next one
        else:
            return False
        entry.state = GONE
        self.messages -= 1
        self.octets -= entry.message.size
        if self._special and self.last_values is not None:
            self.last_values.remove(entry)
        return True

    def waiting(self) -> list[QueueEntry]:
        """The available and held messages in order of delivery, which a purge removes."""
        return [entry for line in reversed(self._lines) if line is not None for entry in line]

    def all(self) -> Iterator[QueueEntry]:
        """Yields every message, acquired ones included, in the order of delivery if all were released."""
        for level in range(self.levels - 1, -1, -1):
            line = self._lines[level]
            mine = [entry for entry in self._acquired.values() if self.level[entry.message.envelope.priority] == level]
            yield from sorted([*mine, *(line or ())], key=lambda entry: entry.position)

    def cursor(self, released: bool = False) -> Cursor:
        """Returns a cursor at the beginning of the queue, for browsers.  `released`: it sees released messages again."""
        if not released:
            return Cursor(self._lines)
        if self._released is None:
            self._released = [None] * self.levels
        return Cursor(self._lines, self._released, self._releases)

    def _unline(self, entry: QueueEntry) -> None:
        level = self.level[entry.message.envelope.priority]
        line = self._lines[level]
        assert line is not None
        line.remove(entry)
        if not line:
            self._mask ^= 1 << level
        if entry.released and self._released is not None:
            released = self._released[level]
            assert released is not None
            released.remove(entry)

    # --- subscribers ----------------------------------------------------------------------------------------------------------

    @property
    def subscribers(self) -> int:
        """The number of subscribers."""
        return len(self.dispatcher.consumers) if self.dispatcher is not None else 0

    @property
    def browsers(self) -> int:
        """The number of subscribers that browse the queue themselves, because they do not acquire or have a selector."""
        return self.dispatcher.browsers if self.dispatcher is not None else 0

    def ranks_with(self, priority: int) -> int:
        """Returns how many different priorities its subscribers have, counting this one."""
        return self.dispatcher.ranks_with(priority) if self.dispatcher is not None else 1

    @property
    def user(self) -> Owner | None:
        """The exclusive owner of the queue, or of its only subscription; None when there is none."""
        if self.owner is None and self.dispatcher is not None:
            first = next(iter(self.dispatcher.consumers), None)
            if first is not None and first.exclusive:
                return first.owner
        return self.owner

    def local(self, message: Message) -> bool:
        """Returns whether the connection of its `user` published the message."""
        return message.publisher != 0 and published_by(message, self.user)

    def subscribe(self, consumer: Consumer) -> None:
        """Adds a consumer; the next `dispatch` offers it what is available."""
        if self.dispatcher is None:
            self.dispatcher = Dispatcher(self)
        self.dispatcher.join(consumer)
        self._dispatchable[self] = None

    def unsubscribe(self, consumer: Consumer) -> None:
        """Removes a consumer; what it has acquired stays acquired."""
        if self.dispatcher is not None:
            self.dispatcher.leave(consumer)

    def wake(self, consumer: Consumer) -> None:
        """Wakes a consumer that had stopped taking messages."""
        if self.dispatcher is not None and self.dispatcher.wake(consumer):
            self._dispatchable[self] = None  # nothing new for the others, which have seen all messages

    def able(self, message: Message, asks: Asks) -> bool:
        """Returns whether a subscriber could take this message at once (delivery-properties.immediate)."""
        return self.dispatcher is not None and self.dispatcher.able(message, asks)

    def dispatch(self, most: int) -> bool:
        """Offers at most `most` messages in turn to subscribers that can take some; returns whether there is more to do."""
        return self.dispatcher is not None and self.dispatcher.dispatch(most)

    def _note_dispatchable(self) -> None:
        dispatcher = self.dispatcher
        if dispatcher is not None and dispatcher.wake_resting():
            self._dispatchable[self] = None

    def __repr__(self) -> str:
        return f"<Queue {self.name!r}: {self.available} available, {self.acquired} acquired, {self.held} held>"


ASKED: Final = 64
"""The most subscribers asked whether they can take an immediate message."""
VAIN: Final = 64
"""The most subscribers that take nothing in one turn of their queue; the others are asked in the next turn."""
LOOK_OCTETS: Final = 256
"""The octets of a header that cost a subscriber whose selector decodes it as much as a delivery."""
LARGE: Final = 16
"""The deliveries by which a turn may run over; more is deducted from the next turns."""

_priority: Final = attrgetter("priority")


class Dispatcher:
    """Serves consumers that can take messages in turn; those that refused wait until they are woken, and cost nothing.

    A consumer that acquires and has no selector gets the head of the queue.  All others have a cursor: browsers, and those with
    a selector, which look at each message once, and once more after each release.  Among those that acquire, the highest
    priority comes first: lower ones get what none of them can take now.  Browsers take nothing from others, and get turns
    whatever their priority.  A consumer with credit, but too few octets of it for one message, gets its turn again when
    another message that fits comes first.
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
        self._too_large: Final[
            dict[Consumer, QueueEntry]
        ] = {}  # by consumer with a cursor, the message that exceeds its octets
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

    def _next(self, head: QueueEntry | None) -> Rank | None:
        """Returns the highest rank with a subscriber to ask; None without one.

        Of those with too few octets, the one with the most is asked again if they suffice for the head.
        """
        for rank in self._ranks:
            if rank.selecting:
                return rank
            if head is not None:
                if rank.taking:
                    return rank
                if self._too_small and (consumer := rank.small.largest(head)) is not None:
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
            cost += len(entry.message.envelope.header) // LOOK_OCTETS
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

    def _give(self, entry: QueueEntry, rank: Rank) -> int:
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
            rank.small.note(consumer, -consumer.octets_left)
            self._too_small[consumer] = None
        return 0
