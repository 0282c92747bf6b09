"""A broker, an adapter that stores its journal, and clients that come back after a restart."""

from __future__ import annotations

import pickle
from typing import Any

from tests.broker.harness import Client, World

from amqp_sansio import ClientConfig, ClientConnection, ServerConfig, Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.durable_fold import HostLedger
from amqp_sansio.broker.encoding import decode_entry, encode_entry
from amqp_sansio.broker.journal import Entry
from amqp_sansio.broker.snapshot import decode_snapshot, encode_snapshot, survey
from amqp_sansio.spec import message, queue
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.message import DeliveryProperties

JOURNAL = BrokerConfig(journal=True)
KEEP = ServerConfig(session_timeout=300)
XID = Xid(1, b"global", b"branch")


def stored(world: World) -> tuple[Entry, ...]:
    """What an adapter does: takes the entries, stores them, says so."""
    entries = world.broker.journal()
    if entries:
        world.broker.journalled(entries[-1].number)
    world.run()
    return tuple([decode_entry(encode_entry(entry)) for entry in entries])


def say(client: Client, session: Session, *commands: Any) -> None:
    for command in commands:
        session.send(command)
    client.world.run()
    if client.world.broker._journals.enabled:
        stored(client.world)


def publish(
    client: Client, session: Session, body: bytes, key: str = "q", *, persistent: bool = True, accept_mode: int = 1
) -> None:
    properties = DeliveryProperties(routing_key=key, delivery_mode=2 if persistent else 1)
    session.send(message.Transfer("", 1, 0), properties, body=body)
    client.world.run()
    if client.world.broker._journals.enabled:
        stored(client.world)


def ledger(broker: Broker, name: str = "") -> HostLedger:
    return survey(broker._hosts[name])


def again(world: World, entries: tuple[Entry, ...] = (), config: BrokerConfig | None = None) -> World:
    """A world with the broker that goes on where this one is, by way of octets."""
    snapshot = world.broker.snapshot()
    octets = encode_snapshot(snapshot)
    assert decode_snapshot(octets) == snapshot
    assert pickle.loads(pickle.dumps(snapshot)) == snapshot
    return World(broker=Broker.restore(decode_snapshot(octets), entries, config=config or world.broker.config))


def declared(config: BrokerConfig = JOURNAL, timeout: int | None = 0) -> tuple[World, Client, Session]:
    world = World(config)
    client = world.connect(server=KEEP)
    session = client.session(b"s", timeout)
    say(client, session, queue.Declare("q", durable=True), queue.Declare("t"))
    return world, client, session


def consume(client: Client, session: Session, name: str = "q", accept_mode: int = 0) -> None:
    say(
        client,
        session,
        message.Subscribe(name, "d", accept_mode, 0),
        message.Flow("d", 0, 100),
        message.Flow("d", 1, 0xFFFFFFFF),
    )


def resumed(then: World, session: Session) -> tuple[Client, Session]:
    """The client of before, on a new connection."""
    connection = ClientConnection(ClientConfig())
    client = Client(then, connection, then.broker.connect(KEEP))
    then.clients.append(client)
    then.run()
    session = connection.resume(session)
    then.run()
    if then.broker._journals.enabled:
        stored(then)
    return client, session
