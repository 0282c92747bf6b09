"""What becomes of a message that a client transfers."""

from __future__ import annotations

import pytest
from tests.broker.harness import Client, World, blurt, bodies, done, on, put
from tests.broker.restarts import stored

from amqp_sansio import AMQP_0_10, ClientConfig, ServerConfig, Session
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import STRICT_PROFILE
from amqp_sansio.events import CommandReceived, CommandsCompleted, ExceptionReceived, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import exchange, message, queue
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, FlowMode
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties


def rejects(client: Client) -> list[message.Reject]:
    return [event.command for event in client.all(CommandReceived) if isinstance(event.command, message.Reject)]


def failed(client: Client) -> list[int]:
    return [event.error_code for event in client.all(ExceptionReceived)]


@pytest.mark.rule("message.transfer.destination.blank-destination")
def test_the_default_exchange_has_every_queue(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    blurt(session, message.Transfer(None, 1), header=None, body=b"to nobody")
    session.publish("", routing_key="q", body=b"1")
    world.run()
    assert world.broker.host("").queues["q"].available == 1


@pytest.mark.rule("message.transfer.destination.nonexistent-exchange")
def test_no_such_exchange(world: World) -> None:
    client, session = world.session()
    session.publish("none", body=b"1")
    world.run()
    assert failed(client) == [404]


def test_unroutable_with_accept_mode_explicit_is_rejected(world: World) -> None:
    client, session = world.session()
    lost = session.publish("amq.fanout", body=b"1", accept_mode=AcceptMode.EXPLICIT)
    world.run()
    assert rejects(client) == [message.Reject(RangeSet.of(lost), 1)]


def test_unroutable_with_accept_mode_none_is_dropped(world: World) -> None:
    client, session = world.session()
    lost = session.publish("amq.fanout", body=b"1", sync=True)
    world.run()
    assert rejects(client) == []
    assert world.broker.host().dropped == 1
    assert any(lost in event.ids for event in client.all(CommandsCompleted))


def said(client: Client) -> list[type]:
    """The classes of the commands that the broker has said."""
    return [type(event.command) for event in client.all(CommandReceived)]


def written(client: Client, session: Session, destination: str, accept_mode: int | None, key: str = "q") -> int:
    """Publishes a message with that accept-mode on the wire, which None leaves out."""
    header = AMQP_0_10.codec.encode_struct32(DeliveryProperties(routing_key=key))
    id = blurt(session, message.Transfer(destination, accept_mode), header=header, body=b"1")
    client.world.run()
    assert any(id in event.ids for event in client.all(CommandsCompleted))
    return id


@pytest.mark.parametrize("routable", [True, False])
def test_without_accept_mode_the_answer_is_the_completion_alone(world: World, routable: bool) -> None:
    """Deployed clients leave it out, and some end when they are told message.accept or message.reject."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for _ in range(3):
        written(client, session, "", None, "q" if routable else "none")
    assert said(client) == []
    host = world.broker.host()
    assert (host.queues["q"].messages, host.dropped) == ((3, 0) if routable else (0, 3))
    assert session.state == "attached"


def test_without_accept_mode_the_alternate_exchange_gets_what_no_queue_takes(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("rest"))
    done(client, session, exchange.Declare("first", "fanout", "amq.fanout"))
    done(client, session, exchange.Bind("rest", "amq.fanout", ""))
    written(client, session, "first", None)
    assert said(client) == []
    assert (world.broker.host().queues["rest"].messages, world.broker.host().dropped) == (1, 0)


def test_accept_mode_explicit_is_answered_by_accept_or_reject(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    good, lost = written(client, session, "", 0), written(client, session, "", 0, "none")
    accepts = [event.command for event in client.all(CommandReceived) if isinstance(event.command, message.Accept)]
    assert accepts == [message.Accept(RangeSet.of(good))]
    assert rejects(client) == [message.Reject(RangeSet.of(lost), 1)]
    assert world.broker.host().dropped == 0


def test_a_strict_broker_takes_no_accept_mode_for_explicit(world: World) -> None:
    client = world.connect(server=ServerConfig(profile=STRICT_PROFILE))
    session = client.session()
    done(client, session, queue.Declare("q"))
    written(client, session, "", None)
    written(client, session, "", None, "none")
    assert said(client) == [message.Accept, message.Reject]


def test_unroutable_goes_to_the_alternate_exchange_once(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("rest"))
    done(client, session, exchange.Declare("second", "fanout"))
    done(client, session, exchange.Declare("first", "fanout", "second"))
    done(client, session, exchange.Bind("rest", "second", ""))
    session.publish("first", body=b"1")
    session.subscribe("rest", "d").grant(5)
    world.run()
    (event,) = client.all(TransferReceived)
    assert event.delivery_properties == DeliveryProperties(exchange="first")


def test_discard_unroutable(world: World) -> None:
    client, session = world.session()
    session.publish("amq.fanout", body=b"1", accept_mode=AcceptMode.EXPLICIT, discard_unroutable=True)
    world.run()
    assert rejects(client) == []
    assert failed(client) == []


def test_immediate_counts_the_credit_that_is_left(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(1)
    world.run()
    session.publish(routing_key="q", body=b"1", immediate=True, accept_mode=AcceptMode.EXPLICIT)
    second = session.publish(routing_key="q", body=b"2", immediate=True, accept_mode=AcceptMode.EXPLICIT)
    world.run()
    assert [event.body for event in client.all(TransferReceived)] == [b"1"]
    assert rejects(client) == [message.Reject(RangeSet.of(second), 2)]


def test_immediate_counts_the_credit_that_waiting_messages_leave(world: World) -> None:
    """More messages wait than are sent in one go: the credit is theirs, and none is left for one that may not wait."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for number in range(100):
        session.publish(routing_key="q", body=b"%d" % number, accept_mode=AcceptMode.NONE)
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    world.run()
    subscription.grant(80)
    last = session.publish(routing_key="q", body=b"now", immediate=True, accept_mode=AcceptMode.EXPLICIT)
    world.run()
    assert len(client.all(TransferReceived)) == 80
    assert rejects(client) == [message.Reject(RangeSet.of(last), 2)]


def test_a_full_queue_refuses(world: World) -> None:
    world = World(BrokerConfig(limits=BrokerLimits(queue_messages=2)), world.chunk)
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for _ in range(3):
        session.publish(routing_key="q")
    world.run()
    assert failed(client) == [506]
    assert world.broker.host("").queues["q"].messages == 2


def test_a_header_that_cannot_be_read(world: World) -> None:
    """Codes and sizes are right, so that the walk on receipt lets it pass; the text in it is no UTF-8."""
    client, session = world.session()
    header = bytes.fromhex("00000006 0401 0002 01 ff".replace(" ", ""))
    blurt(session, message.Transfer("", 1), header=header, body=b"x")
    world.run()
    assert failed(client) == [503]


def test_part_of_a_message_is_not_taken(world: World) -> None:
    client = world.connect()
    session = client.session()
    header = AMQP_0_10.codec.encode_struct32(FragmentProperties(first=True))
    blurt(session, message.Transfer("", 1), header=header, body=b"x")
    world.run()
    assert failed(client) == [540]


def test_a_header_larger_than_the_frames_of_the_subscriber_is_passed_on(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    small = world.connect(ClientConfig(max_frame_size=4096))
    other = small.session(b"t")
    other.subscribe("q", "d").grant(5)
    session.publish(routing_key="q", body=b"x" * 10_000, application_headers={"text": "y" * 20_000})
    world.run()
    (event,) = small.all(TransferReceived)
    assert event.message_properties is not None
    assert event.message_properties.application_headers == {"text": "y" * 20_000}
    assert bodies(small) == [b"x" * 10_000]


def held(session: Session) -> RangeSet:
    return session.in_doubt


def test_a_redelivered_mark_of_the_publisher_stays(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1", redelivered=True)
    session.subscribe("q", "d").grant(1)
    world.run()
    (event,) = client.all(TransferReceived)
    assert event.delivery_properties is not None
    assert event.delivery_properties.redelivered
    assert not held(session)


@pytest.mark.parametrize("transacted", [False, True])
def test_a_queue_that_is_not_local_gets_nothing_of_its_owners_connection(world: World, transacted: bool) -> None:
    client, owner = world.session()
    own = client.session(b"own")
    other = world.connect()
    foreign = other.session(b"foreign")
    done(client, owner, queue.Declare("q", exclusive=True, auto_delete=True, arguments={"no-local": True}))
    done(client, owner, queue.Declare("all", exclusive=True, arguments={"no-local": False}))
    for name in ("q", "all"):
        done(client, owner, exchange.Bind(name, "amq.fanout", ""))
    for who, session in ((client, own), (client, owner), (other, foreign)):
        tx = session.select_tx() if transacted else None
        session.publish("amq.fanout", body=b"1", accept_mode=AcceptMode.EXPLICIT)
        if tx is not None:
            tx.commit()
        world.run()
        assert rejects(who) == []
    host = world.broker.host("")
    assert (host.queues["q"].available, host.queues["all"].available) == (1, 3)
    owner.detach()
    world.run()
    assert host.no_local == 0
    assert "q" not in host.queues


def test_the_exclusive_subscriber_of_a_queue_that_is_not_local_gets_nothing_of_its_own_connection(world: World) -> None:
    """As JMS has its durable subscriptions: the queue is nobody's, its only subscription is exclusive."""
    client, session = world.session()
    done(client, session, queue.Declare("q", arguments={"no-local": "true"}))
    put(client, session, b"0")
    done(client, session, message.Subscribe("q", "d", exclusive=True))
    put(client, session, b"1")
    other, theirs = world.session(b"other")
    put(other, theirs, b"2")
    assert on(world) == [b"0", b"2"]


@pytest.mark.parametrize("how", ["reject", "delete", "reject, alternate of the alternate"])
def test_a_queue_that_is_not_local_gets_no_dead_letters_of_its_owners_connection(world: World, how: str) -> None:
    """Whatever way they take, and whoever makes them take it."""
    client, owner = world.session()
    other, foreign = world.session(b"foreign")
    done(client, owner, queue.Declare("q", exclusive=True, arguments={"no-local": True}))
    done(client, owner, exchange.Bind("q", "amq.fanout", ""))
    if how.endswith("alternate"):
        done(client, owner, exchange.Declare("via", "direct", "amq.fanout"))
    done(client, owner, queue.Declare("first", "via" if how.endswith("alternate") else "amq.fanout"))
    for who, session, body in ((client, owner, b"own"), (other, foreign, b"foreign"), (client, client.session(b"s2"), b"own")):
        put(who, session, body, key="first")
    if how == "delete":
        done(other, foreign, queue.Delete("first"))
    else:
        foreign.subscribe("first", "d").grant(10)
        world.run()
        foreign.reject([event.id for event in other.take(TransferReceived)])
        world.run()
    assert on(world) == [b"foreign"]


def test_a_publish_that_says_not_acquired_is_accepted(world: World) -> None:
    """Acquire-mode means nothing on the way to a queue: the message is on it, and the publisher hears so."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    id = session.publish(routing_key="q", body=b"1", accept_mode=AcceptMode.EXPLICIT, acquire_mode=AcquireMode.NOT_ACQUIRED)
    world.run()
    accepted = [event.command for event in client.all(CommandReceived) if isinstance(event.command, message.Accept)]
    assert [each.transfers for each in accepted] == [RangeSet.of(id)]
    assert world.broker.host().queues["q"].messages == 1


@pytest.mark.parametrize("persistent", [False, True])
@pytest.mark.parametrize("body", [None, b"", b"1"])
def test_a_message_is_delivered_with_a_body_segment_when_it_came_with_one(
    world: World, body: bytes | None, persistent: bool
) -> None:
    """Also from the journal."""
    world = World(BrokerConfig(journal=True), world.chunk)
    client, session = world.session()
    blurt(session, queue.Declare("q", durable=True))
    header = AMQP_0_10.codec.encode_struct32(DeliveryProperties(routing_key="q", delivery_mode=2 if persistent else 1))
    for _ in range(3):  # the first one teaches the reader the fast path
        blurt(session, message.Transfer("", 1), header=header, body=body)
    world.run()
    entries = stored(world)
    assert {event.empty_body for _, event in world.heard if isinstance(event, TransferReceived)} == {body == b""}
    session.subscribe("q", "d").grant(9)
    world.run()
    sent = client.take(TransferReceived)
    assert [(event.body, event.empty_body) for event in sent] == [(body or b"", body == b"")] * 3
    if persistent:
        broker = Broker.restore(None, entries)
        kept = [entry.message for entry in broker.host().queues["q"].all()]
        assert [(each.body, each.envelope.empty_body) for each in kept] == [(body or b"", body == b"")] * 3
