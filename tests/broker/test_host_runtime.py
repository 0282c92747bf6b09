"""A virtual host as the peers see it."""

from __future__ import annotations

from tests.broker.harness import World, done, front

from amqp_sansio.broker.model.queueing import SLICE
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import AcceptMode


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
    site = world.broker._sites[""]
    (holder,) = front(world.broker).sessions.values()
    for name in ("a", "b"):
        for flow in (holder.consumers[name].subscriber._book, session.subscriptions[name]._book):
            flow.grant(0, 1000)
            flow.grant(1, 0xFFFFFFFF)
        holder.consumers[name].wake()
    while site.host.dispatch(SLICE):
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
    assert world.broker._sites[""].host.dispatch(4)
    assert consumer.queue.available == 6
    assert not world.broker._sites[""].host.dispatch(100)
    assert client.peer in world.broker.ready()
