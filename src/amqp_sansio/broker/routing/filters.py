"""Filters of bindings: which of the messages that match by key or headers they let pass."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.selectors.parser import Selector
    from amqp_sansio.broker.selectors.properties import Selectable

SELECTORS: Final = ("x-apache-selector", "x-filter-jms-selector")
"""The selector of a subscription or of a binding: the words of qpidd and of Broker-J."""
NO_LOCAL: Final = "x-qpid-no-local"
"""Whether a subscription or a binding lets pass nothing that its own connection published: Broker-J's word."""
FILTERS: Final = (*SELECTORS, NO_LOCAL)
"""The arguments of exchange.bind that make a filter, whatever the type of the exchange."""
STEP: Final = 64
"""Characters of a selector that count as one step of routing."""


class Filter:
    """The filter of one binding: the queue gets a message only if its selector is true for the message.

    With `no_local`, which is the queue, it gets none that the connection of its user published.
    """

    __slots__ = ("_no_local", "_selectable", "_selector", "steps")

    def __init__(self, selector: Selector | None, selectable: Selectable, no_local: Queue | None = None) -> None:
        self._selector: Final = selector
        self._selectable: Final = selectable
        self._no_local: Final = no_local
        self.steps: Final = 1 + (0 if selector is None else len(selector.text) // STEP)
        """What it takes of `BrokerLimits.routing_steps` to ask it once."""

    def passes(self, message: Message) -> bool:
        """Whether the queue may have the message through this binding."""
        if self._no_local is not None and self._no_local.local(message):
            return False
        selector = self._selector
        return selector is None or selector.selects(self._selectable.properties(message, message.redelivered).get)
