"""Messages are taken from one broker and put on another in distributed transactions, whoever dies meanwhile.

Each message is on exactly one side whenever nothing is in doubt, nothing stays in doubt, and in the end all are on the other
side.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.properties.two_brokers import World

from amqp_sansio.engine.two_phase import TwoPhase
from amqp_sansio.events import TransactionOutcome
from amqp_sansio.spec.codes import XaStatus

VICTIMS = ("manager", "east", "west", "link east", "link west", "all")


def lived(bodies: tuple[bytes, ...], kills: Mapping[int, str]) -> World:
    """A world in which those are killed at those steps, after all of it."""
    world = World(bodies)
    world.kills = dict(kills)
    world.live()
    world.check()
    assert world.west.on("to") == list(bodies)
    return world


def test_the_steps_are_those_that_matter() -> None:
    told = lived((b"one",), {}).told
    for name in ("east", "west"):
        for verb in ("prepare", "commit"):
            assert f"dtx.{verb} of {name} is to be said" in told
        for step in ("writes", "has answered", "knows that it wrote"):
            assert told.count(f"{name} {step}") == 2
        assert f"{name} has a new snapshot" in told
        assert told.count(f"to {name}") >= 8
    at = [told.index(step) for step in ("the manager decides", "the manager has decided", "dtx.commit of east is to be said")]
    assert at == sorted(at)
    assert "dtx.commit of west is to be said" not in told[: at[1]]


@pytest.mark.parametrize("victim", VICTIMS)
def test_each_message_is_on_one_side_after_any_crash_at_any_step(victim: str) -> None:
    for step in range(1, 200):
        world = World((b"one",))
        world.kills = {step: victim}
        world.live()
        world.check()
        assert world.west.on("to") == [b"one"], (victim, step, world.told)
        if world.kills:  # it was never reached
            break
    assert 60 < step < 199


@given(st.dictionaries(st.integers(1, 250), st.sampled_from(VICTIMS), min_size=2, max_size=6))
def test_each_message_is_on_one_side_after_any_crash_while_others_recover(kills: dict[int, str]) -> None:
    world = World((b"one", b"two"))
    world.kills = dict(kills)
    world.live()
    world.check()
    assert sorted(world.west.on("to")) == [b"one", b"two"]


@pytest.mark.parametrize(
    ("decided", "on_west"),
    [
        (XaStatus.XA_HEURCOM, [b"one"]),
        (XaStatus.XA_HEURRB, []),
        (XaStatus.XA_HEURHAZ, []),
        (XaStatus.XA_HEURMIX, [b"one"]),
    ],
)
@pytest.mark.parametrize("victim", ["nobody", "west", "manager", "all"])
def test_the_manager_reports_a_branch_that_an_administrator_decided(
    decided: XaStatus, on_west: list[bytes], victim: str
) -> None:
    """The manager hears what was decided, says so, and has it forgotten; only so can both sides differ."""
    world = World((b"one",))
    found: list[dict[str, XaStatus]] = []

    def decide(label: str) -> None:
        if label == "the manager has decided" and world.west.broker.coordinator().in_doubt:
            (branch,) = world.west.broker.coordinator().in_doubt
            world.west.broker.coordinator().complete(branch.xid, decided)
            world.west.store()
            if victim != "nobody":
                world.strike(victim)

    carry_out = world.carry_out

    def watched(machine: TwoPhase, whole: bytes) -> None:
        carry_out(machine, whole)
        found.append(dict(machine.heuristics))
        assert machine.outcome is TransactionOutcome.COMMITTED

    world.on_step = decide
    world.carry_out = watched  # type: ignore[method-assign]
    world.check = lambda: None  # type: ignore[method-assign]
    world.live()
    assert {"west": decided} in found
    assert [world.east.on("from"), world.west.on("to"), world.doubtful] == [[], on_west, 0]


@pytest.mark.parametrize(
    "when", ["dtx.prepare of east is to be said", "dtx.prepare of west is to be said", "east has answered"]
)
def test_a_branch_that_timed_out_rolls_the_other_one_back(when: str) -> None:
    world = World((b"one",))
    outcomes: list[TransactionOutcome | None] = []
    carry_out = world.carry_out

    def late(label: str) -> None:
        if label == when and not outcomes:
            for site in world.sites.values():
                site.broker.tick(world.now)
            world.now += 61
            for site in world.sites.values():
                site.broker.tick(world.now)

    def watched(machine: TwoPhase, whole: bytes) -> None:
        carry_out(machine, whole)
        outcomes.append(machine.outcome)
        if machine.outcome is TransactionOutcome.ROLLED_BACK:
            assert machine.heuristics == {}
            assert world.west.on("to") == []
            assert world.east.on("from") == [b"one"]

    world.on_step = late
    world.carry_out = watched  # type: ignore[method-assign]
    world.live()
    world.check()
    assert outcomes == [TransactionOutcome.ROLLED_BACK, TransactionOutcome.COMMITTED]
    assert world.west.on("to") == [b"one"]
