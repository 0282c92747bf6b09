"""Ours: a ClientConnection with an open session and a subscription, the full path of an application.

The server's deliveries are recorded once, with both sides joined in memory, and then replayed into fresh clients.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import Final

from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, DeliveryMode
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo, Transfer
from bench.harness import Fresh
from bench.messages import EXCHANGE, Message
from tools.replay import Machine, record, replay

READ: Final = 4096
"""Octets passed to a connection at a time, like a socket read; the same for pika."""
DESTINATION: Final = "consumer-1"
SESSION: Final = b"bench"
every_delivery_property: Final = attrgetter(*DeliveryProperties.FIELDS)
every_message_property: Final = attrgetter(*MessageProperties.FIELDS)
UNLIMITED: Final = 0xFFFFFFFF


def _subscribing(client: Machine) -> Iterator[None]:
    assert isinstance(client, ClientConnection)
    yield
    session = client.session(SESSION)
    yield
    subscription = session.subscribe("q", DESTINATION, accept_mode=AcceptMode.NONE)
    subscription.grant(UNLIMITED, UNLIMITED)
    yield


def _attaching(client: Machine) -> Iterator[None]:
    assert isinstance(client, ClientConnection)
    yield
    client.session(SESSION)
    yield


def _properties(message: Message) -> tuple[Struct, ...]:
    if not message.rich:
        return (DeliveryProperties(exchange=EXCHANGE, routing_key=message.routing_key),)
    return (
        DeliveryProperties(
            exchange=EXCHANGE,
            routing_key=message.routing_key,
            delivery_mode=message.delivery_mode,
            priority=message.priority,
            timestamp=message.timestamp,
        ),
        MessageProperties(
            content_length=len(message.body),
            message_id=message.message_id,
            correlation_id=message.correlation_id.encode(),
            reply_to=ReplyTo("", message.reply_to),
            content_type=message.content_type,
            content_encoding=message.content_encoding,
            application_headers=message.application_headers,
        ),
    )


class Recording:
    """The server's octets up to a subscription (`prelude`), and the deliveries of the messages (`stream`)."""

    def __init__(self, sent: list[Message]) -> None:
        client, server = ClientConnection(ClientConfig()), ServerConnection(ServerConfig())
        self.prelude: Final = record(client, server, _subscribing)
        (session,) = server.sessions
        transfer = Transfer(DESTINATION, AcceptMode.NONE, AcquireMode.PRE_ACQUIRED)
        for message in sent:
            session.send(transfer, *_properties(message), body=message.body)
        self.stream: Final = server.data_to_send()

    def client(self) -> ClientConnection:
        """Returns a fresh client that is ready for the stream."""
        client = ClientConnection(ClientConfig())
        replay(client, _subscribing, self.prelude)
        return client


def receive(sent: list[Message], *, read: bool) -> Fresh:
    """From octets to the event; with `read`, reads every property of every struct."""
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
                    if type(event) is TransferReceived:
                        count += 1
                client.data_to_send()
            return count

        def every_property() -> int:
            count = 0
            for piece in pieces:
                client.receive_data(piece)
                while (event := client.next_event()) is not None:
                    if type(event) is TransferReceived:
                        every_delivery_property(event.delivery_properties)
                        every_message_property(event.message_properties)
                        count += 1
                client.data_to_send()
            return count

        return every_property if read else untouched

    return fresh


def attached() -> tuple[ClientConnection, Session]:
    """Returns a fresh client with an attached session."""
    client, server = ClientConnection(ClientConfig()), ServerConnection(ServerConfig())
    record(client, server, _attaching)
    (session,) = client.sessions
    return client, session


def publish(sent: list[Message]) -> Fresh:
    """session.publish, with properties built for each message; the octets are taken now and then, as an event loop would."""

    def fresh() -> Callable[[], int]:
        client, session = attached()
        mode = DeliveryMode(sent[0].delivery_mode)  # the same for all, so an application writes it once

        def timed() -> int:
            count = 0
            for message in sent:
                session.publish(
                    EXCHANGE,
                    body=message.body,
                    exchange=EXCHANGE,
                    routing_key=message.routing_key,
                    delivery_mode=mode,
                    priority=message.priority,
                    timestamp=message.timestamp,
                    content_length=len(message.body),
                    message_id=message.message_id,
                    correlation_id=message.correlation_id.encode(),
                    reply_to=ReplyTo("", message.reply_to),
                    content_type=message.content_type,
                    content_encoding=message.content_encoding,
                    application_headers=message.application_headers,
                )
                count += 1
                if not count % 20:
                    client.data_to_send()
            client.data_to_send()
            return count

        return timed

    return fresh


def kept(sent: list[Message]) -> list[object]:
    """Returns what an application keeps of each received message: the event."""
    recording = Recording(sent)
    client = recording.client()
    stream = recording.stream
    events: list[object] = []
    for at in range(0, len(stream), READ):
        client.receive_data(stream[at : at + READ])
        events.extend(event for event in client.events() if type(event) is TransferReceived)
        client.data_to_send()
    return events


def feed(recording: Recording, size: int, messages: int) -> Callable[[], int]:
    """Feeds the stream in pieces of `size` octets."""
    client = recording.client()
    stream = recording.stream
    pieces = [stream[at : at + size] for at in range(0, len(stream), size)]

    def timed() -> int:
        count = 0
        for piece in pieces:
            client.receive_data(piece)
            while client.next_event() is not None:
                count += 1
        return min(count, messages)

    return timed
