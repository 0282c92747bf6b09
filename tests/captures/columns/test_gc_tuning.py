"""The collector of cycles leaves alone what was there, and is as it was afterwards."""

from __future__ import annotations

import gc

import pytest

from amqp_sansio.captures.columns.gc_tuning import THRESHOLD, rarely, seldom

pytestmark = pytest.mark.usefixtures("thawed")


def test_it_is_spared_what_was_there_and_runs_seldom_meanwhile() -> None:
    before = gc.get_threshold()
    assert gc.get_freeze_count() == 0
    with seldom():
        assert gc.get_threshold() == (THRESHOLD, *before[1:])
        assert gc.get_freeze_count() > 10_000
        assert gc.isenabled()
    assert gc.get_threshold() == before


def test_a_process_of_others_is_left_as_it_was() -> None:
    """What was there stays the collector's, whatever goes wrong; one that is switched off stays so."""
    before = gc.get_threshold()
    found: list[object] = []

    @rarely()
    def work() -> None:
        found.extend((gc.get_threshold(), gc.get_freeze_count()))
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        work()
    assert found == [(THRESHOLD, *before[1:]), 0]
    assert gc.get_threshold() == before
    for other in (0, 10 * THRESHOLD):
        gc.set_threshold(other)
        try:
            with rarely():
                assert gc.get_threshold()[0] == other
        finally:
            gc.set_threshold(*before)
