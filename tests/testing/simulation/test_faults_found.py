"""Brokers and clients that are wrong in one way each: simulation finds it, and tells it in a few steps."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

import pytest
from tests.testing.simulation import faulty

from amqp_sansio.testing.simulation import Maker, model_broker, replay, shrink, simulate

FAULTS: dict[str, tuple[Maker, Callable[[], AbstractContextManager[None]]]] = {
    "forgets a dequeue in the journal": (faulty.make(faulty.Forgetful), nullcontext),
    "forgets a prepared branch": (faulty.make(faulty.ForgetfulOfBranches), nullcontext),
    "doubles on resume without a mark": (model_broker, faulty.doubles_on_resume),
    "ignores the octets of a window": (model_broker, faulty.ignores_octets),
    "ignores a window": (model_broker, faulty.ignores_windows),
    "loses order": (model_broker, faulty.loses_order),
    "half-commits": (model_broker, faulty.half_commits),
    "leaks credit": (model_broker, faulty.leaks_credit),
    "deadlocks": (model_broker, faulty.deadlocks),
    "answers before the disk has it": (model_broker, faulty.answers_early),
    "replays the wrong command": (model_broker, faulty.replays_the_wrong),
    "drops what is released": (model_broker, faulty.drops_releases),
}
MOST_SEEDS = 40
MOST_STEPS = 12


QUICK = ("forgets a dequeue in the journal", "replays the wrong command", "drops what is released")
"""They are shrunk in a second; one of the others takes three quarters of a minute."""
LONG = [each for each in FAULTS if each not in QUICK]


@pytest.mark.parametrize("fault", LONG)
def test_a_fault_that_takes_long_to_shrink_is_found(fault: str) -> None:
    """Within few seeds, as the others are."""
    maker, wrong = FAULTS[fault]
    with wrong():
        assert any(not simulate(seed, broker=maker).ok for seed in range(MOST_SEEDS)), f"not found within {MOST_SEEDS} seeds"


@pytest.mark.parametrize("fault", [pytest.param(each, marks=[pytest.mark.soak] * (each in LONG)) for each in FAULTS])
def test_a_fault_is_found_and_shrunk(fault: str) -> None:
    """A broker or client that is wrong in one way is found within few seeds, and told in a few steps."""
    maker, wrong = FAULTS[fault]
    with wrong():
        outcome = next((found for seed in range(MOST_SEEDS) if not (found := simulate(seed, broker=maker)).ok), None)
        assert outcome is not None, f"not found within {MOST_SEEDS} seeds"
        small = shrink(outcome, broker=maker, most=400)
    assert small.failure is not None
    assert outcome.failure is not None
    assert small.failure.rule == outcome.failure.rule
    assert 0 < len(small.plan.steps) <= MOST_STEPS, small.plan.steps
    assert small.story[-1].strip() == f"{small.failure.rule}: {small.failure.text}"
    assert replay(small.plan).ok  # it is the broker, not the plan
