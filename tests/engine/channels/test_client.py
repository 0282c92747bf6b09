"""A channel in its client's hands: what it says and hears, in three dialects."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.builds import wrong_type
from tests.engine.channels.stage import DIALECTS, Stage, answer

from amqp_sansio.dialects import AMQP_0_8_UNBIND, AMQP_0_9, AMQP_0_9_1, ChannelDialect
from amqp_sansio.engine.channels.client import Channel, as_tags
from amqp_sansio.engine.channels.server import ServedChannel
from amqp_sansio.errors import (
    CapabilityMissing,
    ChannelClosedError,
    ConnectionClosedError,
    EncodeError,
    FlowStopped,
    LimitError,
    LocalProtocolError,
    StaleDelivery,
)
from amqp_sansio.events import (
    ChannelClosed,
    Confirmed,
    ConsumerCancelled,
    ContentReceived,
    DeliveriesSettled,
    FlowChanged,
    MessageDelivered,
    MessageGot,
    MessageReturned,
    MethodAnswered,
    MethodReceived,
    Nacked,
    Origin,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.codes import DeliveryMode
from amqp_sansio.spec.methods import access, basic, channel, confirm, exchange, queue, tx
from amqp_sansio.spec.reply_codes import ReplyCode
from amqp_sansio.spec.values import Map

EXTENDED = DIALECTS[:2]
by_name = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
extended = pytest.mark.parametrize("dialect", EXTENDED, ids=lambda dialect: dialect.name)


def consuming(stage: Stage, no_ack: bool = False) -> tuple[Channel, ServedChannel]:
    client, served = stage.open()
    client.consume("q", "t", no_ack=no_ack, no_wait=True)
    stage.run()
    stage.take()
    return client, served


@by_name
def test_calls_are_answered_in_their_order_and_several_may_wait(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    ids = [
        client.declare_exchange("x", "topic", durable=True, arguments={"a": 1}),
        client.declare_queue("q", exclusive=True),
        client.bind_queue("q", "x", "k.#"),
        client.unbind_queue("q", "x", "k.#"),
        client.purge_queue("q"),
        client.delete_queue("q", if_empty=True),
        client.delete_exchange("x", if_unused=True),
        client.qos(5),
        client.select_tx(),
        client.commit(),
        client.rollback(),
        client.request_access("/data", active=True) if access.Request in dialect.codec.arguments else client.qos(1),
    ]
    stage.run()
    _, asked = stage.take()
    assert [each.id for each in asked if isinstance(each, MethodReceived)] == ids
    replies = [
        exchange.DeclareOk(), queue.DeclareOk("q", 1, 2), queue.BindOk(), queue.UnbindOk(), queue.PurgeOk(3), queue.DeleteOk(4),
        exchange.DeleteOk(), basic.QosOk(), tx.SelectOk(), tx.CommitOk(), tx.RollbackOk(),
        access.RequestOk(1) if access.Request in dialect.codec.arguments else basic.QosOk(),
    ]  # fmt: skip
    for id, reply in zip(ids, replies, strict=True):
        served.reply(id, reply)
    stage.run()
    answers, _ = stage.take()
    assert answers == [MethodAnswered(1, id, reply) for id, reply in zip(ids, replies, strict=True)]
    assert stage.violations == []


@extended
def test_exchanges_are_bound_to_exchanges(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    ids = [client.bind_exchange("to", "from", "k"), client.unbind_exchange("to", "from", "k")]
    stage.run()
    for id, reply in zip(ids, (exchange.BindOk(), exchange.UnbindOk()), strict=True):
        served.reply(id, reply)
    stage.run()
    assert [each.id for each in stage.take()[0] if isinstance(each, MethodAnswered)] == ids


def test_with_no_wait_no_answer_comes_and_the_close_says_what_it_may_be_about() -> None:
    stage = Stage()
    client, served = stage.open()
    first = client.declare_queue("a")
    stage.run()
    served.reply(first, queue.DeclareOk("a", 0, 0))
    stage.run()
    second, third = client.declare_queue("b", no_wait=True), client.declare_queue("c")
    client.publish("x", "k", b"lost")
    stage.run()
    stage.take()
    served.fail(ReplyCode.NOT_FOUND, "no exchange x", "basic.publish")
    stage.run()
    heard, _ = stage.take()
    assert heard == [
        ChannelClosed(
            1, Origin.PEER, 404, "no exchange x", "basic.publish", None, RangeSet.of(third), RangeSet([(second, third + 1)]),
            RangeSet.of(1), RangeSet(),
        )
    ]  # fmt: skip
    assert client.state == served.state == "closed"
    assert stage.client.is_open
    with pytest.raises(ChannelClosedError, match="404"):
        client.qos(1)


@by_name
def test_a_body_is_split_by_the_size_of_frames_and_may_come_in_parts(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, _ = stage.open()
    body = bytes(range(256)) * 80
    client.publish("x", "k", body, content_type="a", headers={"h": 1}, delivery_mode=DeliveryMode.PERSISTENT)
    client.publish("x", "k", body[:5], size=len(body))
    assert client.body_left == len(body) - 5
    for said in (lambda: client.qos(1), lambda: client.publish("x", "k"), client.close, lambda: client.body(body)):
        with pytest.raises(LocalProtocolError):
            said()
    client.body(body[5:9000])
    stage.run()
    client.body(body[9000:])
    client.publish("x", "k")
    stage.run()
    contents = [each for each in stage.take()[1] if isinstance(each, ContentReceived)]
    assert [each.body for each in contents] == [body, body, b""]
    assert contents[0].properties == basic.Properties(content_type="a", headers=Map({"h": 1}), delivery_mode=2)
    assert contents[1].properties == basic.Properties()
    assert stage.violations == []
    with pytest.raises(LocalProtocolError, match="a body of 1 octet"):
        client.body(b"x")
    with wrong_type("octets"):
        client.body("x")  # type: ignore[arg-type]


def test_properties_are_taken_as_they_came() -> None:
    stage = Stage()
    client, served = consuming(stage)
    served.deliver("t", b"m", basic.Properties(message_id="one", priority=3))
    stage.run()
    (message,), _ = stage.take()
    assert isinstance(message, MessageDelivered)
    client.publish("x", "k", message.body, message.property_octets)
    with pytest.raises(EncodeError, match="`property_octets` of an event are right"):
        client.publish("x", "k", message.body, message.header)
    stage.run()
    (content,) = stage.take()[1]
    assert isinstance(content, ContentReceived)
    assert content.properties == message.properties
    for wrong in (b"", b"\x80\0", b"\0\0more"):
        with pytest.raises(EncodeError):
            client.publish("x", "k", b"", wrong)
    with pytest.raises(EncodeError, match="not both"):
        client.publish("x", "k", b"", b"\0\0", priority=1)
    with pytest.raises(EncodeError, match="no content"):
        client.send(basic.Qos(0, 1), body=b"x")
    with pytest.raises(EncodeError, match="at least"):
        client.publish("x", "k", b"four", size=3)
    with wrong_type("octets"):
        client.publish("x", "k", "text")  # type: ignore[arg-type]
    with wrong_type("method"):
        client.send(b"qos")  # type: ignore[arg-type]


@by_name
def test_deliveries_are_settled_in_as_few_methods_as_mean_it(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = consuming(stage)
    assert [served.deliver("t", b"m") for _ in range(9)] == list(range(1, 10))
    stage.run()
    heard, _ = stage.take()
    assert [each.tag for each in heard if isinstance(each, MessageDelivered)] == list(range(1, 10))
    before = client.declare_queue("q", no_wait=True)
    client.ack(RangeSet([(1, 3), (5, 5)]))
    assert client.declare_queue("q", no_wait=True) == before + 3  # each of the two methods has an id
    client.nack([6, 7], requeue=False)
    client.reject(8)
    stage.run()
    settled = [each for each in stage.take()[1] if isinstance(each, DeliveriesSettled)]
    no_nack = "basic.nack" if dialect in EXTENDED else "basic.reject"
    assert settled[:2] == [
        DeliveriesSettled(1, RangeSet([(1, 3)]), "basic.ack"),
        DeliveriesSettled(1, RangeSet.of(5), "basic.ack"),
    ]
    assert {each.verb for each in settled[2:4]} == {no_nack}
    assert settled[-1] == DeliveriesSettled(1, RangeSet.of(8), "basic.reject", True)
    assert client.unsettled == served.unsettled == RangeSet.of(4, 9)
    for tags, rule in ((1, "twice"), (10, "unknown"), (0, "unknown"), (RangeSet([(4, 5)]), "twice")):
        with pytest.raises(LocalProtocolError, match=f"delivery-tag.{rule}"):
            client.ack(tags)
    with pytest.raises(LocalProtocolError, match=r"delivery-tag\.unknown"):
        client.send(basic.Ack(10, True))
    with pytest.raises(LocalProtocolError, match=r"delivery-tag\.twice"):
        client.send(basic.Ack(8, True))  # of which 4 is outstanding, and 8 is not
    client.ack([])
    client.send(basic.Ack(0, True))
    stage.run()
    assert client.unsettled == served.unsettled == RangeSet()
    stage.take()
    client.send(basic.Ack(0, True))  # settles nothing
    stage.run()
    assert stage.take() == ([], [])
    assert stage.violations == []


def test_without_acknowledgements_nothing_is_left_behind() -> None:
    stage = Stage()
    client, served = consuming(stage, no_ack=True)
    served.deliver("t", b"m")
    stage.run()
    assert client.unsettled == served.unsettled == RangeSet()
    with pytest.raises(LocalProtocolError, match="twice"):
        client.ack(1)


@pytest.mark.parametrize("wrong", ["1", 1 << 64, -1, [1, "2"], None, 1.0])
def test_what_is_no_tag(wrong: object) -> None:
    with pytest.raises(EncodeError, match="delivery-tag"):
        as_tags(wrong)  # type: ignore[arg-type]


def test_a_delivery_of_a_closed_channel_is_stale() -> None:
    stage = Stage()
    client, served = consuming(stage)
    served.deliver("t", b"m")
    stage.run()
    client.close()
    for verb in (client.ack, client.nack, client.reject):
        with pytest.raises(StaleDelivery):
            verb(1)
    with pytest.raises(StaleDelivery):
        client.send(basic.Ack(1))
    stage.run()
    (_, closed), _ = stage.take()
    assert isinstance(closed, ChannelClosed)
    assert closed.unsettled == RangeSet.of(1)
    again, _ = consuming(stage)
    assert again.number == 1
    with pytest.raises(LocalProtocolError, match="unknown"):
        again.ack(1)
    stage.client.close()
    with pytest.raises(StaleDelivery):
        again.ack(1)


@by_name
def test_getting(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    ids = [client.get("q"), client.get("q", no_ack=True), client.get("q")]
    stage.run()
    served.got(ids[0], b"one", exchange="x", routing_key="k", message_count=2)
    served.got(ids[1], b"two")
    served.reply(ids[2], basic.GetEmpty("") if dialect not in DIALECTS[:1] else basic.GetEmpty())
    stage.run()
    (one, two, empty), _ = stage.take()
    assert isinstance(one, MessageGot)
    assert isinstance(two, MessageGot)
    assert (one.id, one.tag, one.body, one.method.message_count) == (ids[0], 1, b"one", 2)
    assert (two.id, two.tag, two.properties) == (ids[1], 2, basic.Properties())
    assert isinstance(empty, MethodAnswered)
    assert empty.id == ids[2]
    assert client.unsettled == RangeSet.of(1)


@extended
def test_confirms_come_in_any_order_single_and_multiple(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    assert client.publish("x", "k", b"before") == 1
    stage.run()
    select = client.select_confirm()
    assert [client.publish("x", "k", b"m") for _ in range(6)] == list(range(2, 8))
    stage.run()
    answer(served, confirm.SelectOk())
    assert served.unconfirmed == RangeSet([(1, 6)])
    served.confirm(RangeSet.of(3))
    served.confirm(RangeSet([(1, 2), (4, 4)]))
    served.confirm(5, taken=False)
    stage.run()
    heard, _ = stage.take()
    assert heard == [
        MethodAnswered(1, select, confirm.SelectOk()),
        Confirmed(1, RangeSet.of(4)),
        Confirmed(1, RangeSet([(2, 3), (5, 5)])),
        Nacked(1, RangeSet.of(6)),
    ]
    assert client.in_doubt == RangeSet.of(7)
    assert stage.violations == []
    with pytest.raises(LocalProtocolError, match="once"):
        served.confirm(5)
    with pytest.raises(LocalProtocolError, match="exclude"):
        client.select_tx()
    assert client.mode == "confirming"


def test_what_was_published_before_confirm_mode_is_confirmed_by_nobody() -> None:
    stage = Stage()
    client, served = stage.open()
    client.publish("x", "k", b"plain")
    client.select_confirm(no_wait=True)
    client.publish("x", "k", b"confirmed")
    stage.run()
    served.send(basic.Ack(0, True))
    stage.run()
    assert stage.take()[0] == [Confirmed(1, RangeSet.of(2))]
    assert client.in_doubt == RangeSet()


def test_confirms_need_what_the_other_side_and_the_dialect_have() -> None:
    client, _ = Stage(AMQP_0_8_UNBIND).open()
    with pytest.raises(CapabilityMissing, match="publisher_confirms"):
        client.select_confirm()
    client, _ = Stage(AMQP_0_9).open()
    with pytest.raises(CapabilityMissing):
        client.select_confirm()


@by_name
def test_an_answer_tells_that_what_was_published_before_was_taken(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    client.publish("x", "k", b"a")
    client.qos(1)
    client.publish("x", "k", b"b")
    stage.run()
    assert client.in_doubt == RangeSet([(1, 2)])
    answer(served, basic.QosOk())
    stage.run()
    assert client.in_doubt == RangeSet.of(2)
    client.select_tx()
    client.qos(2)
    client.publish("x", "k", b"c")
    client.qos(3)
    client.commit()
    stage.run()
    answer(served, tx.SelectOk(), basic.QosOk(), basic.QosOk())
    stage.run()
    assert client.in_doubt == RangeSet.of(3)
    answer(served, tx.CommitOk())
    stage.run()
    assert client.in_doubt == RangeSet()


def test_an_answer_that_comes_at_any_time_tells_nothing_of_what_was_published() -> None:
    stage = Stage()
    client, served = stage.open()
    client.publish("x", "k", b"a")
    client.recover()
    stage.run()
    answer(served, basic.RecoverOk())
    stage.run()
    assert client.in_doubt == RangeSet.of(1)


def test_a_rollback_makes_settled_what_was_acknowledged_unsettled_again() -> None:
    stage = Stage()
    client, served = consuming(stage)
    for _ in range(3):
        served.deliver("t", b"m")
    stage.run()
    with pytest.raises(LocalProtocolError, match=r"tx\.select"):
        client.commit()
    client.select_tx()
    client.ack([1, 2])
    client.rollback()
    assert client.unsettled == RangeSet([(1, 3)])
    client.ack(1)
    client.commit()
    client.rollback()
    stage.run()
    assert client.unsettled == served.unsettled == RangeSet([(2, 3)])
    with pytest.raises(LocalProtocolError, match="exclude"):
        client.select_confirm()


@by_name
def test_a_return_comes_before_its_confirm_and_names_its_publish(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    if dialect in EXTENDED:
        client.select_confirm(no_wait=True)
    client.publish("x", "a", b"routed")
    number = client.publish("x", "b", b"unroutable", mandatory=True)
    stage.run()
    served.return_(ReplyCode.NO_ROUTE, "NO_ROUTE", "x", "b", b"unroutable", basic.Properties(message_id="m"))
    if dialect in EXTENDED:
        served.confirm([1, 2])
    stage.run()
    returned, *confirmed = stage.take()[0]
    assert isinstance(returned, MessageReturned)
    assert (returned.number, returned.method.reply_code, returned.properties.message_id) == (number, 312, "m")
    assert confirmed == ([Confirmed(1, RangeSet([(1, 2)]))] if dialect in EXTENDED else [])


@pytest.mark.parametrize("size", [None, 1], ids=["quick", "in parts"])
def test_what_is_not_mandatory_is_not_taken_for_what_comes_back(size: int | None) -> None:
    stage = Stage()
    client, served = stage.open()
    client.publish("x", "b", b"m", size=size)
    number = client.publish("x", "b", b"m", size=size, mandatory=True)
    client.publish("x", "b", b"m", size=size)
    stage.run()
    served.return_(ReplyCode.NO_ROUTE, "NO_ROUTE", "x", "b", b"m")
    stage.run()
    (returned,) = stage.take()[0]
    assert isinstance(returned, MessageReturned)
    assert returned.number == number == 2


@extended
def test_a_consumer_ends_by_either_side(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    ids = [client.consume("q", "a"), client.consume("q", "b"), client.consume("q")]
    stage.run()
    for id, tag in zip(ids, ("a", "b", "c"), strict=True):
        served.reply(id, basic.ConsumeOk(tag))
    stage.run()
    assert client.consumers == served.consumers == ("a", "b", "c")
    stage.take()
    with pytest.raises(LocalProtocolError, match="consumer-tag"):
        client.consume("q", "a")
    served.cancel_consumer("a")
    cancel = client.cancel("b")
    stage.run()
    answer(served, basic.CancelOk("b"))
    stage.run()
    heard, _ = stage.take()
    assert heard == [
        ConsumerCancelled(1, "a", Origin.PEER),
        MethodAnswered(1, cancel, basic.CancelOk("b")),
        ConsumerCancelled(1, "b", Origin.LOCAL),
    ]
    assert set(client.consumers) == set(served.consumers) == {"c"}
    for tag in ("a", "b", "nobody"):
        with pytest.raises(LocalProtocolError, match="no such consumer"):
            served.deliver(tag, b"m")


def test_a_server_may_deliver_before_it_names_the_consumer() -> None:
    stage = Stage()
    client, served = stage.open()
    id = client.consume("q", no_ack=True)
    stage.run()
    served._consumers.unnamed = True
    served.deliver("named", b"early")
    served.reply(id, basic.ConsumeOk("named"))
    served.deliver("named", b"late")
    stage.run()
    heard, _ = stage.take()
    assert [type(each) for each in heard] == [MessageDelivered, MethodAnswered, MessageDelivered]
    assert client.unsettled == RangeSet()


@by_name
def test_recovery_makes_former_tags_void(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = consuming(stage)
    served.deliver("t", b"1")
    served.deliver("t", b"2")
    stage.say_server()
    stage.take()
    client.recover()
    served.deliver("t", b"on its way")
    stage.say_server()  # it comes before the server hears of it
    with pytest.raises(LocalProtocolError, match="twice"):
        client.ack(1)
    stage.run()
    settled, asked = [each for each in stage.take()[1] if not isinstance(each, ContentReceived)][:2]
    assert settled == DeliveriesSettled(1, RangeSet([(1, 3)]), "basic.recover", True)
    assert isinstance(asked, MethodReceived)
    if asked.id is not None:
        served.reply(asked.id, basic.RecoverOk())
        stage.run()
        assert client.unsettled == RangeSet()
        with pytest.raises(LocalProtocolError, match="twice"):
            client.ack(3)
    client.recover_async()
    stage.run()
    served.deliver("t", b"again", redelivered=True)
    stage.run()
    client.ack(4)
    assert stage.violations == []


OBSTACLES: dict[str, tuple[Callable[[Stage, Channel, ServedChannel], object], type[Exception]]] = {
    "we close the channel": (lambda stage, ours, served: ours.close(), ChannelClosedError),
    "the server closes the channel": (lambda stage, ours, served: served.close(), ChannelClosedError),
    "the server breaks a rule": (
        lambda stage, ours, served: served._write(served._method_frame(queue.BindOk())),
        ConnectionClosedError,
    ),
    "we close the connection": (lambda stage, ours, served: stage.client.close(), ConnectionClosedError),
    "the connection ends": (lambda stage, ours, served: stage.client.receive_eof(), ConnectionClosedError),
    "the server stops the flow": (lambda stage, ours, served: served.send(channel.Flow(False)), FlowStopped),
    "a body is under way": (lambda stage, ours, served: ours.publish("", "q", b"begin", size=9), LocalProtocolError),
    "too many messages await a confirm": (
        lambda stage, ours, served: [ours.publish("", "q", b"one of the last") for _ in range(2)],
        LimitError,
    ),
}
"""What stops a channel that has just published from publishing, and the error that says so."""


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_a_channel_that_has_published_refuses_the_next_message_once_something_is_in_the_way(obstacle: str) -> None:
    stage = Stage(limits=Limits(unconfirmed=4))
    client, served = stage.open()
    client.select_confirm(no_wait=True)
    client.publish("", "q", b"first")
    client.publish("", "q", b"second")
    stage.run()
    stop, error = OBSTACLES[obstacle]
    stop(stage, client, served)
    stage.run()
    before = stage.client.bytes_to_send
    with pytest.raises(error):
        client.publish("", "q", b"one too many")
    assert stage.client.bytes_to_send == before


def test_what_was_published_counts_among_the_octets_to_send() -> None:
    stage = Stage()
    client, _ = stage.open()
    for body in (b"first", b"the second"):
        client.publish("", "q", body)
        waiting = stage.client.bytes_to_send
        assert waiting == len(stage.client.data_to_send()) > len(body)


def test_a_channel_publishes_again_once_the_body_is_whole_and_the_flow_is_on() -> None:
    stage = Stage()
    client, served = stage.open()
    client.publish("", "q", b"first")
    client.publish("", "q", b"be", size=5)
    client.body(b"gun")
    client.publish("", "q", b"third")
    stage.run()
    served.send(channel.Flow(False))
    stage.run()
    served.send(channel.Flow(True))
    stage.run()
    client.publish("", "q", b"fourth")
    stage.run()
    _, heard = stage.take()
    bodies = [each.body for each in heard if isinstance(each, ContentReceived)]
    assert bodies == [b"first", b"begun", b"third", b"fourth"]


@by_name
def test_flow_stops_publishing(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    served.send(channel.Flow(False))
    stage.run()
    assert stage.take() == ([FlowChanged(1, False)], [MethodAnswered(1, 1, channel.FlowOk(False))])
    assert client.flow_stopped
    with pytest.raises(FlowStopped, match="paused"):
        client.publish("x", "k", b"m")
    client.qos(1)
    served.send(channel.Flow(True))
    stage.run()
    assert client.publish("x", "k", b"m") == 1


def test_flow_is_answered_behind_a_content_under_way() -> None:
    stage = Stage()
    client, served = stage.open()
    client.publish("x", "k", b"ha", size=4)
    served.send(channel.Flow(False))
    stage.run()
    assert stage.take()[1] == []
    client.body(b"lf")
    stage.run()
    assert [type(each) for each in stage.take()[1]] == [ContentReceived, MethodAnswered]
    assert stage.violations == []


@pytest.mark.parametrize("size", [None, 1], ids=["quick", "in parts"])
@pytest.mark.parametrize("blocked", [False, True])
@pytest.mark.parametrize("policy", ["publish", "raise"])
def test_a_blocked_connection_stops_publishing_where_that_is_asked_for(policy: str, blocked: bool, size: int | None) -> None:
    stage = Stage(blocked=policy)
    client, _ = stage.open()
    stage.client._blocked = blocked
    if blocked and policy == "raise":
        with pytest.raises(FlowStopped, match="blocked"):
            client.publish("x", "k", b"m", size=size)
        assert client.in_doubt == RangeSet()
    else:
        assert client.publish("x", "k", b"m", size=size) == 1


@pytest.mark.parametrize(("ended", "kept"), [(3, 3), (4, 4), (5, 4), (20, 4)])
def test_consumers_that_end_without_an_answer_take_no_more_room_than_the_limit(ended: int, kept: int) -> None:
    """Nobody tells when the server is through with one: RabbitMQ may deliver to it even behind later answers."""
    stage = Stage(client_limits=Limits(subscriptions=4))
    client, _ = stage.open()
    for at in range(ended):
        client.consume("q", str(at), no_wait=True)
        client.cancel(str(at), no_wait=True)
        stage.run()
    assert len(client._consumers._leaving) == kept
    assert stage.violations == []


def test_what_only_the_other_side_says() -> None:
    client, served = Stage().open()
    with pytest.raises(LocalProtocolError, match="only the server"):
        client.send(basic.Deliver("t", 1))
    with pytest.raises(LocalProtocolError, match="only the client"):
        served.send(basic.Publish("x", "k"), body=b"")
    for said in (channel.Open(), channel.Close(200), channel.CloseOk()):
        with pytest.raises(LocalProtocolError, match="life"):
            client.send(said)
    with pytest.raises(LocalProtocolError, match="asked"):
        client.send(channel.FlowOk(True))
    with pytest.raises(EncodeError, match="is not a method of"):
        client.send(channel.Ping())


def test_a_mistake_changes_nothing() -> None:
    stage = Stage(AMQP_0_9_1)
    client, _ = stage.open()
    before = client.mode, client.consumers, client.in_doubt, client._last_id
    mistakes: list[Callable[[], object]] = [
        lambda: client.declare_queue("q" * 256),
        lambda: client.consume("q" * 256, "t"),
        lambda: client.publish("x" * 256, "k"),
        lambda: client.publish("x", "k", b"", headers={"k": object()}),
        lambda: client.publish("x", "k", b"", headers={"k": "v" * 5000}),
        lambda: client.declare_queue("q", arguments={"k": "v" * 5000}),
    ]
    for said in mistakes:
        with pytest.raises(EncodeError):
            said()
    assert (client.mode, client.consumers, client.in_doubt, client._last_id) == before
    assert stage.client.data_to_send() == b""


def test_in_a_transaction_nothing_but_its_end_tells_what_became_of_messages() -> None:
    stage = Stage()
    client, served = stage.open()
    client.select_tx()
    client.publish("x", "k", b"m")
    client.declare_queue("q")
    stage.run()
    answer(served, tx.SelectOk(), queue.DeclareOk("q", 0, 0))
    stage.run()
    doubt = [client.in_doubt]
    client.commit()
    stage.run()
    answer(served, tx.CommitOk())
    stage.run()
    assert [*doubt, client.in_doubt] == [RangeSet.of(1), RangeSet()]


def test_a_bit_is_what_its_value_means() -> None:
    """What goes out and what is kept of it are the same, also for what is no bool."""
    stage = Stage()
    client, served = stage.open()
    client.send(basic.Get("q", 1))  # type: ignore[arg-type]
    stage.run()
    asked = served._heard.kept[0]
    assert asked.settled
    served.got(asked.id, b"m")
    stage.run()
    assert client.unsettled == served.unsettled == RangeSet()
    assert stage.violations == []
