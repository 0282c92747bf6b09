"""What the clients of channels raise when the server, or the way to it, failed."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors.core import AmqpError


class ChannelClosed(AmqpError):
    """The channel is closed.  The connection goes on, unless `cause` says that it was lost.

    Cause: the server refused a method, or broke a rule with one: `code`, `text` and `method` are those of channel.close.
    Without a `code` the connection is gone, or the channel was closed here.
    What to do: open another channel.
    In doubt: every method without an answer may have been executed, or not.
    """

    def __init__(self, channel: int, cause: str, code: int | None = None, text: str = "", method: str = "") -> None:
        super().__init__(f"channel {channel} is closed: {cause}", made=(channel, cause, code, text, method))
        self.channel: Final = channel
        self.cause: Final = cause
        self.code: Final = code
        self.text: Final = text
        self.method: Final = method


class InDoubt(AmqpError):
    """The server never said whether it took over a message: it may be on its queues, or lost.

    Cause: the channel or its connection ended first (`cause`).
    What to do: publish it again, if your consumers can tell duplicates.
    In doubt: the message.  `number` counts the publishes of the channel since it was opened, from 1.
    """

    def __init__(self, number: int, cause: str) -> None:
        super().__init__(f"publish {number} is in doubt: {cause}", made=(number, cause))
        self.number: Final = number
        self.cause: Final = cause


class MessageNacked(AmqpError):
    """The server did not take over a message (basic.nack).

    Cause: a queue is full and rejects (x-overflow), say, or the server failed inside.
    What to do: publish it again later, or do without it.
    In doubt: nothing.  `number` counts the publishes of the channel since it was opened, from 1.
    """

    def __init__(self, number: int) -> None:
        super().__init__(f"the server did not take over publish {number} (basic.nack)", made=(number,))
        self.number: Final = number


class SubscriptionCancelled(AmqpError):
    """The server ended a subscription (basic.cancel).

    Cause: its queue was deleted, say, or its node is gone.
    What to do: subscribe again once there is such a queue; `subscribe(..., resubscribe=True)` does so at once.
    In doubt: nothing: what was delivered and not settled is settled as before.
    """

    def __init__(self, consumer_tag: str, queue: str) -> None:
        super().__init__(f"the server cancelled consumer {consumer_tag!r} of queue {queue!r}", made=(consumer_tag, queue))
        self.consumer_tag: Final = consumer_tag
        self.queue: Final = queue
