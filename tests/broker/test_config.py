"""Settings of a broker."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.errors import EncodeError


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
