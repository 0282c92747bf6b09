"""Messages accepted one by one are said to be together, in time."""

from __future__ import annotations

import pytest
from tests.conversation.stage import Stage, staged

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.inbox import PREFETCH
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.events import CommandReceived, Event
from amqp_sansio.spec import queue


def holding(
    count: int, timeout: int = 600, config: ClientConfig | None = None, prefetch: int = PREFETCH
) -> tuple[Stage, Talk, list[Message], list[Event]]:
    """Somebody who holds messages, and what the broker hears from now on."""
    stage = staged(config=config)
    talk = stage.open(timeout=timeout)
    stage.get(talk.execute(queue.Declare("q")))
    for number in range(count):
        if not talk.has_room:
            stage.run()
        talk.publish("", "q", b"%d" % number)
    inbox = talk.subscribe("q", prefetch=prefetch)
    stage.run()
    held = list(inbox.messages)
    inbox.messages.clear()
    heard: list[Event] = []
    plain = stage.broker.next_event

    def next_event() -> object:
        happened = plain()
        if happened is not None:
            heard.append(happened[1])
        return happened

    stage.broker.next_event = next_event  # type: ignore[assignment, method-assign]
    return stage, talk, held, heard


def said(heard: list[Event]) -> list[str]:
    return [event.command.VERB for event in heard if isinstance(event, CommandReceived)]


def test_one_word_for_many_messages() -> None:
    stage, _, held, heard = holding(20)
    for each in held:
        each.accept()
    stage.run()
    assert said(heard) == ["message.accept"]
    assert stage.broker.host("").queues["q"].messages == 0


def test_as_many_words_as_it_takes_where_the_ids_are_scattered() -> None:
    """One frame holds 509 ranges here: who accepts every second message says more than that."""
    stage, _, held, heard = holding(2200, config=ClientConfig(max_frame_size=4096), prefetch=2200)
    for each in held[::2]:
        each.accept()
    stage.run()
    assert said(heard) == ["message.accept"] * 3
    assert stage.broker.host("").queues["q"].messages == 1100


def test_cancel_releases_scattered_messages_in_as_many_commands_as_frames_need() -> None:
    """Two subscriptions of a session take turns, so that the ids of each are scattered."""
    stage, talk, _, heard = holding(2200, config=ClientConfig(max_frame_size=4096), prefetch=1)
    inboxes = [talk.subscribe("q", prefetch=1100) for _ in range(2)]
    stage.run()
    stage.get(inboxes[0].cancel())
    stage.run()
    assert said(heard).count("message.release") == 2
    assert not inboxes[0].messages


def test_a_failed_transaction_releases_what_it_had_accepted_in_as_many_commands_as_frames_need() -> None:
    stage, talk, held, heard = holding(1100, config=ClientConfig(max_frame_size=4096), prefetch=1100)
    talk.transactions.begin()
    for each in held[::2]:
        each.accept()
    talk.transactions.abandon()
    stage.run()
    assert said(heard)[-3:] == ["tx.rollback", "message.release", "message.release"]


def test_in_a_block_they_wait_for_half_a_window_or_for_its_end() -> None:
    """Who answers each message was heard to accept each by itself, behind the answer before."""
    stage, talk, held, heard = holding(20, prefetch=20)
    talk.transactions.begin()
    for each in held:
        each.accept()
        talk.publish("", "q", b"answer")
        stage.run()
    stage.get(talk.transactions.finish())
    assert said(heard) == ["tx.select", "message.accept", "message.accept", "tx.commit"]
    assert stage.broker.host("").queues["q"].messages == 20


def test_in_a_block_a_window_that_is_closed_is_opened() -> None:
    stage, talk, held, heard = holding(20, prefetch=8)
    (inbox,) = talk.inboxes.values()
    talk.transactions.begin()
    for each in held[:3]:  # the other five are not accepted yet
        each.accept()
    stage.run()
    assert (len(held), said(heard), inbox.take()) == (8, ["tx.select"], None)
    stage.get(inbox.more)
    assert len(inbox.messages) == 3
    talk.transactions.abandon()
    stage.run()
    assert stage.broker.host("").queues["q"].messages == 20


def test_in_a_block_a_bound_of_octets_is_not_kept_closed() -> None:
    stage, talk, _, _ = holding(0)
    stage.get(next(iter(talk.inboxes.values())).cancel())
    inbox = talk.subscribe("q", prefetch=100, octets=100)
    for _ in range(20):
        talk.publish("", "q", b"five!")
    stage.run()
    talk.transactions.begin()
    for _ in range(20):
        if not inbox.messages:
            stage.get(inbox.more)
        message = inbox.take()
        assert message is not None
        message.accept()
    stage.get(talk.transactions.finish())
    assert stage.broker.host("").queues["q"].messages == 0


def test_later_commands_arrive_after_them() -> None:
    stage, talk, held, heard = holding(4)
    held[0].accept()
    held[1].accept()
    talk.execute(queue.Query("q"))
    held[2].accept()
    held[3].release()
    stage.run()
    assert said(heard)[:4] == ["message.accept", "queue.query", "message.accept", "message.release"]


@pytest.mark.parametrize("again", ["accept", "release", "reject"])
def test_a_message_is_settled_once(again: str) -> None:
    _, _, held, _ = holding(1)
    held[0].accept()
    with pytest.raises(LocalProtocolError):
        getattr(held[0], again)()


def test_messages_accepted_during_a_reconnect_are_sent_after_it() -> None:
    stage, _, held, heard = holding(3)
    stage.cut()
    for each in held:
        each.accept()
    stage.connect()
    assert "message.accept" in said(heard)
    assert stage.broker.host("").queues["q"].messages == 0


def test_messages_of_a_session_that_is_lost_come_again() -> None:
    stage, talk, held, _ = holding(2, timeout=0)
    held[0].accept()
    stage.cut()
    with pytest.raises(SessionDetachedError):
        held[1].accept()
    stage.connect()
    stage.get(talk.sync())
    assert stage.broker.host("").queues["q"].messages == 2


def test_leaving_sends_them_before() -> None:
    stage, talk, held, _ = holding(1)
    held[0].accept()
    stage.get(talk.detach())
    assert stage.broker.host("").queues["q"].messages == 0


def test_a_message_that_was_only_browsed_cannot_be_accepted() -> None:
    stage = staged()
    talk = stage.open()
    stage.get(talk.execute(queue.Declare("q")))
    talk.publish("", "q", b"x")
    inbox = talk.subscribe("q", browse=True)
    stage.run()
    message = inbox.take()
    assert message is not None
    with pytest.raises(LocalProtocolError):
        message.accept()
