"""Our client opens connections at RabbitMQ, in 0-9-1, 0-9 and 0-8; an observer hears no violation."""

from __future__ import annotations

import socket
import time
from functools import partial
from typing import Any

import pytest
from tests.interop.rabbitmq_talk import DIALECTS, Talk, at_once

from amqp_sansio.config import ClientConfig
from amqp_sansio.dialects import AMQP_0_10, ChannelDialect
from amqp_sansio.engine.sasl import AmqPlain, Plain
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, LoginRefused, Origin, SecretUpdated, VersionRefused
from amqp_sansio.spec.reply_codes import ReplyCode
from tools.interop.rabbitmq import RabbitMq

pytestmark = pytest.mark.usefixtures("witness")
each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
MECHANISMS = (Plain, AmqPlain)


def by(mechanism: Plain | AmqPlain, **settings: object) -> dict[str, Any]:
    return {"username": None, "password": "", "mechanisms": (mechanism,), **settings}


@each_dialect
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_login_and_a_close(rabbitmq: RabbitMq, dialect: ChannelDialect, mechanism: type[Plain | AmqPlain]) -> None:
    with Talk(rabbitmq.port, dialect, **by(mechanism("guest", "guest"))) as talk:
        talk.client.close(ReplyCode.REPLY_SUCCESS, "bye")
        talk.until(lambda: talk.client.finished)
    assert talk.events[1:] == [ConnectionOpened("/", 2047, 131072, 60), ConnectionClosed(Origin.LOCAL, 200, "bye")]


def test_a_wrong_password(rabbitmq: RabbitMq) -> None:
    """Told by close where we ask for that, else by the end of the connection, for which RabbitMQ waits for 3 s."""

    def told(dialect: ChannelDialect, mechanism: type[Plain | AmqPlain]) -> None:
        wrong = mechanism("guest", "hush")
        refused, closed = Talk(rabbitmq.port, dialect, **by(wrong)).over()[1:]
        assert isinstance(refused, LoginRefused)
        assert (refused.mechanism, refused.code) == (wrong.name, 403)
        assert isinstance(closed, ConnectionClosed)
        assert (closed.origin, closed.code) == (Origin.PEER, 403)

    def silent(dialect: ChannelDialect, mechanism: type[Plain | AmqPlain]) -> None:
        refused, closed = Talk(
            rabbitmq.port, dialect, **by(mechanism("guest", "hush"), properties={"capabilities": {}})
        ).over()[1:]
        assert isinstance(refused, LoginRefused)
        assert refused.code is None
        assert isinstance(closed, ConnectionClosed)
        assert closed.origin is Origin.EOF
        assert "hush" not in repr((refused, closed))

    at_once(*[
        partial(case, dialect, mechanism) for case in (told, silent) for dialect in DIALECTS for mechanism in MECHANISMS
    ])  # fmt: skip


@each_dialect
def test_a_wrong_virtual_host(rabbitmq: RabbitMq, dialect: ChannelDialect) -> None:
    closed = Talk(rabbitmq.port, dialect, virtual_host="nope").over()[-1]
    assert isinstance(closed, ConnectionClosed)
    assert (closed.origin, closed.code, closed.method) == (Origin.PEER, 530, "connection.open")


def test_heartbeats_keep_a_connection(rabbitmq: RabbitMq) -> None:
    """One that is silent is cut after three intervals, and what it had is given back."""

    def keep(dialect: ChannelDialect) -> None:
        with Talk(rabbitmq.port, dialect, heartbeat=1) as talk:
            opened = time.monotonic()
            talk.until(lambda: time.monotonic() > opened + 5)
            assert talk.events[-1] == ConnectionOpened("/", 2047, 131072, 1)

    def say_nothing(dialect: ChannelDialect) -> None:
        with Talk(rabbitmq.port, dialect) as keeper, Talk(rabbitmq.port, dialect, heartbeat=1) as talk:
            kept, on = keeper.open(), talk.open()
            name = keeper.declare(kept, f"sansio-silent-{dialect.name}", exclusive=False, auto_delete=False).queue
            on.publish("", name, b"m")
            talk.until(lambda: talk.count(on, name) == 1)
            on.get(name)
            talk.until(lambda: talk.count(on, name) == 0)
            talk.mute, muted = True, time.monotonic()
            talk.until(lambda: talk.cut)
            assert 2 < time.monotonic() - muted < 5
            closed = talk.events[-1]
            assert isinstance(closed, ConnectionClosed)
            assert closed.origin is Origin.EOF
            keeper.until(lambda: keeper.count(kept, name) == 1)
            kept.delete_queue(name)

    at_once(*[partial(case, dialect) for case in (keep, say_nothing) for dialect in DIALECTS])


def test_a_new_secret(rabbitmq: RabbitMq) -> None:
    with Talk(rabbitmq.port) as talk:
        on = talk.open()
        name = talk.declare(on).queue
        on.publish("", name, b"before")
        talk.client.update_secret(b"guest", "it expires")
        on.publish("", name, b"behind")
        assert talk.wait(SecretUpdated) == [SecretUpdated("it expires")]
        talk.until(lambda: talk.count(on, name) == 2)  # a queue counts before it has taken what was published without confirm


def test_it_does_not_speak_0_10(rabbitmq: RabbitMq) -> None:
    client = AMQP_0_10.client(ClientConfig(dialect=AMQP_0_10), True)
    with socket.create_connection(("127.0.0.1", rabbitmq.port), 20.0) as line:
        line.sendall(client.data_to_send())
        client.receive_data(line.recv(65536))
    refused, closed = client.events()
    assert refused == VersionRefused("AMQP 0-10", "AMQP 0-9-1")
    assert isinstance(closed, ConnectionClosed)
