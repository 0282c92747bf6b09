"""The transactions of a channel."""

from __future__ import annotations

import pytest
from tests.conversation.channels.stage import staged
from tests.families.channels import content, frame

from amqp_sansio.conversation.answers import IN_FLIGHT
from amqp_sansio.conversation.retry import NEVER
from amqp_sansio.dialects import AMQP_0_9_1
from amqp_sansio.errors import LimitError, LocalProtocolError, MessageReturned, TransactionFailed
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import tx


def test_what_is_published_and_accepted_counts_together_with_the_commit() -> None:
    stage = staged()
    stage.queue("in", b"1")
    stage.queue("out")
    core = stage.open()
    core.transaction.begin()
    stage.fetch(core, "in").accept()
    taken = core.publish("", "out", b"2", {})
    stage.run()
    seen = [(stage.bodies("out"), taken.done, core.transaction.open)]
    stage.get(core.transaction.commit())
    seen.append((stage.bodies("out"), taken.done, core.transaction.open))
    assert seen == [([], False, True), ([b"2"], True, False)]
    assert taken.error is None


@pytest.mark.parametrize("closed", [False, True])
def test_a_rollback_on_a_channel_that_is_over_raises_nothing(closed: bool) -> None:
    stage = staged(retry=NEVER)
    core = stage.open()
    core.transaction.begin()
    stage.run()
    if closed:
        core.transaction.untaken.update(RangeSet.of(1))
        core.close()
        stage.run()
    else:
        stage.cut()
    assert core.ended.done
    core.transaction.roll_back()
    assert not core.transaction.open


def test_a_rollback_undoes_both() -> None:
    stage = staged()
    stage.queue("in", b"1")
    stage.queue("out")
    core = stage.open()
    core.transaction.begin()
    message = stage.fetch(core, "in")
    message.accept()
    taken = core.publish("", "out", b"2", {})
    core.transaction.roll_back()
    stage.run()
    assert stage.bodies("out") == []
    assert isinstance(taken.error, TransactionFailed)
    core.transaction.begin()
    message.release()  # it is unsettled again
    stage.get(core.transaction.commit())
    assert stage.bodies("in") == [b"1"]


def test_one_at_a_time() -> None:
    stage = staged()
    core = stage.open()
    core.transaction.begin()
    with pytest.raises(LocalProtocolError, match="inside of another one"):
        core.transaction.begin()


def test_a_commit_that_the_server_refuses_was_rolled_back() -> None:
    stage = staged()
    core = stage.open()
    core.transaction.begin()
    core.publish("none", "", b"", {})
    done = core.transaction.commit()
    stage.run()
    with pytest.raises(TransactionFailed, match="rolled back"):
        done.result()


def test_a_commit_whose_answer_is_lost_is_unknown() -> None:
    stage = staged()
    core = stage.open()
    core.transaction.begin()
    stage.run()
    stage.broker.mute = True
    done = core.transaction.commit()
    stage.run()
    stage.cut()
    with pytest.raises(TransactionFailed, match="unknown"):
        done.result()


def test_a_commit_on_a_channel_that_we_close_for_a_breach_is_unknown() -> None:
    """The server may have executed it before it returned more than we take."""
    stage = staged()
    core = stage.open()
    core.transaction.begin()
    stage.run()
    stage.broker.mute = True
    done = core.transaction.commit()
    stage.run()
    server = stage.server
    assert server is not None
    server._write(frame(AMQP_0_9_1, "basic.return", reply_code=312) + content(size=1 << 40))
    stage.run()
    with pytest.raises(TransactionFailed, match="unknown"):
        done.result()
    assert stage.client.is_open


@pytest.mark.parametrize(("accepted", "fine"), [(3, True), (4, True), (5, False)])
def test_so_many_messages_apart_from_one_another_are_accepted_in_one(accepted: int, fine: bool) -> None:
    """Limits.ranges: the error comes from `accept`, not when that is written."""
    stage = staged(limits=Limits(ranges=4))
    stage.queue("q", *[b"%d" % number for number in range(12)])
    core = stage.open()
    core.transaction.begin()
    inbox = core.subscribe("q")
    stage.run()
    *messages, last = [inbox.messages.popleft() for _ in range(2 * accepted - 1)]
    for message in messages[::2]:
        message.accept()
        stage.run()
    if fine:
        last.accept()
    else:
        with pytest.raises(LimitError, match="ranges is 4; 5"):
            last.accept()
        stage.get(inbox.cancel())  # what cannot be given back now goes back with the channel
    stage.run()
    stage.get(core.transaction.commit())
    stage.get(core.close())
    assert len(stage.bodies("q")) == 12 - min(accepted, 4)


def test_behind_one_nothing_is_published_or_accepted() -> None:
    """The channel stays transactional: what is said there would wait for a commit that may never come."""
    stage = staged()
    stage.queue("in", b"1")
    stage.queue("out")
    core = stage.open()
    message = stage.fetch(core, "in")
    core.transaction.begin()
    stage.get(core.transaction.commit())
    with pytest.raises(LocalProtocolError, match="publish is not legal: the channel has had a transaction"):
        core.publish("", "out", b"2", {})
    with pytest.raises(LocalProtocolError, match="accept is not legal: the channel has had a transaction"):
        message.accept()
    core.transaction.begin()
    core.publish("", "out", b"3", {})
    message.accept()  # it still can be
    stage.get(core.transaction.commit())
    assert stage.bodies("out") == [b"3"]


def test_behind_the_loss_of_its_channel_nothing_counts_in_it() -> None:
    """Nor with the next one: the server has rolled back what came before, and the rest is refused here."""
    stage = staged()
    stage.queue("in", b"1")
    stage.queue("out")
    core = stage.open()
    core.transaction.begin()
    core.publish("", "out", b"before", {})
    stage.run()
    stage.cut()
    stage.connect()
    message = stage.fetch(core, "in")
    for act in (lambda: core.publish("", "out", b"behind", {}), message.accept):
        with pytest.raises(TransactionFailed, match="the channel was lost"):
            act()
    with pytest.raises(TransactionFailed, match="rolled back"):
        stage.get(core.transaction.commit())
    core.transaction.begin()
    stage.get(core.transaction.commit())
    assert stage.bodies("out") == []


def test_behind_one_what_is_given_back_is_given_back_at_once() -> None:
    """On a transactional channel that takes a commit: one of its own, with nothing of a transaction in it."""
    stage = staged()
    stage.queue("q", b"1", b"2", b"3", b"4")
    core = stage.open()
    first, second = stage.fetch(core, "q"), stage.fetch(core, "q")
    core.transaction.begin()
    first.release()
    stage.run()
    assert stage.bodies("q") == [b"3", b"4"]
    core.transaction.roll_back()
    stage.run()
    assert stage.bodies("q") == [b"3", b"4"]
    second.reject()
    first.release()
    stage.run()
    assert stage.bodies("q") == [b"1", b"3", b"4"]
    inbox = core.subscribe("q", prefetch=2)
    stage.run()
    stage.get(inbox.cancel())
    assert sorted(stage.bodies("q")) == [b"1", b"3", b"4"]


def test_behind_one_a_consumer_that_accepts_by_itself_goes_on() -> None:
    stage = staged()
    stage.queue("q", *[b"%d" % number for number in range(6)])
    core = stage.open()
    core.transaction.begin()
    stage.get(core.transaction.commit())
    inbox = core.subscribe("q", prefetch=2, accept=False)
    for _ in range(6):
        stage.run()
        assert inbox.take() is not None
    core.transaction.begin()  # what was taken before it is none of its business
    core.transaction.roll_back()
    stage.get(core.close())
    assert stage.bodies("q") == []


@pytest.mark.parametrize("commits", [False, True])
def test_what_nobody_has_taken_goes_back_however_a_transaction_ends(commits: bool) -> None:
    stage = staged()
    stage.queue("q", b"1", b"2", b"3", b"4")
    core = stage.open()
    core.transaction.begin()
    inbox = core.subscribe("q", prefetch=3)
    stage.run()
    message = inbox.take()
    assert message is not None
    message.accept()
    stage.get(inbox.cancel())
    if commits:
        stage.get(core.transaction.commit())
    else:
        core.transaction.roll_back()
        stage.run()
    assert sorted(stage.bodies("q")) == [b"2", b"3", b"4"]
    assert core.channel.unsettled == (RangeSet() if commits else RangeSet.of(message.tag))


def test_a_transaction_of_the_users_own_is_committed_by_nobody_else() -> None:
    stage = staged()
    stage.queue("q", b"1")
    stage.queue("out")
    core = stage.open()
    stage.get(core.execute(tx.Select()))
    core.publish("", "out", b"2", {})
    stage.fetch(core, "q").release()
    stage.run()
    assert (stage.bodies("q"), stage.bodies("out")) == ([], [])
    stage.get(core.execute(tx.Commit()))
    assert (stage.bodies("q"), stage.bodies("out")) == ([b"1"], [b"2"])


@pytest.mark.parametrize(("messages", "fine"), [(IN_FLIGHT + 1, True), (IN_FLIGHT + 2, True), (IN_FLIGHT + 3, False)])
def test_more_is_published_in_one_than_is_in_flight_elsewhere(messages: int, fine: bool) -> None:
    """Room would come with the commit alone: what waits for it waits for ever.  The limit is Limits.unconfirmed."""
    stage = staged(limits=Limits(unconfirmed=IN_FLIGHT + 2))
    stage.queue("q")
    core = stage.open()
    core.transaction.begin()
    for _ in range(messages - 1):
        assert core.has_room
        core.publish("", "q", b"m", {})
    assert core.has_room
    if fine:
        core.publish("", "q", b"m", {})
    else:
        with pytest.raises(LimitError, match="unconfirmed"):
            core.publish("", "q", b"m", {})
    stage.get(core.transaction.commit())
    assert len(stage.bodies("q")) == min(messages, IN_FLIGHT + 2)


def test_a_barrier_within_one_waits_for_no_message() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    core.transaction.begin()
    taken = core.publish("", "q", b"m", {})
    stage.get(core.sync())
    assert not taken.done
    with pytest.raises(LocalProtocolError, match="a request is not legal: inside of a transaction"):
        core.requests.publish("", "q", b"m", {})


def test_what_comes_back_from_a_committed_one_is_raised_at_the_end() -> None:
    stage = staged()
    core = stage.open()
    core.transaction.begin()
    core.publish("", "nowhere", b"m", {"mandatory": True})
    stage.get(core.transaction.commit())
    with pytest.raises(MessageReturned):
        core.in_flight.unheard()
