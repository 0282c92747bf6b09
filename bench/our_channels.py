"""Ours in 0-9-1: a ChannelClientConnection with an open channel and a consumer, the full path of an application.

The server's deliveries are recorded once, with both sides joined in memory, and then replayed into fresh clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.events import MessageDelivered
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.methods.basic import Properties
from bench.harness import Fresh
from bench.messages import EXCHANGE, Message
from bench.ours import READ
from tools.replay import record, replay

TAG: Final = "consumer-1"
every_property_of: Final = attrgetter(*Properties.FIELDS)


def joined() -> tuple[ChannelClientConnection, ChannelServerConnection]:
    """Returns both sides, before their first octet."""
    client = ChannelClientConnection(ClientConfig(dialect=AMQP_0_9_1))
    return client, ChannelServerConnection(ServerConfig(dialects=(AMQP_0_9_1,)))


def _consuming(client: ChannelClientConnection) -> Iterator[None]:
    yield
    client.channel().consume("q", TAG, no_ack=True, no_wait=True)
    yield


def _opening(client: ChannelClientConnection) -> Iterator[None]:
    yield
    client.channel()
    yield


def _properties(message: Message) -> Properties | None:
    if not message.rich:
        return None
    return Properties(
        content_type=message.content_type,
        content_encoding=message.content_encoding,
        headers=message.application_headers,
        delivery_mode=message.delivery_mode,
        priority=message.priority,
        correlation_id=message.correlation_id,
        reply_to=message.reply_to,
        message_id=str(message.message_id),
        timestamp=message.timestamp,
    )


class Recording:
    """The server's octets up to a consumer (`prelude`), and the deliveries of the messages (`stream`)."""

    def __init__(self, sent: list[Message]) -> None:
        client, server = joined()
        self.prelude: Final = record(client, server, _consuming)
        (channel,) = server.channels
        for message in sent:
            channel.deliver(TAG, message.body, _properties(message), exchange=EXCHANGE, routing_key=message.routing_key)
        self.stream: Final = server.data_to_send()

    def client(self) -> ChannelClientConnection:
        """Returns a fresh client that is ready for the stream."""
        client, _ = joined()
        replay(client, _consuming, self.prelude)
        return client


def receive(sent: list[Message], *, read: bool) -> Fresh:
    """From octets to the event; with `read`, reads every property."""
    recording = Recording(sent)
    stream = recording.stream
    pieces = [stream[at : at + READ] for at in range(0, len(stream), READ)]

    def fresh() -> Callable[[], int]:
        client = recording.client()

        def untouched() -> int:
            count = 0
            for piece in pieces:
                client.receive_data(piece)
                while (event := client.next_event()) is not None:
                    if type(event) is MessageDelivered:
                        count += 1
                client.data_to_send()
            return count

        def every_property() -> int:
            count = 0
            for piece in pieces:
                client.receive_data(piece)
                while (event := client.next_event()) is not None:
                    if type(event) is MessageDelivered:
                        every_property_of(event.properties)
                        count += 1
                client.data_to_send()
            return count

        return every_property if read else untouched

    return fresh


def opened() -> tuple[ChannelClientConnection, Channel]:
    """Returns a fresh client with an open channel."""
    client, server = joined()
    record(client, server, _opening)
    (channel,) = client.channels
    return client, channel


def publish(sent: list[Message]) -> Fresh:
    """channel.publish, with properties built for each message; the octets are taken now and then, as an event loop would."""

    def fresh() -> Callable[[], int]:
        client, channel = opened()
        mode = DeliveryMode(sent[0].delivery_mode)  # the same for all, so an application writes it once

        def timed() -> int:
            count = 0
            for message in sent:
                channel.publish(
                    EXCHANGE,
                    message.routing_key,
                    message.body,
                    content_type=message.content_type,
                    content_encoding=message.content_encoding,
                    headers=message.application_headers,
                    delivery_mode=mode,
                    priority=message.priority,
                    correlation_id=message.correlation_id,
                    reply_to=message.reply_to,
                    message_id=str(message.message_id),
                    timestamp=message.timestamp,
                )
                count += 1
                if not count % 20:
                    client.data_to_send()
            client.data_to_send()
            return count

        return timed

    return fresh
