"""A channel for its user: calls, messages, consumers, and what becomes of them when the channel or the connection ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conversation.channels.stage import Stage, staged
from tests.steps import assert_linear

from amqp_sansio.conversation.channels.calls import REPLY_TO
from amqp_sansio.conversation.channels.topology import nothing
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
    said: list[Ticket[Any]] = [core.execute(queue.Purge("none", False, 0)), core.execute(declare("q")), core.get("q")]
    stage.run()
    assert all(isinstance(each.error, ChannelClosed) for each in said)


def test_a_get_of_an_empty_queue_is_none() -> None:
    stage = staged()
    stage.queue("q", b"one")
    core = stage.open()
    assert stage.fetch(core, "q").body == b"one"
    assert stage.get(core.get("q")) is None


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
    inbox = core.subscribe("q", prefetch=2)
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
    inbox = core.subscribe("q")
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
    inbox = serving.subscribe("rpc")
    answer = asking.requests.publish("", "rpc", b"abc", {})
    stage.run()
    request = inbox.take()
    assert request is not None
    assert request.reply_to is not None
    assert request.correlation_id is not None
    serving.publish("", request.reply_to, request.body.upper(), {"correlation_id": request.correlation_id})
    assert stage.get(answer).body == b"ABC"


def test_a_request_needs_the_capability_of_the_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    stage = staged(AMQP_0_9)
    core = stage.open()
    monkeypatch.setattr(type(core.channel._channels.carrier), "capable", lambda self, name: False)
    with pytest.raises(CapabilityMissing, match="direct_reply_to"):
        core.requests.publish("", "rpc", b"", {})


def test_an_answer_whose_id_cannot_be_read_is_nobodys() -> None:
    stage = staged()
    core = stage.open()
    stage.queue("q")
    answer = core.requests.publish("", "q", b"", {})
    stage.run()
    method = AMQP_0_9_1.codec.methods.encode(basic.Deliver(REPLY_TO, 1, False, "", REPLY_TO))
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
    inbox = core.subscribe("q")
    stage.run()
    stage.get(core.close())
    assert inbox.closed
    assert inbox.take() is None
    with pytest.raises(ChannelClosed, match="closed here"):
        core.execute(declare("q"))
    assert core not in stage.client.cores
    assert isinstance(core.opened.error, ChannelClosed)
    assert core.opened.error.channel == 1


def test_calls_that_wait_fail_with_the_connection_and_publishes_are_in_doubt() -> None:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    stage.get(core.publish("", "q", b"1", {}))
    stage.broker.mute = True
    call, message, got = core.execute(declare("q")), core.publish("", "q", b"2", {}), core.get("q")
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
    inbox = core.subscribe(named.queue, prefetch=7)
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
