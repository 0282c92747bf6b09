"""What a simulation finds."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulation.fault import LOST, RULES, Fault, demand


def test_what_holds_is_not_mentioned_and_what_does_not_is_reported() -> None:
    demand(True, LOST, "")
    with pytest.raises(Fault, match="nothing is lost: #1 is lost") as told:
        demand([], LOST, "#1 is lost")
    assert (told.value.rule in RULES, told.value.text) == (True, "#1 is lost")
