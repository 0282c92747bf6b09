"""What came of a simulation."""

from __future__ import annotations

from amqp_sansio.testing.simulation.outcome import COUNTED, Failure, Outcome
from amqp_sansio.testing.simulation.plan import make


def test_it_says_in_one_line_how_it_went() -> None:
    counts = dict.fromkeys(COUNTED, 2)
    good = Outcome(make(5, 1), None, counts, 0)
    bad = Outcome(make(5, 1), Failure("order holds", "#1 came behind #2", 1), counts, 0)
    assert (good.ok, bad.ok) == (True, False)
    assert good.summary.startswith("seed 5: 2 messages, 2 delivered")
    assert good.summary.endswith("good")
    assert bad.summary.endswith("FAILED: order holds")
