"""Subscriptions, their credit, and what becomes of what was transferred."""

from __future__ import annotations

import pytest
from tests.broker.harness import Client, World, blurt, bodies, done, front, refused

from amqp_sansio import ClientConfig, Profile, Session
from amqp_sansio.broker.config import BrokerConfig
from amqp_sansio.config import ErrorCodes
from amqp_sansio.events import CommandsCompleted, ExceptionReceived, ResultReceived, SessionDetached, TransferReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec import exchange, message, queue
from amqp_sansio.spec.codes import AcceptMode, AcquireMode, FlowMode
from amqp_sansio.spec.message import Acquired, DeliveryProperties, MessageResumeResult
from amqp_sansio.spec.queue import QueueQueryResult


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
