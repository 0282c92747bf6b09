"""One connection of the broker."""

from __future__ import annotations

import pytest
from tests.broker.harness import World, done

from amqp_sansio import ClientConfig, ClientConnection, ConnectionClosedError, LocalProtocolError, Profile, ServerConfig
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, Event, SessionAttached, SessionDetached, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import queue
from amqp_sansio.spec.session import Attach, Expected
from amqp_sansio.testing.link import Link
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_control


def test_it_begins_without_an_identity(world: World) -> None:
    peer = world.broker.connect()
    assert peer.identity is None
    client = world.connect()
    assert client.peer.identity == ""
    assert repr(client.peer) == "<Peer '' open>"


def test_after_the_end_of_octets_nothing_comes() -> None:
    peer = Broker().connect()
    peer.receive_eof()
    peer.receive_eof()
    with pytest.raises(LocalProtocolError):
        peer.receive_data(b"x")


def test_close_says_close(world: World) -> None:
    client, _ = world.session()
    client.peer.close(320, "enough")
    assert client.peer in world.broker.ready()
    world.run()
    (closed,) = client.all(ConnectionClosed)
    assert (closed.code, closed.text) == (320, "enough")
    assert client.peer.finished
    assert world.broker._sessions == {}
    with pytest.raises(ConnectionClosedError):
        client.peer.close()


def test_known_hosts_that_do_not_fit_are_left_out(world: World) -> None:
    hosts = tuple(f"amqp:host{number:04}.example" for number in range(400))
    client = world.connect(ClientConfig(max_frame_size=4096), ServerConfig(known_hosts=hosts))
    assert client.all(ConnectionOpened)


def test_attaches_are_refused_where_the_config_says_so(world: World) -> None:
    client = world.connect(server=ServerConfig(attach="refuse"))
    client.session()
    assert [event.code for event in client.all(SessionDetached)] == [1]
    assert world.broker._sessions == {}


def test_full_at_the_limit_of_the_outbox() -> None:
    for limit, full in ((7, True), (8, True), (9, False)):
        broker = Broker(BrokerConfig(limits=BrokerLimits(outbox_octets=limit)))
        peer = broker.connect()
        peer.receive_data(b"AMQP\x01\x01\x00\x09")  # another version, which is answered with eight octets
        list(broker.events())
        assert peer.bytes_to_send == 8
        assert peer.full is full


def test_what_is_said_again_fills_the_outbox_and_no_more() -> None:
    """A client that attaches again, wants everything again and takes nothing; it is not read meanwhile."""
    most, body = 50_000, 9000
    world = World(BrokerConfig(limits=BrokerLimits(outbox_octets=most)))
    client = world.connect(ClientConfig(profile=Profile(completion="manual")), ServerConfig(session_timeout=60))
    session = client.session(b"s", 60)
    done(client, session, queue.Declare("q"))
    for _ in range(40):
        session.publish(routing_key="q", body=bytes(body))
    session.subscribe("q", "d", accept_mode=1, acquire_mode=1).grant(40)
    world.run()
    assert len(client.take(TransferReceived)) == 40
    client.cut()
    again = world.connect(server=ServerConfig(session_timeout=60))
    (holder,) = world.broker._sessions.values()
    world.clients.remove(again)
    again.peer.receive_data(frame_control(1, LAYOUT.encode_control(Attach(b"s"))))
    again.peer.receive_data(frame_control(1, LAYOUT.encode_control(Expected(RangeSet.of(0)))))
    list(world.broker.events())
    octets, rounds = b"", 0
    while holder.session.state == "resuming":
        rounds += 1
        assert most <= again.peer.bytes_to_send < most + body + 500
        assert not again.peer.wants_data
        octets += again.peer.data_to_send()
        assert again.peer in world.broker.ready() or holder.session._speaks
        list(world.broker.events())
    octets += again.peer.data_to_send()
    assert (octets.count(bytes(body)), rounds) == (40, 6)
    assert again.peer.wants_data


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
        assert len(world.broker._sessions) == kept
    world.tick()
    world.tick(61.0)
    client = world.connect(server=ServerConfig(session_timeout=60))
    client.session(b"again", 60)
    client.cut()
    assert len(world.broker._sessions) == 1


class Seat:
    """The peer of a broker as a `Link` sees it: whoever asks it for events has the broker act."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.peer = broker.connect(ServerConfig(session_timeout=None))
        for name in ("receive_data", "receive_eof", "data_to_send"):
            setattr(self, name, getattr(self.peer, name))

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
    link = Link(client, seat, delay=(1, 3), chunk=(1, 50), choices=[3, 1, 4, 1, 5, 9, 2, 6], seconds=0.01)  # type: ignore[arg-type]
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
            link.reconnect(client, seat)  # type: ignore[arg-type]
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


def test_our_close_for_a_violation_waits_for_its_answer_and_not_for_ever(world: World) -> None:
    """The socket is to be closed when the answer came, or in its time; either is told by `ready`."""
    world.tick(1.0)
    for answers in (True, False):
        client = world.connect()
        client.deaf = True
        client.peer.receive_data(bytes.fromhex("0f00000c0000000000000000"))
        list(world.broker.events())
        assert client.peer not in world.broker.peers
        assert client.peer in world.broker.ready()
        octets = client.peer.data_to_send()
        assert world.broker.ready() == ()
        assert not client.peer.finished
        if answers:
            client.connection.receive_data(octets)
            list(client.connection.events())
            client.peer.receive_data(client.connection.data_to_send())
            list(world.broker.events())
        else:
            world.broker.tick(2.0)
            world.broker.tick(20.0)
        assert world.broker.ready() == (client.peer,)
        over: bool = client.peer.finished
        assert over
        assert world.broker.ready() == ()


def test_a_config_that_leaves_completion_to_others_is_none_for_a_broker(world: World) -> None:
    client = world.connect(server=ServerConfig(profile=Profile(completion="manual")))
    session = client.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", accept_mode=0)
    world.run()
    assert not session.in_doubt


def test_close_before_the_headers_agree_is_the_end() -> None:
    """There is nothing to say it with: the socket is to be closed, without waiting for anything."""
    broker = Broker()
    peer = broker.connect()
    peer.close(320, "not today")
    assert [type(event) for _, event in broker.events()] == [ConnectionClosed]
    assert (peer.finished, broker.peers) == (True, ())
    assert broker.ready() == (peer,)
