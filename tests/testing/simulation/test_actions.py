"""What clients do."""

from __future__ import annotations

import pytest
from tests.testing.simulation.test_simulated_client import settle

from amqp_sansio.testing.simulation.actions import ABLE, DOINGS
from amqp_sansio.testing.simulation.plan import Persona, Plan, Step
from amqp_sansio.testing.simulation.world import World


def ready(kind: str) -> World:
    made = World(Plan(0, (Persona(kind, 0, 0, 1.0),), (1.0,), ()))
    made.begin()
    made.lines[0].come()
    settle(made)
    assert made.lines[0].ready
    return made


@pytest.mark.parametrize("kind", ["plain", "tx", "branch", "looker"])
@pytest.mark.parametrize("verb", DOINGS)
def test_every_verb_may_be_sent_at_any_time(verb: str, kind: str) -> None:
    made = ready(kind)
    for number in range(6):
        made.step(Step(verb, 0, number, number, number))
    settle(made)


def test_a_message_goes_its_way() -> None:
    made = ready("plain")
    tenure = made.lines[0].tenure
    assert tenure is not None
    for step in (Step("publish", 0, 0, 0, 1), Step("subscribe", 0)):
        made.step(step)
    settle(made)
    (item,) = tenure.held.values()
    assert (item.born, item.gone, item.holder) == ("yes", "no", tenure)
    assert ABLE["accept"](tenure)
    made.step(Step("accept", 0))
    assert item.gone == "maybe"
    settle(made)
    assert (item.gone, dict(tenure.held)) == ("yes", {})
