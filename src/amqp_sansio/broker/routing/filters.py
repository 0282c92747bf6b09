"""Filters of bindings, which restrict the messages matched by key or headers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.selectors.parser import Selector
    from amqp_sansio.broker.selectors.properties import Selectable

SELECTORS: Final = ("x-apache-selector", "x-filter-jms-selector")
"""The selector argument of a subscription or binding, by its names in qpidd and Broker-J."""
NO_LOCAL: Final = "x-qpid-no-local"
"""The argument that excludes what the connection of a subscription or binding published; Broker-J's name."""
FILTERS: Final = (*SELECTORS, NO_LOCAL)
"""The arguments of exchange.bind that make a filter, for every type of exchange."""
STEP: Final = 64
"""Characters of a selector that count as one step of routing."""


class Filter:
    """The filter of one binding: the queue gets only messages that match its selector.

    With `no_local`, the queue, it gets none that the connection of the queue's user published.
    """

    __slots__ = ("_no_local", "_selectable", "_selector", "steps")

    def __init__(self, selector: Selector | None, selectable: Selectable, no_local: Queue | None = None) -> None:
        self._selector: Final = selector
        self._selectable: Final = selectable
        self._no_local: Final = no_local
        self.steps: Final = 1 + (0 if selector is None else len(selector.text) // STEP)
        """The share of `BrokerLimits.routing_steps` that evaluating it once costs."""

    def passes(self, message: Message) -> bool:
        """Returns whether the queue may get the message by this binding."""
        if self._no_local is not None and self._no_local.local(message):
            return False
        selector = self._selector
        return selector is None or selector.selects(self._selectable.properties(message, message.redelivered).get)
