"""Plans: one seed, one plan."""

from __future__ import annotations

import json

import pytest

from amqp_sansio.testing.simulation.actions import DOINGS
from amqp_sansio.testing.simulation.plan import KINDS, WEIGHTS, Plan, make
from amqp_sansio.testing.simulation.world import OWN


def test_one_seed_makes_one_plan_and_another_seed_another() -> None:
    assert make(1, 100) == make(1, 100) != make(2, 100)


def test_what_is_given_is_kept_and_the_seed_decides_the_rest() -> None:
    plan = make(7, 50, clients=9, brokers=2)
    assert (len(plan.personas), len(plan.rates), len(plan.steps)) == (9, 2, 50)
    assert {persona.site for persona in plan.personas} == {0, 1}
    assert {persona.kind for seed in range(30) for persona in make(seed, 0).personas} == set(KINDS)
    assert {len(make(seed, 0).rates) for seed in range(30)} == {1, 2}


def test_a_plan_goes_through_json() -> None:
    plan = make(3, 20)
    assert Plan.of(json.loads(json.dumps(plan.plain))) == plan
    with pytest.raises(TypeError):
        Plan.of({"seed": 1, "personas": 2, "rates": 3, "steps": 4})


@pytest.mark.parametrize("wrong", [(-1, None, None), (1, 0, None), (1, 65, None), (1, None, 0), (1, None, 3)])
def test_numbers_out_of_range_are_reported(wrong: tuple[int, int | None, int | None]) -> None:
    with pytest.raises(ValueError, match="not"):
        make(1, *wrong)


def test_every_verb_of_a_plan_is_known_to_the_world() -> None:
    assert set(WEIGHTS) == {*DOINGS, *OWN}
