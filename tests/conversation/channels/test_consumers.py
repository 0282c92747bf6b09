"""The consumers of a channel: how they start, and what ends them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.channels.stage import Stage, staged

from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.channels.inbox import Inbox
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.errors import ChannelClosed, LimitError, LocalProtocolError, SubscriptionCancelled
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import queue


@pytest.mark.parametrize("prefetch", [0, 65536, "x"])
def test_a_prefetch_has_bounds(prefetch: Any) -> None:
    with pytest.raises(LocalProtocolError, match="1 to 65535"):
        staged().open().subscribe("q", prefetch=prefetch)


@pytest.mark.parametrize("prefetch", [1, 65535])
def test_a_prefetch_at_its_bounds(prefetch: int) -> None:
    stage = staged()
    stage.queue("q", b"1")
    inbox = stage.open().subscribe("q", prefetch=prefetch)
    stage.run()
    assert inbox.take() is not None


@pytest.mark.parametrize(("most", "fine"), [(9, False), (10, True), (11, True)])
def test_consumers_request_no_more_than_may_be_unsettled(most: int, fine: bool) -> None:
    """Else the server, which delivers what it was asked for, would break our limit."""
    stage = staged(limits=Limits(deliveries=most))
    stage.queue("q", *[b"%d" % number for number in range(12)])
    core = stage.open()
    first = core.subscribe("q", prefetch=4)
    if fine:
        core.subscribe("q", prefetch=6)
    else:
        with pytest.raises(LimitError, match="deliveries is 9; 10 asked for"):
            core.subscribe("q", prefetch=6)
    stage.run()
    stage.get(first.cancel())
    assert core.subscribe("q", prefetch=4).prefetch == 4  # there is room again
    stage.run()
    assert core.is_open


def test_the_server_cancels_a_consumer() -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    stays = core.subscribe("q", resubscribe=True)
    goes = stage.open().subscribe("q")
    stage.run()
    server = stage.server
    assert server is not None
    for consumer in list(stage.broker.consumers["q"]):
        stage.broker.consumers["q"].remove(consumer)
        consumer.channel.cancel_consumer(consumer.tag)
    stage.run()
    with pytest.raises(SubscriptionCancelled, match="'q'"):
        goes.take()
    assert [each.tag for each in stage.broker.consumers["q"]] == [stays.tag]


def test_a_server_that_cancels_and_never_answers_raises_nothing() -> None:
    """Each time the consumer starts again, two calls more wait; what the limit of calls refuses at last ends the consumer."""
    stage = staged(limits=Limits(calls=20))
    stage.queue("q")
    core = stage.open()
    inbox = core.subscribe("q", resubscribe=True)
    stage.run()
    stage.broker.mute = True
    (consumer,) = stage.broker.consumers["q"]
    for _ in range(11):
        consumer.channel.cancel_consumer(inbox.tag)
        stage.run()
    with pytest.raises(LimitError, match="calls"):
        inbox.take()
    assert not core.consumers.inboxes
    assert core.is_open


def test_a_consumer_that_cannot_start_is_none() -> None:
    stage = staged(limits=Limits(calls=1))
    stage.queue("q", b"1")
    core = stage.open()
    with pytest.raises(LimitError, match="calls"):
        core.subscribe("q")
    stage.run()
    assert not core.consumers.inboxes
    stage.cut()
    stage.connect()
    assert not stage.broker.consumers
    assert stage.bodies("q") == [b"1"]


def test_an_auto_delete_queue_is_declared_again_as_long_as_it_has_a_consumer() -> None:
    """However often a program makes one for an answer, say: what its broker has deleted is not kept here."""
    stage = staged()
    core, other = stage.open(), stage.open()
    topology = stage.client.topology
    stage.get(core.execute(queue.Declare("q", False, False, False, True, False, {}, 0)))
    stage.get(core.execute(queue.Declare("stays", False, False, False, False, False, {}, 0)))
    inboxes = [core.subscribe("q"), other.subscribe("q"), core.subscribe("stays"), core.subscribe("q")]
    stage.run()
    stage.get(inboxes[0].cancel())
    stage.get(inboxes[2].cancel())
    stage.get(other.close())
    assert list(topology.queues) == ["q", "stays"]
    (consumer,) = stage.broker.consumers["q"]
    consumer.channel.cancel_consumer(consumer.tag)
    stage.run()
    assert list(topology.queues) == ["stays"]


def test_a_consumer_that_ends_between_two_connections_takes_its_queue_along() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q", False, False, False, True, False, {}, 0)))
    inbox = core.subscribe("q")
    stage.run()
    stage.cut()
    assert inbox.cancel().done
    assert not stage.client.topology.queues


def test_an_auto_delete_queue_whose_last_consumer_was_to_end_at_a_loss_is_not_declared_again() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q", False, False, False, True, False, {}, 0)))
    inbox = core.subscribe("q")
    stage.run()
    stage.broker.mute = True
    inbox.cancel()
    stage.run()
    stage.cut()
    del stage.broker.queues["q"]
    stage.broker.mute = False
    stage.connect()
    assert core.is_open
    assert not stage.broker.queues


def test_a_consumer_of_no_queue_fails_with_its_channel() -> None:
    stage = staged()
    inbox = stage.open().subscribe("none")
    stage.run()
    with pytest.raises(ChannelClosed, match="404"):
        inbox.take()


def test_what_came_to_a_consumer_that_the_server_cancels_goes_back() -> None:
    """The queue may be there as before: on another node of its cluster, say."""
    stage = staged()
    stage.queue("q", b"1", b"2")
    core = stage.open()
    core.subscribe("q")
    stage.run()
    (consumer,) = stage.broker.consumers.pop("q")
    consumer.channel.cancel_consumer(consumer.tag)
    stage.run()
    assert stage.bodies("q") == [b"1", b"2"]
    assert not core.channel.unsettled


def held(retry: RetryPolicy) -> tuple[Stage, ChannelCore, Inbox, ChannelServerConnection]:
    """An exclusive consumer, whose client has connected again while the broker takes the old connection for alive."""
    stage = staged(retry=retry)
    stage.queue("q")
    core, other = stage.open(), stage.open()
    inbox = core.subscribe("q", exclusive=True)
    stage.run()
    old = stage.lose()
    stage.connect()
    assert (core.is_open, other.is_open, core.error) == (False, True, None)
    return stage, core, inbox, old


def test_an_exclusive_consumer_starts_when_the_broker_has_noticed_the_loss() -> None:
    """RabbitMQ answers 403 until its own heartbeat tells it; other channels are open meanwhile."""
    stage, core, inbox, old = held(RetryPolicy(first=1.0, jitter=0.9))
    for now, due in ((0.9, 1.0), (1.0, 3.0), (2.9, 3.0)):
        stage.now = now
        stage.run()
        assert (core.is_open, stage.client.due, stage.client.awaits_end) == (False, due, True)
    stage.broker.lose(old)
    stage.now = 3.0
    stage.run()
    assert (core.is_open, stage.client.due, stage.client.awaits_end) == (True, None, False)
    stage.get(core.publish("", "q", b"1", {}))
    stage.run()
    assert [message.body for message in inbox.messages] == [b"1"]


def test_an_exclusive_consumer_that_somebody_else_has_fails_in_the_end() -> None:
    stage, core, inbox, _ = held(RetryPolicy(first=1.0, give_up=3.0))
    for now in (1.0, 3.0):
        assert core.error is None
        stage.now = now
        stage.run()
    assert isinstance(core.error, ChannelClosed)
    assert isinstance(inbox.error, ChannelClosed)
    assert (core.error.code, stage.client.due) == (403, None)


def test_a_consumer_that_did_not_start_before_the_loss_is_refused_at_once() -> None:
    stage, _, _, _ = held(RetryPolicy(first=1.0))
    other = list(stage.client.cores)[1]
    other.subscribe("q")
    stage.run()
    assert isinstance(other.error, ChannelClosed)
    assert other.error.code == 403


@pytest.mark.parametrize("ends", ["close", "loss"])
def test_a_channel_that_waits_to_be_opened_once_more_may_end_before(ends: str) -> None:
    stage, core, _, old = held(RetryPolicy(first=1.0))
    if ends == "close":
        assert core.close().done
    else:
        stage.cut()
        stage.broker.lose(old)
        stage.connect()
    assert (core.is_open, stage.client.due) == (ends == "loss", None)
