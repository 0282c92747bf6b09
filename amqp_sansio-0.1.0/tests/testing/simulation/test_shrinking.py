"""Failures are made small."""

from __future__ import annotations

from amqp_sansio.testing.simulation.outcome import Failure, Outcome
from amqp_sansio.testing.simulation.plan import Plan, Step, make
from amqp_sansio.testing.simulation.shrinking import Shrinking


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
