"""The numbers that a queue gives to arriving messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.message import Envelope
from amqp_sansio.errors import DecodeError

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message

_MOST: Final = 2**32 - 1


class Numbering:
    """Numbers from 1 on, in the application header `name` of each message; 0 follows 4294967295."""

    __slots__ = ("_last", "name")

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self._last = 0

    def numbered(self, message: Message) -> Envelope:
        """Returns the envelope of an arriving message with its number.

        Returns the original envelope when the headers cannot be read.
        """
        self._last = (self._last + 1) & _MOST
        e = message.envelope
        try:
            header = e.form.headed(e.header, self.name, self._last)
        except DecodeError:
            return e
        return Envelope(
            e.form, header, e.exchange, e.routing_key, e.priority, e.persistent, e.redelivered, e.user_id, e.ttl,
            e.discard_unroutable, e.immediate, e.empty_body,
        )  # fmt: skip

    def restored(self, message: Message) -> None:
        """Continues the numbers after that of a message from before a restart."""
        try:
            number = message.application_headers.get(self.name)
        except DecodeError:
            return
        if isinstance(number, int) and 0 <= number <= _MOST:
            self._last = int(number)
