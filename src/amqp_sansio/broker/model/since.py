"""From when on a subscription wants messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message


class Since:
    """The end of the replay period of a subscription: it gets what arrived at `moment` or later.

    `moment` is on the broker's clock.  `number` is that of the last message that it does not get, whatever the moment: a clock
    may say the same for what came before message.subscribe and for what came after it.
    """

    __slots__ = ("moment", "number")

    def __init__(self, moment: float, number: int = 0) -> None:
        self.moment: Final = moment
        self.number: Final = number

    def wants(self, message: Message, began: float) -> bool:
        """Whether the message arrived since then.  What came before the clock `began` arrived at that moment: it came no later,
        and nobody knows how much earlier.
        """
        return message.number > self.number and max(message.arrived, began) >= self.moment
