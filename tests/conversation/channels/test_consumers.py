"""The consumers of a channel: how they start, and what ends them."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.channels.stage import staged

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
