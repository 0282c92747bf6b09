"""A downstream program that leaves events of channels out, and takes a body for text."""

from __future__ import annotations

from typing import assert_never

from amqp_sansio import Channel
from amqp_sansio.events import (
    ChannelClosed,
    ChannelEvent,
    ChannelOpened,
    ChannelRequested,
    Confirmed,
    ContentReceived,
    DeliveriesSettled,
    FlowChanged,
    MessageDelivered,
    MessageGot,
    MessageReturned,
    MethodAnswered,
    MethodReceived,
    Nacked,
)


def tell(event: ChannelEvent) -> str:
    """All but ConsumerCancelled, which most programs forget."""
    match event:
        case ChannelRequested() | ChannelOpened() | ChannelClosed() | FlowChanged() | MethodAnswered() | MethodReceived():
            return "channel"
        case MessageDelivered() | MessageGot() | MessageReturned() | ContentReceived():
            return "message"
        case Confirmed() | Nacked() | DeliveriesSettled():
            return "settled"
        case _:
            assert_never(event)  # wrong: arg-type


def spoil(event: ChannelClosed) -> None:
    event.code = 200  # wrong: misc


def say(channel: Channel) -> int:
    return channel.publish("x", "k", "text")  # wrong: arg-type
