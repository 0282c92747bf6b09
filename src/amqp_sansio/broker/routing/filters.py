"""What a binding lets pass of the messages that its key, or its headers, match."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.selectors.parser import Selector
    from amqp_sansio.broker.selectors.properties import Selectable

SELECTORS: Final = ("x-apache-selector", "x-filter-jms-selector")
"""The selector of a subscription or of a binding: the words of qpidd and of Broker-J."""
FILTERS: Final = SELECTORS
"""The arguments of exchange.bind that make a filter, whatever the type of the exchange."""
STEP: Final = 64
"""Characters of a selector that count as one step of routing."""


class Filter:
    """The filter of one binding: the queue gets a message only if its selector is true for the message."""

    __slots__ = ("_selectable", "_selector", "steps")

    def __init__(self, selector: Selector, selectable: Selectable) -> None:
        self._selector: Final = selector
        self._selectable: Final = selectable
        self.steps: Final = 1 + len(selector.text) // STEP
        """What it takes of `BrokerLimits.routing_steps` to ask it once."""

    def passes(self, message: Message) -> bool:
        """Whether the queue may have the message through this binding."""
        return self._selector.selects(self._selectable.properties(message, message.redelivered).get)
