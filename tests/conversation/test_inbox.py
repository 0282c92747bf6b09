"""Messages that wait for their taker, and the credit behind them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conversation.stage import Stage, staged

from amqp_sansio.conversation.inbox import Inbox
from amqp_sansio.conversation.talk import Talk
from amqp_sansio.errors import LocalProtocolError, SessionDetachedError
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import RejectCode


def filled(count: int, **settings: object) -> tuple[Stage, Talk]:
    """A queue "q" with messages on it, and a session."""
    stage = staged()
    talk = stage.open(timeout=600)
    stage.get(talk.execute(queue.Declare("q")))
    for number in range(count):
        talk.publish("", "q", str(number).encode())
        stage.run()
    return stage, talk


def bodies(inbox: Inbox) -> list[bytes]:
    return [message.body for message in inbox.messages]


@pytest.mark.parametrize("accept", [True, False])
def test_no_more_comes_than_is_prefetched(accept: bool) -> None:
    stage, talk = filled(20)
    inbox = talk.subscribe("q", prefetch=4, accept=accept)
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
    stage, talk = filled(20)
    inbox = talk.subscribe("q", prefetch=4)
    stage.run()
    for _ in range(4):
        inbox.take()
    stage.run()
    assert inbox.take() is None


@given(st.lists(st.sampled_from(["take", "accept", "release", "reject", "run"]), max_size=60), st.integers(1, 5))
def test_never_more_than_the_prefetch_is_here_and_unsettled(steps: list[str], prefetch: int) -> None:
    """However a consumer takes and settles, what is here and not settled is never more than it prefetches."""
    stage, talk = filled(10)
    inbox = talk.subscribe("q", prefetch=prefetch)
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
    stage, talk = filled(0)
    for _ in range(10):
        talk.publish("", "q", b"x" * 1000)
    stage.run()
    inbox = talk.subscribe("q", prefetch=100, octets=3000, accept=False)
    stage.run()
    assert 1 <= len(inbox.messages) <= 3


def test_a_message_is_settled_once() -> None:
    stage, talk = filled(1)
    inbox = talk.subscribe("q")
    stage.run()
    message = inbox.take()
    assert message is not None
    message.accept()
    with pytest.raises(LocalProtocolError):
        message.accept()
    stage.run()
    assert stage.depth("q") == 0


def test_a_released_message_comes_again_and_a_rejected_one_does_not() -> None:
    stage, talk = filled(2)
    inbox = talk.subscribe("q")
    stage.run()
    first, second = inbox.take(), inbox.take()
    assert first is not None
    assert second is not None
    first.release(redelivered=True)
    second.reject(RejectCode.UNROUTABLE, "no")
    stage.run()
    assert [(message.body, message.redelivered) for message in inbox.messages] == [(b"0", True)]


def test_browsing_leaves_the_messages() -> None:
    stage, talk = filled(3)
    inbox = talk.subscribe("q", browse=True, accept=False)
    stage.run()
    assert bodies(inbox) == [b"0", b"1", b"2"]
    assert stage.depth("q") == 3


def test_a_cancelled_subscription_gives_back_what_nobody_took() -> None:
    stage, talk = filled(5)
    inbox = talk.subscribe("q")
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
    stage, talk = filled(5)
    inbox = talk.subscribe("q")
    cancelled = inbox.cancel()
    stage.get(cancelled)
    stage.run()
    assert stage.depth("q") == 5


def test_more_tells_of_messages_and_of_the_end() -> None:
    stage, talk = filled(0)
    inbox = talk.subscribe("q")
    more = inbox.more
    assert more is inbox.more
    assert not more.done
    talk.publish("", "q", b"x")
    stage.get(more)
    assert inbox.more.done
    inbox.take()
    ending = inbox.more
    inbox.cancel()
    stage.get(ending)


def test_what_is_settled_during_a_reconnect_is_sent_after_it() -> None:
    stage, talk = filled(3)
    inbox = talk.subscribe("q")
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
    stage, talk = filled(3)
    inbox = talk.subscribe("q")
    stage.run()
    stage.cut()
    assert inbox.cancel().done
    stage.connect()
    stage.get(talk.sync())
    assert stage.depth("q") == 3
    assert stage.broker.host("").queues["q"].subscribers == 0


def test_on_a_session_made_again_one_is_subscribed_again_and_old_messages_are_gone() -> None:
    stage = staged()
    talk = stage.open(timeout=0)
    stage.get(talk.execute(queue.Declare("q")))
    for number in range(3):
        talk.publish("", "q", str(number).encode())
    inbox = talk.subscribe("q")
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
    talk = stage.open()
    stage.get(talk.execute(queue.Declare("q")))
    for size in sizes:
        talk.publish("", "q", b"x" * size)
    stage.run()
    inbox = talk.subscribe("q", prefetch=prefetch, octets=octets, accept=accept)
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
    stage, talk = filled(20)
    inbox = talk.subscribe("q", prefetch=6, accept=False)
    stage.run()
    taken: list[int] = []
    for _ in range(6):
        inbox.take()
        stage.run()
        taken.append(len(inbox.messages))
    assert taken == [5, 4, 6, 5, 4, 6]


def test_what_is_here_may_be_taken_while_the_connection_is_made_again() -> None:
    stage, talk = filled(4)
    inbox = talk.subscribe("q", prefetch=4, accept=False)
    stage.run()
    stage.cut()
    found = [inbox.take() for _ in range(4)]
    assert [message and message.body for message in found] == [b"0", b"1", b"2", b"3"]
    stage.connect()
    talk.publish("", "q", b"4")
    stage.run()
    talk.publish("", "q", b"5")
    stage.run()
    assert bodies(inbox) == [b"4", b"5"]


def test_a_subscription_that_was_cancelled_is_forgotten() -> None:
    stage, talk = filled(1)
    inbox = talk.subscribe("q")
    stage.run()
    assert [*talk.inboxes.values()] == [inbox]
    stage.get(inbox.cancel())
    assert talk.inboxes == {}


def test_a_browser_sees_all_or_as_many_as_it_gives_back() -> None:
    """And takes none."""
    stage, talk = filled(10)
    found: dict[bool, list[bytes]] = {}
    for accept in (False, True):
        inbox = talk.subscribe("q", prefetch=3, accept=accept, browse=True)
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
