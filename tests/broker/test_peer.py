"""One connection of the broker."""

from __future__ import annotations

import pytest
from tests.broker.harness import World, done, front

from amqp_sansio import ClientConfig, ConnectionClosedError, LocalProtocolError, Profile, ServerConfig
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.peer import Service
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, CloseCode
from amqp_sansio.spec.session import Attach, Expected
from amqp_sansio.wire.frames import frame_control
from amqp_sansio.wire.layouts.v0_10 import LAYOUT


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
    client.peer.close(CloseCode.CONNECTION_FORCED, "enough")
    assert client.peer in world.broker.ready()
    world.run()
    (closed,) = client.all(ConnectionClosed)
    assert (closed.code, closed.text) == (320, "enough")
    assert client.peer.finished
    assert front(world.broker).sessions == {}
    with pytest.raises(ConnectionClosedError):
        client.peer.close()


def test_known_hosts_that_do_not_fit_are_left_out(world: World) -> None:
    hosts = tuple(f"amqp:host{number:04}.example" for number in range(400))
    client = world.connect(ClientConfig(max_frame_size=4096), ServerConfig(known_hosts=hosts))
    assert client.all(ConnectionOpened)


def test_full_at_the_limit_of_the_outbox() -> None:
    for limit, full in ((7, True), (8, True), (9, False)):
        broker = Broker(BrokerConfig(limits=BrokerLimits(outbox_octets=limit)))
        peer = broker.connect()
        peer.receive_data(b"AMQP\x01\x01\x00\x09")  # another version, which is answered with eight octets
        list(broker.events())
        assert peer.bytes_to_send == 8
        assert peer.full is full


def test_what_is_sent_again_fills_the_outbox_and_no_more() -> None:
    """A client that attaches again, wants everything again and takes nothing; it is not read meanwhile."""
    most, body = 50_000, 9000
    world = World(BrokerConfig(limits=BrokerLimits(outbox_octets=most)))
    client = world.connect(ClientConfig(profile=Profile(completion="manual")), ServerConfig(session_timeout=60))
    session = client.session(b"s", 60)
    done(client, session, queue.Declare("q"))
    for _ in range(40):
        session.publish(routing_key="q", body=bytes(body))
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE, acquire_mode=AcquireMode.NOT_ACQUIRED).grant(40)
    world.run()
    assert len(client.take(TransferReceived)) == 40
    client.cut()
    again = world.connect(server=ServerConfig(session_timeout=60))
    (holder,) = front(world.broker).sessions.values()
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
    session.publish(routing_key="q", accept_mode=AcceptMode.EXPLICIT)
    world.run()
    assert not session.in_doubt


def test_close_before_the_headers_agree_is_the_end() -> None:
    """There is nothing to say it with: the socket is to be closed, without waiting for anything."""
    broker = Broker()
    peer = broker.connect()
    peer.close(CloseCode.CONNECTION_FORCED, "not today")
    assert [type(event) for _, event in broker.events()] == [ConnectionClosed]
    assert (peer.finished, broker.peers) == (True, ())
    assert broker.ready() == (peer,)


@pytest.mark.parametrize(
    ("config", "server", "code", "text"),
    [
        (BrokerConfig(virtual_hosts=("other",)), None, 402, "no such virtual host"),
        (BrokerConfig(), ServerConfig(virtual_hosts=("other",)), 402, "no such virtual host"),
        (
            BrokerConfig(limits=BrokerLimits(virtual_hosts=1)),
            None,
            320,
            "limits.virtual_hosts: no more virtual hosts can be opened",
        ),
    ],
)
def test_a_refused_client_gets_the_reason(config: BrokerConfig, server: ServerConfig | None, code: int, text: str) -> None:
    world = World(config)
    if config.limits.virtual_hosts == 1:
        world.broker.host("taken")
    client = world.connect(server=server)
    (closed,) = client.all(ConnectionClosed)
    assert (closed.code, closed.text) == (code, text)


def test_a_client_whose_dialect_nobody_serves_gets_that_answer() -> None:
    world = World(broker=Broker(fronts=()))
    client = world.connect()
    assert type(client.peer._service) is Service
    (closed,) = client.all(ConnectionClosed)
    assert (closed.code, closed.text) == (320, "this broker has no front for the dialect of the connection")
