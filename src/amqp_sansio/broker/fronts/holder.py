"""A session or a channel, and its subscriptions, as the rounds of the broker see them."""

from __future__ import annotations

from typing import Protocol

from amqp_sansio.broker.model.subscribers import Consumer


class Holder:
    """The owner of subscriptions and unsettled messages, for as long as it lives; compared by identity.

    A base class, of which each family derives its own: the broker comes back to it when there is something to do.
    """

    def tick(self, now: float) -> None:
        """Says what time it is (monotonic seconds), to a holder whose time has come or is to begin."""

    def slacken(self) -> None:
        """More of its subscriptions may be woken: those that were have taken what there is."""

    def settle(self) -> None:
        """Tells the client what became of its messages since the last round."""

    def bereave(self, queue: str) -> None:
        """Tells the client that the queue of one of its subscriptions was deleted."""


class Subscription(Consumer, Protocol):
    """What a front subscribes to a queue."""

    def wake(self) -> None:
        """Something has changed by which it may be able to take a message: what held it up is over."""
        ...

    def flushed(self) -> None:
        """Its queue has nothing more that it can take, which it wanted to know (`Site.watch`)."""
        ...
