"""The messages of one consumer that came and were not taken yet."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conversation.channels.stage import Stage, staged

from amqp_sansio.conversation.channels import consumers as inboxes
from amqp_sansio.conversation.channels.consumers import Inbox
from amqp_sansio.conversation.channels.core import ChannelCore
from amqp_sansio.conversation.retry import RetryPolicy
from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.engine.channel_server import ChannelServerConnection
from amqp_sansio.errors import ChannelClosed, LimitError, LocalProtocolError, SubscriptionCancelled, SubscriptionClosed
from amqp_sansio.events import MethodReceived
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import basic, queue


def test_what_came_and_was_not_taken_goes_back() -> None:
    stage = staged()
    stage.queue("q", b"1", b"2", b"3")
    inbox = stage.open().consumers.subscribe("q")
    stage.run()
    message = inbox.take()
    assert message is not None
    message.accept()
    stage.get(inbox.cancel())
    stage.run()
    assert stage.bodies("q") == [b"2", b"3"]
    assert inbox.closed
    assert inbox.take() is None
    with pytest.raises(SubscriptionClosed):
        inbox.must_be_open()


def test_what_came_may_still_be_taken_behind_a_stop() -> None:
    stage = staged()
    stage.queue("q", b"1", b"2")
    inbox = stage.open().consumers.subscribe("q")
    stage.run()
    stage.get(inbox.cancel(keep=True))
    assert inbox.closed
    assert len(inbox.messages) == 2
    message = inbox.take()
    assert message is not None
    message.accept()
    inbox.release()
    stage.run()
    assert stage.bodies("q") == [b"2"]


def test_without_acceptance_a_message_counts_as_done_when_it_is_taken() -> None:
    stage = staged()
    stage.queue("q", b"1", b"2", b"3")
    inbox = stage.open().consumers.subscribe("q", prefetch=1, accept=False)
    stage.run()
    assert len(inbox.messages) == 1
    for expected in (b"1", b"2", b"3"):
        message = inbox.take()
        assert message is not None
        assert message.body == expected
        stage.run()
    assert stage.broker.sides
    assert not any(side.unsettled for side in stage.broker.sides.values())


def test_more_is_settled_by_a_message_or_the_end() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    waits = inbox.more
    done = [waits.done]
    stage.get(core.publish("", "q", b"1", {}))
    assert [*done, waits.done, inbox.more.done] == [False, True, True]
    inbox.messages.clear()
    ends = inbox.more
    stage.get(core.close())
    assert ends.done


def test_a_stop_before_the_channel_is_open_just_ends_it() -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.client.open_channel()
    inbox = core.consumers.subscribe("q")
    assert inbox.cancel().done
    stage.run()
    assert stage.bodies("q") == [b"1"]
    assert "q" not in stage.broker.consumers


def test_a_cancel_that_is_answered_behind_our_close_gives_nothing_back() -> None:
    """What is here goes back with the channel."""
    stage = staged()
    stage.queue("q", b"1", b"2")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    cancelled, closed = inbox.cancel(), core.close()
    assert not core.is_open
    stage.run()
    assert cancelled.done
    assert closed.done
    assert (cancelled.error, closed.error) == (None, None)
    assert stage.bodies("q") == [b"1", b"2"]


def test_what_the_server_takes_back_is_here_no_more() -> None:
    """basic.recover: it comes again, under other tags, and what came first could not be settled any more."""
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    (consumer,) = stage.broker.consumers["q"]
    consumer.channel.deliver(inbox.tag, b"1")
    stage.run()
    stage.broker.mute = True
    said = core.execute(basic.Recover(True))
    assert not inbox.messages
    consumer.channel.deliver(inbox.tag, b"on its way")
    server = stage.server
    assert server is not None
    stage.client.receive_data(server.data_to_send())
    stage.run()
    assert not inbox.messages
    consumer.channel.reply(consumer.channel._heard.kept[0].id, basic.RecoverOk())
    consumer.channel.deliver(inbox.tag, b"again")
    stage.run()
    assert isinstance(said.result(), basic.RecoverOk)
    message = inbox.take()
    assert message is not None
    assert (message.body, inbox.take()) == (b"again", None)
    message.accept()


def test_a_cancel_waits_until_the_consumer_has_begun() -> None:
    """RabbitMQ breaks down over one that it hears before it has said consume-ok, and ends the connection with 541."""
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    cancelled = inbox.cancel()
    stage.broker.heard.clear()
    stage.client.tick(0.0)
    server = stage.server
    assert server is not None
    server.receive_data(stage.client.machine.data_to_send())
    stage.broker.hear(server)
    said = [event.method.VERB for event in stage.broker.heard if isinstance(event, MethodReceived)]
    assert said == ["basic.qos", "basic.consume"]
    assert stage.get(cancelled) is None
    assert stage.bodies("q") == [b"1"]
    assert not stage.broker.consumers["q"]


def test_a_cancel_of_what_the_server_has_ended_is_done() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    (consumer,) = stage.broker.consumers["q"]
    consumer.channel.cancel_consumer(inbox.tag)
    stage.run()
    assert inbox.closed
    assert inbox.cancel().done


def test_a_cancel_fails_with_the_consumer_that_never_began() -> None:
    stage = staged()
    core = stage.open()
    cancelled = core.consumers.subscribe("none").cancel()
    stage.run()
    with pytest.raises(ChannelClosed, match="404"):
        cancelled.result()


def test_a_cancel_beyond_the_limit_of_calls_fails() -> None:
    stage = staged(limits=Limits(calls=2))
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    stage.broker.mute = True
    for _ in range(2):
        core.execute(basic.Qos(0, 1, False))
    with pytest.raises(LimitError, match="calls"):
        inbox.cancel().result()


@pytest.mark.parametrize("begun", [False, True])
def test_a_consumer_survives_a_loss_unless_its_end_was_wanted(begun: bool) -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    stage.broker.mute = not begun
    stays, goes = core.consumers.subscribe("q", prefetch=3), core.consumers.subscribe("q", prefetch=3)
    if begun:
        stage.run()
    stage.broker.mute = True
    cancelled = goes.cancel()
    stage.run()
    stage.cut()
    assert isinstance(cancelled.error, ChannelClosed)
    assert (stays.closed, goes.closed) == (False, True)
    stage.broker.mute = False
    stage.connect()
    assert [consumer.tag for consumer in stage.broker.consumers["q"]] == [stays.tag]
    assert len(stays.messages) == 1


def test_a_cancel_fails_when_the_channel_is_lost_first() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    stage.broker.mute = True
    cancelled = inbox.cancel()
    stage.run()
    stage.cut()
    with pytest.raises(ChannelClosed):
        cancelled.result()


def flooded(messages: int, *, prefetch: int = 2, resubscribe: bool = False) -> tuple[Stage, Inbox]:
    """A consumer of a server that heeds no basic.qos: so many messages of 2 octets are here."""
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q", prefetch=prefetch, resubscribe=resubscribe)
    stage.run()
    deliver(stage, inbox, messages)
    return stage, inbox


def deliver(stage: Stage, inbox: Inbox, messages: int) -> None:
    (consumer,) = stage.broker.consumers["q"]
    for _ in range(messages):
        consumer.channel.deliver(inbox.tag, b"42")
    stage.run()


@pytest.mark.parametrize(("more", "fine"), [(-1, True), (0, True), (1, False)])
def test_so_much_may_come_beyond_the_prefetch(more: int, fine: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """BEYOND_OCTETS: RabbitMQ delivers whole chunks of a stream; what goes beyond that ends the channel, and is dropped."""
    header = len(basic_header())
    monkeypatch.setattr(inboxes, "BEYOND_OCTETS", 3 * (header + 2 + inboxes.MESSAGE_OCTETS) - more)
    _, inbox = flooded(5)
    assert inbox.closed is not fine
    if fine:
        assert len(inbox.messages) == 5
        return
    assert not inbox.messages
    with pytest.raises(ChannelClosed, match=r"basic.qos.prefetch-count.*: 5 messages wait") as caught:
        inbox.take()
    assert (caught.value.code, caught.value.method) == (406, "basic.deliver")
    assert inbox.core.client.is_open


def basic_header() -> bytes:
    """The header of a content without properties."""
    return AMQP_0_9_1.codec.write_header(60, 2, basic.Properties())


def test_what_is_taken_makes_room_beyond_the_prefetch_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inboxes, "BEYOND_OCTETS", 3 * (inboxes.MESSAGE_OCTETS + 40))
    stage, inbox = flooded(5)
    for _ in range(4):
        for _ in range(4):
            assert inbox.take() is not None
        deliver(stage, inbox, 4)
    assert not inbox.closed


@pytest.mark.parametrize("asked", [7, 0])
def test_a_prefetch_for_all_of_the_channel_counts_for_each_consumer(asked: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The documents count so; 0 asks for any number."""
    monkeypatch.setattr(inboxes, "BEYOND_OCTETS", 1)
    stage, inbox = flooded(2)
    stage.get(inbox.core.execute(basic.Qos(0, asked, False)))
    deliver(stage, inbox, 5)
    assert not inbox.closed
    deliver(stage, inbox, 1)
    assert inbox.closed is bool(asked)


def test_a_server_that_cancels_again_and_again_brings_no_more_than_twice_the_prefetch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A consumer that starts again does so once no more than its prefetch is here, which is then within what was asked for."""
    monkeypatch.setattr(inboxes, "BEYOND_OCTETS", 1)
    stage, inbox = flooded(2, resubscribe=True)

    def cancel() -> None:
        (consumer,) = stage.broker.consumers.pop("q")
        consumer.channel.cancel_consumer(inbox.tag)
        stage.run()

    cancel()
    deliver(stage, inbox, 2)
    cancel()
    assert "q" not in stage.broker.consumers
    assert len(inbox.messages) == 4
    for left in (3, 2):
        assert inbox.take() is not None
        stage.run()
        assert ("q" in stage.broker.consumers) is (left == 2)
    assert not inbox.closed


def test_a_consumer_that_waits_to_start_again_starts_once_behind_a_loss() -> None:
    """The next connection starts it; a second basic.consume with its tag would break a rule."""
    stage, inbox = flooded(3, resubscribe=True)
    (consumer,) = stage.broker.consumers.pop("q")
    consumer.channel.cancel_consumer(inbox.tag)
    stage.run()
    stage.cut()
    stage.queue("q", b"1", b"2")
    stage.connect()
    stage.broker.heard.clear()
    for _ in range(2):
        assert inbox.take() is not None
        stage.run()
    assert stage.broker.heard == []
    assert [each.tag for each in stage.broker.consumers["q"]] == [inbox.tag]
    assert inbox.core.is_open


def test_a_program_may_cancel_a_consumer_twice() -> None:
    """The first call decides what becomes of its messages; the server hears of one."""
    stage, inbox = flooded(2)
    first, second = inbox.cancel(keep=True), inbox.cancel()
    stage.broker.heard.clear()
    stage.run()
    assert [each.method.VERB for each in stage.broker.heard if isinstance(each, MethodReceived)] == ["basic.cancel"]
    assert (first.done, second.done, inbox.cancel().done) == (True, True, True)
    assert len(inbox.messages) == 2


def test_a_consumer_that_is_cancelled_as_another_one_fails_with_their_channel_has_no_error() -> None:
    """It waited to start again, so that its cancel is done at once."""
    stage = staged()
    stage.queue("q")
    stage.queue("r")
    core = stage.open()
    first, second = core.consumers.subscribe("r"), core.consumers.subscribe("q", prefetch=2, resubscribe=True)
    stage.run()
    deliver(stage, second, 3)
    (consumer,) = stage.broker.consumers.pop("q")
    consumer.channel.cancel_consumer(second.tag)
    stage.run()

    def cancel() -> None:
        second.cancel(keep=True)

    first.more.on_done(cancel)
    core.calls.get("none")
    stage.run()
    assert isinstance(first.error, ChannelClosed)
    assert (second.closed, second.error, second.cancel().error) == (True, None, None)


def test_a_consumer_that_is_stopped_does_not_start_again() -> None:
    stage, inbox = flooded(3, resubscribe=True)
    (consumer,) = stage.broker.consumers.pop("q")
    consumer.channel.cancel_consumer(inbox.tag)
    stage.run()
    inbox.cancel(keep=True)
    while inbox.take() is not None:
        stage.run()
    assert not stage.broker.consumers.get("q")


def test_it_shows_where_it_stands() -> None:
    stage = staged()
    stage.queue("q", b"1")
    inbox = stage.open().consumers.subscribe("q")
    stage.run()
    assert repr(inbox) == "<Inbox 'test-1-1' of 'q', 1 waiting>"


def test_a_cancel_of_the_server_that_crosses_that_of_the_user_starts_nothing_again() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q", resubscribe=True)
    stage.run()
    assert stage.server is not None
    (served,) = stage.server.channels
    served.cancel_consumer(inbox.tag)
    cancelled = inbox.cancel()
    stage.run()
    assert cancelled.done
    assert inbox.closed
    assert served.consumers == core.channel.consumers == ()


def test_what_was_kept_at_a_stop_goes_with_its_channel() -> None:
    """Behind a loss the same tags are those of other messages."""
    stage = staged()
    stage.queue("q", b"1", b"2")
    stage.queue("r", b"3", b"4")
    core = stage.open()
    stopped = core.consumers.subscribe("q", accept=False)
    stage.run()
    stage.get(stopped.cancel(keep=True))
    stage.cut()
    stage.connect()
    other = core.consumers.subscribe("r")
    stage.run()
    held = other.take()
    assert held is not None
    assert stopped.take() is None  # it goes to others now
    stopped.release()
    stage.run()
    assert len(other.messages) == 1
    held.accept()
    stage.run()
    assert stage.bodies("q") == [b"1", b"2"]


@pytest.mark.parametrize("ends", ["recover", "close", "refuse"])
def test_what_was_kept_at_a_stop_is_dropped_when_it_cannot_be_settled_any_more(ends: str) -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    stopped = core.consumers.subscribe("q")
    stage.run()
    stage.get(stopped.cancel(keep=True))
    if ends == "recover":
        core.execute(basic.Recover(True))
    elif ends == "close":
        core.close()
    else:
        core.calls.get("none")
    stage.run()
    assert stopped.take() is None
    stopped.release()


def test_what_the_user_has_settled_by_a_method_is_not_given_back() -> None:
    stage = staged()
    stage.queue("q", b"1", b"2", b"3")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    core.execute(basic.Ack(2, True))
    stage.get(inbox.cancel())
    stage.run()
    assert stage.bodies("q") == [b"3"]


@pytest.mark.parametrize("prefetch", [0, 65536, "x"])
def test_a_prefetch_has_bounds(prefetch: Any) -> None:
    with pytest.raises(LocalProtocolError, match="1 to 65535"):
        staged().open().consumers.subscribe("q", prefetch=prefetch)


@pytest.mark.parametrize("prefetch", [1, 65535])
def test_a_prefetch_at_its_bounds(prefetch: int) -> None:
    stage = staged()
    stage.queue("q", b"1")
    inbox = stage.open().consumers.subscribe("q", prefetch=prefetch)
    stage.run()
    assert inbox.take() is not None


@pytest.mark.parametrize(("most", "fine"), [(9, False), (10, True), (11, True)])
def test_consumers_request_no_more_than_may_be_unsettled(most: int, fine: bool) -> None:
    """Else the server, which delivers what it was asked for, would break our limit."""
    stage = staged(limits=Limits(deliveries=most))
    stage.queue("q", *[b"%d" % number for number in range(12)])
    core = stage.open()
    first = core.consumers.subscribe("q", prefetch=4)
    if fine:
        core.consumers.subscribe("q", prefetch=6)
    else:
        with pytest.raises(LimitError, match="deliveries is 9; 10 asked for"):
            core.consumers.subscribe("q", prefetch=6)
    stage.run()
    stage.get(first.cancel())
    assert core.consumers.subscribe("q", prefetch=4).prefetch == 4  # there is room again
    stage.run()
    assert core.is_open


def test_the_server_cancels_a_consumer() -> None:
    stage = staged()
    stage.queue("q", b"1")
    core = stage.open()
    stays = core.consumers.subscribe("q", resubscribe=True)
    goes = stage.open().consumers.subscribe("q")
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
    inbox = core.consumers.subscribe("q", resubscribe=True)
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
        core.consumers.subscribe("q")
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
    inboxes = [
        core.consumers.subscribe("q"),
        other.consumers.subscribe("q"),
        core.consumers.subscribe("stays"),
        core.consumers.subscribe("q"),
    ]
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
    inbox = core.consumers.subscribe("q")
    stage.run()
    stage.cut()
    assert inbox.cancel().done
    assert not stage.client.topology.queues


def test_an_auto_delete_queue_whose_last_consumer_was_to_end_at_a_loss_is_not_declared_again() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q", False, False, False, True, False, {}, 0)))
    inbox = core.consumers.subscribe("q")
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
    inbox = stage.open().consumers.subscribe("none")
    stage.run()
    with pytest.raises(ChannelClosed, match="404"):
        inbox.take()


def test_what_came_to_a_consumer_that_the_server_cancels_goes_back() -> None:
    """The queue may be there as before: on another node of its cluster, say."""
    stage = staged()
    stage.queue("q", b"1", b"2")
    core = stage.open()
    core.consumers.subscribe("q")
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
    inbox = core.consumers.subscribe("q", exclusive=True)
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
    other = list(stage.client.cores.values())[1]
    other.consumers.subscribe("q")
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
