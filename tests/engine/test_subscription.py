"""Subscriptions, ours and theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.carriers import Wire, attached_session
from tests.subscribing import subscribed

from amqp_sansio.engine.inbound import complete_one
from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import CommandsCompleted
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import INFINITE
from amqp_sansio.spec import message
from amqp_sansio.spec import session as c
from amqp_sansio.spec.codes import FlowMode


def test_a_grant_is_sent_in_both_units_for_either_at_zero_stops_everything() -> None:
    carrier, session = attached_session("client")
    subscription = session.subscribe("q", "d")
    assert (subscription.message_credit, subscription.octet_credit, subscription.mode) == (0, 0, 1)
    assert subscription.grant(10) == 2
    assert carrier.said()[2:] == [message.Flow("d", 0, 10), message.Flow("d", 1, INFINITE)]
    subscription.grant(5)
    assert carrier.said() == [message.Flow("d", 0, 5)]
    assert (subscription.message_credit, subscription.octet_credit) == (15, INFINITE)
    subscription.grant(INFINITE, 0)
    assert carrier.said() == [message.Flow("d", 0, INFINITE)]
    with pytest.raises(LocalProtocolError, match="granted already"):
        subscription.grant(INFINITE)


def test_stop_takes_all_credit_at_once() -> None:
    carrier, session = attached_session("client")
    subscription = session.subscribe("q", "d")
    subscription.grant(10)
    subscription.stop(sync=True)
    assert carrier.said()[-1] == message.Stop("d")
    assert (subscription.message_credit, subscription.octet_credit) == (0, 0)


def test_flush_takes_it_when_it_is_complete_and_leaves_what_was_granted_since() -> None:
    carrier, session = attached_session("client")
    subscription = session.subscribe("q", "d")
    subscription.grant(10)
    id = subscription.flush()
    assert subscription.message_credit == 10
    subscription.grant(3)
    assert carrier.said()[-2:] == [message.Flow("d", 0, 3), message.Flow("d", 1, INFINITE)]
    carrier.hear(c.Completed(RangeSet.of(id)))
    assert (subscription.message_credit, subscription.octet_credit) == (3, INFINITE)


def test_set_mode_needs_credit_of_zero() -> None:
    carrier, session = attached_session("client")
    subscription = session.subscribe("q", "d")
    subscription.set_mode(FlowMode.CREDIT)
    subscription.grant(1)
    with pytest.raises(LocalProtocolError) as raised:
        subscription.set_mode(FlowMode.WINDOW)
    assert raised.value.rule == "message.set-flow-mode.mode-switching"
    assert "message.stop" in raised.value.legal
    subscription.stop()
    subscription.set_mode(FlowMode.WINDOW)
    assert subscription.mode == 1
    assert carrier.said()[-1] == message.SetFlowMode("d", 1)


def test_message_cancel_post_cancel_transfer_resolution() -> None:
    carrier, session = attached_session("client")
    subscription = session.subscribe("q", "d")
    subscription.grant(10)
    carrier.hear(message.Transfer("d", 0, 0))
    id = subscription.cancel()
    verbs: list[Callable[[], object]] = [
        subscription.cancel,
        subscription.stop,
        subscription.flush,
        lambda: subscription.grant(1),
    ]
    for verb in verbs:
        with pytest.raises(LocalProtocolError, match="cancelled"):
            verb()
    carrier.hear(message.Transfer("d", 0, 0))
    assert subscription.unsettled == RangeSet([(0, 1)])
    assert "d" in session.subscriptions
    carrier.hear(c.Completed(RangeSet([(0, id)])))
    assert session.subscriptions == {}
    session.accept([0, 1])
    assert not subscription.unsettled


def test_a_destination_may_be_used_again_after_cancel() -> None:
    carrier, session = attached_session("client")
    first = session.subscribe("q", "d")
    id = first.cancel()
    second = session.subscribe("r", "d")
    carrier.hear(c.Completed(RangeSet([(0, id)])))
    assert session.subscriptions == {"d": second}


def test_unsettled_is_counted_by_subscription() -> None:
    carrier, session = attached_session("client")
    one, two = subscribed(session, "1", "2")
    for name in ("1", "2", "1"):
        carrier.hear(message.Transfer(name, 0, 0))
    assert one.unsettled == RangeSet.of(0, 2)
    assert two.unsettled == RangeSet.of(1)
    assert session._transfers.unsettled() == RangeSet([(0, 2)])


def test_both_sides_count_alike() -> None:
    wire = Wire()
    ours, theirs = wire.session()
    subscription = ours.subscribe("q", "d")
    subscription.grant(3, 1000)
    wire.run()
    subscriber = theirs.subscribers["d"]
    header = message.DeliveryProperties(routing_key="k")
    for n in range(3):
        theirs.deliver("d", header, body=b"x" * n)
    wire.run()
    assert subscription._book.granted() == subscriber._book.granted()
    assert subscription.message_credit == 0
    ours.release([0, 2])
    wire.run()
    assert subscription.message_credit == subscriber.message_credit == 2
    assert subscription.octet_credit == subscriber.octet_credit
    assert CommandsCompleted(b"s", RangeSet.of(0, 2)) in wire.server.happened()
    assert repr(subscription) == "<Subscription 'd' to 'q'>"
    assert repr(subscriber) == "<Subscriber 'd' to 'q'>"


def test_a_flush_completed_ends_the_credit() -> None:
    carrier, session = attached_session("server")
    carrier.hear(message.Subscribe("q", "d"), message.Flow("d", 0, 5), message.Flush("d"))
    assert session.subscribers["d"].message_credit == 5
    complete_one(session, 2)
    assert session.subscribers["d"].message_credit == 0
    assert not session._subscribers.flushes


def test_it_is_known_when_a_completed_cancel_has_ended_a_subscription() -> None:
    _, session = attached_session("client")
    subscription = session.subscribe("q", "d")
    subscription.grant(5)
    stop = subscription.stop()
    assert session._subscriptions.withdraw(RangeSet.of(stop)) is False
    cancel = subscription.cancel()
    assert session._subscriptions.withdraw(RangeSet.of(cancel)) is True
    assert "d" not in session.subscriptions


def test_completions_tell_whose_window_they_opened() -> None:
    carrier, session = attached_session("server")
    carrier.hear(message.Subscribe("q", "d"), message.Flow("d", 0, 5), message.Flow("d", 1, INFINITE))
    id = session.deliver("d", body=b"x")
    carrier.hear(c.Completed(RangeSet.of(id)))
    assert list(session._subscribers.replenished) == [session.subscribers["d"]]
