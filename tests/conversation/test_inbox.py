"""Messages accepted one by one are said to be together, in time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conversation.stage import Stage, staged

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.inbox import PREFETCH, Inbox
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.session_core import SessionCore
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.events import CommandReceived, Event
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import RejectCode


def holding(
    count: int, timeout: int = 600, config: ClientConfig | None = None, prefetch: int = PREFETCH
) -> tuple[Stage, SessionCore, list[Message], list[Event]]:
    """Somebody who holds messages, and what the broker hears from now on."""
    stage = staged(config=config)
    core = stage.open(timeout=timeout)
    stage.get(core.execute(queue.Declare("q")))
    for number in range(count):
        if not core.has_room:
            stage.run()
        core.publish("", "q", b"%d" % number, {})
    inbox = core.subscribe("q", prefetch=prefetch)
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
    return stage, core, held, heard


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
    stage, core, _, heard = holding(2200, config=ClientConfig(max_frame_size=4096), prefetch=1)
    inboxes = [core.subscribe("q", prefetch=1100) for _ in range(2)]
    stage.run()
    stage.get(inboxes[0].cancel())
    stage.run()
    assert said(heard).count("message.release") == 2
    assert not inboxes[0].messages


def test_a_failed_transaction_releases_what_it_had_accepted_in_as_many_commands_as_frames_need() -> None:
    stage, core, held, heard = holding(1100, config=ClientConfig(max_frame_size=4096), prefetch=1100)
    core.transactions.begin()
    for each in held[::2]:
        each.accept()
    core.transactions.abandon()
    stage.run()
    assert said(heard)[-3:] == ["tx.rollback", "message.release", "message.release"]


def test_in_a_block_they_wait_for_half_a_window_or_for_its_end() -> None:
    """Who answers each message was heard to accept each by itself, behind the answer before."""
    stage, core, held, heard = holding(20, prefetch=20)
    core.transactions.begin()
    for each in held:
        each.accept()
        core.publish("", "q", b"answer", {})
        stage.run()
    stage.get(core.transactions.finish())
    assert said(heard) == ["tx.select", "message.accept", "message.accept", "tx.commit"]
    assert stage.broker.host("").queues["q"].messages == 20


def test_in_a_block_a_window_that_is_closed_is_opened() -> None:
    stage, core, held, heard = holding(20, prefetch=8)
    (inbox,) = core.inboxes.values()
    core.transactions.begin()
    for each in held[:3]:  # the other five are not accepted yet
        each.accept()
    stage.run()
    assert (len(held), said(heard), inbox.take()) == (8, ["tx.select"], None)
    stage.get(inbox.more)
    assert len(inbox.messages) == 3
    core.transactions.abandon()
    stage.run()
    assert stage.broker.host("").queues["q"].messages == 20


def test_in_a_block_a_bound_of_octets_is_not_kept_closed() -> None:
    stage, core, _, _ = holding(0)
    stage.get(next(iter(core.inboxes.values())).cancel())
    inbox = core.subscribe("q", prefetch=100, octets=100)
    for _ in range(20):
        core.publish("", "q", b"five!", {})
    stage.run()
    core.transactions.begin()
    for _ in range(20):
        if not inbox.messages:
            stage.get(inbox.more)
        message = inbox.take()
        assert message is not None
        message.accept()
    stage.get(core.transactions.finish())
    assert stage.broker.host("").queues["q"].messages == 0


def test_later_commands_arrive_after_them() -> None:
    stage, core, held, heard = holding(4)
    held[0].accept()
    held[1].accept()
    core.execute(queue.Query("q"))
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
    stage, core, held, _ = holding(2, timeout=0)
    held[0].accept()
    stage.cut()
    with pytest.raises(SessionDetachedError):
        held[1].accept()
    stage.connect()
    stage.get(core.sync())
    assert stage.broker.host("").queues["q"].messages == 2


def test_leaving_sends_them_before() -> None:
    stage, core, held, _ = holding(1)
    held[0].accept()
    stage.get(core.close())
    assert stage.broker.host("").queues["q"].messages == 0


def test_a_message_that_was_only_browsed_cannot_be_accepted() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    core.publish("", "q", b"x", {})
    inbox = core.subscribe("q", browse=True)
    stage.run()
    message = inbox.take()
    assert message is not None
    with pytest.raises(LocalProtocolError):
        message.accept()


def filled(count: int, **settings: object) -> tuple[Stage, SessionCore]:
    """A queue "q" with messages on it, and a session."""
    stage = staged()
    core = stage.open(timeout=600)
    stage.get(core.execute(queue.Declare("q")))
    for number in range(count):
        core.publish("", "q", str(number).encode(), {})
        stage.run()
    return stage, core


def bodies(inbox: Inbox) -> list[bytes]:
    return [message.body for message in inbox.messages]


@pytest.mark.parametrize("accept", [True, False])
def test_no_more_comes_than_is_prefetched(accept: bool) -> None:
    stage, core = filled(20)
    inbox = core.subscribe("q", prefetch=4, accept=accept)
    stage.run()
    assert bodies(inbox) == [b"0", b"1", b"2", b"3"]
    for _ in range(8):
        message = inbox.take()
        assert message is not None
        if accept:
            message.accept()
        stage.run()
        assert len(inbox.messages) <= 4
    assert bodies(inbox)[0] == b"8"


def test_a_consumer_that_does_not_settle_gets_nothing_more() -> None:
    stage, core = filled(20)
    inbox = core.subscribe("q", prefetch=4)
    stage.run()
    for _ in range(4):
        inbox.take()
    stage.run()
    assert inbox.take() is None


@given(st.lists(st.sampled_from(["take", "accept", "release", "reject", "run"]), max_size=60), st.integers(1, 5))
def test_never_more_than_the_prefetch_is_here_and_unsettled(steps: list[str], prefetch: int) -> None:
    """However a consumer takes and settles, what is here and not settled is never more than it prefetches."""
    stage, core = filled(10)
    inbox = core.subscribe("q", prefetch=prefetch)
    held = []
    for step in steps:
        if step == "run":
            stage.run()
        elif step == "take":
            message = inbox.take()
            if message is not None:
                held.append(message)
        elif held:
            getattr(held.pop(0), step)()
        assert len(inbox.messages) + len(held) <= prefetch


def test_octets_are_bounded_too() -> None:
    stage, core = filled(0)
    for _ in range(10):
        core.publish("", "q", b"x" * 1000, {})
    stage.run()
    inbox = core.subscribe("q", prefetch=100, octets=3000, accept=False)
    stage.run()
    assert 1 <= len(inbox.messages) <= 3


def test_an_accepted_message_is_not_accepted_again() -> None:
    stage, core = filled(1)
    inbox = core.subscribe("q")
    stage.run()
    message = inbox.take()
    assert message is not None
    message.accept()
    with pytest.raises(LocalProtocolError):
        message.accept()
    stage.run()
    assert stage.depth("q") == 0


def test_a_released_message_comes_again_and_a_rejected_one_does_not() -> None:
    stage, core = filled(2)
    inbox = core.subscribe("q")
    stage.run()
    first, second = inbox.take(), inbox.take()
    assert first is not None
    assert second is not None
    first.release(redelivered=True)
    second.reject(RejectCode.UNROUTABLE, "no")
    stage.run()
    assert [(message.body, message.redelivered) for message in inbox.messages] == [(b"0", True)]


def test_browsing_leaves_the_messages() -> None:
    stage, core = filled(3)
    inbox = core.subscribe("q", browse=True, accept=False)
    stage.run()
    assert bodies(inbox) == [b"0", b"1", b"2"]
    assert stage.depth("q") == 3


def test_a_cancelled_subscription_gives_back_what_nobody_took() -> None:
    stage, core = filled(5)
    inbox = core.subscribe("q")
    stage.run()
    taken = inbox.take()
    assert taken is not None
    stage.get(inbox.cancel())
    assert inbox.closed
    assert inbox.take() is None
    stage.run()
    assert stage.depth("q") == 4
    taken.accept()
    stage.run()
    assert inbox.cancel().done
    assert repr(inbox) == "<Inbox 'q-1' of 'q', 0 waiting>"


def test_messages_that_cross_the_cancel_are_given_back() -> None:
    stage, core = filled(5)
    inbox = core.subscribe("q")
    cancelled = inbox.cancel()
    stage.get(cancelled)
    stage.run()
    assert stage.depth("q") == 5


def test_more_tells_of_messages_and_of_the_end() -> None:
    stage, core = filled(0)
    inbox = core.subscribe("q")
    more = inbox.more
    assert more is inbox.more
    assert not more.done
    core.publish("", "q", b"x", {})
    stage.get(more)
    assert inbox.more.done
    inbox.take()
    ending = inbox.more
    inbox.cancel()
    stage.get(ending)


def test_what_is_settled_during_a_reconnect_is_sent_after_it() -> None:
    stage, core = filled(3)
    inbox = core.subscribe("q")
    stage.run()
    stage.cut()
    first, second = inbox.take(), inbox.take()
    assert first is not None
    assert second is not None
    first.accept()
    second.release()
    stage.connect()
    stage.run()
    assert stage.broker.host("").queues["q"].messages == 2


def test_a_subscription_cancelled_while_the_connection_is_made_again_stays_cancelled() -> None:
    stage, core = filled(3)
    inbox = core.subscribe("q")
    stage.run()
    stage.cut()
    assert inbox.cancel().done
    stage.connect()
    stage.get(core.sync())
    assert stage.depth("q") == 3
    assert stage.broker.host("").queues["q"].subscribers == 0


def test_on_a_session_made_again_one_is_subscribed_again_and_old_messages_are_gone() -> None:
    stage = staged()
    core = stage.open(timeout=0)
    stage.get(core.execute(queue.Declare("q")))
    for number in range(3):
        core.publish("", "q", str(number).encode(), {})
    inbox = core.subscribe("q")
    stage.run()
    old = inbox.take()
    assert old is not None
    stage.cut()
    stage.connect()
    with pytest.raises(SessionDetachedError):
        old.accept()
    assert [(message.body, message.redelivered) for message in inbox.messages] == [(b"0", True), (b"1", True), (b"2", True)]


# Invariant: an honest flow neither starves nor overruns: whatever the sizes of messages that fit into the octets of credit at
# all, all of them come, in order, and those that wait to be taken never have more octets than the credit.
@given(st.lists(st.integers(0, 400), min_size=1, max_size=30), st.integers(1, 12), st.integers(450, 900), st.booleans())
def test_credit_in_octets_neither_starves_nor_overruns(sizes: list[int], prefetch: int, octets: int, accept: bool) -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    for size in sizes:
        core.publish("", "q", b"x" * size, {})
    stage.run()
    inbox = core.subscribe("q", prefetch=prefetch, octets=octets, accept=accept)
    found: list[int] = []
    while True:
        stage.run()
        assert sum([len(each.body) + len(each.received.header) for each in inbox.messages]) <= octets
        if not inbox.messages:
            break
        for _ in range(2):
            message = inbox.take()
            if message is not None:
                found.append(len(message.body))
                if accept:
                    message.accept()
    assert found == sizes


def test_credit_is_granted_again_when_half_of_it_is_used() -> None:
    """Not with each message: that would be a word for each; and not at the end: then nothing would be on its way."""
    stage, core = filled(20)
    inbox = core.subscribe("q", prefetch=6, accept=False)
    stage.run()
    taken: list[int] = []
    for _ in range(6):
        inbox.take()
        stage.run()
        taken.append(len(inbox.messages))
    assert taken == [5, 4, 6, 5, 4, 6]


def test_what_is_here_may_be_taken_while_the_connection_is_made_again() -> None:
    stage, core = filled(4)
    inbox = core.subscribe("q", prefetch=4, accept=False)
    stage.run()
    stage.cut()
    found = [inbox.take() for _ in range(4)]
    assert [message and message.body for message in found] == [b"0", b"1", b"2", b"3"]
    stage.connect()
    core.publish("", "q", b"4", {})
    stage.run()
    core.publish("", "q", b"5", {})
    stage.run()
    assert bodies(inbox) == [b"4", b"5"]


def test_a_subscription_that_was_cancelled_is_forgotten() -> None:
    stage, core = filled(1)
    inbox = core.subscribe("q")
    stage.run()
    assert [*core.inboxes.values()] == [inbox]
    stage.get(inbox.cancel())
    assert core.inboxes == {}


def test_a_browser_sees_all_or_as_many_as_it_gives_back() -> None:
    """And takes none."""
    stage, core = filled(10)
    found: dict[bool, list[bytes]] = {}
    for accept in (False, True):
        inbox = core.subscribe("q", prefetch=3, accept=accept, browse=True)
        stage.run()
        seen = []
        while (message := inbox.take()) is not None:
            seen.append(message.body)
            if accept and len(seen) == 1:
                with pytest.raises(LocalProtocolError, match="NOT-ACQUIRED"):
                    message.accept()
                message.release()
            stage.run()
        found[accept] = seen
    assert found == {False: [b"%d" % number for number in range(10)], True: [b"0", b"1", b"2", b"3"]}
    assert stage.depth("q") == 10
