"""Real peers: only by `make interop`, which says where they are missing."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.interop.broker_j import BrokerJ

ROOT = Path(__file__).resolve().parents[2]
WANTED = bool(os.environ.get("AMQP_INTEROP"))
collect_ignore_glob = [] if WANTED else ["test_*.py"]


@pytest.fixture(scope="session")
def broker() -> Iterator[BrokerJ]:
    """A Broker-J that is there for all tests that do it no harm."""
    with BrokerJ(ROOT / ".cache" / "broker-j") as broker:
        yield broker
