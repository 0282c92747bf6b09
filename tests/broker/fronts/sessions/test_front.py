"""The sessions of a broker."""

from __future__ import annotations

from math import ceil
from typing import Any
from uuid import UUID

import pytest
from tests.broker.harness import Client, World, blurt, bodies, done, front, on, put, refused
from tests.broker.model.things import refusal
from tests.broker.restarts import JOURNAL, declared, stored

from amqp_sansio import AMQP_0_10, ClientConfig, ClientConnection, ServerConfig, Session
from amqp_sansio.broker import conditions
from amqp_sansio.broker.broker import Broker
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions import front as module
from amqp_sansio.broker.fronts.sessions.commands import COMMANDS
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.fronts.sessions.front import Kept, Reception
from amqp_sansio.broker.journal import SessionLeft
from amqp_sansio.broker.model.message import Intake, Message
from amqp_sansio.config import STRICT_PROFILE
from amqp_sansio.events import (
    CommandReceived,
    CommandsCompleted,
    Event,
    ExceptionReceived,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec import dtx, exchange, execution, file, message, queue, stream, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, ErrorCode, FlowMode
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties, Transfer
from amqp_sansio.tables.session import COMMAND_SPEAKERS
from amqp_sansio.testing.link import Link
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers
from amqp_sansio.wire.layouts.properties import write_properties


def kept() -> World:
    """A broker with a session that outlived its connection."""
    world, client, _ = declared(timeout=300)
    stored(world)
    client.cut()
    return world


def test_a_session_that_goes_on_leaves_the_last_snapshot_once() -> None:
    world = kept()
    sessions = front(world.broker)
    assert sessions.alive
    ((key, holder),) = sessions.sessions.items()
    assert sessions.touched(key) == 0
    assert [plain["name"] for plain in sessions.take()] == [b"s"]
    number = sessions.touched(key)
    assert number == sessions.touched(key) == world.broker._journals.last
    (entry,) = [entry for entry in world.broker.journal() if entry.number == number]
    assert entry.operations == (SessionLeft(*key),)
    world.broker.journalled(number)
    assert sessions.touched(key) == 0
    holder.end()
    assert not sessions.alive


def test_a_session_of_which_the_journal_says_that_it_is_left_is_not_restored() -> None:
    world = kept()
    sessions = front(world.broker)
    (plain,) = sessions.take()
    assert sessions.outlived(plain, ())
    assert not sessions.outlived(plain, {("", plain["identity"], b"s")})
    assert sessions.claims(plain) == (set(), set())
    then = Broker.restore(world.broker.snapshot(), config=JOURNAL)
    assert list(front(then).sessions) == list(sessions.sessions)


def test_each_identity_of_each_virtual_host_has_room_of_its_own() -> None:
    kept = Kept(2)
    mine = [("h", "me", b"%d" % number) for number in range(3)]
    for key in mine[:2]:
        assert kept.has_room(key)
        kept.begins(key)
    assert [kept.has_room(key) for key in (mine[2], ("h", "you", b"0"), ("i", "me", b"0"))] == [False, True, True]
    kept.ends(mine[0])
    assert kept.has_room(mine[2])


def test_a_session_that_keeps_nothing_costs_nothing() -> None:
    kept = Kept(1)
    kept.begins(("h", "me", b"0"))
    kept.ends(("h", "me", b"0"))
    assert not kept._counts


TO_X = Transfer("x", 0, 0)


def read(intake: Intake, *structs: Struct, **more: Any) -> Message:
    return Reception(intake).read(TO_X, encode_headers(structs), b"body", **more)


def structs_of(message: Message) -> tuple[Struct, ...]:
    return decode_headers(message.envelope.header, 0, len(message.envelope.header))


def test_messages_are_numbered_from_one() -> None:
    intake = Intake()
    assert [read(intake).number for _ in range(3)] == [1, 2, 3]
    assert read(Intake(last=7)).number == 8


def test_the_exchange_is_written_into_the_header_and_everything_else_stays() -> None:
    given = DeliveryProperties(priority=3, delivery_mode=2, exchange="a lie", routing_key="k", resume_id="r", resume_ttl=1)
    more = MessageProperties(message_id=UUID(int=1), application_headers={"a": 1})
    message = read(Intake(), more, given)
    first, second = structs_of(message)
    assert first == DeliveryProperties(
        priority=3, delivery_mode=2, exchange="x", routing_key="k", resume_id="r", resume_ttl=1
    )  # fmt: skip
    assert second == more
    assert (
        message.envelope.exchange,
        message.envelope.routing_key,
        message.envelope.priority,
        message.envelope.persistent,
    ) == ("x", "k", 3, True)


def test_a_transfer_without_header() -> None:
    message = Reception(Intake()).read(Transfer(), b"", b"")
    assert structs_of(message) == (DeliveryProperties(exchange=""),)
    assert (message.envelope.routing_key, message.envelope.priority, message.envelope.persistent, message.expires) == (
        "",
        4,
        False,
        None,
    )


def test_structs_that_nobody_knows_are_passed_on() -> None:
    unknown = b"\0\0\0\x04\x77\x01ab"
    message = Reception(Intake()).read(TO_X, unknown, b"")
    assert message.envelope.header.endswith(unknown)


def test_the_same_header_is_read_once_and_the_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED", 2)
    reception = Reception(Intake())
    header = write_properties(routing_key="k")
    first = reception.read(TO_X, header, b"1")
    assert reception.read(TO_X, header, b"2").envelope is first.envelope
    assert reception.read(Transfer("y", 0, 0), header, b"3").envelope is not first.envelope
    reception.read(TO_X, write_properties(routing_key="l"), b"4")
    assert len(reception.envelopes) == 1


def test_a_priority_beyond_9_counts_as_9() -> None:
    assert read(Intake(), DeliveryProperties(priority=200)).envelope.priority == 9


def test_a_ttl_begins_when_the_message_comes() -> None:
    intake = Intake()
    properties = DeliveryProperties(ttl=1500)
    assert read(intake, properties, now=10.0).expires == 11.5
    assert read(intake, properties, now=20.0).expires == 21.5
    assert read(intake, DeliveryProperties(ttl=2**64 - 1)).expires is not None
    assert read(intake, DeliveryProperties(expiration=1)).expires is None


def test_with_an_epoch_the_expiration_is_written() -> None:
    intake = Intake(epoch=1_000_000_000)
    for now in (10.0, 20.0):
        (first,) = structs_of(read(intake, DeliveryProperties(ttl=1500), now=now))
        assert isinstance(first, DeliveryProperties)
        assert first.expiration == 1_000_000_000 + int(now + 2)  # never before the ttl is over
        assert first.ttl == 1500


def test_an_expiration_that_came_in_milliseconds_is_written_in_milliseconds() -> None:
    intake = Intake(epoch=1_000_000_000)
    for came, unit in ((10**11 - 1, 1), (10**11, 1000)):
        (first,) = structs_of(read(intake, DeliveryProperties(ttl=1500, expiration=came), now=10.0))
        assert isinstance(first, DeliveryProperties)
        assert first.expiration == ceil(1_000_000_011.5 * unit)


@pytest.mark.parametrize("came", [None, 10**11])
def test_however_long_a_ttl_is_an_expiration_can_be_written(came: int | None) -> None:
    (first,) = structs_of(read(Intake(epoch=1_000_000_000), DeliveryProperties(ttl=2**64 - 1, expiration=came)))
    assert isinstance(first, DeliveryProperties)
    assert first.expiration == (2**63 - 1 if came else ceil(1_000_000_000 + (2**64 - 1) / 1000))


@pytest.mark.rule("message.message-properties.user-id.authentication")
def test_a_user_id_is_that_of_the_connection_or_is_refused() -> None:
    intake = Intake()
    signed = MessageProperties(user_id=b"me")
    for identity in ("me", "me@realm", None):
        assert read(intake, signed, identity=identity).envelope.user_id == b"me"
    assert read(intake, identity="me").envelope.user_id == b""
    for identity in ("you", "", "realm@me"):
        refused = refusal(read, intake, signed, identity=identity)
        assert refused.condition is conditions.TRANSFER_USER_ID
        assert code_of(refused, "qpid") == code_of(refused, "spec") == ErrorCode.UNAUTHORIZED_ACCESS


def test_fragments_are_refused_and_whole_messages_are_none() -> None:
    assert read(Intake(), FragmentProperties(True, True)).body == b"body"
    for fragment in (FragmentProperties(True, False), FragmentProperties(False, True), FragmentProperties()):
        assert refusal(read, Intake(), fragment).condition is conditions.TRANSFER_FRAGMENT


def test_a_header_that_cannot_be_read_is_refused() -> None:
    broken = b"\0\0\0\x05\x04\x01\x00\x02\x50"  # a routing key of 80 octets that is not there
    assert refusal(Reception(Intake()).read, TO_X, broken, b"").condition is conditions.TRANSFER_HEADER


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
    """Deployed clients leave it out, and some end when the broker sends them message.accept or message.reject."""
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


@pytest.mark.rule("message.message-properties.message-id.immutable")
def test_a_message_keeps_its_id_through_the_broker(world: World) -> None:
    """Also where its header is written anew: with a number, redelivered, and as a dead letter."""
    client, session = world.session()
    for command in (
        queue.Declare("letters"), exchange.Bind("letters", "amq.fanout"),
        queue.Declare("q", "amq.fanout", arguments={"qpid.queue_msg_sequence": "number"}),
    ):  # fmt: skip
        done(client, session, command)
    session.publish(routing_key="q", message_id=UUID(int=7))
    for name in ("q", "letters"):
        session.subscribe(name, name).grant(2)
    world.run()
    (first,) = client.take(TransferReceived)
    session.release(first.id, set_redelivered=True)
    world.run()
    (again,) = client.take(TransferReceived)
    session.reject(again.id)
    world.run()
    (letter,) = client.take(TransferReceived)
    ids = [each.message_properties.message_id for each in (first, again, letter) if each.message_properties is not None]
    assert ids == [UUID(int=7)] * 3
    assert [each.transfer.destination for each in (first, again, letter)] == ["q", "q", "letters"]


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


def commands(module: object) -> list[type[Command]]:
    return [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Command) and each.VERB]


def test_every_command_that_a_client_may_say_has_its_row() -> None:
    said = [each for module in (message, tx, dtx, exchange, queue) for each in commands(module)]
    missing = [each.VERB for each in said if each not in COMMANDS and COMMAND_SPEAKERS.get(each.VERB) != "server"]
    assert missing == ["message.transfer"]  # which comes as an event of its own


CONTENT = (
    file.Qos(),
    file.Consume("q", "tag"),
    file.Open("identifier", 1),
    file.Publish("", "q"),
    stream.Qos(),
    stream.Consume("q", "tag"),
)


@pytest.mark.parametrize("command", CONTENT, ids=lambda command: command.VERB)
def test_what_has_no_row_is_not_implemented(world: World, command: Command) -> None:
    """What breaks the grammar of classes file and stream the engine answers, and with other codes."""
    client, session = world.session()
    assert refused(client, session, command).error_code == 540


def test_execution_sync_is_a_barrier(world: World) -> None:
    client, session = world.session()
    sync = session.sync()
    world.run()
    assert any(sync in event.ids for event in client.all(CommandsCompleted))


def test_what_follows_a_refused_command_is_not_done(world: World) -> None:
    client, session = world.session()
    blurt(session, queue.Delete("none"))
    blurt(session, queue.Declare("q"))
    world.run()
    assert [event.error_code for event in client.all(ExceptionReceived)] == [404]
    assert world.broker.host("").queues == {}


def test_a_result_that_nobody_asked_for_is_ignored(world: World) -> None:
    client, session = world.session()
    blurt(session, execution.Result(7))
    world.run()
    assert client.all(ExceptionReceived) == []
