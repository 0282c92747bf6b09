"""A virtual host at run time: its model, its transactions, and its pending work."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.transactions.coordinator import Coordinator
from amqp_sansio.kernel.timers import earliest

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker


class Site:
    """One virtual host of a broker."""

    __slots__ = ("_predeclared", "coordinator", "host", "subscribers", "users")

    def __init__(self, broker: Broker, name: str) -> None:
        self.host: Final = VirtualHost(name, broker._journals, broker.limits, broker._intake, broker.config.error_codes)
        config = broker.config
        self.coordinator: Final = Coordinator(
            self.host, broker._journals, broker.limits, config.branch_timeout, config.most_branch_timeout
        )
        self._predeclared: Final = frozenset(self.host.exchanges)
        self.subscribers = 0
        """The number of subscriptions to its queues."""
        self.users = 0
        """Connections that have opened it, and sessions in it."""

    @property
    def empty(self) -> bool:
        """Whether nobody uses it and it contains nothing that clients made: its removal would go unnoticed."""
        host = self.host
        return (
            not self.users and not host.queues and host.exchanges.keys() == self._predeclared and not self.coordinator.branches
        )

    def tick(self, now: float) -> None:
        """Does what is due in the model."""
        self.host.expire(now)
        self.coordinator.tick(now)

    @property
    def due(self) -> float | None:
        """The next moment at which something is due in the model: at once when a timer is to start."""
        return earliest(self.host.due, self.coordinator.due)
