"""The messages of one consumer that came and were not taken yet."""

from __future__ import annotations

import pytest
from tests.conversation.channels.stage import staged

from amqp_sansio.errors import ChannelClosed, SubscriptionClosed


def test_what_came_and_was_not_taken_goes_back() -> None:
    stage = staged()
    stage.queue("q", b"1", b"2", b"3")
    inbox = stage.open().subscribe("q")
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
    inbox = stage.open().subscribe("q")
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
    inbox = stage.open().subscribe("q", prefetch=1, accept=False)
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
    inbox = core.subscribe("q")
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
    inbox = core.subscribe("q")
    assert inbox.cancel().done
    stage.run()
    assert stage.bodies("q") == [b"1"]
    assert "q" not in stage.broker.consumers


def test_a_cancel_fails_when_the_channel_is_lost_first() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.subscribe("q")
    stage.run()
    stage.broker.mute = True
    cancelled = inbox.cancel()
    stage.run()
    stage.cut()
    with pytest.raises(ChannelClosed):
        cancelled.result()


def test_it_shows_where_it_stands() -> None:
    stage = staged()
    stage.queue("q", b"1")
    inbox = stage.open().subscribe("q")
    stage.run()
    assert repr(inbox) == "<Inbox 'test-1-1' of 'q', 1 waiting>"
