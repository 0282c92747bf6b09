"""How much is in the queues of a virtual host, and whether more may be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.model.entry import ACQUIRED, Entry
from amqp_sansio.broker.model.message import Message
from amqp_sansio.broker.model.queue import RING, SELF_DESTRUCT
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS, BrokerLimits

if TYPE_CHECKING:
    from amqp_sansio.broker.model.queue import Queue

Publish: TypeAlias = "tuple[Message, Sequence[Queue]]"
"""A message and the queues that are to get it."""


class Room:
    """What the messages of one virtual host take, and the limits that they are kept to."""

    def __init__(self, limits: BrokerLimits = DEFAULT_BROKER_LIMITS) -> None:
        self.limits: Final = limits
        self.messages = 0
        """On all queues; one that is on several counts on each."""
        self.octets = 0
        self.given_up = 0
        """What rings gave up or did not take (`Queue.given_up`), also those that are no more."""
        self.held_messages = 0
        """Messages that transactions hold back: they are on no queue yet."""
        self.held_octets = 0

    def admit(self, publishes: Iterable[Publish], letters: bool = False) -> None:
        """Refused 506, naming the limit, when there is no room for all of these together.  Changes nothing.

        A ring has room for whatever is not larger than all of it, and a queue that destroys itself for everything; only not
        for `letters`, dead ones: they destroy no queue.  What a message takes the place of is not counted with it, once.
        """
        counts: dict[Queue, list[int]] = {}
        replaced: dict[Entry, None] = {}
        messages, octets = self.messages, self.octets
        for message, queues in publishes:
            size = message.size
            messages += len(queues)
            octets += len(queues) * size
            for queue in queues:
                if queue.policy == RING:
                    _room("queue_octets", queue.most_octets, size, queue)
                    continue
                if queue.policy == SELF_DESTRUCT and not letters:
                    continue
                count = counts.setdefault(queue, [queue.messages, queue.octets])
                count[0] += 1
                count[1] += size
                older = None if queue.last_values is None else queue.last_values.before(message)
                if older is not None and older.state != ACQUIRED and older not in replaced:
                    replaced[older] = None
                    count[0] -= 1
                    count[1] -= older.message.size
                _room("queue_messages", queue.most_messages, count[0], queue)
                _room("queue_octets", queue.most_octets, count[1], queue)
            _room("host_messages", self.limits.host_messages, messages)  # now, so that what follows is not even routed
            _room("host_octets", self.limits.host_octets, octets)

    def takes(self, message: Message, copies: int) -> bool:
        """Whether the host may have so many of this message besides what it has, wherever they are."""
        octets = self.octets + message.size * copies
        return self.messages + copies <= self.limits.host_messages and octets <= self.limits.host_octets


def _room(limit: str, value: int, asked: int, queue: Queue | None = None) -> None:
    if asked > value:
        where = f" for queue {queue.name!r}" if queue is not None else ""
        raise Refused(conditions.TRANSFER_LIMIT, limit=limit, value=value, where=where, why=f"{asked} would be there")
