"""Errors of the clients of channels, raised when the server or the connection failed."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors.core import AmqpError


class ChannelClosed(AmqpError):
    """The channel is closed.  The connection stays open, unless `cause` says that it was lost.

    Cause: the server refused a method, or broke a rule with one: `code`, `text` and `method` are those of channel.close.
    Without a `code` the connection is gone, or the program closed the channel.
    What to do: open another channel.
    In doubt: every method without an answer may or may not have been executed.
    """

    def __init__(self, channel: int, cause: str, code: int | None = None, text: str = "", method: str = "") -> None:
        super().__init__(f"channel {channel} is closed: {cause}", made=(channel, cause, code, text, method))
        self.channel: Final = channel
        self.cause: Final = cause
        self.code: Final = code
        self.text: Final = text
        self.method: Final = method


class InDoubt(AmqpError):
    """The server never confirmed a message: it may be on its queues, or lost.

    Cause: the channel or its connection ended first (`cause`).
    What to do: publish it again, if your consumers can detect duplicates.
    In doubt: the message.  `number` counts the publishes of the channel since it was opened, from 1.
    """

    def __init__(self, number: int, cause: str) -> None:
        super().__init__(f"publish {number} is in doubt: {cause}", made=(number, cause))
        self.number: Final = number
        self.cause: Final = cause


class MessageNacked(AmqpError):
    """The server did not accept a message (basic.nack).

    Cause: for example, a queue is full and rejects (x-overflow), or the server has an internal error.
    What to do: publish it again later, or do without it.
    In doubt: nothing.  `number` counts the publishes of the channel since it was opened, from 1.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"the server did not take over publish {number} (basic.nack)", made=(number,))
        self.number: Final = number


class SubscriptionCancelled(AmqpError):
    """The server ended a subscription (basic.cancel).

    Cause: for example, its queue was deleted, or the node with it is gone.
    What to do: subscribe again once there is such a queue; `subscribe(..., resubscribe=True)` does so at once.
    In doubt: nothing.  Messages that were delivered and not settled can be settled as before.
    """

    def __init__(self, consumer_tag: str, queue: str) -> None:
        super().__init__(f"the server cancelled consumer {consumer_tag!r} of queue {queue!r}", made=(consumer_tag, queue))
        self.consumer_tag: Final = consumer_tag
        self.queue: Final = queue
