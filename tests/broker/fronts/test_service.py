"""What a front does for one connection, as far as it is the same for all families."""

from __future__ import annotations

import pytest
from tests.broker.harness import World

from amqp_sansio import ServerConfig
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.service import Service
from amqp_sansio.events import ConnectionClosed
from amqp_sansio.limits import BrokerLimits


@pytest.mark.parametrize(
    ("config", "server", "code", "text"),
    [
        (BrokerConfig(virtual_hosts=("other",)), None, 402, "no such virtual host"),
        (BrokerConfig(), ServerConfig(virtual_hosts=("other",)), 402, "no such virtual host"),
        (
            BrokerConfig(limits=BrokerLimits(virtual_hosts=1)),
            None,
            320,
            "limits.virtual_hosts: no more virtual hosts can be opened",
        ),
    ],
)
def test_a_refused_client_gets_the_reason(config: BrokerConfig, server: ServerConfig | None, code: int, text: str) -> None:
    world = World(config)
    if config.limits.virtual_hosts == 1:
        world.broker.host("taken")
    client = world.connect(server=server)
    (closed,) = client.all(ConnectionClosed)
    assert (closed.code, closed.text) == (code, text)


def test_a_client_whose_dialect_nobody_serves_gets_that_answer() -> None:
    world = World(broker=Broker(fronts=()))
    client = world.connect()
    assert type(client.peer._service) is Service
    (closed,) = client.all(ConnectionClosed)
    assert (closed.code, closed.text) == (320, "this broker has no front for the dialect of the connection")
