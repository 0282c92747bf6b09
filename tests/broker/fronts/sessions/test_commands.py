"""The commands of sessions: subscriptions and settlement, queues and exchanges, transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.broker.harness import Client, World, blurt, bodies, done, front, refused
from tests.broker.model.things import Sink, publish

from amqp_sansio import ClientConfig, Profile, ServerConfig, Session
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.broker.fronts.sessions.commands import bound_result, exchange_result, queue_result
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.broker.transactions import DEFAULT_TIMEOUT
from amqp_sansio.config import STRICT_PROFILE, ErrorCodes
from amqp_sansio.events import (
    CommandsCompleted,
    ExceptionReceived,
    ResultReceived,
    SessionDetached,
    StartReceived,
    TransferReceived,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec import dtx, exchange, message, queue, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, DeliveryMode, FlowMode, XaStatus
from amqp_sansio.spec.dtx import GetTimeoutResult, RecoverResult, XaResult, Xid
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.message import Acquired, DeliveryProperties, MessageResumeResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map


def queue_with(world: World, *texts: bytes, name: str = "q") -> tuple[Client, Session]:
    """A client with a session, and a queue with messages."""
    client, session = world.session()
    done(client, session, queue.Declare(name))
    for text in texts:
        session.publish(routing_key=name, body=text)
    session.sync()
    world.run()
    client.events.clear()
    return client, session


def depth(client: Client, session: Session, name: str = "q") -> int:
    """How many messages the queue says it has."""
    result = done(client, session, queue.Query(name))
    assert isinstance(result, QueueQueryResult)
    assert result.message_count is not None
    return result.message_count


def received(client: Client) -> list[TransferReceived]:
    return client.take(TransferReceived)


def test_nothing_comes_without_credit_in_both_units(world: World) -> None:
    client, session = queue_with(world, b"1", b"2")
    subscription = session.subscribe("q", "d")
    world.run()
    assert bodies(client) == []
    session.send(message.Flow("d", 0, 5))
    world.run()
    assert bodies(client) == []
    session.send(message.Flow("d", 1, INFINITE))
    world.run()
    assert bodies(client) == [b"1", b"2"]
    assert subscription.message_credit == 3


def test_window_credit_comes_back_with_completion(world: World) -> None:
    client, session = queue_with(world, *[b"%d" % n for n in range(5)])
    session.subscribe("q", "d").grant(2)
    world.run()
    first = received(client)
    assert [event.body for event in first] == [b"0", b"1"]
    session.complete([event.id for event in first])  # completion, and no accept: the window moves
    world.run()
    assert bodies(client) == [b"2", b"3"]


def test_credit_of_mode_credit_does_not_come_back(world: World) -> None:
    client, session = queue_with(world, b"1", b"2", b"3")
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(2)
    world.run()
    first = received(client)
    session.accept([event.id for event in first], sync=True)
    world.run()
    assert bodies(client) == []
    subscription.grant(1)
    world.run()
    assert bodies(client) == [b"3"]


def test_octets_of_header_and_body_are_charged(world: World) -> None:
    """The header that is delivered counts, with the exchange that the broker has written into it."""
    client, session = queue_with(world, b"12345678")
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(1, 18)  # header: 4 + 2 + 2, exchange "" 1, key "q" 2; body 8
    world.run()
    assert bodies(client) == []
    subscription.grant(0, 1)
    world.run()
    assert bodies(client) == [b"12345678"]
    assert subscription.octet_credit == 0


def test_accept_takes_off_the_queue_and_the_rest_stays_acquired(world: World) -> None:
    client, session = queue_with(world, b"1", b"2", b"3")
    session.subscribe("q", "d").grant(2)
    world.run()
    first, second = received(client)
    assert depth(client, session) == 1
    session.accept(first.id, sync=True)
    world.run()
    (held,) = front(world.broker).sessions.values()
    assert first.id not in held.unsettled
    assert second.id in held.unsettled


def test_ids_that_are_over_or_unknown_are_ignored(world: World) -> None:
    client, session = queue_with(world, b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    (only,) = received(client)
    session.accept(only.id)
    world.run()
    # Our own client would not say it: the words are written by hand, and the ranges are as wide as they can be.
    wide = RangeSet([(0, 0x7FFFFFFE)])
    for command in (message.Accept(wide), message.Reject(wide), message.Release(wide), message.Acquire(wide)):
        done(client, session, command)


@pytest.mark.rule("message.release.ordering", "message.delivery-properties.redelivered.implementation")
def test_a_release_keeps_the_place_and_marks_when_asked(world: World) -> None:
    client, session = queue_with(world, b"1", b"2", b"3")
    session.subscribe("q", "d").grant(2)
    world.run()
    first, second = received(client)
    session.send(message.Stop("d"))
    session.release([first.id, second.id], set_redelivered=True)
    session.subscribe("q", "e").grant(3)
    world.run()
    again = received(client)
    assert [event.body for event in again] == [b"1", b"2", b"3"]
    assert [bool(event.delivery_properties and event.delivery_properties.redelivered) for event in again] == [True, True, False]


def test_a_browser_sees_and_takes_nothing_until_it_acquires(world: World) -> None:
    client, session = queue_with(world, b"1", b"2")
    session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(5)
    world.run()
    first, second = received(client)
    assert depth(client, session) == 2
    client.events.clear()
    asked = session.acquire(first.id)
    world.run()
    assert client.all(ResultReceived) == [ResultReceived(session.name, asked, Acquired(RangeSet.of(first.id)))]
    assert depth(client, session) == 1
    session.accept(first.id, sync=True)
    session.release(second.id, set_redelivered=True)
    world.run()
    assert depth(client, session) == 1
    assert next(iter(front(world.broker).sessions.values())).unsettled == {}


@pytest.mark.rule("message.reject.acquisition", "message.accept.acquisition")
@pytest.mark.parametrize("said", [message.Reject, message.Accept])
def test_a_browser_settles_nothing_that_another_session_acquired(
    world: World, said: type[message.Reject] | type[message.Accept]
) -> None:
    client, session = queue_with(world, b"1")
    session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED, accept_mode=AcceptMode.EXPLICIT).grant(5)
    other, taker = world.session(b"taker")
    taker.subscribe("q", "t").grant(1)
    world.run()
    (shown,), (taken,) = received(client), received(other)
    session._transfers.deliveries.clear()  # our own client would not say it of what it knows
    done(client, session, said(RangeSet.of(shown.id)))
    taker.subscribe("q", "again")
    taker.release(taken.id)
    taker.send(message.Cancel("t"))
    world.run()
    assert depth(client, session) == 1


@pytest.mark.parametrize(("explicit", "again"), [(True, [b"1", b"2"]), (False, [])], ids=["explicit", "none"])
def test_what_is_released_comes_again_to_a_browser_that_accepts(world: World, explicit: bool, again: list[bytes]) -> None:
    """As to a JMS consumer with a selector, which acquires what it is shown; not to a browser, which accepts nothing."""
    client, session = queue_with(world, b"1", b"2", b"3")
    session.subscribe(
        "q", "d", accept_mode=AcceptMode.EXPLICIT if explicit else AcceptMode.NONE, acquire_mode=AcquireMode.NOT_ACQUIRED
    ).grant(50)
    other, taker = world.session(b"taker")
    taker.subscribe("q", "t").grant(2)
    world.run()
    assert bodies(client) == [b"1", b"2", b"3"]
    taken = received(other)
    done(other, taker, message.Stop("t"))
    done(other, taker, message.Release(RangeSet.of(*[event.id for event in taken]), True))
    events = received(client)
    assert [event.body for event in events] == again
    assert all(event.delivery_properties and event.delivery_properties.redelivered for event in events)


def test_what_a_session_acquired_and_gives_back_comes_to_it_again(world: World) -> None:
    client, session = queue_with(world, b"1", b"2")
    session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(50)
    world.run()
    first, second = received(client)
    both = RangeSet.of(first.id, second.id)
    for _ in range(3):
        assert done(client, session, message.Acquire(both)) == Acquired(both)
        done(client, session, message.Release(both))
        events = received(client)
        assert [event.body for event in events] == [b"1", b"2"]
        both = RangeSet.of(*[event.id for event in events])
    client.cut()
    other, again = world.session(b"again")
    again.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(50)
    world.run()
    assert bodies(other) == [b"1", b"2"]


@pytest.mark.rule("message.acquire.one-to-one")
def test_acquire_names_what_is_not_had_by_others(world: World) -> None:
    client, session = queue_with(world, b"1", b"2")
    session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(5)
    other, thief = world.session(b"thief")
    thief.subscribe("q", "t").grant(1)
    world.run()
    first, second = received(client)
    client.events.clear()
    session.acquire([first.id, second.id])
    world.run()
    assert [event.value for event in client.all(ResultReceived)] == [Acquired(RangeSet.of(second.id))]
    client.events.clear()
    thief.release(received(other)[0].id)
    world.run()
    session.acquire(first.id)
    world.run()
    taken = [event.value for event in client.all(ResultReceived)]
    assert taken == [Acquired(RangeSet())]  # the thief had it again at once: it still has credit


def test_what_somebody_else_had_can_be_acquired_once_that_one_releases_it(world: World) -> None:
    client, session = queue_with(world, b"1", b"2", b"3")
    browser = session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED)
    browser.grant(3)
    world.run()
    first, second, third = [event.id for event in received(client)]
    browser.cancel()
    other, taker = world.session(b"taker")
    subscription = taker.subscribe("q", "d")
    subscription.grant(3)
    world.run()
    taken = [event.id for event in received(other)]
    subscription.cancel()

    def acquired(*ids: int) -> RangeSet | None:
        client.events.clear()
        session.acquire(RangeSet.of(*ids))
        world.run()
        (result,) = client.all(ResultReceived)
        assert isinstance(result.value, Acquired)
        return result.value.transfers

    assert (acquired(first, second, third), acquired(first, second, third)) == (RangeSet(), RangeSet())
    session.release(third)  # and is not concerned when that message comes back
    taker.release(RangeSet.of(taken[1], taken[2]))
    world.run()
    assert acquired(first, second) == RangeSet.of(second)
    taker.accept(taken[0])
    world.run()
    assert acquired(first) == RangeSet()
    (holder,) = [each for each in front(world.broker).sessions.values() if each.session.name == session.name]
    assert (list(holder.unsettled), list(holder.missed), bool(holder.shown)) == ([first, second], [first], False)


@pytest.mark.rule("message.reject.acquisition")
def test_reject_without_acquisition_is_ignored(world: World) -> None:
    client, session = queue_with(world, b"1")
    session.subscribe("q", "d", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(5)
    world.run()
    (only,) = received(client)
    done(client, session, message.Reject(RangeSet.of(only.id)))
    assert depth(client, session) == 1


def test_a_refused_reject_hides_no_message(world: World) -> None:
    """The queue for dead letters is full: the session ends with 506, and gives back what it wanted to reject."""
    client, session = queue_with(world, b"old", name="dead")
    done(client, session, queue.Declare("small", "amq.fanout", arguments={"qpid.max_count": 1}))
    done(client, session, exchange.Bind("small", "amq.fanout", ""))
    done(client, session, queue.Declare("q", "amq.fanout"))
    session.publish("amq.fanout", body=b"full")
    session.publish(routing_key="q", body=b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    (only,) = received(client)
    assert refused(client, session, message.Reject(RangeSet.of(only.id))).error_code == 506
    q = world.broker.host().queues["q"]
    assert (q.available, q.acquired) == (1, 0)


def test_accept_none_is_off_the_queue_when_it_is_sent(world: World) -> None:
    client, session = queue_with(world, b"1", b"2")
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE).grant(1)
    world.run()
    assert bodies(client) == [b"1", b"2"]  # our client completes at once, which moves the window
    assert depth(client, session) == 0
    assert world.broker.host("").queues["q"].messages == 0


def test_accept_none_and_not_acquired_can_be_acquired_and_is_gone_then(world: World) -> None:
    """The text forbids it in a garbled sentence; deployed brokers and their tests require it."""
    client = world.connect(ClientConfig(profile=Profile(completion="manual")))
    session = client.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q", body=b"1")
    session.publish(routing_key="q", body=b"2")
    session.subscribe("q", "d", accept_mode=AcceptMode.NONE, acquire_mode=AcquireMode.NOT_ACQUIRED).grant(5)
    world.run()
    first, second = received(client)
    asked = session.acquire(first.id)
    world.run()
    assert client.all(ResultReceived) == [ResultReceived(session.name, asked, Acquired(RangeSet.of(first.id)))]
    assert depth(client, session) == 1
    (holder,) = front(world.broker).sessions.values()
    assert list(holder.unsettled) == [second.id]
    session.complete(second.id)  # which ends it: it can be acquired no more
    world.run()
    assert not holder.unsettled
    assert depth(client, session) == 1


def test_flush_completes_behind_what_it_pushed_out_and_ends_the_credit(world: World) -> None:
    client, session = queue_with(world, b"1", b"2")
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(5)
    world.run()
    assert bodies(client) == [b"1", b"2"]
    flush = subscription.flush(sync=True)
    world.run()
    assert any(flush in event.ids for event in client.all(CommandsCompleted))
    assert subscription.message_credit == 0
    session.publish(routing_key="q", body=b"3")
    world.run()
    assert bodies(client) == []


def test_flush_emulates_get(world: World) -> None:
    client, session = queue_with(world, b"1")
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    for expected in ([b"1"], []):
        subscription.grant(1)
        flush = subscription.flush(sync=True)
        world.run()
        completed = [flush in event.ids for event in client.all(CommandsCompleted)]
        assert any(completed)
        assert bodies(client) == expected
        if not expected:
            session.publish(routing_key="q", body=b"2")
    world.run()
    assert bodies(client) == []


def test_a_flush_waits_for_room_in_the_outbox() -> None:
    world = World()
    client, session = queue_with(world, *[bytes(100_000)] * 20)
    client.events.clear()
    subscription = session.subscribe("q", "d")
    subscription.grant(20)
    flush = subscription.flush(sync=True)
    client.deaf = True
    world.run()
    (holder,) = front(world.broker).sessions.values()
    assert 10 <= len(holder.unsettled) < 20
    assert not any(flush in event.ids for event in client.all(CommandsCompleted))
    client.deaf = False
    world.run()
    assert len(received(client)) == 20
    session.sync()
    world.run()
    assert subscription.message_credit == 0


def test_stop_completes_and_nothing_comes_after(world: World) -> None:
    client, session = queue_with(world)
    subscription = session.subscribe("q", "d")
    subscription.grant(5)
    stop = subscription.stop(sync=True)
    world.run()
    assert any(stop in event.ids for event in client.all(CommandsCompleted))
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert bodies(client) == []


def test_window_after_stop_opens_only_as_far_as_it_is_granted(world: World) -> None:
    """Credit of a stop is gone, what is used stays used: flow(5) with 5 uncompleted gives nothing before they complete."""
    client, session = queue_with(world, *[b"%d" % n for n in range(10)])
    subscription = session.subscribe("q", "d")
    subscription.grant(5)
    world.run()
    first = received(client)
    assert len(first) == 5
    subscription.stop()
    subscription.grant(5)
    world.run()
    assert received(client) == []
    session.complete([event.id for event in first])
    world.run()
    assert len(received(client)) == 5


@pytest.mark.rule("message.cancel.post-cancel-transfer-resolution")
def test_cancel_leaves_what_came_to_be_settled(world: World) -> None:
    client, session = queue_with(world, b"1", b"2")
    subscription = session.subscribe("q", "d")
    subscription.grant(5)
    world.run()
    first, second = received(client)
    subscription.cancel(sync=True)
    world.run()
    session.publish(routing_key="q", body=b"3")
    session.accept(first.id)
    session.release(second.id, sync=True)
    world.run()
    assert bodies(client) == []
    assert depth(client, session) == 2
    session.subscribe("q", "d").grant(5)
    world.run()
    assert bodies(client) == [b"2", b"3"]


def test_consumers_take_turns(world: World) -> None:
    _, session = queue_with(world)
    clients = [world.session(b"%d" % n) for n in range(3)]
    for _, each in clients:
        each.subscribe("q", "d").grant(10)
    world.run()
    for n in range(9):
        session.publish(routing_key="q", body=b"%d" % n)
    world.run()
    assert [len(received(each)) for each, _ in clients] == [3, 3, 3]


@pytest.mark.rule("message.resume.resume-id.unknown-resume-id")
def test_resume_begins_anew(world: World) -> None:
    client, session = queue_with(world)
    session.subscribe("q", "d")
    assert done(client, session, message.Resume("d", "r")) == MessageResumeResult(0)


@pytest.mark.rule("message.resume.destination.destination-not-found")
def test_resume_of_no_destination(world: World) -> None:
    client, session = world.session()
    assert refused(client, session, message.Resume("d", "r")).error_code == 404


# --- refusals -------------------------------------------------------------------------------------------------------------


@pytest.mark.rule("message.subscribe.queue-not-found")
def test_subscribe_to_no_queue(world: World) -> None:
    client, session = world.session()
    assert refused(client, session, message.Subscribe("none", "d")).error_code == 404


def test_subscribe_to_a_queue_without_a_name(world: World) -> None:
    client, session = world.session()
    assert refused(client, session, message.Subscribe("", "d")).error_code == 531


@pytest.mark.rule("message.subscribe.simultaneous-subscriptions")
@pytest.mark.parametrize("mode", AcquireMode)
def test_a_queue_has_room_for_sixteen_subscriptions(mode: AcquireMode) -> None:
    """With the limits that a broker has when nobody says others."""
    world = World()
    client, session = queue_with(world)
    for number in range(16):
        done(client, session, message.Subscribe("q", f"{number}", None, mode))
    assert world.broker.host().queues["q"].subscribers == 16


def test_a_destination_is_used_once(world: World) -> None:
    client, session = queue_with(world)
    done(client, session, message.Subscribe("q", "d"))
    assert refused(client, session, message.Subscribe("q", "d")).error_code == 530


@pytest.mark.parametrize("name", ["", None])
def test_a_subscription_without_destination_has_the_empty_name(world: World, name: str | None) -> None:
    """The specification does not require the field, and deployed clients leave it out."""
    client, session = queue_with(world, b"1", b"2")
    for word in (message.Subscribe("q", name), message.Flush(name), message.Stop(name), message.Cancel(name)):
        done(client, session, word)
    done(client, session, message.Subscribe("q", ""))
    assert refused(client, session, message.Subscribe("q", name)).error_code == 530
    other, theirs = world.session(b"other")
    other.deaf = True  # our own client wants to know where what comes belongs
    blurt(theirs, message.Subscribe("q", name, 1))
    for unit, value in ((0, 1), (1, INFINITE)):
        blurt(theirs, message.Flow(name, unit, value))
    world.run()
    (holder,) = front(world.broker).sessions.values()
    assert list(holder.consumers) == [""]
    assert world.broker.host().queues["q"].messages == 1


@pytest.mark.rule("message.subscribe.exclusive.in-use")
def test_an_exclusive_subscription_is_the_only_one(world: World) -> None:
    first, one = queue_with(world)
    done(first, one, message.Subscribe("q", "d", exclusive=True))
    second, two = world.session(b"two")
    assert refused(second, two, message.Subscribe("q", "d")).error_code == 405
    done(first, one, message.Cancel("d"))
    done(first, one, message.Subscribe("q", "d"))
    third, three = world.session(b"three")
    assert refused(third, three, message.Subscribe("q", "d", exclusive=True)).error_code == 405


def test_the_queue_of_another_session_cannot_be_subscribed(world: World) -> None:
    first, one = world.session()
    done(first, one, queue.Declare("mine", exclusive=True))
    second, two = world.session(b"two")
    assert refused(second, two, message.Subscribe("mine", "d")).error_code == 405


@pytest.mark.parametrize(
    "command",
    [message.Cancel("x"), message.Flow("x", 0, 1), message.Flush("x"), message.Stop("x"), message.SetFlowMode("x", 0)],
    ids=lambda command: command.VERB,
)
def test_an_unknown_destination(world: World, command: message.Cancel) -> None:
    client, session = queue_with(world)
    assert refused(client, session, command).error_code == 404


@pytest.mark.rule("message.subscribe.queue-deletion")
def test_a_deleted_queue_ends_the_sessions_that_subscribed(world: World) -> None:
    client, session = queue_with(world)
    session.subscribe("q", "d").grant(1)
    other, deleter = world.session(b"deleter")
    world.run()
    client.events.clear()
    done(other, deleter, queue.Delete("q"))
    (exception,) = client.all(ExceptionReceived)
    assert (exception.error_code, exception.id) == (408, None)
    assert [event.ended for event in client.all(SessionDetached)] == [True]
    assert [name for _, _, name in front(world.broker).sessions] == [b"deleter"]


def test_properties_are_delivered_as_they_were_published(world: World) -> None:
    client, session = queue_with(world)
    session.publish("", routing_key="q", body=b"x", priority=7, content_type="text/plain", app_id=b"a")
    session.subscribe("q", "d").grant(1)
    world.run()
    (event,) = received(client)
    assert event.delivery_properties == DeliveryProperties(priority=7, exchange="", routing_key="q")
    assert event.message_properties is not None
    assert (event.message_properties.content_type, event.message_properties.app_id) == ("text/plain", b"a")
    assert event.transfer == message.Transfer("d", 0, 0)


@pytest.mark.parametrize(("codes", "refuses"), [("qpid", False), ("spec", True)])
@pytest.mark.rule("message.set-flow-mode.mode-switching")
def test_a_mode_set_with_credit_left_is_refused_in_the_codes_of_the_specification(codes: ErrorCodes, refuses: bool) -> None:
    world = World(BrokerConfig(error_codes=codes))
    client, session = queue_with(world)
    done(client, session, message.Subscribe("q", "d"))
    done(client, session, message.SetFlowMode("d", 0))
    done(client, session, message.Flow("d", 0, 1))
    blurt(session, message.SetFlowMode("d", 1))
    world.run()
    assert (session.state == "ended") is refuses
    assert not refuses or "406" in session.cause


def test_a_message_through_a_topic_exchange(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    done(client, session, exchange.Declare("stocks", "topic"))
    done(client, session, exchange.Bind("q", "stocks", "usd.*"))
    session.subscribe("q", "d").grant(5)
    for key in ("usd.ibm", "eur.ibm", "usd.sun"):
        session.publish("stocks", routing_key=key, body=key.encode())
    world.run()
    assert bodies(client) == [b"usd.ibm", b"usd.sun"]
    assert done(client, session, exchange.Bound("stocks", "q", "usd.*")) == ExchangeBoundResult()
    done(client, session, exchange.Unbind("q", "stocks", "usd.*"))
    result = done(client, session, exchange.Bound("stocks", "q"))
    assert result == ExchangeBoundResult(queue_not_matched=True)


def test_a_hint_of_a_queue_is_taken_and_handed_out_once_and_not_where_it_came_to_nothing(world: World) -> None:
    client, session = world.session()
    for name in ("q", "r"):
        done(client, session, queue.Declare(name, arguments={"qpid.file_size": 24, "qpid.max_count": 5}))
    assert [(hint.command, hint.argument) for hint in world.broker.hints.take()] == [("queue.declare", "qpid.file_size")]
    session.send(queue.Declare("s", arguments={"qpid.flow_stop_count": 24, "odd": 5}))
    world.run()
    (refused,) = client.take(ExceptionReceived)
    assert (refused.error_code, "'odd'" in refused.description) == (531, True)
    assert world.broker.hints.take() == ()


def test_a_full_ring_drops_the_oldest_and_a_queue_that_destroys_itself_ends_its_subscriptions(world: World) -> None:
    client, session = world.session()
    for policy in ("ring", "self-destruct"):
        done(client, session, queue.Declare(policy, arguments={"qpid.policy_type": policy, "qpid.max_count": 2}))
    for body in (b"1", b"2", b"3"):
        session.publish(routing_key="ring", body=body)
    session.subscribe("ring", "d").grant(5)
    world.run()
    assert bodies(client) == [b"2", b"3"]
    session.subscribe("self-destruct", "e")
    for body in (b"1", b"2", b"3"):
        session.publish(routing_key="self-destruct", body=body)
    world.run()
    (ended,) = client.take(ExceptionReceived)
    assert "'self-destruct' is deleted" in ended.description
    assert list(world.broker.host().queues) == ["ring"]


def test_a_queue_outlives_its_session_for_a_while(world: World) -> None:
    world.tick(10.0)
    client, session = world.session()
    done(client, session, queue.Declare("q", exclusive=True, arguments={"qpid.auto_delete_timeout": 3}))
    client.cut()
    world.tick(1.0)
    assert world.broker.due == 14.0
    world.tick(2.5)
    assert "q" in world.broker.host().queues
    world.tick(0.5)
    assert world.broker.host().queues == {}


def test_queries(world: World) -> None:
    client, session = world.session()
    assert done(client, session, queue.Query("q")) == QueueQueryResult()
    done(client, session, queue.Declare("q", exclusive=True, auto_delete=True))
    session.publish(routing_key="q")
    result = done(client, session, queue.Query("q"))
    assert isinstance(result, QueueQueryResult)
    assert (result.queue, result.exclusive, result.auto_delete, result.message_count) == ("q", True, True, 1)
    assert done(client, session, exchange.Query("none")) == ExchangeQueryResult(not_found=True)
    result = done(client, session, exchange.Query("amq.topic"))
    assert isinstance(result, ExchangeQueryResult)
    assert (result.type_, result.not_found) == ("topic", False)


def test_a_refusal_names_command_field_and_reason(world: World) -> None:
    client, session = world.session()
    exception = refused(client, session, exchange.Declare("x", "nonsense"))
    assert (exception.error_code, exception.class_code, exception.command_code, exception.field_index) == (404, 7, 1, 1)
    assert "nonsense" in exception.description


def test_other_sessions_keep_away_from_an_exclusive_queue(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("mine", exclusive=True))
    for number, command in enumerate(
        (queue.Declare("mine"), queue.Delete("mine"), queue.Purge("mine"), exchange.Bind("mine", "amq.fanout", ""))
    ):
        other, another = world.session(b"%d" % number)
        assert refused(other, another, command).error_code == 405


def test_delete_purge_and_their_refusals(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    session.publish(routing_key="q")
    assert refused(client, session, queue.Delete("q", if_empty=True)).error_code == 406
    session = client.session(b"2")
    done(client, session, queue.Purge("q"))
    done(client, session, queue.Delete("q", if_empty=True))
    done(client, session, exchange.Declare("x", "fanout"))
    done(client, session, exchange.Delete("x"))
    assert refused(client, session, exchange.Delete("x")).error_code == 404


def test_the_codes_are_those_of_the_profile(world: World) -> None:
    """queue.purge without a name: 542 by the letter, 531 as deployed brokers say."""
    client, session = world.session()
    assert refused(client, session, queue.Purge("")).error_code == 531
    world = World(BrokerConfig(error_codes="spec"), world.chunk)
    client, session = world.session()
    assert refused(client, session, queue.Purge("")).error_code == 542
    client = world.connect(server=ServerConfig(profile=STRICT_PROFILE))
    assert refused(client, client.session(b"t"), queue.Declare("q", arguments={"x-unknown": 1})).error_code == 540


def test_the_session_that_deletes_a_queue_goes_on(world: World) -> None:
    """Its subscription gets nothing any more, and can be spoken of until it is cancelled; other sessions hear 408."""
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    done(client, session, message.Subscribe("q", "d"))
    other, theirs = world.session(b"other")
    done(other, theirs, message.Subscribe("q", "d"))
    done(client, session, queue.Delete("q"))
    assert [event.error_code for event in other.all(ExceptionReceived)] == [408]
    done(client, session, queue.Declare("q"))
    for word in (message.Flow("d", 0, 5), message.Flow("d", 1, 1000), message.Flush("d"), message.Stop("d")):
        done(client, session, word)
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert client.all(TransferReceived) == []
    done(client, session, message.Cancel("d"))
    done(client, session, message.Subscribe("q", "d"))
    assert next(iter(world.broker._hosts.values())).subscribers == 1


def test_a_flush_of_a_subscription_whose_queue_its_session_deletes_completes(world: World) -> None:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    done(client, session, message.Subscribe("q", "d"))
    flush = blurt(session, message.Flush("d"))
    blurt(session, queue.Delete("q"))
    world.run()
    assert any(flush in event.ids for event in client.all(CommandsCompleted))
    assert session.state == "attached"


def test_a_result_too_large_for_the_asker_ends_its_session_only(world: World) -> None:
    from amqp_sansio import ClientConfig

    client, session = world.session()
    arguments = {"qpid.text": "x" * 5000}
    session.send(queue.Declare("q", arguments=arguments))
    world.run()
    if client.all(ExceptionReceived):
        return  # arguments of that kind are not taken
    small = world.connect(ClientConfig(max_frame_size=4096))
    assert refused(small, small.session(b"t"), queue.Query("q")).error_code == 506
    done(client, session, queue.Query("q"))


TEMPORARY = {"qpid.exclusivity_policy": "CONNECTION", "qpid.lifetime_policy": "DELETE_ON_CONNECTION_CLOSE"}


def test_a_temporary_queue_belongs_to_its_connection_and_dies_with_it(world: World) -> None:
    """As Qpid JMS declares one: every session of the connection may use it, no other, and it outlives its session."""
    client, session = world.session()
    done(client, session, queue.Declare("temp", exclusive=True, auto_delete=True, arguments=TEMPORARY))
    done(client, session, message.Subscribe("temp", "d"))
    session.detach()
    world.run()
    own = client.session(b"own")
    done(client, own, queue.Declare("temp", exclusive=True, auto_delete=True, arguments=TEMPORARY))
    done(client, own, queue.Declare("temp", passive=True, exclusive=True))
    done(client, own, exchange.Bind("temp", "amq.fanout", ""))
    done(client, own, message.Subscribe("temp", "d"))
    other = world.connect()
    for name, word in ((b"a", message.Subscribe("temp", "d")), (b"b", queue.Delete("temp")), (b"c", queue.Purge("temp"))):
        assert refused(other, other.session(name), word).error_code == 405
    client.cut()
    theirs = other.session(b"d")
    assert done(other, theirs, queue.Query("temp")) == QueueQueryResult()
    assert other.session(b"d2").state == "attached"


def test_the_lifetime_of_a_session_deletes_a_queue_at_its_end(world: World) -> None:
    client, session = world.session()
    arguments = {"qpid.exclusivity_policy": "SESSION", "qpid.lifetime_policy": "DELETE_ON_SESSION_END"}
    done(client, session, queue.Declare("temp", arguments=arguments))
    own = client.session(b"own")
    assert refused(client, own, message.Subscribe("temp", "d")).error_code == 405
    session.detach()
    world.run()
    assert done(client, client.session(b"again"), queue.Query("temp")) == QueueQueryResult()


def test_a_broker_announces_that_it_knows_lifetimes(world: World) -> None:
    client = world.connect()
    (started,) = client.all(StartReceived)
    assert started.server_properties["qpid.queue_lifetime_supported"] is True


def test_a_query_counts_what_can_be_had() -> None:
    host = VirtualHost()
    host.declare_queue("q")
    for _ in range(3):
        publish(host, "", "q")
    host.queues["q"].take()
    host.subscribe("q", Sink())
    found = queue_result(host, "q")
    assert (found.message_count, found.subscriber_count) == (2, 1)
    assert queue_result(host, "nowhere") == queue_result(host, None) == QueueQueryResult()
    assert exchange_result(host) == ExchangeQueryResult("direct", True, False, Map())


def stage_of_bindings() -> VirtualHost:
    host = VirtualHost()
    for name in ("bound", "unbound"):
        host.declare_queue(name)
    host.bind("bound", "amq.direct", "k")
    host.bind("bound", "amq.topic", "a.*")
    host.bind("bound", "amq.match", "h", {"x-match": "all", "a": 1})
    return host


@pytest.mark.parametrize(
    ("asked", "missing"),
    [
        (("amq.direct", "bound", "k"), ()),
        (("amq.direct", "bound"), ()),
        (("amq.direct",), ()),
        (("amq.fanout",), ()),
        (("amq.direct", None, "k"), ()),
        (("amq.topic", "bound", "a.*"), ()),
        (("amq.topic", "bound", "a.b"), ("key_not_matched",)),
        (("nowhere",), ("exchange_not_found",)),
        (("nowhere", "bound"), ("exchange_not_found",)),
        (("nowhere", "neither"), ("exchange_not_found", "queue_not_found")),
        (("amq.direct", "neither", "z"), ("queue_not_found",)),
        (("amq.direct", "unbound"), ("queue_not_matched",)),
        (("amq.direct", "unbound", "k"), ("queue_not_matched",)),
        (("amq.direct", "unbound", "z"), ("queue_not_matched", "key_not_matched")),
        (("amq.direct", "bound", "z"), ("key_not_matched",)),
        (("amq.direct", None, "z"), ("key_not_matched",)),
        (("amq.match", "bound", None, {"x-match": "all", "a": 1}), ()),
        (("amq.match", "bound", "h", {"x-match": "all", "a": 1}), ()),
        (("amq.match", "bound", None, {"x-match": "all", "a": 2}), ("args_not_matched",)),
        (("amq.match", None, None, {"b": 1}), ("args_not_matched",)),
        (
            ("amq.match", "unbound", "z", {"b": 1}),
            ("queue_not_matched", "key_not_matched", "args_not_matched"),
        ),
        (("", "bound"), ()),
        (("", "bound", "bound"), ()),
        ((None, None, "bound"), ()),
        (("", "bound", "unbound"), ()),
        (("", "bound", "z"), ("key_not_matched",)),
        (("", "bound", None, {"a": 1}), ("args_not_matched",)),
        (("", "neither"), ("queue_not_found",)),
        (("amq.direct", "", "k", {}), ()),
    ],
)
def test_what_is_bound(asked: tuple[Any, ...], missing: tuple[str, ...]) -> None:
    found = bound_result(stage_of_bindings(), *asked)
    assert found == ExchangeBoundResult(**dict.fromkeys(missing, True))


ONE = Xid(1, b"global", b"one")
OK = XaResult(XaStatus.XA_OK)


def scene(world: World, *texts: bytes) -> tuple[Client, Session]:
    client, session = world.session()
    done(client, session, queue.Declare("q"))
    for text in texts:
        session.publish(routing_key="q", body=text)
    world.run()
    client.events.clear()
    return client, session


def counts(world: World) -> tuple[int, int]:
    found = world.broker.host("").queues["q"]
    return found.available, found.acquired


@pytest.mark.rule("message.transfer.transactional-publish")
def test_what_is_published_is_seen_after_commit(world: World) -> None:
    client, session = scene(world)
    done(client, session, tx.Select())
    published = session.publish(routing_key="q", body=b"1", sync=True)
    world.run()
    assert any(published in event.ids for event in client.all(CommandsCompleted))
    assert counts(world) == (0, 0)
    done(client, session, tx.Commit())
    assert counts(world) == (1, 0)
    session.publish(routing_key="q", body=b"2")
    world.run()
    assert counts(world) == (1, 0)  # the next transaction
    done(client, session, tx.Rollback())
    assert counts(world) == (1, 0)


def test_a_rolled_back_accept_leaves_the_message_with_the_session(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(2)
    world.run()
    first, second = client.take(TransferReceived)
    session.accept(first.id)
    world.run()
    assert counts(world) == (0, 2)
    done(client, session, tx.Rollback())
    assert counts(world) == (0, 2)
    (holder,) = front(world.broker).sessions.values()
    assert (sorted(holder.unsettled), sorted(holder.provisional)) == ([second.id], [first.id])
    done(client, session, message.Release(RangeSet.of(first.id)))
    assert sorted(holder.provisional) == []


def deliveries(client: Client, session: Session, count: int) -> list[int]:
    """The ids of so many messages, which the session has and has not settled."""
    session.subscribe("q", "d").grant(count)
    client.world.run()
    return [event.id for event in client.take(TransferReceived)]


def test_what_is_accepted_and_released_before_a_rollback_is_available_at_once(world: World) -> None:
    """As qpid.messaging rolls back: it releases what it has accepted, then says tx.rollback."""
    client, session = scene(world, b"1", b"2", b"3")
    done(client, session, tx.Select())
    ids = deliveries(client, session, 2)
    done(client, session, message.Stop("d"))
    done(client, session, message.Accept(RangeSet.of(*ids)))
    done(client, session, message.Release(RangeSet.of(*ids), True))
    assert counts(world) == (3, 0)
    done(client, session, tx.Rollback())
    assert counts(world) == (3, 0)
    session.send(message.Flow("d", 0, 5))
    session.send(message.Flow("d", 1, 1000))
    world.run()
    assert bodies(client) == [b"1", b"2", b"3"]


def test_a_commit_leaves_what_was_released_after_its_accept(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    first, second = deliveries(client, session, 2)
    done(client, session, message.Accept(RangeSet.of(first, second)))
    done(client, session, message.Release(RangeSet.of(second)))
    done(client, session, tx.Commit())
    assert [entry.message.body for entry in world.broker.host().queues["q"].all()] == [b"2"]


@pytest.mark.rule("message.reject.alternate-exchange")
def test_a_reject_after_an_accept_does_not_wait_for_the_commit(world: World) -> None:
    client, session = scene(world, b"1")
    done(client, session, queue.Declare("dead"))
    done(client, session, queue.Declare("other", "amq.fanout"))
    done(client, session, exchange.Bind("dead", "amq.fanout", ""))
    session.publish(routing_key="other", body=b"2")
    done(client, session, tx.Select())
    session.subscribe("other", "o").grant(1)
    world.run()
    (event,) = client.take(TransferReceived)
    done(client, session, message.Accept(RangeSet.of(event.id)))
    done(client, session, message.Reject(RangeSet.of(event.id)))
    done(client, session, tx.Rollback())
    queues = world.broker.host().queues
    assert (queues["dead"].available, queues["other"].messages) == (1, 0)


def test_what_was_accepted_counts_as_acquired_until_the_transaction_is_decided(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    first, second = deliveries(client, session, 2)
    done(client, session, message.Accept(RangeSet.of(first)))
    both = RangeSet.of(first, second)
    assert done(client, session, message.Acquire(both)) == Acquired(both)
    done(client, session, tx.Commit())
    assert done(client, session, message.Acquire(both)) == Acquired(RangeSet.of(second))


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["accept", "release", "reject", "acquire", "commit", "rollback"]),
            st.lists(st.integers(0, 5), max_size=4),
        ),
        max_size=12,
    )
)
def test_every_message_is_available_or_in_the_hands_of_its_session(said: list[tuple[str, list[int]]]) -> None:
    """Whatever a session says about its messages, in whatever order, it holds none that it has released or rejected, it can
    settle each that it holds, and each is available again when it ends, unless a commit has taken it off the queue."""
    world = World()
    client, session = scene(world, *[b"%d" % number for number in range(6)])
    done(client, session, tx.Select())
    ids = deliveries(client, session, 6)
    (holder,) = front(world.broker).sessions.values()
    q = world.broker.host().queues["q"]
    words: dict[str, Callable[[RangeSet], Command]] = {
        "accept": message.Accept,
        "release": message.Release,
        "reject": message.Reject,
        "acquire": message.Acquire,
        "commit": lambda _: tx.Commit(),
        "rollback": lambda _: tx.Rollback(),
    }
    done(client, session, message.Cancel("d"))
    here, accepted = set(ids), set[int]()
    for word, places in said:
        done(client, session, words[word](RangeSet.of(*[ids[place] for place in places])))
        if word in ("release", "reject"):
            assert not [place for place in places if ids[place] in {*holder.unsettled, *holder.provisional}]
        held = [record.entry for record in (*holder.unsettled.values(), *holder.provisional.values()) if record.acquired]
        assert q.acquired == len(set(held)) == len(held)
        assert holder.tx is not None
        named = {ids[place] for place in places} & here
        if word == "accept":
            accepted |= named
        elif word in ("release", "reject"):
            here -= named
            accepted -= named
        elif word == "commit":
            here -= accepted
        if word in ("commit", "rollback"):
            accepted.clear()
        assert {id for id in ids if id in holder.provisional.accepted_ids()} == accepted
        assert {*holder.unsettled, *holder.provisional} == here
    left = q.messages
    client.cut()
    assert (q.available, q.acquired) == (left, 0)


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["accept", "release", "reject", "acquire", "rollback", "publish"]),
            st.lists(st.integers(0, 4), max_size=4),
        ),
        max_size=12,
    )
)
def test_what_is_acquired_is_known_beside_what_was_only_shown(said: list[tuple[str, list[int]]]) -> None:
    world = World()
    client, session = scene(world, *[b"%d" % number for number in range(3)])
    done(client, session, tx.Select())
    session.subscribe("q", "browser", acquire_mode=AcquireMode.NOT_ACQUIRED).grant(5)
    session.subscribe("q", "taker").grant(1)
    world.run()
    (holder,) = front(world.broker).sessions.values()
    for word, places in said:
        known = sorted([*holder.unsettled, *holder.provisional])
        named = RangeSet.of(*[known[place] for place in places if place < len(known)])
        words: dict[str, Callable[[], object]] = {
            "accept": lambda named=named: done(client, session, message.Accept(named)),  # type: ignore[misc]  # a default
            "release": lambda named=named: done(client, session, message.Release(named)),  # type: ignore[misc]
            "reject": lambda named=named: done(client, session, message.Reject(named)),  # type: ignore[misc]
            "acquire": lambda named=named: done(client, session, message.Acquire(named)),  # type: ignore[misc]
            "rollback": lambda: done(client, session, tx.Rollback()),
            "publish": lambda: (session.publish(routing_key="q"), done(client, session, tx.Commit())),
        }
        words[word]()
        taken = [id for id, record in holder.unsettled.items() if record.acquired]
        assert holder.unsettled.among(holder.acquired(RangeSet([(0, 1000)]))) == sorted(taken)


def test_a_committed_accept_takes_off_the_queue(world: World) -> None:
    client, session = scene(world, b"1", b"2")
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(1)
    world.run()
    (first,) = client.take(TransferReceived)
    session.accept(first.id)
    done(client, session, tx.Commit())
    assert counts(world) == (0, 1)  # the window has moved to the second
    client.cut()
    assert counts(world) == (1, 0)


def test_the_end_of_a_session_rolls_back_and_releases(world: World) -> None:
    client, session = scene(world, b"1")
    done(client, session, tx.Select())
    session.subscribe("q", "d").grant(1)
    world.run()
    session.accept(client.take(TransferReceived)[0].id)
    session.publish(routing_key="q", body=b"2")
    world.run()
    client.cut()
    assert counts(world) == (1, 0)
    other, again = world.session(b"t")
    again.subscribe("q", "d").grant(5)
    world.run()
    (event,) = other.all(TransferReceived)
    assert event.body == b"1"
    assert event.delivery_properties is not None
    assert event.delivery_properties.redelivered


def test_a_commit_waits_for_the_journal(world: World) -> None:
    world = World(BrokerConfig(journal=True), world.chunk)
    client, session = world.session()
    session.send(queue.Declare("q", durable=True))
    session.send(tx.Select())
    session.publish(routing_key="q", body=b"1", delivery_mode=DeliveryMode.PERSISTENT)
    session.publish(routing_key="q", body=b"2")
    commit = session.send(tx.Commit(), sync=True)
    world.run()
    assert not any(commit in event.ids for event in client.all(CommandsCompleted))
    assert world.broker.host("").queues["q"].available == 0
    world.broker.journalled(world.broker.journal()[-1].number)
    world.run()
    assert any(commit in event.ids for event in client.all(CommandsCompleted))
    assert world.broker.host("").queues["q"].available == 2


@pytest.mark.parametrize("command", [tx.Commit(), tx.Rollback()], ids=lambda command: command.VERB)
def test_without_select(world: World, command: tx.Commit) -> None:
    client, session = world.session()
    assert refused(client, session, command).error_code in (409, 503)


# --- branches -----------------------------------------------------------------------------------------------------------------


def test_a_branch_in_two_phases(world: World) -> None:
    client, session = scene(world, b"1")
    session.subscribe("q", "d").grant(1)
    world.run()
    (first,) = client.take(TransferReceived)
    done(client, session, dtx.Select())
    assert done(client, session, dtx.Start(ONE)) == OK
    session.accept(first.id)
    session.publish(routing_key="q", body=b"2")
    assert done(client, session, dtx.End(ONE)) == OK
    assert counts(world) == (0, 1)
    other, manager = world.session(b"manager")
    assert done(other, manager, dtx.Prepare(ONE)) == OK
    assert done(other, manager, dtx.Recover()) == RecoverResult([ONE])
    assert done(other, manager, dtx.Commit(ONE)) == OK
    world.run()
    assert bodies(client) == [b"2"]
    assert done(other, manager, dtx.Recover()) == RecoverResult([])


def test_a_branch_rolled_back_gives_accepted_messages_back(world: World) -> None:
    client, session = scene(world, b"1")
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(1)
    world.run()
    (first,) = client.take(TransferReceived)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    session.accept(first.id)
    done(client, session, dtx.End(ONE))
    assert done(client, session, dtx.Rollback(ONE)) == OK
    assert counts(world) == (1, 0)


def test_what_is_outside_of_a_branch_happens_at_once(world: World) -> None:
    client, session = scene(world)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    done(client, session, dtx.End(ONE))
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert counts(world) == (1, 0)


def test_the_end_of_a_session_dooms_its_branch(world: World) -> None:
    client, session = scene(world)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    session.publish(routing_key="q", body=b"1")
    world.run()
    client.cut()
    other, manager = world.session(b"manager")
    assert done(other, manager, dtx.Prepare(ONE)) == XaResult(XaStatus.XA_RBROLLBACK)
    assert done(other, manager, dtx.Rollback(ONE)) == OK
    assert counts(world) == (0, 0)


@pytest.mark.rule("dtx.set-timeout.effective", "dtx.set-timeout.reset")
def test_branches_time_out_by_tick(world: World) -> None:
    world.tick(100.0)
    client, session = scene(world)
    done(client, session, dtx.Select())
    done(client, session, dtx.Start(ONE))
    for said, seconds in ((5, 5), (0, DEFAULT_TIMEOUT), (5, 5)):
        done(client, session, dtx.SetTimeout(ONE, said))
        assert done(client, session, dtx.GetTimeout(ONE)) == GetTimeoutResult(seconds)
    session.publish(routing_key="q", body=b"1")
    world.run()
    assert world.broker.tick(world.now) == world.now + 5
    world.tick(5.0)
    assert done(client, session, dtx.End(ONE)) == XaResult(XaStatus.XA_RBTIMEOUT)
    assert counts(world) == (0, 0)


def test_forget_of_what_was_not_decided(world: World) -> None:
    client, session = scene(world)
    assert refused(client, session, dtx.Forget(ONE)).error_code == 404


def test_more_branches_than_fit_into_a_frame_come_in_parts() -> None:
    world = World()
    client, session = scene(world)
    done(client, session, dtx.Select())
    xids = [Xid(1, bytes(200), b"%0100d" % n) for n in range(300)]
    for xid in xids:
        blurt(session, dtx.Start(xid))
        session.publish(routing_key="q", body=b"x")
        blurt(session, dtx.End(xid))
        blurt(session, dtx.Prepare(xid))
    world.run()
    result = done(client, session, dtx.Recover())
    assert isinstance(result, RecoverResult)
    told = list(result.in_doubt or ())
    assert told == xids[: len(told)]
    assert len(told) == 65535 // (14 + 200 + 100)
