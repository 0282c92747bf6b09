"""Settings of a broker."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.access import Rules
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.model.subscribers import SESSION, Owner
from amqp_sansio.config import ClientConfig, ServerConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.errors import EncodeError
from amqp_sansio.events import StartReceived
from amqp_sansio.spec.dtx import Xid


def test_everything_has_a_default() -> None:
    config = BrokerConfig()
    assert config.virtual_hosts is None
    assert not config.journal


def test_virtual_hosts_are_names() -> None:
    assert BrokerConfig(virtual_hosts=("a", "b")).virtual_hosts == ("a", "b")
    assert BrokerConfig(virtual_hosts="one").virtual_hosts == ("one",)
    assert BrokerConfig(virtual_hosts=["x" * 255]).virtual_hosts == ("x" * 255,)
    with pytest.raises(EncodeError):
        BrokerConfig(virtual_hosts=("x" * 256,))


def test_access_is_rules_or_a_callable() -> None:
    for right in (Rules(()), lambda *_: True):
        assert BrokerConfig(access=right).access is right
    with pytest.raises(EncodeError, match=r"BrokerConfig.access: takes Rules or a callable, not 3"):
        BrokerConfig(access=3)  # type: ignore[arg-type]


def test_the_timeout_of_branches_is_a_setting() -> None:
    config = BrokerConfig(branch_timeout=5, most_branch_timeout=10)
    coordinator = Broker(config).coordinator()
    coordinator.start(Owner(SESSION), Xid(1))
    assert (coordinator.get_timeout(Xid(1)), coordinator.max_timeout) == (5, 10)
    assert coordinator.tick(0.0) == 5.0
    with pytest.raises(Refused, match="too long"):
        coordinator.set_timeout(Xid(1), 11)
    for wrong in (0, -1, 1.5, True, None):
        with pytest.raises(EncodeError, match="branch_timeout"):
            BrokerConfig(branch_timeout=wrong)  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="at most most_branch_timeout, 10"):
        BrokerConfig(branch_timeout=11, most_branch_timeout=10)


def test_the_tag_of_a_broker_is_announced_to_every_connection() -> None:
    config = BrokerConfig(federation_tag="this one")
    assert dict(config.announced) == {**BrokerConfig().announced, "qpid.federation_tag": "this one"}
    assert "qpid.federation_tag" not in BrokerConfig().announced
    broker = Broker(config)
    for peer in (broker.connect(), broker.connect(ServerConfig(properties={"product": "mine"}))):
        peer.receive_data(b"AMQP\x01\x01\x00\x0a")
        list(broker.events())
        client = ClientConnection(ClientConfig())
        client.data_to_send()
        client.receive_data(peer.data_to_send())
        (started,) = [event for event in client.events() if isinstance(event, StartReceived)]
        assert started.server_properties["qpid.federation_tag"] == "this one"


@pytest.mark.parametrize("tag", ["", "x" * 256, b"octets", 1])
def test_a_tag_is_text_of_1_to_255_octets(tag: object) -> None:
    assert BrokerConfig(federation_tag="x" * 255).federation_tag == "x" * 255
    with pytest.raises(EncodeError, match=r"BrokerConfig\.federation_tag"):
        BrokerConfig(federation_tag=tag)  # type: ignore[arg-type]
