"""The transaction manager: through all of its deaths each message is on one side."""

from __future__ import annotations

import pytest

from amqp_sansio.testing.simulation.plan import Persona, Plan, Step
from amqp_sansio.testing.simulation.world import World


@pytest.mark.parametrize("moment", range(0, 60, 3))
def test_it_may_be_killed_at_any_moment(moment: int) -> None:
    """Whenever it dies, what it had decided is carried out, and what it had not is rolled back."""
    made = World(Plan(0, (Persona("plain", 0, 0, 1.0),), (1.0, 1.0), ()))
    made.begin()
    for step in (
        Step("come", 0),
        Step("come", 0),
        Step("publish", 0, 0, 0, 1 + 64),
        Step("breathe", 0),
        Step("store", 0, 1, 0, 1),
    ):
        made.step(step)
    for at in range(60):
        if at == moment:
            made.step(Step("kill", 0))
        made.step(Step("manage", 0, at))
        made.step(Step("breathe", 0))
        for site in made.sites:
            site.sync()
            site.tell()
    manager = made.manager
    assert manager is not None
    made.end()
    assert made.count["moved"] == 2
    assert manager.life == (2 if moment else 1)
    assert manager.decisions == {}
