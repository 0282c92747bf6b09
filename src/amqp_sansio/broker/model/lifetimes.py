"""Exclusive queues, their subscriptions, and when queues are deleted automatically."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.topology import Topology
from amqp_sansio.kernel.countdowns import Countdowns
from amqp_sansio.kernel.deadlines import earliest
from amqp_sansio.limits import BrokerLimits

if TYPE_CHECKING:
    from amqp_sansio.broker.journal import Journal
    from amqp_sansio.broker.model.message import Intake
    from amqp_sansio.broker.model.owner import Owner
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.model.subscribers import Consumer


class Lifetimes(Topology):
    """The queues of one virtual host with their owners and subscribers."""

    def __init__(self, name: str, journal: Journal, limits: BrokerLimits, intake: Intake) -> None:
        super().__init__(name, journal, limits, intake)
        self._owned: Final[dict[Owner, dict[Queue, None]]] = {}
        self._lingering: Final[Countdowns[Queue]] = Countdowns()

    def unsubscribe(self, queue: Queue, consumer: Consumer) -> int:
        """A consumer leaves; a queue that is deleted with its last one is left, unless it goes with its owner."""
        was = queue.subscribers
        queue.unsubscribe(consumer)
        if was and not queue.subscribers and queue.auto_delete and queue.owner is None and not queue.deleted:
            return self.left(queue)
        return 0

    def owned(self, owner: Owner) -> Iterable[Queue]:
        """The queues that are exclusive to somebody."""
        return self._owned.get(owner, ())

    def owner_ended(self, owner: Owner) -> int:
        """A session, or a connection, is over: its exclusive queues are everybody's, or left when they are auto-delete."""
        number = 0
        for queue in list(self._owned.pop(owner, ())):
            queue.owner = None
            if queue.auto_delete:
                number = max(number, self.left(queue))
        return number

    def unused(self, queue: Queue, was_owned: bool) -> bool:
        """Whether a queue that was there before a restart is left: its owner is no more, or it may linger and nobody uses it,
        for nobody knows since when."""
        if queue.owner is not None:
            return False
        return was_owned or (queue.linger > 0 and not queue.subscribers)

    def left(self, queue: Queue) -> int:
        """Nobody uses an auto-delete queue any more: it goes, at once or so many seconds after the next `expire` (`linger`)."""
        if not queue.linger:
            return self._drop(queue)
        self._lingering.begin(queue, queue.linger)
        return 0

    @property
    def due(self) -> float | None:
        """When to call `expire`: at once when it is to begin a time, None when nothing will expire."""
        return earliest(self.next_expiry, self._lingering.next)

    def expire(self, now: float) -> float | None:
        """Takes off the messages that expired up to now, and the queues whose time is over; the next moment at which something
        does, None when nothing will."""
        self.expire_messages(now)
        for queue in self._lingering.due(now):
            if not queue.subscribers:
                self._drop(queue)
        return self.due

    def _own(self, queue: Queue, owner: Owner | None) -> None:
        if owner is not None:
            queue.owner = owner
            self._owned.setdefault(owner, {})[queue] = None
            self._lingering.stop(queue)

    def _drop(self, queue: Queue, by: Owner | None = None) -> int:
        self._lingering.stop(queue)
        if queue.owner is not None:
            owned = self._owned.get(queue.owner)
            if owned is not None:
                owned.pop(queue, None)
                if not owned:
                    del self._owned[queue.owner]
        return self._remove_queue(queue, by)
