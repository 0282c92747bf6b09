"""Fixtures for pytest: a broker for each test.  What they need is imported when a test asks for one of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from amqp_sansio.adapters.sync.served import ServedBroker
    from amqp_sansio.testing.memory import MemoryBroker


@pytest.fixture
def amqp_broker() -> Iterator[ServedBroker]:
    """A broker in memory on a port of its own on loopback, gone when the test is over: see `ServedBroker`."""
    from amqp_sansio.adapters.sync.served import ServedBroker

    with ServedBroker() as broker:
        yield broker


@pytest.fixture
def amqp_url(amqp_broker: ServedBroker) -> str:
    """Where clients connect to that broker."""
    return amqp_broker.url


@pytest.fixture
def amqp_memory() -> MemoryBroker:
    """A broker without a socket, for clients of ours that are joined to it in memory: see `MemoryBroker`."""
    from amqp_sansio.testing.memory import MemoryBroker

    return MemoryBroker()
