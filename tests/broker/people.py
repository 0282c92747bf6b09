"""Clients with names at a broker in memory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from tests.broker.harness import Client, World

from amqp_sansio import ClientConfig, ServerConfig, Session
from amqp_sansio.broker import Kind, Rule, Rules, Verb
from amqp_sansio.engine.sasl import PlainServer

SERVER: Final = ServerConfig(mechanisms=(PlainServer(lambda username, password: True),))
"""Believes whatever name a client gives itself."""
ALICE: Final = (
    *[Rule(allow=True, who="alice", kind=kind) for kind in (Kind.EXCHANGE, Kind.QUEUE)],
    Rule(allow=True, verbs=[Verb.OPEN], kind=Kind.HOST),
)
"""Alice may do everything but settle the branches of others; everybody may open every virtual host."""


def person(world: World, name: str, host: str = "") -> Client:
    """A client that comes as somebody."""
    return world.connect(ClientConfig(username=name, password="x", insecure_plain=True, virtual_host=host), SERVER)


def session(world: World, name: str) -> tuple[Client, Session]:
    """A session of somebody, on a connection of its own."""
    client = person(world, name)
    return client, client.session(str(len(world.clients)).encode())


def may(world: World, rules: Iterable[Rule]) -> None:
    """From now on these rules count besides those of Alice."""
    world.broker.set_access(Rules([*ALICE, *rules]))
