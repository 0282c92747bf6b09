"""The transactions of a channel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conversation.channels.stage import Stage, staged
from tests.families.channels import content, frame
from tests.steps import assert_linear

from amqp_sansio.conversation.channels.calls import REPLY_TO
from amqp_sansio.conversation.channels.topology import nothing
from amqp_sansio.conversation.pending_commands import IN_FLIGHT
from amqp_sansio.conversation.retry import NEVER
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.dialects import AMQP_0_8, AMQP_0_9, AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect
from amqp_sansio.errors import (
    CapabilityMissing,
    ChannelClosed,
    EncodeError,
    InDoubt,
    LimitError,
    LocalProtocolError,
    MessageNacked,
    MessageReturned,
    StaleDelivery,
    SubscriptionCancelled,
    TransactionFailed,
)
from amqp_sansio.events import Confirmed, MethodReceived
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods import basic, confirm, exchange, queue, tx
from amqp_sansio.spec.methods import channel as channels
from amqp_sansio.wire.method_frames import frame_content


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


def test_a_channel_that_the_server_closed_is_not_open_in_a_callback() -> None:
    stage = staged()
    core = stage.open()
    seen: list[bool] = []
    ticket = core.execute(queue.Declare("nowhere", passive=True, arguments={}, ticket=0))
    ticket.on_done(lambda: seen.append(core.is_open))
    stage.run()
    assert isinstance(ticket.error, ChannelClosed)
    assert seen == [False]


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
    inbox = core.consumers.subscribe("q")
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


def test_outside_of_one_messages_apart_from_one_another_are_accepted_without_limit() -> None:
    """Each acknowledgement takes effect at once, so that nothing of it is remembered."""
    stage = staged(limits=Limits(ranges=4))
    stage.queue("q", *[b"%d" % number for number in range(12)])
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    for message in list(inbox.messages)[::2]:
        message.accept()
    stage.run()
    assert core.channel.unsettled == RangeSet.of(*range(2, 13, 2))
    assert core.is_open


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
    inbox = core.consumers.subscribe("q", prefetch=2)
    stage.run()
    stage.get(inbox.cancel())
    assert sorted(stage.bodies("q")) == [b"1", b"3", b"4"]


def test_behind_one_a_consumer_that_accepts_by_itself_goes_on() -> None:
    stage = staged()
    stage.queue("q", *[b"%d" % number for number in range(6)])
    core = stage.open()
    core.transaction.begin()
    stage.get(core.transaction.commit())
    inbox = core.consumers.subscribe("q", prefetch=2, accept=False)
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
    inbox = core.consumers.subscribe("q", prefetch=3)
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


@pytest.mark.parametrize("commits", [False, True])
def test_what_nobody_had_taken_before_a_loss_is_not_given_back_on_the_next_channel(commits: bool) -> None:
    """The server has it back, and the same tags are those of other messages there."""
    stage = staged()
    stage.queue("q", b"1", b"2", b"3")
    core = stage.open()
    core.transaction.begin()
    inbox = core.consumers.subscribe("q")
    stage.run()
    stage.get(inbox.cancel())
    stage.cut()
    stage.connect()
    message = stage.fetch(core, "q")
    if commits:
        assert isinstance(core.transaction.commit().error, TransactionFailed)
        core.transaction.begin()
        stage.get(core.transaction.commit())
    else:
        core.transaction.roll_back()
        stage.run()
    assert core.channel.unsettled == RangeSet.of(message.tag)
    assert stage.bodies("q") == [b"2", b"3"]


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


DIALECTS = (AMQP_0_9_1, AMQP_0_9, AMQP_0_9_RABBITMQ, AMQP_0_8)
every_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


def declare(name: str) -> queue.Declare:
    return queue.Declare(name, False, False, False, False, False, {}, 0)


# --- calls -------------------------------------------------------------------------------------------------------------------


@every_dialect
def test_a_method_is_answered(dialect: ChannelDialect) -> None:
    stage = staged(dialect)
    core = stage.open()
    answer = stage.get(core.execute(declare("q")))
    assert isinstance(answer, queue.DeclareOk)
    assert answer.queue == "q"


def test_a_method_that_wants_no_answer_is_its_own() -> None:
    stage = staged()
    method = queue.Declare("q", False, False, False, False, True, {}, 0)
    assert stage.get(stage.open().execute(method)) is method
    assert stage.bodies("q") == []


def test_what_carries_a_content_or_brings_one_has_calls_of_its_own() -> None:
    core = staged().open()
    with pytest.raises(LocalProtocolError, match="publish"):
        core.execute(basic.Publish("", "q", False, False, 0))
    with pytest.raises(LocalProtocolError, match="get"):
        core.execute(basic.Get("q", False, 0))


def test_a_refused_method_ends_its_channel_and_no_other() -> None:
    stage = staged()
    first, second = stage.open(), stage.open()
    refused = first.execute(queue.Declare("none", True, False, False, False, False, {}, 0))
    stage.run()
    with pytest.raises(ChannelClosed, match="404") as caught:
        refused.result()
    assert (caught.value.code, caught.value.method) == (404, "queue.declare")
    assert "no queue 'none'" in caught.value.text
    assert first.ended.done
    assert not second.ended.done
    stage.get(second.execute(declare("q")))
    with pytest.raises(ChannelClosed):
        first.execute(declare("q"))


def test_all_calls_behind_a_refused_one_fail_with_it() -> None:
    stage = staged()
    core = stage.open()
    said: list[Ticket[Any]] = [core.execute(queue.Purge("none", False, 0)), core.execute(declare("q")), core.calls.get("q")]
    stage.run()
    assert all(isinstance(each.error, ChannelClosed) for each in said)


def test_a_get_of_an_empty_queue_is_none() -> None:
    stage = staged()
    stage.queue("q", b"one")
    core = stage.open()
    assert stage.fetch(core, "q").body == b"one"
    assert stage.get(core.calls.get("q")) is None


# --- publishing --------------------------------------------------------------------------------------------------------------


@every_dialect
def test_a_message_is_settled_when_the_server_has_it(dialect: ChannelDialect) -> None:
    stage = staged(dialect)
    stage.queue("q")
    core = stage.open()
    taken = core.publish("", "q", b"hello", {"message_id": "m"}, alone=True)
    assert not taken.done
    stage.get(taken)
    assert stage.bodies("q") == [b"hello"]
    assert not core.in_flight


@pytest.mark.parametrize(("dialect", "confirms"), [(AMQP_0_9, True), (AMQP_0_9_1, False)])
def test_without_confirms_the_next_answer_settles_what_was_published_before_it(dialect: ChannelDialect, confirms: bool) -> None:
    stage = staged(dialect)
    stage.queue("q")
    core = stage.client.open_channel(confirms)
    stage.run()
    first = core.publish("", "q", b"1", {})
    stage.run()
    done = [first.done]
    stage.get(core.sync())
    assert [*done, first.done] == [False, True]


def test_a_message_that_nobody_takes_is_returned_and_one_that_is_refused_is_nacked() -> None:
    stage = staged()
    stage.queue("full")
    stage.broker.full.add("full")
    core = stage.open()
    returned = core.publish("", "nowhere", b"", {"mandatory": True})
    dropped = core.publish("", "nowhere", b"", {})
    nacked = core.publish("", "full", b"", {})
    stage.run()
    with pytest.raises(MessageReturned) as caught:
        returned.result()
    assert caught.value.code == 312
    dropped.result()
    with pytest.raises(MessageNacked):
        nacked.result()
    assert not core.in_flight


def test_of_equal_messages_each_return_fails_one() -> None:
    stage = staged()
    core = stage.open()
    tickets = [core.publish("", "nowhere", b"%d" % (each % 2), {"mandatory": True}) for each in range(6)]
    stage.run()
    assert all(isinstance(each.error, MessageReturned) for each in tickets)


def test_a_publish_to_no_exchange_leaves_all_since_in_doubt() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    stage.get(core.publish("", "q", b"1", {}))
    tickets = [core.publish("none", "", b"2", {}), core.publish("", "q", b"3", {})]
    stage.run()
    for ticket in tickets:
        with pytest.raises(InDoubt, match="404"):
            ticket.result()
    assert stage.bodies("q") == [b"1"]


def test_at_most_so_many_messages_are_in_flight() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    core.in_flight.most = 2
    core.publish("", "q", b"", {})
    room = [core.has_room]
    core.publish("", "q", b"", {})
    room.append(core.has_room)
    with pytest.raises(LimitError, match="most_in_flight"):
        core.publish("", "q", b"", {})
    stage.get(core.room)
    assert [*room, core.has_room] == [True, False, True]


def test_there_is_no_room_before_the_channel_is_open_nor_while_the_server_pauses_it() -> None:
    stage = staged()
    core = stage.client.open_channel()
    room, opened = [core.has_room], core.room
    stage.run()
    room += [opened.done, core.has_room]
    (side,) = stage.broker.sides.values()
    side.channel.send(channels.Flow(False))
    stage.run()
    room.append(core.has_room)
    again = core.room
    side.channel.send(channels.Flow(True))
    stage.run()
    assert [*room, again.done, core.has_room] == [False, True, True, False, True, True]


def test_sync_waits_for_all_that_was_published() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    tickets = [core.publish("", "q", b"%d" % each, {}) for each in range(50)]
    stage.get(core.sync())
    assert all(each.done for each in tickets)
    assert len(stage.bodies("q")) == 50


def test_sync_waits_for_its_answer_where_all_is_confirmed_before() -> None:
    stage = staged()
    core = stage.open()
    stage.queue("q")
    core.publish("", "q", b"", {})
    done = core.sync()
    core._hear(Confirmed(1, RangeSet.of(1)))
    assert not done.done
    stage.get(done)


def test_sync_costs_as_much_as_it_waits_for() -> None:
    def prepared(size: int) -> Callable[[], object]:
        core = staged().open()
        for _ in range(size):
            core.publish("", "q", b"", {})
        core.sync()
        return lambda: core.in_flight.confirmed(RangeSet.span(1, size))

    assert_linear(prepared, 200)


def test_confirms_and_transactions_exclude_each_other() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    core.publish("", "q", b"", {})
    with pytest.raises(LocalProtocolError, match="confirm mode"):
        core.execute(tx.Select())
    other = stage.open()
    stage.get(other.execute(tx.Select()))
    with pytest.raises(LocalProtocolError, match="tx mode"):
        other.execute(confirm.Select(False))


# --- consuming ---------------------------------------------------------------------------------------------------------------


@every_dialect
def test_a_consumer_gets_no_more_than_its_prefetch(dialect: ChannelDialect) -> None:
    stage = staged(dialect)
    stage.queue("q", *[b"%d" % each for each in range(5)])
    core = stage.open()
    inbox = core.consumers.subscribe("q", prefetch=2)
    stage.run()
    assert len(inbox.messages) == 2
    for expected in range(5):
        message = inbox.take()
        assert message is not None
        assert message.body == b"%d" % expected
        message.accept()
        stage.run()
    assert inbox.take() is None
    assert stage.bodies("q") == []


def test_accepted_messages_are_acknowledged_together() -> None:
    stage = staged()
    stage.queue("q", *[b"%d" % each for each in range(10)])
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    for _ in range(10):
        message = inbox.take()
        assert message is not None
        message.accept()
    core.flush()
    assert stage.client.machine.data_to_send().count(b"\x00\x3c\x00\x50") == 1  # one basic.ack, multiple


def test_released_and_rejected_messages_take_their_ways() -> None:
    stage = staged()
    stage.queue("q", b"again", b"away")
    core = stage.open()
    stage.fetch(core, "q").release()
    again = stage.fetch(core, "q")
    assert again.redelivered
    again.accept()
    stage.fetch(core, "q").reject()
    stage.run()
    assert stage.bodies("q") == []


@pytest.mark.parametrize(("again", "verb"), [("accept", "ack"), ("release", "nack"), ("reject", "nack")])
def test_a_message_is_settled_once(again: str, verb: str) -> None:
    stage = staged()
    stage.queue("q", b"1")
    message = stage.fetch(stage.open(), "q")
    message.accept()
    with pytest.raises(LocalProtocolError, match=rf"basic\.{verb} \{{1\}} is not legal: settled"):
        getattr(message, again)()
    stage.run()
    assert stage.bodies("q") == []


def test_a_message_of_an_earlier_channel_cannot_be_settled() -> None:
    stage = staged()
    stage.queue("q", b"1")
    message = stage.fetch(stage.open(), "q")
    stage.cut()
    stage.connect()
    for settle in (message.accept, message.release, message.reject):
        with pytest.raises(StaleDelivery):
            settle()
    assert stage.bodies("q") == [b"1"]


def test_a_channel_ends_where_the_next_broker_confirms_nothing() -> None:
    stage = staged()
    stage.queue("q")
    confirming, plain = stage.open(), stage.open()
    stage.get(confirming.publish("", "q", b"1", {}))
    stage.broker.capabilities = {"basic.nack": True}
    stage.cut()
    stage.connect()
    with pytest.raises(CapabilityMissing, match="publisher_confirms"):
        confirming.publish("", "q", b"2", {})
    assert plain.is_open
    assert [channel.number for channel in stage.client.machine.channels] == [plain.number]
    stage.get(plain.publish("", "q", b"3", {}, alone=True))
    assert stage.bodies("q")[-1] == b"3"


def test_a_request_is_answered() -> None:
    stage = staged()
    stage.queue("rpc")
    asking, serving = stage.open(), stage.open()
    inbox = serving.consumers.subscribe("rpc")
    answer = asking.requests.publish("", "rpc", b"abc", {})
    stage.run()
    request = inbox.take()
    assert request is not None
    assert request.reply_to is not None
    assert request.correlation_id is not None
    serving.publish("", request.reply_to, request.body.upper(), {"correlation_id": request.correlation_id})
    assert stage.get(answer).body == b"ABC"


def test_each_of_several_requests_gets_its_own_answer_whichever_comes_first() -> None:
    stage = staged()
    stage.queue("rpc")
    asking, serving = stage.open(), stage.open()
    inbox = serving.consumers.subscribe("rpc")
    answers = [asking.requests.publish("", "rpc", body, {}) for body in (b"a", b"b", b"c")]
    stage.run()
    for request in reversed(inbox.messages):
        assert request.reply_to is not None
        assert request.correlation_id is not None
        serving.publish("", request.reply_to, request.body.upper(), {"correlation_id": request.correlation_id})
    assert [stage.get(answer).body for answer in answers] == [b"A", b"B", b"C"]


def test_a_request_needs_the_capability_of_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = staged(AMQP_0_9)
    core = stage.open()
    monkeypatch.setattr(type(core.channel._carrier), "capable", lambda self, name: False)
    with pytest.raises(CapabilityMissing, match="direct_reply_to"):
        core.requests.publish("", "rpc", b"", {})


def test_an_answer_whose_id_cannot_be_read_is_nobodys() -> None:
    stage = staged()
    core = stage.open()
    stage.queue("q")
    answer = core.requests.publish("", "q", b"", {})
    stage.run()
    method = AMQP_0_9_1.codec.encode(basic.Deliver(REPLY_TO, 1, False, "", REPLY_TO))
    not_utf_8 = b"\x04\x00" + b"\x02\xff\xfe"
    stage.client.receive_data(b"".join(frame_content(1, method, 60, not_utf_8, b"", 4096, 0)))
    stage.run()
    assert core.is_open
    assert not answer.done


def test_requests_end_with_the_consumer_of_their_answers_and_the_next_one_is_answered() -> None:
    stage = staged()
    core, serving = stage.open(), stage.open()
    stage.queue("rpc")
    answer = core.requests.publish("", "rpc", b"abc", {})
    stage.run()
    (consumer,) = stage.broker.consumers.pop(REPLY_TO)
    consumer.channel.cancel_consumer(REPLY_TO)
    stage.run()
    with pytest.raises(SubscriptionCancelled, match="reply-to"):
        answer.result()
    again = core.requests.publish("", "rpc", b"abc", {})
    stage.run()
    stage.fetch(serving, "rpc")
    request = stage.fetch(serving, "rpc")
    serving.publish("", f"{REPLY_TO}.{core.number}", b"ABC", {"correlation_id": request.correlation_id or ""})
    assert stage.get(again).body == b"ABC"


def test_a_request_that_reaches_no_queue_fails() -> None:
    stage = staged()
    core = stage.open()
    answer = core.requests.publish("", "nowhere", b"", {"mandatory": True})
    stage.run()
    with pytest.raises(MessageReturned):
        answer.result()


# --- the end -----------------------------------------------------------------------------------------------------------------


def test_a_close_goes_out_even_if_nobody_waits_for_it() -> None:
    stage = staged()
    core = stage.open()
    woken: list[bool] = []
    stage.client.wake = lambda: woken.append(stage.client.machine.bytes_to_send > 0)
    core.close()
    assert woken == [True]


def test_a_channel_that_is_closed_here_ends_well() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    inbox = core.consumers.subscribe("q")
    stage.run()
    stage.get(core.close())
    assert inbox.closed
    assert inbox.take() is None
    with pytest.raises(ChannelClosed, match="closed here"):
        core.execute(declare("q"))
    assert core not in stage.client.cores.values()
    assert isinstance(core.opened.error, ChannelClosed)
    assert core.opened.error.channel == 1


def test_calls_that_wait_fail_with_the_connection_and_publishes_are_in_doubt() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    stage.get(core.publish("", "q", b"1", {}))
    stage.broker.mute = True
    call, message, got = core.execute(declare("q")), core.publish("", "q", b"2", {}), core.calls.get("q")
    stage.run()
    stage.cut()
    assert isinstance(call.error, ChannelClosed)
    assert isinstance(got.error, ChannelClosed)
    assert isinstance(message.error, InDoubt)
    assert message.error.number == 2


def test_behind_a_loss_the_channel_is_as_it_was() -> None:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(exchange.Declare("e", "direct", False, False, False, {}, 0, False, False)))
    named = stage.get(core.execute(queue.Declare("", False, False, True, False, False, {}, 0)))
    assert isinstance(named, queue.DeclareOk)
    stage.get(core.execute(queue.Bind(named.queue, "e", "k", False, {}, 0)))
    stage.get(core.publish("e", "k", b"1", {}))
    inbox = core.consumers.subscribe(named.queue, prefetch=7)
    stage.run()
    stage.cut()
    lost = core.is_open, len(inbox.messages)
    stage.broker.exchanges.clear()
    stage.broker.exchanges["amq.direct"] = "direct"
    stage.connect()
    assert (lost, core.is_open, core.remade) == ((False, 0), True, 1)
    assert inbox.queue != named.queue
    assert stage.broker.sides[next(iter(stage.broker.sides))].prefetch == 7
    taken = core.publish("e", "k", b"2", {})
    stage.get(taken)
    message = inbox.take()
    assert message is not None
    assert message.body == b"2"


def test_a_transaction_that_is_open_at_the_loss_is_not_committed() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    core.transaction.begin()
    core.publish("", "q", b"1", {})
    stage.run()
    stage.cut()
    stage.connect()
    with pytest.raises(TransactionFailed, match="rolled back"):
        core.transaction.commit().result()
    core.transaction.begin()
    core.publish("", "q", b"2", {})
    stage.get(core.transaction.commit())
    assert stage.bodies("q") == [b"2"]


def test_without_a_retry_policy_the_loss_is_the_end() -> None:
    stage = staged(retry=NEVER)
    core = stage.open()
    stage.cut()
    assert core.ended.done
    assert isinstance(core.error, ChannelClosed)
    with pytest.raises(ChannelClosed, match="ended"):
        core.execute(declare("q"))


def test_a_channel_shows_where_it_stands() -> None:
    stage = staged()
    waiting = stage.client.open_channel()
    assert repr(waiting) == "<ChannelCore 1, 0 in flight>"
    cold = Stage().client.open_channel()
    assert cold.number is None
    assert not cold.is_open
    with pytest.raises(LocalProtocolError, match="not open yet"):
        cold.execute(declare("q"))


@pytest.mark.parametrize(
    ("body", "properties", "says"),
    [(None, {}, "body: takes octets, not NoneType"), (b"", {"headers": {"bad": object()}}, r"publish: headers\['bad'\]")],
)
def test_a_message_that_cannot_be_sent_selects_no_confirms(body: Any, properties: Any, says: str) -> None:
    stage = staged()
    core = stage.open()
    stage.run()
    with pytest.raises(EncodeError, match=says):
        core.publish("", "q", body, properties)
    assert stage.client.machine.data_to_send() == b""
    core.transaction.begin()  # which needs a channel without confirms


def test_what_is_no_method_is_not_executed() -> None:
    with pytest.raises(EncodeError, match=r"a method of amqp_sansio\.spec\.methods, not str"):
        staged().open().execute("queue.declare")  # type: ignore[arg-type]


# --- what else a user may do -------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("behind", [False, True])
def test_without_confirms_a_message_behind_a_call_does_not_wait_for_ever(behind: bool) -> None:
    """The answer to the call says nothing of what was published behind it."""
    stage = staged()
    stage.queue("q")
    core = stage.client.open_channel(False)
    stage.run()
    stage.broker.heard.clear()
    call = core.execute(declare("q"))
    message = core.publish("", "q", b"", {}, alone=True)
    if behind:
        core.execute(declare("q"))  # its answer tells
    stage.run()
    assert (call.done, message.done) == (True, True)
    asked = [each.method for each in stage.broker.heard if isinstance(each, MethodReceived)]
    assert asked.count(channels.Flow(True)) == (0 if behind else 1)


def test_a_refused_select_leaves_the_channel_as_it_was() -> None:
    stage = Stage()
    stage.broker.capabilities = {}
    stage.connect()
    stage.queue("q")
    core = stage.open()
    with pytest.raises(CapabilityMissing, match="publisher_confirms"):
        core.execute(confirm.Select(False))
    message = core.publish("", "q", b"", {}, alone=True)
    stage.run()
    assert message.done
    stage.get(core.execute(tx.Select()))


def test_the_number_is_that_on_the_present_connection() -> None:
    stage = staged()
    core = stage.open()
    numbers = [core.number]
    for change in (stage.cut, stage.connect, core.close):
        change()
        numbers.append(core.number)
    assert numbers == [1, None, 1, None]
    with pytest.raises(ChannelClosed, match="channel 1 is closed: it was closed here"):
        core.sync()


def test_what_brings_messages_to_nobody_is_not_executed() -> None:
    stage = staged()
    stage.queue("q", b"1")
    with pytest.raises(LocalProtocolError, match="legal now: subscribe"):
        stage.open().execute(basic.Consume("q", "t", False, True, False, False, 0, {}, {}))
    assert stage.bodies("q") == [b"1"]


@pytest.mark.parametrize("never", [{"retry": NEVER}, {"topology": nothing}])
def test_what_is_never_declared_again_is_not_remembered(never: Any) -> None:
    stage = staged(limits=Limits(declared=1), **never)
    core = stage.open()
    for name in "abc":
        stage.get(core.execute(declare(name)))
    assert len(stage.client.topology) == 0


def test_a_caller_that_waits_for_a_channel_lost_while_it_opens_waits_for_the_next_one() -> None:
    stage = staged()
    stage.broker.mute = True
    core = stage.client.open_channel()
    stage.run()
    waits = core.opened
    stage.cut()
    stage.broker.mute = False
    stage.connect()
    assert (core.is_open, waits.done) == (True, True)
