"""Channels for blocking code, over real sockets."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any

import pytest
import trustme
from tests.adapters.blocking import BlockingLoop
from tests.adapters.channel_floods import *  # noqa: F403
from tests.adapters.channel_scenarios import NAMES, test_by_tls_with_a_password_alone  # noqa: F401  # pytest finds it here
from tests.adapters.conditions import eventually
from tests.adapters.scenarios import QUICK
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.adapters.sync.channels import connect
from amqp_sansio.conversation.channels.client import ChannelClientEvent
from amqp_sansio.conversation.happenings import Connected, ConnectionEnded
from amqp_sansio.dialects import ChannelDialect
from amqp_sansio.errors import AddressError, ChannelClosed, ConnectFailed, InDoubt, StaleDelivery
from amqp_sansio.events import ConnectionBlocked, ConnectionUnblocked


class ChannelBlockingLoop(BlockingLoop):
    dial: Any = staticmethod(connect)


@pytest.fixture
def loop() -> BlockingLoop:
    return ChannelBlockingLoop()


def there_and_back(url: str, count: int = 50) -> list[bytes]:
    found = []
    with connect(url) as connection, connection.channel() as channel:
        channel.declare_queue("q")
        pending = [channel.send("", "q", b"%d" % number) for number in range(count)]
        channel.sync()
        for each in pending:
            assert each.done
            each.result()
        with channel.subscribe("q", prefetch=7) as subscription:
            for message in subscription:
                found.append(message.body)
                message.accept()
                if len(found) == count:
                    break
    return found


@pytest.mark.parametrize("dialect", NAMES, ids=lambda dialect: dialect.name)
def test_there_and_back(dialect: ChannelDialect) -> None:
    with ServedChannels(dialect) as served:
        assert there_and_back(f"{served.url}?protocol={NAMES[dialect]}") == [b"%d" % number for number in range(50)]
        assert served.bodies("q") == []


def test_by_tls_with_the_names_of_a_url(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    there = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("elsewhere").configure_cert(there)
    with ServedChannels(tls=there) as served:
        trusted = f"{served.url}?cacertfile={tmp_path}/ca.pem"
        assert len(there_and_back(f"{trusted}&server_name_indication=elsewhere")) == 50
        with pytest.raises(ConnectFailed, match="certificate"):
            there_and_back(trusted)


def test_an_address_is_checked_at_once() -> None:
    with pytest.raises(AddressError):
        connect("amqp://h?colour=blue")


def test_the_error_of_the_wrong_door_names_the_right_one() -> None:
    with (
        Served() as served,
        pytest.raises(ConnectFailed, match="the one without channels"),
        connect(served.url),
    ):
        raise AssertionError


def test_the_broker_blocks_and_unblocks() -> None:
    heard: list[ChannelClientEvent] = []
    with ServedChannels() as served, connect(served.url, on_event=heard.append) as connection:
        served.block(True)
        eventually(lambda: connection.blocked)
        served.block(False)
        eventually(lambda: not connection.blocked)
        connection.update_secret("guest", "new")
        assert served.broker.secrets == [b"guest"]
    assert [type(each) for each in heard] == [Connected, ConnectionBlocked, ConnectionUnblocked, ConnectionEnded]


def test_behind_a_loss_everything_is_as_it_was_and_nothing_is_published_again() -> None:
    with ServedChannels() as served, connect(served.url, retry=QUICK) as connection, connection.channel() as channel:
        queue = channel.declare_queue("", exclusive=True).queue
        channel.declare_exchange("e", "direct")
        channel.bind(queue, "e", "k")
        subscription = channel.subscribe(queue)
        channel.publish("e", "k", b"1")
        first = subscription.receive(10)
        served.broker.mute = True
        pending = channel.send("e", "k", b"2")
        served.cut()
        with pytest.raises(InDoubt):
            pending.result()
        served.broker.mute = False
        with pytest.raises(StaleDelivery):
            first.accept()
        channel.publish("e", "k", b"3")
        assert subscription.receive(10).body == b"3"
        assert channel.remade == 1


def test_a_refused_call_leaves_the_connection_working() -> None:
    with ServedChannels() as served, connect(served.url) as connection:
        with connection.channel() as channel:
            with pytest.raises(ChannelClosed):
                channel.declare_queue("none", passive=True)
            with pytest.raises(ChannelClosed):
                channel.closed.result()
        with connection.channel() as channel:
            channel.declare_queue("q")
