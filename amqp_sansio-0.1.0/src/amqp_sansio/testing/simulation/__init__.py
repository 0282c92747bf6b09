"""Deterministic simulation of whole systems: one seed decides everything.

`simulate` runs a seed, `shrink` makes a failure small and tells its story, `replay` runs any plan.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from amqp_sansio.config import ClientConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.testing.simulation.fault import RULES
from amqp_sansio.testing.simulation.outcome import Failure, Outcome
from amqp_sansio.testing.simulation.plan import Persona, Plan, Step, make
from amqp_sansio.testing.simulation.served import Maker, Served, ServedPeer, model_broker
from amqp_sansio.testing.simulation.shrinking import MOST_RUNS, Shrinking
from amqp_sansio.testing.simulation.world import World

ClientMaker: TypeAlias = Callable[[ClientConfig], ClientConnection]
"""Makes the connection of a client."""

STEPS = 200
"""Steps of a simulation unless somebody says otherwise."""


def simulate(
    seed: int,
    steps: int = STEPS,
    *,
    clients: int | None = None,
    brokers: int | None = None,
    broker: Maker = model_broker,
    client: ClientMaker = ClientConnection,
) -> Outcome:
    """Runs the simulation of a seed.

    `steps`: what clients, network, time and disks do, one after the other, before everything heals and drains.  `clients` (1 to
    64) and `brokers` (1 or 2; with 2 there is a transaction manager): what is None the seed decides. `broker` makes the brokers
    and `client` the connections of clients: give your own to have them tested.  ValueError for numbers out of range.
    """
    return replay(make(seed, steps, clients, brokers), broker=broker, client=client)


def replay(plan: Plan, *, broker: Maker = model_broker, client: ClientMaker = ClientConnection, tell: bool = False) -> Outcome:
    """Runs a plan; with `tell` the outcome has its story."""
    return World(plan, broker, client, tell).run()


def shrink(
    outcome: Outcome, *, broker: Maker = model_broker, client: ClientMaker = ClientConnection, most: int = MOST_RUNS
) -> Outcome:
    """The smallest failure of the same invariant that was found with at most `most` runs, and its story.

    `broker` and `client` are those with which it failed.  What did not fail stays as it is, but for the story.
    """
    small = Shrinking(outcome, lambda plan: replay(plan, broker=broker, client=client), most).shrink()
    return replay(small.plan, broker=broker, client=client, tell=True)


__all__ = [
    "RULES",
    "STEPS",
    "ClientMaker",
    "Failure",
    "Maker",
    "Outcome",
    "Persona",
    "Plan",
    "Served",
    "ServedPeer",
    "Step",
    "make",
    "model_broker",
    "replay",
    "shrink",
    "simulate",
]
