"""Crash after crash, of us and of a broker on disk, at every step: nothing is lost, nothing comes twice.

Small in `make test`; `make soak` kills us a hundred times and the broker a hundred times, in each test (tools/chores/soak.py).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.serving import SOAK
from tests.spark.live import crashes
from tests.spark.live.stage import OnDisk

SEED = int(os.environ.get("AMQP_SEED", "1"))
MANY = crashes.Many(100, 100, SEED) if SOAK else crashes.Many(4, 3, SEED)


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OnDisk]:
    made = OnDisk(tmp_path / "data")
    yield made
    made.end()


def test_the_source_crash_after_crash(broker: OnDisk, tmp_path: Path) -> None:
    crashes.crash_the_source(broker, tmp_path, MANY)


def test_the_sink_crash_after_crash(broker: OnDisk, tmp_path: Path) -> None:
    crashes.crash_the_sink(broker, tmp_path, MANY)


def test_the_source_at_least_once_crash_after_crash(broker: OnDisk, tmp_path: Path) -> None:
    crashes.crash_the_source_at_least_once(broker, tmp_path, MANY)


def test_the_sink_at_least_once_crash_after_crash(broker: OnDisk, tmp_path: Path) -> None:
    crashes.crash_the_sink_at_least_once(broker, tmp_path, MANY)
