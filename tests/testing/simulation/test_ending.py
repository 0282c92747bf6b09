"""The end: everything heals and drains, and what is not right then is told."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulation.ending import SimulationEnds
from amqp_sansio.testing.simulation.outcome import InvariantError
from amqp_sansio.testing.simulation.plan import Persona, Plan, Step
from amqp_sansio.testing.simulation.world import World


def world(*steps: Step) -> tuple[World, SimulationEnds]:
    made = World(Plan(0, (Persona("plain", 0, 0, 1.0),), (1.0,), steps))
    ending = SimulationEnds(made)
    ending.begin()
    for made.at, step in enumerate(steps, 1):
        made.step(step)
    made.at = 0
    return made, ending


def test_what_was_cut_and_stalls_heals_and_what_was_published_is_there() -> None:
    made, ending = world(Step("come", 0), Step("come", 0), Step("publish", 0, 0, 0, 1), Step("stall", 0), Step("cut", 0))
    ending.run()
    assert made.count["cuts"] == 1


def test_what_is_lost_is_reported() -> None:
    made, ending = world()
    made.ledger.publish("east", "red", 4, "p", True, None, False, 0).born = "yes"
    with pytest.raises(InvariantError, match="#1 is lost"):
        ending.run()
