"""Many connections on one broker: who has a turn, who is ready, what time it is; and each of them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from tests.broker.attacker import Attacker, assert_free, deaf, publish
from tests.broker.harness import World, bodies, done, front
from tests.builds import wrong_type

from amqp_sansio import ClientConfig, ClientConnection, ConnectionClosedError, LocalProtocolError, Profile, ServerConfig
from amqp_sansio.broker.broker import TURN, WORK, Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.front import Service
from amqp_sansio.broker.model.queueing import SLICE
from amqp_sansio.engine.handshake import PATIENCE
from amqp_sansio.errors import EncodeError, LimitError
from amqp_sansio.events import ConnectionClosed, ConnectionOpened, OpenRequested, Origin, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import queue
from amqp_sansio.spec.base import Control
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, CloseCode
from amqp_sansio.spec.connection import Heartbeat
from amqp_sansio.spec.session import Attach, Expected, Flush, KnownCompleted
from amqp_sansio.wire.layouts.v0_10 import LAYOUT
from amqp_sansio.wire.segments import frame_control


def test_a_loop_as_an_embedder_writes_it() -> None:
    broker = Broker()
    client, peer = ClientConnection(), broker.connect()
    moment = 0.0
    while not client.is_open:
        peer.receive_data(client.data_to_send())
        for _ in broker.events():
            pass
        broker.tick(moment)
        for each in broker.ready():
            client.receive_data(each.data_to_send())
        for _ in client.events():
            pass
        moment += 1.0
    assert peer.identity == ""
    assert broker.peers == (peer,)


def test_a_connection_without_output_is_not_looked_at_for_any(world: World) -> None:
    client = world.connect(run=False)
    found: list[bool] = []
    for _ in range(9):
        client.peer.receive_data(client.connection.data_to_send())
        for peer, event in world.broker.events():
            if isinstance(event, OpenRequested):  # its answer comes with the next event
                found.append(peer in world.broker._ready)
        client.connection.receive_data(client.peer.data_to_send())
        list(client.connection.events())
    assert (found, client.connection.is_open) == ([False], True)


def test_only_connections_with_output_are_ready(world: World) -> None:
    first, one = world.session(b"1")
    second, two = world.session(b"2")
    done(first, one, queue.Declare("q"))
    two.subscribe("q", "d").grant(5)
    world.run()
    assert world.broker.ready() == ()
    one.publish(routing_key="q", body=b"x")
    first.peer.receive_data(first.connection.data_to_send())
    list(world.broker.events())
    ready = world.broker.ready()
    assert set(ready) == {first.peer, second.peer}
    assert world.broker.ready() == ready  # as long as nobody takes it
    octets = second.peer.data_to_send()
    assert world.broker.ready() == (first.peer,)
    second.connection.receive_data(octets)
    second.events.extend(second.connection.events())
    assert bodies(second) == [b"x"]


@pytest.mark.parametrize("control", [Heartbeat(), Flush(), KnownCompleted(RangeSet())], ids=lambda each: each.VERB)
def test_controls_that_bring_no_event_keep_nobody_waiting(world: World, control: Control) -> None:
    """A flood of them is heard some at a time; in between others have their turns, and the loop can read its sockets."""
    flooding, flooded = world.session(b"1")
    other, session = world.session(b"2")
    assert flooded._channel is not None
    number = 0 if isinstance(control, Heartbeat) else flooded._channel.number
    flooding.peer.receive_data(frame_control(number, LAYOUT.encode_control(control)) * (20 * PATIENCE))
    rounds = heard = 0
    while world.broker._readable():
        assert world.broker.due == world.broker._at_once, "a loop must know that there is more to read"
        if rounds < 5:
            session.publish(routing_key="nowhere", sync=True)
            other.peer.receive_data(other.connection.data_to_send())
        heard += sum(isinstance(event, TransferReceived) for _, event in world.broker.events())
        for each in world.broker.ready():
            each.data_to_send()
        rounds += 1
        assert heard >= min(rounds - 1, 5)
        assert rounds < 100
    assert rounds >= 20


def test_connections_take_turns_one_event_each(world: World) -> None:
    first, one = world.session(b"1")
    second, two = world.session(b"2")
    done(first, one, queue.Declare("q"))
    for _ in range(20):
        one.publish(routing_key="q", body=b"1")
    for _ in range(3):
        two.publish(routing_key="q", body=b"2")
    first.peer.receive_data(first.connection.data_to_send())
    second.peer.receive_data(second.connection.data_to_send())
    happened = list(world.broker.events())
    turns = [peer is second.peer for peer, event in happened if isinstance(event, TransferReceived)]
    assert turns[:6] == [False, True, False, True, False, True]
    assert len(turns) == 23


def test_a_connection_that_takes_nothing_is_not_read_and_holds_nobody_up() -> None:
    world = World(BrokerConfig(limits=BrokerLimits(outbox_octets=1000)))
    client, session = world.session(b"1")
    done(client, session, queue.Declare("q"))
    other, fine = world.session(b"2")
    client.deaf = True
    for _ in range(100):
        session.send(queue.Query("q"))
    client.peer.receive_data(client.connection.data_to_send())
    list(world.broker.events())
    assert 1000 <= client.peer.bytes_to_send < 1200
    assert not client.peer.wants_data
    done(other, fine, queue.Query("q"))
    while client.peer.bytes_to_send:
        client.connection.receive_data(client.peer.data_to_send())
        list(world.broker.events())
    again: bool = client.peer.wants_data
    assert again
    assert len(list(client.connection.events())) >= 100


def test_a_connection_is_not_ready_before_its_socket_takes_octets(world: World) -> None:
    client, session = world.session()
    broker, peer = world.broker, client.peer
    peer.writable = False
    session.send(queue.Query("q"))
    peer.receive_data(client.connection.data_to_send())
    broker.tick(1.0)
    list(broker.events())
    assert peer.bytes_to_send
    assert broker.ready() == ()
    due = broker.due
    assert due is None or due > 1.0, "a loop would spin"
    peer.writable = True
    assert broker.ready() == (peer,)
    assert broker.ready() == (peer,)  # as long as nobody takes it
    peer.writable = False
    assert broker.ready() == ()
    peer.receive_eof()
    list(broker.events())
    assert broker.ready() == (peer,), "who has ended is named all the same"
    assert broker.ready() == ()


def test_clients_that_never_read_cost_the_others_nothing() -> None:
    def prepared(count: int) -> Callable[[], object]:
        broker = Broker()
        reader = Attacker(broker)
        reader.say([queue.Declare("q")])
        reader.turn()
        for each in deaf(broker, count):
            each.peer.writable = False

        def work() -> None:
            for _ in range(50):
                reader.say([publish("q")])
                broker.tick(1.0)
                for _ in broker.events():
                    pass
                for peer in broker.ready():
                    assert peer is reader.peer
                    assert peer.data_to_send()
                assert broker.due is None

        broker.tick(1.0)
        list(broker.events())
        work()
        return work

    assert_free(prepared)


def test_the_end_of_the_octets_is_received_even_when_nobody_takes_ours() -> None:
    world = World(BrokerConfig(limits=BrokerLimits(outbox_octets=1000)))
    client, session = world.session()
    client.deaf = True
    for _ in range(100):
        session.send(queue.Query("q"))
    client.peer.receive_data(client.connection.data_to_send())
    list(world.broker.events())
    client.peer.receive_eof()
    list(world.broker.events())
    assert world.broker.peers == ()
    assert front(world.broker).sessions == {}


def test_deliveries_stop_at_the_outbox_and_go_on_when_it_is_taken() -> None:
    world = World(BrokerConfig(limits=BrokerLimits(outbox_octets=10_000)))
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for _ in range(50):
        session.publish(routing_key="q", body=bytes(1000))
    world.run()
    session.subscribe("q", "d").grant(50)
    client.peer.receive_data(client.connection.data_to_send())
    list(world.broker.events())
    assert 10_000 <= client.peer.bytes_to_send < 12_000
    seen = 0
    while client.peer in world.broker.ready():
        octets = client.peer.data_to_send()
        assert len(octets) < 12_000
        client.connection.receive_data(octets)
        seen += sum(isinstance(event, TransferReceived) for event in client.connection.events())
        list(world.broker.events())
    assert seen == 50


def test_one_flood_of_deliveries_does_not_hold_the_next_event_up() -> None:
    """Between two events there are so many deliveries and no more."""
    world = World()
    client, session = world.session(b"1")
    done(client, session, queue.Declare("q"))
    for _ in range(1000):
        session.publish(routing_key="q", body=b"x")
    world.run()
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE).grant(1000)
    session.send(queue.Query("q"))
    client.peer.receive_data(client.connection.data_to_send())
    depth = world.broker.host("").queues["q"]
    left = []
    while world.broker.next_event() is not None:
        left.append(depth.available)
    assert all(before - after <= 100 for before, after in pairwise(left))
    assert depth.available == 0


# --- virtual hosts --------------------------------------------------------------------------------------------------------


@pytest.mark.rule("connection.open.virtual-host.separation")
def test_virtual_hosts_are_apart(world: World) -> None:
    first = world.connect(ClientConfig(virtual_host="a"))
    second = world.connect(ClientConfig(virtual_host="b"))
    done(first, first.session(), queue.Declare("q"))
    done(second, second.session(), queue.Declare("other"))
    assert list(world.broker.host("a").queues) == ["q"]
    assert list(world.broker.host("b").queues) == ["other"]


def test_a_virtual_host_that_does_not_exist(world: World) -> None:
    world = World(BrokerConfig(virtual_hosts=("a",)), world.chunk)
    fine = world.connect(ClientConfig(virtual_host="a"))
    assert fine.all(ConnectionOpened)
    client = world.connect(ClientConfig(virtual_host="b"))
    (closed,) = client.all(ConnectionClosed)
    assert (closed.origin, closed.code) == (Origin.PEER, 402)
    with pytest.raises(LocalProtocolError):
        world.broker.host("b")
    assert world.broker.host("a").name == "a"


def test_a_connection_may_narrow_the_virtual_hosts(world: World) -> None:
    client = world.connect(ClientConfig(virtual_host="b"), ServerConfig(virtual_hosts=("a",)))
    assert [closed.code for closed in client.all(ConnectionClosed)] == [402]
    assert list(world.broker._hosts) == []


def test_hosts_that_are_opened_are_limited() -> None:
    world = World()
    for opened, code in ((2, None), (3, None), (4, 320)):
        world = World(BrokerConfig(limits=BrokerLimits(virtual_hosts=3)))
        clients = [world.connect(ClientConfig(virtual_host=f"h{n}")) for n in range(opened)]
        closed = [event.code for event in clients[-1].all(ConnectionClosed)]
        assert closed == ([] if code is None else [code])
    with pytest.raises(LimitError):
        world.broker.host("one more")


# --- time -----------------------------------------------------------------------------------------------------------------


def test_the_broker_sends_heartbeats_and_gives_the_silent_up(world: World) -> None:
    world.tick(5.0)
    client = world.connect(ClientConfig(heartbeat=10))
    idle = world.connect()
    world.tick()
    assert world.tick(4.0) == 15.0
    world.now += 6.0
    world.broker.tick(world.now)
    assert world.broker.ready() == (client.peer,)
    client.peer.data_to_send()
    for _ in range(2):
        world.now += 5.0
        world.broker.tick(world.now)
        list(world.broker.events())
    assert [peer for peer in world.broker.peers if peer is client.peer] == []
    assert idle.peer in world.broker.peers
    assert client.peer in world.broker.ready()
    assert client.peer.finished


def test_octets_count_as_heard_at_the_next_tick() -> None:
    """Although the broker looks at nobody else: the one who spoke is looked at."""
    world = World()
    world.tick(1.0)
    client = world.connect(ClientConfig(heartbeat=10))
    world.tick(0.0)
    for _ in range(20):
        world.now += 5.0
        world.broker.tick(world.now)
        client.connection.receive_data(client.peer.data_to_send())
        list(client.connection.events())
        client.connection.tick(world.now)
        octets = client.connection.data_to_send()
        if octets:
            client.peer.receive_data(octets)
        list(world.broker.events())
        world.broker.tick(world.now)
    assert client.peer in world.broker.peers


def test_a_client_that_never_opens_times_out(world: World) -> None:
    world.tick(1.0)
    peer = world.broker.connect()
    moment = world.broker.tick(1.0)
    assert moment == 31.0
    assert world.broker.tick(31.0) == 31.0  # there is an event to be handed out
    assert [(who, event.origin) for who, event in world.broker.events() if isinstance(event, ConnectionClosed)] == [
        (peer, Origin.TIMEOUT)
    ]
    assert world.broker.peers == ()
    assert world.broker.ready() == (peer,)
    assert world.broker.ready() == ()


def test_messages_expire_by_tick(world: World) -> None:
    world.tick(100.0)
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1", ttl=5000)
    client.peer.receive_data(client.connection.data_to_send())
    world.broker.tick(103.0)  # how long it was quiet before the octets came does not count
    world.run()
    assert world.broker.due == 108.0
    assert world.broker.tick(107.9) == 108.0
    assert world.broker.host("").queues["q"].available == 1
    assert world.broker.tick(108.0) is None
    assert world.broker.host("").queues["q"].available == 0


@pytest.mark.parametrize("ticked", [True, False])
def test_a_ttl_begins_at_the_first_tick_after_its_octets_were_stored(world: World, ticked: bool) -> None:
    if ticked:
        world.tick(100.0)
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1", ttl=5000)
    world.run()  # the events come before the tick
    queued = world.broker.host("").queues["q"]
    assert world.broker.due is not None
    assert world.broker.due <= 100.0
    assert world.broker.tick(200.0) == world.broker.due == 205.0
    assert queued.available == 1
    world.broker.tick(205.0)
    assert queued.available == 0


def test_a_tick_looks_at_nobody_whose_time_has_not_come(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    world.tick(1.0)
    for _ in range(50):
        world.connect(ClientConfig(heartbeat=100))
    world.tick()
    looked: list[float] = []
    for client in world.clients:
        monkeypatch.setattr(client.peer._connection, "tick", looked.append)
    for _ in range(20):
        world.now += 1.0
        world.broker.tick(world.now)
    assert looked == []


def test_what_is_no_time_and_no_config_is_refused() -> None:
    broker = Broker()
    with wrong_type("tick"):
        broker.tick("now")  # type: ignore[arg-type]
    assert broker.now is None
    with pytest.raises(EncodeError):
        broker.connect("config")  # type: ignore[arg-type]
    assert broker.peers == ()


def test_virtual_hosts_that_are_empty_and_idle_are_removed_when_another_one_is_wanted(world: World) -> None:
    """Sixty-four names that somebody opened once do not lock out everybody else."""
    world = World(BrokerConfig(limits=BrokerLimits(virtual_hosts=4)), world.chunk)
    used = world.connect(ClientConfig(virtual_host="used"))
    filled = world.connect(ClientConfig(virtual_host="filled"))
    done(filled, filled.session(), queue.Declare("q"))
    filled.connection.close()
    world.run()
    world.broker.host("held")
    for number in range(10):
        client = world.connect(ClientConfig(virtual_host=f"name {number}"))
        assert client.connection.is_open
        client.connection.close()
        world.run()
    assert {"used", "filled", "held"} < set(world.broker._hosts)
    assert len(world.broker._hosts) == 4
    assert used.connection.is_open
    there = world.connect(ClientConfig(virtual_host="name 9"))
    assert there.connection.is_open
    assert not world.connect(ClientConfig(virtual_host="one more")).connection.is_open


def test_deliveries_keep_no_socket_waiting(world: World) -> None:
    """However much can be delivered, the broker returns to its loop after so many, and says that there is more to do."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for _ in range(3 * WORK):
        session.publish(routing_key="q")
    world.run()
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE).grant(INFINITE)
    client.peer.receive_data(client.connection.data_to_send())
    q = world.broker.host().queues["q"]
    left = [q.available]
    while left[-1]:
        for _ in world.broker.events():
            pass
        left.append(q.available)
        due = world.broker.due
        assert not left[-1] or (due is not None and due <= (world.broker.now or 0.0))
    taken = [before - after for before, after in pairwise(left)]
    assert len(taken) > 2
    assert max(taken) <= WORK + 8 * TURN


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
    """The server closes the socket when the answer came, or after a while; `ready` names the connection in both cases."""
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


def test_queues_take_turns_slice_by_slice() -> None:
    world = World()
    client, session = world.session()
    for name in ("a", "b"):
        done(client, session, queue.Declare(name))
        for _ in range(3 * SLICE):
            session.publish(routing_key=name, body=name.encode())
    world.run()
    for name in ("a", "b"):
        session.subscribe(name, name, accept_mode=AcceptMode.NONE)
    world.run()
    host = world.broker._hosts[""]
    (holder,) = front(world.broker).sessions.values()
    for name in ("a", "b"):
        for flow in (holder.consumers[name].subscriber._book, session.subscriptions[name]._book):
            flow.grant(0, 1000)
            flow.grant(1, 0xFFFFFFFF)
        holder.consumers[name].wake()
    while host.dispatch(SLICE):
        pass
    client.connection.receive_data(client.peer.data_to_send())
    bodies = [event.body for event in client.connection.events() if isinstance(event, TransferReceived)]
    assert len(bodies) == 6 * SLICE
    assert bodies[: 2 * SLICE] == [b"a"] * SLICE + [b"b"] * SLICE


def test_a_dispatch_stops_at_its_limit() -> None:
    world = World()
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for _ in range(10):
        session.publish(routing_key="q")
    world.run()
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    world.run()
    (holder,) = front(world.broker).sessions.values()
    consumer = holder.consumers["d"]
    consumer.subscriber._book.grant(0, 1000)
    consumer.subscriber._book.grant(1, 0xFFFFFFFF)
    consumer.wake()
    assert world.broker._hosts[""].dispatch(4)
    assert consumer.queue.available == 6
    assert not world.broker._hosts[""].dispatch(100)
    assert client.peer in world.broker.ready()
