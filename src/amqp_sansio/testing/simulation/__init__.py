"""Deterministic simulation of whole systems: one seed decides everything.  See `simulate` and `shrink`."""

from __future__ import annotations

from collections.abc import Callable

from amqp_sansio.config import ClientConfig
from amqp_sansio.engine.client import ClientConnection
from amqp_sansio.testing.simulation.outcome import Failure, Outcome
from amqp_sansio.testing.simulation.plan import Plan, Step, make
from amqp_sansio.testing.simulation.served import Maker, Served, ServedPeer, model_broker
from amqp_sansio.testing.simulation.world import World


def simulate(
    seed: int,
    steps: int = 200,
    *,
    clients: int | None = None,
    brokers: int | None = None,
    broker: Maker = model_broker,
    client: Callable[[ClientConfig], ClientConnection] = ClientConnection,
) -> Outcome:
    """Runs the simulation of a seed.

    `steps`: what clients, network, time and disks do, one after the other, before everything heals and drains.  `clients` (1 to
    64) and `brokers` (1 or 2; with 2 there is a transaction manager): what is None the seed decides.  `broker` makes the brokers
    and `client` the connections of clients: give your own to have them tested.  ValueError for numbers out of range.
    """
    return World(make(seed, steps, clients, brokers), broker, client).run()
