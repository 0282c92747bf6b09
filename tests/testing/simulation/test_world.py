"""Whole simulations: seeds that are good, and always the same; and their stories."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from amqp_sansio import ClientConnection
from amqp_sansio.broker.broker import Broker
from amqp_sansio.testing.simulation import make, replay, simulate
from amqp_sansio.testing.simulation.outcome import InvariantError
from amqp_sansio.testing.simulation.plan import Persona, Plan, Step
from amqp_sansio.testing.simulation.site import PipePair
from amqp_sansio.testing.simulation.world import StoryLines, World
from tools import values


def test_it_tells_nothing_unless_it_is_wanted() -> None:
    story = StoryLines(False)
    story.tell(1, "something")
    assert story.lines == []


def test_handshakes_are_left_out() -> None:
    story = StoryLines(True)
    wire = PipePair(ClientConnection(), Broker().connect())
    story.tell(3, "client 1 connects")
    story.said(wire, "client 1", "east", "up", wire.client.data_to_send())
    assert story.lines == ["   3 client 1 connects"]


def test_a_simulation_tells_what_was_done_and_said() -> None:
    outcome = next(found for seed in range(20) if (found := replay(make(seed, 100), tell=True)).counts["published"])
    story = outcome.story
    assert [line for line in story if "publishes #1" in line]
    assert [line for line in story if "message.transfer(" in line and " to east:" in line]


FIRST = 200
"""Every seed below is simulated by tests/tools/test_values.py, and good there."""
SEEDS = 50 if os.environ.get("AMQP_PROFILE") == "soak" else 20
PARTS = 2


@pytest.mark.parametrize("part", range(PARTS))
def test_every_invariant_holds_for_every_seed(part: int) -> None:
    """Whatever the seed decides, nothing is lost, doubled unmarked, out of order or half committed, and all drains."""
    start = FIRST + int(os.environ.get("AMQP_SEED", "0")) * SEEDS
    for seed in range(start + part, start + SEEDS, PARTS):
        outcome = simulate(seed)
        assert outcome.ok, (seed, outcome.failure)


def test_no_seed_is_left_out() -> None:
    assert values.SEEDS == FIRST


def test_a_plan_is_the_same_simulation_every_time_and_in_every_process() -> None:
    plan = make(12, 150, brokers=2)
    first, again, told = replay(plan), replay(plan), replay(plan, tell=True)
    assert first.digest == again.digest == told.digest
    assert (first, first.story == (), told.story != ()) == (again, True, True)
    code = "from amqp_sansio.testing.simulation import *; print(replay(make(12, 150, brokers=2)).digest)"
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    other = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert int(other.stdout) == first.digest


def test_everything_happens_that_is_to_be_tested() -> None:
    counts: dict[str, int] = {}
    for seed in range(12):
        for name, value in simulate(seed, 300).counts.items():
            counts[name] = counts.get(name, 0) + value
    assert [name for name, value in counts.items() if not value] == []


def test_a_broker_is_stopped_in_good_order_and_started_again() -> None:
    """Nothing that is confirmed is lost by it, and nothing comes twice: whoever was connected finds everything again."""
    steps = [Step(verb, who) for verb in ("publish", "subscribe", "breathe", "restart") for who in range(3)]
    outcome = replay(make(3, 0).only(tuple(steps * 3)), tell=True)
    assert outcome.ok, outcome.failure
    assert sum(["is stopped and started again" in line for line in outcome.story]) == 9


def world(*steps: Step) -> World:
    made = World(Plan(0, (Persona("plain", 0, 0, 1.0),), (1.0,), steps))
    made.begin()
    for made.at, step in enumerate(steps, 1):
        made.step(step)
    made.at = 0
    return made


def test_what_was_cut_and_stalls_heals_and_what_was_published_is_there() -> None:
    made = world(Step("come", 0), Step("come", 0), Step("publish", 0, 0, 0, 1), Step("stall", 0), Step("cut", 0))
    made.end()
    assert made.count["cuts"] == 1


def test_what_is_lost_is_reported() -> None:
    made = world()
    made.ledger.publish("east", "red", 4, "p", True, None, False, 0).born = "yes"
    with pytest.raises(InvariantError, match="#1 is lost"):
        made.end()
