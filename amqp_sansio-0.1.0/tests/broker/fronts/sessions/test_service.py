"""What is done for one connection on which sessions are spoken."""

from __future__ import annotations

import pytest
from tests.broker.harness import World, done, front

from amqp_sansio import ClientConnection, ServerConfig
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.events import Event, SessionAttached, SessionDetached, TransferReceived
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import queue
from amqp_sansio.testing.link import Link


def test_attaches_are_refused_where_the_config_says_so(world: World) -> None:
    client = world.connect(server=ServerConfig(attach="refuse"))
    client.session()
    assert [event.code for event in client.all(SessionDetached)] == [1]
    assert front(world.broker).sessions == {}


def test_sessions_that_outlive_their_connection_are_counted() -> None:
    """The next one is attached, and granted nothing."""
    world = World()
    for count, kept in ((1, 1), (2, 2), (3, 2)):
        world = World(BrokerConfig(limits=BrokerLimits(kept_sessions=2)))
        client = world.connect(server=ServerConfig(session_timeout=60))
        for number in range(count):
            client.session(b"%d" % number, 60)
        assert len(client.all(SessionAttached)) == count
        client.cut()
        assert len(front(world.broker).sessions) == kept
    world.tick()
    world.tick(61.0)
    client = world.connect(server=ServerConfig(session_timeout=60))
    client.session(b"again", 60)
    client.cut()
    assert len(front(world.broker).sessions) == 1


class Seat:
    """The peer of a broker as a `Link` sees it: whoever asks it for events has the broker act."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.peer = broker.connect(ServerConfig(session_timeout=None))
        self.receive_data = self.peer.receive_data
        self.receive_eof = self.peer.receive_eof
        self.data_to_send = self.peer.data_to_send

    @property
    def bytes_to_send(self) -> int:
        return self.peer.bytes_to_send

    def next_event(self) -> Event | None:
        while (happened := self.broker.next_event()) is not None:
            if happened[0] is self.peer:
                return happened[1]
        return None

    def tick(self, now: float) -> float | None:
        return self.broker.tick(now)


@pytest.mark.parametrize("cut_at", range(40, 1200, 60))
def test_no_message_is_lost_or_doubled_when_the_link_breaks(cut_at: int) -> None:
    """Whatever octet the link breaks at, a session that is resumed has published and received everything once."""
    broker = Broker()
    client, seat = ClientConnection(), Seat(broker)
    link = Link(client, seat, delay=(1, 3), chunk=(1, 50), choices=[3, 1, 4, 1, 5, 9, 2, 6], seconds=0.01)
    link.run()
    session = client.session(b"s", None)
    link.run()
    session.send(queue.Declare("q"))
    session.subscribe("q", "d").grant(5)
    link.cut_after("client" if cut_at % 120 else "server", cut_at)
    received: list[bytes] = []
    published = 0
    for _ in range(400):
        if session.state == "attached" and published < 20:
            session.publish(routing_key="q", body=b"%d" % published)
            published += 1
        for who, event in link.step():
            if who == "client" and isinstance(event, TransferReceived):
                received.append(event.body)
                session.accept(event.id)
        if link.broken:
            client, seat = ClientConnection(), Seat(broker)
            link.reconnect(client, seat)
            link.run()
            client.resume(session, force=True)
    assert link.violations == []
    assert published == 20
    assert received == [b"%d" % number for number in range(20)]
    assert broker.host("").queues["q"].messages == 0


def test_a_session_knows_its_queue_again_on_any_connection(world: World) -> None:
    client = world.connect(server=ServerConfig(session_timeout=None))
    session = client.session(b"s", None)
    done(client, session, queue.Declare("mine", exclusive=True))
    client.cut()
    again = world.connect(server=ServerConfig(session_timeout=None))
    again.connection.resume(session)
    world.run()
    done(again, session, queue.Purge("mine"))
