"""Producer flow control: who publishes into a queue that is too long waits, if it understands that."""

from __future__ import annotations

from tests.broker.harness import Client, World, done, front

from amqp_sansio import ClientConfig, NoCredit, ServerConfig, Session
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.events import ProducerCreditChanged
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import AcceptMode, FlowMode

FLOWS = ClientConfig(properties={"qpid.session_flow": 1})
LIMITS = BrokerConfig(limits=BrokerLimits(throttle_messages=4))


def told(client: Client) -> list[int | None]:
    return [event.messages for event in client.take(ProducerCreditChanged)]


def scene(chunk: int | None, config: ClientConfig | None = FLOWS) -> tuple[World, Client, Session]:
    world = World(LIMITS, chunk)
    client = world.connect(config, ServerConfig(session_timeout=None))
    session = client.session(b"s", None)
    done(client, session, queue.Declare("q"))
    client.events.clear()
    return world, client, session


def publish(world: World, session: Session, count: int) -> None:
    for _ in range(count):
        session.publish(routing_key="q", body=b"x")
        world.run()


def test_a_publisher_waits_until_half_is_gone(world: World) -> None:
    world, client, session = scene(world.chunk)
    publish(world, session, 3)
    assert told(client) == []
    publish(world, session, 1)
    assert told(client) == [0]
    try:
        session.publish(routing_key="q")
    except NoCredit:
        pass
    else:
        raise AssertionError("it may publish")
    other, consumer = world.session(b"c")
    subscription = consumer.subscribe("q", "d", accept_mode=AcceptMode.NONE)
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(1)
    world.run()
    assert told(client) == []
    subscription.grant(1)
    world.run()
    assert told(client) == [None]
    publish(world, session, 2)
    assert told(client) == [0]
    assert other.all(ProducerCreditChanged) == []
    assert session.in_doubt == type(session.in_doubt)()


def test_clients_without_support_are_not_stopped(world: World) -> None:
    world, client, session = scene(world.chunk, None)
    publish(world, session, 10)
    assert told(client) == []


def test_a_queue_that_is_deleted_or_purged_holds_nobody_up(world: World) -> None:
    world, client, session = scene(world.chunk)
    publish(world, session, 4)
    assert told(client) == [0]
    done(client, session, queue.Purge("q"))
    assert told(client) == [None]
    publish(world, session, 4)
    assert told(client) == [0]
    done(client, session, queue.Delete("q"))
    assert told(client) == [None]


def test_a_resumed_session_hears_that_it_may_go_on(world: World) -> None:
    world, client, session = scene(world.chunk)
    publish(world, session, 4)
    client.cut()
    other, consumer = world.session(b"c")
    done(other, consumer, queue.Purge("q"))
    again = world.connect(FLOWS, ServerConfig(session_timeout=None))
    again.connection.resume(session)
    world.run()
    assert told(again) == [None]


def test_an_ended_session_is_forgotten(world: World) -> None:
    world, client, session = scene(world.chunk)
    publish(world, session, 4)
    assert front(world.broker).throttle.queues
    session.request_timeout(0)
    world.run()
    client.cut()
    assert not front(world.broker).throttle.queues
