"""The outcome of a simulation, and how a failure is made small."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulation.outcome import COUNTED, LOST, RULES, Failure, InvariantError, Outcome, Shrinking, demand
from amqp_sansio.testing.simulation.plan import Plan, Step, make


def test_what_holds_is_not_mentioned_and_what_does_not_is_reported() -> None:
    demand(True, LOST, "")
    with pytest.raises(InvariantError, match="nothing is lost: #1 is lost") as told:
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


def run(plan: Plan) -> Outcome:
    """Fails at the first crash behind a publish."""
    published = False
    for at, step in enumerate(plan.steps, 1):
        published = published or step.verb == "publish"
        if published and step.verb == "crash":
            return Outcome(plan, Failure("nothing is lost", "", at), {}, 0)
    return Outcome(plan, None, {}, 0)


def test_only_what_it_takes_is_left() -> None:
    outcome = next(found for seed in range(99) if not (found := run(make(seed, 200))).ok)
    shrinking = Shrinking(outcome, run)
    assert shrinking.shrink().plan.steps == (
        Step("publish", shrinking.best.plan.steps[0].who),
        Step("crash", shrinking.best.plan.steps[1].who),
    )


def test_it_tries_no_more_often_than_it_may_and_leaves_alone_what_is_good() -> None:
    outcome = next(found for seed in range(99) if not (found := run(make(seed, 200))).ok)
    shrinking = Shrinking(outcome, run, 5)
    shrinking.shrink()
    assert shrinking.runs == 5
    good = Outcome(make(1, 3), None, {}, 0)
    assert Shrinking(good, run).shrink() is good
