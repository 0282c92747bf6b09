"""Messages as they come, numbered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.message import Message

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Envelope


class Intake:
    """Numbers the messages of a broker, which fronts make of what is published.

    `epoch` is POSIX time at moment 0 of the broker's clock, in seconds; with it a front writes the expiration of a message with
    a ttl into its header.  `last` is the number that was given last.
    """

    __slots__ = ("epoch", "last")

    def __init__(self, epoch: float | None = None, last: int = 0) -> None:
        self.epoch: Final = epoch
        self.last = last

    def made(self, envelope: Envelope, body: bytes, now: float = 0.0, publisher: int = 0) -> Message:
        """A message that comes now; `publisher` is the number of the connection, 0 when it has none."""
        ttl = envelope.ttl
        self.last += 1
        return Message(self.last, envelope, body, None if ttl is None else now + ttl / 1000, publisher, now)

    def copy(self, message: Message, envelope: Envelope | None = None) -> Message:
        """The same message with a number of its own, and with another envelope where one is given."""
        self.last += 1
        envelope = message.envelope if envelope is None else envelope
        return Message(self.last, envelope, message.body, message.expires, message.publisher, message.arrived)

    def restored(self, number: int, envelope: Envelope, body: bytes, expires: float | None = None) -> Message:
        """A message as it was stored.  The numbers go on behind the highest."""
        self.last = max(self.last, number)
        return Message(number, envelope, body, expires)
