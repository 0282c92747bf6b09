"""A made-up family over the model of the broker, which knows nothing of it, beside sessions."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from tests.families.front import KEYS, Lines
from tests.families.made_up import MADE_UP, LineClient

from amqp_sansio import AMQP_0_10, ClientConfig, ClientConnection, Connection, ServerConfig
from amqp_sansio.broker import Rules
from amqp_sansio.broker.broker import Broker, Peer
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.served_families import FRONTS
from amqp_sansio.broker.snapshot import decode_snapshot, encode_snapshot
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import RestoreError
from amqp_sansio.events import ConnectionClosed, Event, TransferReceived
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import DeliveryMode

BOTH = ServerConfig(dialects=(AMQP_0_10, MADE_UP))
JOURNAL = BrokerConfig(journal=True)


class World:
    """A broker that serves both families, and its clients."""

    def __init__(self, config: BrokerConfig = JOURNAL, broker: Broker | None = None) -> None:
        self.broker = broker or Broker(config, fronts=(*FRONTS, Lines))
        self.clients: list[tuple[Connection, Peer]] = []
        self.events: list[Event] = []

    def line(self) -> LineClient:
        client = LineClient(ClientConfig(dialect=MADE_UP))
        self.clients.append((client, self.broker.connect(BOTH)))
        self.run()
        return client

    def session(self) -> Session:
        client = ClientConnection(ClientConfig(virtual_host="/"))
        self.clients.append((client, self.broker.connect(BOTH)))
        self.run()
        session = client.session(b"s")
        self.run()
        return session

    def lose(self, client: Connection) -> None:
        (pair,) = [pair for pair in self.clients if pair[0] is client]
        self.clients.remove(pair)
        pair[1].receive_eof()
        self.run()

    def run(self, *, stored: bool = True) -> None:
        for _ in range(12):
            for client, peer in self.clients:
                if octets := client.data_to_send():
                    peer.receive_data(octets)
            self.broker.tick(1.0)
            while self.broker.next_event() is not None:
                pass
            if stored:
                for entry in self.broker.journal():
                    self.broker.journalled(entry.number)
            for client, peer in self.clients:
                client.receive_data(peer.data_to_send())
                self.events += list(client.events())


def puts(client: LineClient) -> list[bytes]:
    return [payload[1:] for _, _, payload in client.lines.heard if payload[:1] == b"p"]


def test_what_a_line_publishes_another_line_gets_and_settles() -> None:
    world = World()
    one, other = world.line(), world.line()
    one.lines.put(1, b"hello")
    world.run()
    assert one.lines.settled == {1: 1}
    assert world.broker.host("/").queues["line-1"].messages == 1
    other.lines.ask(7, b"line-1")
    world.run()
    assert puts(other) == [b"line-1 hello"]
    assert world.broker.host("/").queues["line-1"].messages == 0


def test_a_line_hears_that_its_message_is_stored_when_the_journal_is_written() -> None:
    world = World()
    client = world.line()
    client.lines.put(1, b"hello")
    world.run(stored=False)
    assert client.lines.settled == {}
    world.run()
    assert client.lines.settled == {1: 1}


def test_what_a_line_did_not_settle_the_next_one_gets_marked() -> None:
    world = World()
    one, other = world.line(), world.line()
    one.lines.put(1, b"hello")
    other.lines.ask(1, b"line-1")
    other.lines.hosted = True  # it does not answer
    world.run()
    world.lose(other)
    again = world.line()
    again.lines.ask(1, b"line-1")
    world.run()
    assert puts(again) == [b"!line-1 hello"]


def test_messages_go_from_one_family_to_the_other_in_its_own_form() -> None:
    world = World()
    line, session = world.line(), world.session()
    session.send(queue.Declare("line-2"))
    session.publish(body=b"from a session", routing_key="line-2", delivery_mode=DeliveryMode.PERSISTENT)
    line.lines.put(1, b"from a line")
    world.run()
    line.lines.ask(2, b"line-2")
    session.subscribe("line-1", "d").grant(10)
    world.run()
    assert puts(line) == [b"line-2 from a session"]
    (got,) = [event for event in world.events if isinstance(event, TransferReceived)]
    assert got.body == b"from a line"
    assert got.delivery_properties is not None
    assert (got.delivery_properties.routing_key, got.delivery_properties.delivery_mode) == ("line-1", DeliveryMode.PERSISTENT)


def test_when_a_session_deletes_the_queue_of_a_line_the_line_hears_it() -> None:
    world = World()
    line, session = world.line(), world.session()
    line.lines.put(1, b"x")
    world.run()
    line.lines.ask(1, b"line-1")
    world.run()
    session.send(queue.Delete("line-1"))
    world.run()
    (closed,) = [event for event in world.events if isinstance(event, ConnectionClosed)]
    assert (closed.code, closed.text) == (320, "line-1 was deleted")
    assert len(world.broker.peers) == 1


def test_a_broker_that_was_restarted_knows_what_lines_published() -> None:
    world = World()
    client = world.line()
    client.lines.put(1, b"hello")
    world.run()
    octets = encode_snapshot(world.broker.snapshot())
    then = World(broker=Broker.restore(decode_snapshot(octets), config=JOURNAL, fronts=(*FRONTS, Lines)))
    again = then.line()
    again.lines.ask(1, b"line-1")
    then.run()
    assert puts(again) == [b"!line-1 hello"]
    with pytest.raises(RestoreError, match=f"its form is '{KEYS.name}', and this broker knows sessions"):
        Broker.restore(decode_snapshot(octets), config=JOURNAL)


def test_a_broker_refuses_a_family_that_it_has_no_front_for() -> None:
    world = World(broker=Broker())
    client = world.line()
    (closed,) = [event for event in world.events if isinstance(event, ConnectionClosed)]
    assert (closed.code, closed.text) == (320, "this broker has no front for the dialect of the connection")
    assert client.lines.heard == []


def test_a_snapshot_with_holders_of_a_family_without_a_front_is_refused() -> None:
    snapshot = {**Broker().snapshot(), "channels": ()}
    with pytest.raises(RestoreError, match="there are channels, and this broker has no front for them"):
        Broker.restore(snapshot)


def test_a_broker_with_rules_serves_no_family_whose_front_does_not_ask_about_them() -> None:
    world = World(attrs.evolve(JOURNAL, access=None))
    line, session = world.line(), world.session()
    assert line.is_open
    world.broker.set_access(Rules(default=True))
    world.run()
    (closed,) = [event for event in world.events if isinstance(event, ConnectionClosed)]
    assert (closed.code, closed.text) == (320, "the rules of this broker do not reach the dialect of the connection")
    assert not [each for each in (line, world.line()) if each.is_open]
    assert session.state == "attached"
    world.broker.set_access(None)
    assert world.line().is_open


def test_the_whole_family_takes_less_than_six_hundred_lines() -> None:
    """As wc counts them: a family is its own files, and no line of the library that knows it."""
    files = [Path(__file__).with_name(f"{name}.py") for name in ("made_up", "heard", "history", "front")]
    assert sum([file.read_text(encoding="utf-8").count("\n") for file in files]) < 600
