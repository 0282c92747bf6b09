"""The collector of cycles leaves alone what was there, and is as it was afterwards."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest

from amqp_sansio.spark.cycles import THRESHOLD, seldom


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Nothing of this process stays frozen."""
    yield
    gc.unfreeze()


def test_it_is_spared_what_was_there_and_runs_seldom_meanwhile() -> None:
    before = gc.get_threshold()
    assert gc.get_freeze_count() == 0
    with seldom():
        assert gc.get_threshold() == (THRESHOLD, *before[1:])
        assert gc.get_freeze_count() > 10_000
        assert gc.isenabled()
    assert gc.get_threshold() == before
