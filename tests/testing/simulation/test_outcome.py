"""What came of a simulation."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulation.outcome import COUNTED, LOST, RULES, Failure, Fault, Outcome, demand
from amqp_sansio.testing.simulation.plan import make


def test_what_holds_is_not_mentioned_and_what_does_not_is_reported() -> None:
    demand(True, LOST, "")
    with pytest.raises(Fault, match="nothing is lost: #1 is lost") as told:
        demand([], LOST, "#1 is lost")
    assert (told.value.rule in RULES, told.value.text) == (True, "#1 is lost")


def test_it_says_in_one_line_how_it_went() -> None:
    counts = dict.fromkeys(COUNTED, 2)
    good = Outcome(make(5, 1), None, counts, 0)
    bad = Outcome(make(5, 1), Failure("order holds", "#1 came behind #2", 1), counts, 0)
    assert (good.ok, bad.ok) == (True, False)
    assert good.summary.startswith("seed 5: 2 messages, 2 delivered")
    assert good.summary.endswith("good")
    assert bad.summary.endswith("FAILED: order holds")
