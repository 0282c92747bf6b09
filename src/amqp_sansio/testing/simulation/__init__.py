"""Deterministic simulation of whole systems, driven by a single seed.

`simulate` runs a seed, `shrink` minimises a failure and adds its story, `replay` runs any plan.
"""

from __future__ import annotations

from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.testing.simulation.outcome import MOST_RUNS, RULES, Failure, Outcome, Shrinking
from amqp_sansio.testing.simulation.plan import Persona, Plan, Step, make
from amqp_sansio.testing.simulation.site import Maker, Served, ServedPeer, model_broker
from amqp_sansio.testing.simulation.world import ClientMaker, World

STEPS = 200
"""The default number of steps in a simulation."""


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

    `steps` is the number of steps by clients, network, clocks and disks before everything recovers and drains.  `clients` (1 to
    64) and `brokers` (1 or 2; 2 add a transaction manager) are chosen by the seed when None.  `broker` makes the brokers and
    `client` the clients' connections: pass your own to have them tested.  Raises ValueError for numbers out of range.
    """
    return replay(make(seed, steps, clients, brokers), broker=broker, client=client)


def replay(plan: Plan, *, broker: Maker = model_broker, client: ClientMaker = ClientConnection, tell: bool = False) -> Outcome:
    """Runs a plan; with `tell` the outcome includes its story."""
    return World(plan, broker, client, tell).run()


def shrink(
    outcome: Outcome, *, broker: Maker = model_broker, client: ClientMaker = ClientConnection, most: int = MOST_RUNS
) -> Outcome:
    """Returns the smallest failure of the same invariant found in at most `most` runs, with its story.

    `broker` and `client` are those with which it failed.  An outcome without a failure is not shrunk, only given its story.
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
