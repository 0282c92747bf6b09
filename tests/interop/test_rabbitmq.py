"""Our client opens connections at RabbitMQ, in 0-9-1, 0-9 and 0-8; an observer hears no violation."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from amqp_sansio.config import ClientConfig
from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_10, READABLE, ChannelDialect
from amqp_sansio.engine.channel_client import ChannelClientConnection
from amqp_sansio.engine.client_handshake import ClientHandshake
from amqp_sansio.engine.observer import Observer
from amqp_sansio.engine.sasl import AmqPlain, Plain
from amqp_sansio.events import (
    ConnectionClosed,
    ConnectionOpened,
    Event,
    LoginRefused,
    Origin,
    SecretUpdated,
    VersionRefused,
    Violation,
)
from amqp_sansio.spec.reply_codes import ReplyCode
from tools.interop.rabbitmq import RabbitMq

DIALECTS = (AMQP_0_9_1, AMQP_0_9_RABBITMQ, AMQP_0_8_UNBIND)
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
SECONDS = 20.0
"""How long a conversation may take: RabbitMQ waits for 3 s before it refuses a login without a word."""


def connect(
    node: RabbitMq,
    config: ClientConfig,
    when: Callable[[ClientHandshake, Event, float], bool | None] = lambda *_: None,
    mute: bool = False,
) -> tuple[list[Event], float]:
    """The events of a connection, and how long it was open.

    `when` is asked at each event, and at each tick with the last one; True leaves.  `mute`: nothing is sent once it is open.
    """
    client = config.dialect.client(config, True)
    watch = Observer(dialects=READABLE)
    events: list[Event] = []
    begun = opened = time.monotonic()
    with socket.create_connection(("127.0.0.1", node.port), SECONDS) as line:
        line.settimeout(0.1)
        left = False
        while not client.finished and not left:
            now = time.monotonic()
            assert now < begun + SECONDS, events
            client.tick(now)
            for event in client.events():
                events.append(event)
                opened = now if isinstance(event, ConnectionOpened) else opened
            left = bool(events and when(client, events[-1], now - opened))
            if octets := b"" if mute and client.is_open else client.data_to_send():
                watch.receive_data("C", octets)
                with suppress(OSError):  # it is gone, as the next octets tell
                    line.sendall(octets)
            try:
                heard = line.recv(65536)
            except TimeoutError:
                continue
            except ConnectionResetError:  # its usual end, behind a close, too
                heard = b""
            watch.receive_data("S", heard)
            if heard:
                client.receive_data(heard)
            else:
                client.receive_eof()
    assert [each.event for each in watch.events() if isinstance(each.event, Violation)] == []
    return events, time.monotonic() - opened


def guest(dialect: ChannelDialect, **settings: object) -> ClientConfig:
    return ClientConfig(dialect=dialect, username="guest", password="guest", **settings)  # type: ignore[arg-type]


def close_it(client: ClientHandshake, event: Event, _: float) -> None:
    if isinstance(event, ConnectionOpened) and client.is_open:
        client.close(ReplyCode.REPLY_SUCCESS, "bye")


@each_dialect
@pytest.mark.parametrize("mechanism", [Plain, AmqPlain])
def test_a_login_and_a_close(rabbitmq: RabbitMq, dialect: ChannelDialect, mechanism: type[Plain | AmqPlain]) -> None:
    config = ClientConfig(dialect=dialect, mechanisms=(mechanism("guest", "guest"),))
    events, _ = connect(rabbitmq, config, close_it)
    assert events[1:] == [ConnectionOpened("/", 2047, 131072, 60), ConnectionClosed(Origin.LOCAL, 200, "bye")]


@each_dialect
@pytest.mark.parametrize("mechanism", [Plain, AmqPlain])
def test_a_wrong_password(rabbitmq: RabbitMq, dialect: ChannelDialect, mechanism: type[Plain | AmqPlain]) -> None:
    """Told by close where we ask for that, else by the end of the connection."""
    wrong = mechanism("guest", "hush")
    events, _ = connect(rabbitmq, ClientConfig(dialect=dialect, mechanisms=(wrong,)))
    refused, closed = events[1:]
    assert isinstance(refused, LoginRefused)
    assert (refused.mechanism, refused.code) == (wrong.name, 403)
    assert isinstance(closed, ConnectionClosed)
    assert (closed.origin, closed.code) == (Origin.PEER, 403)
    silent = ClientConfig(dialect=dialect, mechanisms=(wrong,), properties={"capabilities": {}})  # type: ignore[dict-item]
    events, _ = connect(rabbitmq, silent)
    refused, closed = events[1:]
    assert isinstance(refused, LoginRefused)
    assert refused.code is None
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.EOF
    assert "hush" not in repr(events)


@each_dialect
def test_a_wrong_virtual_host(rabbitmq: RabbitMq, dialect: ChannelDialect) -> None:
    events, _ = connect(rabbitmq, guest(dialect, virtual_host="nope"))
    closed = events[-1]
    assert isinstance(closed, ConnectionClosed)
    assert (closed.origin, closed.code, closed.method) == (Origin.PEER, 530, "connection.open")


@each_dialect
def test_heartbeats_keep_a_connection(rabbitmq: RabbitMq, dialect: ChannelDialect) -> None:
    """One that is silent is cut after three intervals."""
    config = guest(dialect, heartbeat=1)
    events, _ = connect(rabbitmq, config, lambda client, event, passed: client.is_open and passed > 5)
    assert events[-1] == ConnectionOpened("/", 2047, 131072, 1)
    events, passed = connect(rabbitmq, config, mute=True)
    closed = events[-1]
    assert isinstance(closed, ConnectionClosed)
    assert closed.origin is Origin.EOF
    assert 2 < passed < 5


def test_a_new_secret(rabbitmq: RabbitMq) -> None:
    def update(client: ClientHandshake, event: Event, _: float) -> bool:
        if isinstance(event, ConnectionOpened) and isinstance(client, ChannelClientConnection) and not client._updating:
            client.update_secret(b"guest", "it expires")
        return isinstance(event, SecretUpdated)

    events, _ = connect(rabbitmq, guest(AMQP_0_9_1), update)
    assert events[-1] == SecretUpdated("it expires")


def test_it_does_not_speak_0_10(rabbitmq: RabbitMq) -> None:
    events, _ = connect(rabbitmq, ClientConfig(dialect=AMQP_0_10))
    assert events[0] == VersionRefused("AMQP 0-10", "AMQP 0-9-1")
    assert isinstance(events[1], ConnectionClosed)
