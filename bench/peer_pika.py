"""pika: a client of 0-9-1, its Connection on a transport that goes nowhere."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter

import pika
from pamqp import commands as words
from pamqp import frame as codec
from pika import frame, spec
from pika.connection import Connection

from bench import peer_pamqp
from bench.harness import Fresh
from bench.messages import EXCHANGE, Message

# Octets passed to a connection at a time, like a socket read; the same for ours.
READ = 4096

read_every = attrgetter(
    "content_type",
    "content_encoding",
    "headers",
    "delivery_mode",
    "priority",
    "correlation_id",
    "reply_to",
    "expiration",
    "message_id",
    "timestamp",
    "type",
    "user_id",
    "app_id",
    "cluster_id",
)


class Nowhere(Connection):  # type: ignore[misc]  # pika says nothing about its types here
    """A Connection whose octets are kept in a list."""

    def __init__(self, on_open: Callable[[Connection], None]) -> None:
        self.written: list[bytes] = []
        super().__init__(pika.ConnectionParameters(heartbeat=0), on_open_callback=on_open)

    def _adapter_connect_stream(self) -> None:
        self._on_stream_connected()

    def _adapter_disconnect_stream(self) -> None:
        pass

    def _adapter_call_later(self, delay: float, callback: Callable[[], None]) -> object:
        return object()

    def _adapter_remove_timeout(self, timeout_id: object) -> None:
        pass

    def _adapter_add_callback_threadsafe(self, callback: Callable[[], None]) -> None:
        callback()

    def _adapter_emit_data(self, data: bytes) -> None:
        self.written.append(data)

    def feed(self, *methods: object, channel: int = 0) -> None:
        """Passes in the frames of these methods as if the broker had sent them."""
        for method in methods:
            self._on_data_available(codec.marshal(method, channel))


def opened() -> tuple[Nowhere, pika.channel.Channel]:
    """Returns an open connection with an open channel."""
    channels: list[pika.channel.Channel] = []
    connection = Nowhere(lambda conn: channels.append(conn.channel(1)))
    connection.feed(words.Connection.Start(server_properties={"product": "bench"}, mechanisms="PLAIN", locales="en_US"))
    connection.feed(words.Connection.Tune(2047, 131072, 0), words.Connection.OpenOk())
    connection.feed(words.Channel.OpenOk(), channel=1)
    (channel,) = channels
    return connection, channel


def receive(sent: list[Message], *, read: bool) -> Fresh:
    """From octets to the consumer callback; with `read`, the callback reads every property."""
    stream = b"".join(peer_pamqp.delivered(sent))
    pieces = [stream[at : at + READ] for at in range(0, len(stream), READ)]

    def fresh() -> Callable[[], int]:
        connection, channel = opened()
        seen = 0

        def untouched(_channel: object, _method: object, _properties: object, _body: bytes) -> None:
            nonlocal seen
            seen += 1

        def every_property(_channel: object, _method: object, properties: object, _body: bytes) -> None:
            nonlocal seen
            read_every(properties)
            seen += 1

        channel.basic_consume("q", every_property if read else untouched, auto_ack=True, consumer_tag="consumer-1")
        connection.feed(words.Basic.ConsumeOk("consumer-1"), channel=1)

        def timed() -> int:
            for piece in pieces:
                connection._on_data_available(piece)
            return seen

        return timed

    return fresh


def decode(sent: list[Message]) -> Fresh:
    """decode_frame alone, on frames split beforehand."""
    frames = peer_pamqp.delivered(sent)
    decode_frame = frame.decode_frame

    def timed() -> int:
        count = 0
        for octets in frames:
            decode_frame(octets)
            count += 1
        return count // 3

    return lambda: timed


def publish(sent: list[Message]) -> Fresh:
    """basic_publish, with properties built for each message."""

    def fresh() -> Callable[[], int]:
        connection, channel = opened()

        def timed() -> int:
            count = 0
            for message in sent:
                properties = (
                    spec.BasicProperties(
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
                    if message.rich
                    else None
                )
                channel.basic_publish(EXCHANGE, message.routing_key, message.body, properties)
                count += 1
            b"".join(connection.written)
            return count

        return timed

    return fresh
