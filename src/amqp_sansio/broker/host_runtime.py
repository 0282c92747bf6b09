"""A virtual host as the peers see it: its model, its transactions, and what is to be done there."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.transactions.coordinator import Coordinator
from amqp_sansio.kernel.deadlines import earliest

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.fronts.front import Holder, Subscription
    from amqp_sansio.broker.model.queue import Queue

SLICE: Final = 16
"""Deliveries of one queue before another has its turn."""


class Site:
    """One virtual host of a broker."""

    __slots__ = ("_flushing", "_predeclared", "coordinator", "dispatchable", "host", "subscribers", "wakeable")

    def __init__(self, broker: Broker, name: str) -> None:
        self.host: Final = VirtualHost(name, broker._journals, broker.limits, broker._intake, broker.config.error_codes)
        config = broker.config
        self.coordinator: Final = Coordinator(
            self.host, broker._journals, broker.limits, config.branch_timeout, config.most_branch_timeout
        )
        self._predeclared: Final = frozenset(self.host.exchanges)
        self.subscribers = 0
        """Subscriptions to its queues."""
        self.wakeable: Final[OrderedDict[Holder, None]] = OrderedDict()
        """Of whom more subscriptions may be woken, when those that were have taken what there is."""
        self.dispatchable: Final[OrderedDict[Queue, None]] = self.host.dispatchable
        """Queues that may go on.  With `wakeable` it says whether `dispatch` may have something to do."""
        self._flushing: Final[dict[Queue, dict[Subscription, None]]] = {}

    @property
    def empty(self) -> bool:
        """Whether nothing was made in it that is still there: nobody would notice if it were gone."""
        host = self.host
        return not host.queues and host.exchanges.keys() == self._predeclared and not self.coordinator.branches

    def dispatch(self, most: int) -> bool:
        """Up to about `most` deliveries, a few from each queue that can go on; whether there is more to do."""
        dispatchable, wakeable = self.dispatchable, self.wakeable
        while most > 0 and (dispatchable or wakeable):
            if not dispatchable:
                holder, _ = wakeable.popitem(last=False)
                holder.wake_more()
                most -= 1
                continue
            queue, _ = dispatchable.popitem(last=False)
            if queue.dispatch(min(most, SLICE)):
                dispatchable[queue] = None
                most -= SLICE
            else:
                most -= 1
                for consumer in self._flushing.pop(queue, ()):
                    consumer.flushed()
        return bool(dispatchable or wakeable)

    def watch(self, queue: Queue, consumer: Subscription) -> None:
        """A flush of the consumer is done when its queue has nothing more that it can take."""
        self._flushing.setdefault(queue, {})[consumer] = None
        self.dispatchable[queue] = None

    def tick(self, now: float) -> None:
        """Does what is due in the model."""
        self.host.expire(now)
        self.coordinator.tick(now)

    @property
    def due(self) -> float | None:
        """When something is due in the model: at once when a time is to begin."""
        return earliest(self.host.due, self.coordinator.due)
