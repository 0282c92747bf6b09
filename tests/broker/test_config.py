"""Settings of a broker."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.errors import EncodeError
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


def test_the_timeout_of_branches_is_a_setting() -> None:
    config = BrokerConfig(branch_timeout=5, most_branch_timeout=10)
    coordinator = Broker(config).coordinator()
    coordinator.start("me", Xid(1))
    assert (coordinator.get_timeout(Xid(1)), coordinator.max_timeout) == (5, 10)
    assert coordinator.tick(0.0) == 5.0
    with pytest.raises(Refused, match="too long"):
        coordinator.set_timeout(Xid(1), 11)
    for wrong in (0, -1, 1.5, True, None):
        with pytest.raises(EncodeError, match="branch_timeout"):
            BrokerConfig(branch_timeout=wrong)  # type: ignore[arg-type]
    with pytest.raises(EncodeError, match="at most most_branch_timeout, 10"):
        BrokerConfig(branch_timeout=11, most_branch_timeout=10)
