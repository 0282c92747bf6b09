"""A channel in its server's hands: what it answers and refuses."""

from __future__ import annotations

import pytest
from tests.engine.channels.stage import DIALECTS, Stage, answer

from amqp_sansio.config import Profile
from amqp_sansio.dialects import AMQP_0_8_UNBIND, ChannelDialect
from amqp_sansio.errors import CapabilityMissing, ChannelClosedError, FlowStopped, LocalProtocolError
from amqp_sansio.events import (
    ChannelClosed,
    ChannelOpened,
    ChannelRequested,
    ConnectionClosed,
    ContentReceived,
    DeliveriesSettled,
    MessageDelivered,
    MethodAnswered,
    MethodReceived,
    Origin,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec.methods import basic, channel, confirm, queue, tx
from amqp_sansio.spec.reply_codes import ReplyCode

by_name = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)


@by_name
def test_a_channel_is_asked_for_and_accepted(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client = stage.client.channel()
    client.declare_queue("q")  # it need not wait
    stage.run()
    assert stage.take() == (
        [ChannelOpened(1)],
        [ChannelRequested(1), MethodReceived(1, 1, queue.Declare("q", arguments={}, ticket=client_ticket(dialect)))],
    )
    (served,) = stage.server.channels
    assert (client.state, served.state) == ("open", "open")


def client_ticket(dialect: ChannelDialect) -> int | None:
    return None if dialect is DIALECTS[0] else 0


def test_a_channel_is_refused_by_the_application_or_by_policy() -> None:
    stage = Stage(attach="refuse")
    client = stage.client.channel()
    client.publish("x", "k", b"m")
    stage.run()
    assert stage.take()[1] == [ChannelRequested(1)]
    assert client.closed_cause == "the other side closed the channel (506)"
    stage = Stage()
    client = stage.client.channel()
    stage.server.receive_data(stage.client.data_to_send())
    assert stage.server.next_event() == ChannelRequested(1)
    client.publish("x", "k", b"on its way when the channel was refused")
    with pytest.raises(LocalProtocolError, match="no ChannelRequested"):
        stage.server.accept(2)
    refused = stage.server._channels.used[1]
    stage.server.refuse(1, ReplyCode.ACCESS_REFUSED, "not you")
    assert stage.server.channels == ()
    assert refused.closed_cause == "refused: 403 not you"
    stage.run()
    (closed,), heard = stage.take()
    assert isinstance(closed, ChannelClosed)
    assert (closed.origin, closed.code, closed.text, closed.method) == (Origin.PEER, 403, "not you", "channel.open")
    assert heard == []
    assert stage.server._channels.used == stage.client._channels.used == {}


def test_answers_come_in_the_order_of_methods() -> None:
    stage = Stage()
    client, served = stage.open()
    client.declare_queue("q")
    client.qos(1)
    client.purge_queue("q", no_wait=True)
    stage.run()
    with pytest.raises(LocalProtocolError, match="asked first"):
        served.reply(2, basic.QosOk())
    with pytest.raises(LocalProtocolError, match="asked first"):
        served.send(basic.QosOk())
    with pytest.raises(LocalProtocolError, match="order"):
        served.reply(3, queue.PurgeOk(0))
    answer(served, queue.DeclareOk("q", 0, 0), basic.QosOk())
    with pytest.raises(LocalProtocolError):
        served.send(queue.PurgeOk(0))  # it carries no-wait
    stage.run()
    assert [type(each) for each in stage.take()[0]] == [MethodAnswered, MethodAnswered]


def test_a_refusal_ends_the_channel_or_the_connection_as_its_code_says() -> None:
    stage = Stage()
    client, served = stage.open()
    other, _ = stage.open()
    client.declare_queue("q")
    stage.run()
    stage.take()
    served.fail(ReplyCode.RESOURCE_LOCKED, "locked", "queue.declare")
    stage.run()
    (closed,), heard = stage.take()
    assert isinstance(closed, ChannelClosed)
    assert (closed.code, closed.method, closed.calls) == (405, "queue.declare", RangeSet.of(1))
    assert [type(each) for each in heard] == [ChannelClosed]
    assert other.state == "open"
    for numbers in ([], [7]):
        with pytest.raises(ChannelClosedError):
            served.confirm(numbers)
    (_, second) = stage.open(1)
    second.fail(ReplyCode.NOT_IMPLEMENTED, "not here", "queue.declare")
    stage.run()
    ended, heard = stage.take()
    assert [(type(each), getattr(each, "code", None)) for each in ended] == [
        (ChannelClosed, None), (ChannelClosed, None), (ConnectionClosed, 540),
    ]  # fmt: skip
    assert isinstance(heard[-1], ConnectionClosed)


def test_deliveries_wait_for_the_client_to_let_them_flow() -> None:
    stage = Stage()
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    client.send(channel.Flow(False))
    stage.run()
    served.deliver("t", b"in time")
    answer(served, channel.FlowOk(False))
    assert served.flow_stopped
    with pytest.raises(FlowStopped):
        served.deliver("t", b"m")
    client.send(channel.Flow(True))
    stage.run()
    answer(served, channel.FlowOk(True))
    assert served.deliver("t", b"m") == 2


def test_what_the_client_cannot_take_is_not_sent() -> None:
    _, served = Stage(AMQP_0_8_UNBIND).open()
    with pytest.raises(LocalProtocolError, match="only the client"):
        served.cancel_consumer("t")
    stage = Stage()
    client, served = stage.open()
    with pytest.raises(LocalProtocolError, match="no such consumer"):
        served.cancel_consumer("t")
    with pytest.raises(LocalProtocolError, match="confirm"):
        served.send(basic.Ack(1))
    client.select_confirm(no_wait=True)
    stage.run()
    for tag, rule in ((1, "unpublished"), (0, "unpublished")):
        with pytest.raises(LocalProtocolError, match=rule):
            served.send(basic.Ack(tag))
    client.publish("x", "k")
    stage.run()
    served.confirm(1)
    served.confirm([])
    with pytest.raises(LocalProtocolError, match="twice"):
        served.send(basic.Ack(1))
    served._consumers.consume(("basic", "t"), False, True)
    with pytest.raises(LocalProtocolError, match="delivery-tag"):
        served.send(basic.Deliver("t", 0), body=b"")
    stage.server._capabilities = type(stage.server.capabilities)()
    with pytest.raises(CapabilityMissing):
        served.cancel_consumer("t")


@by_name
def test_a_message_may_be_delivered_in_parts(dialect: ChannelDialect) -> None:
    stage = Stage(dialect)
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    stage.run()
    stage.take()
    served.deliver("t", b"ab", size=6)
    with pytest.raises(LocalProtocolError, match="content"):
        served.deliver("t", b"")
    served.body(b"cd")
    stage.run()
    served.body(b"ef")
    stage.run()
    (message,), _ = stage.take()
    assert isinstance(message, MessageDelivered)
    assert message.body == b"abcdef"


def test_transactions_are_the_applications_to_answer() -> None:
    stage = Stage()
    client, served = stage.open()
    client.select_tx()
    client.publish("x", "k", b"m")
    client.commit()
    stage.run()
    assert [type(each) for each in stage.take()[1]] == [MethodReceived, ContentReceived, MethodReceived]
    assert served.mode == "transacted"
    answer(served, tx.SelectOk(), tx.CommitOk())
    stage.run()
    assert stage.violations == []


def test_what_a_client_does_wrong_ends_the_channel_with_the_code_of_the_version() -> None:
    for dialect in DIALECTS:
        for letter in (False, True):
            stage = Stage(dialect, profile=Profile(error_codes="spec" if letter else "rabbitmq"))
            client, served = stage.open()
            client._deliveries.tags.give_next()  # it believes in a delivery that never was
            client.ack(1)
            client.publish("x", "k", b"m")
            stage.run()
            heard, told = stage.take()
            if dialect is AMQP_0_8_UNBIND and letter:
                assert isinstance(heard[-1], ConnectionClosed)
                assert heard[-1].code == 530
                continue
            (closed,) = heard
            assert isinstance(closed, ChannelClosed)
            assert (closed.origin, closed.code, closed.method) == (Origin.PEER, 406, "basic.ack")
            (blamed,) = told
            assert isinstance(blamed, ChannelClosed)
            assert blamed.violation is not None
            assert (blamed.origin, blamed.violation.rule) == (Origin.VIOLATION, "delivery-tag.unknown")
            assert stage.server._channels.used == {}
            assert served.closed_cause is not None


def test_all_up_to_a_settled_tag_settles_that_one_twice() -> None:
    """As RabbitMQ says it: the tag that is named must be one that waits, too."""
    stage = Stage()
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    stage.run()
    for _ in range(2):
        served.deliver("t", b"m")
    stage.run()
    client.ack(2)
    client._write(client._method_frame(basic.Ack(2, True)))
    stage.run()
    blamed = stage.take()[1][-1]
    assert isinstance(blamed, ChannelClosed)
    assert blamed.violation is not None
    assert (blamed.code, blamed.violation.rule, blamed.unsettled) == (406, "delivery-tag.twice", RangeSet.of(1))


def test_confirm_select_counts_from_one() -> None:
    stage = Stage()
    client, served = stage.open()
    client.publish("x", "k", b"plain")
    client.select_confirm()
    client.publish("x", "k", b"first")
    stage.run()
    answer(served, confirm.SelectOk())
    numbers = [each.number for each in stage.take()[1] if isinstance(each, ContentReceived)]
    assert numbers == [None, 1]
    last = served._last_id
    served.confirm(1)
    assert served.return_(ReplyCode.NO_ROUTE, "NO_ROUTE", "x", "k") == last + 2  # a confirm is a method, and has its id
    stage.run()
    assert client.in_doubt == RangeSet()


def test_a_server_learns_why_it_cannot_confirm() -> None:
    stage = Stage()
    client, served = stage.open()
    with pytest.raises(LocalProtocolError, match="the client has not selected confirms"):
        served.confirm({1})
    client.select_confirm()
    stage.run()
    answer(served, confirm.SelectOk())
    with pytest.raises(LocalProtocolError, match="a message is confirmed once"):
        served.confirm({1})


def test_an_ack_of_a_client_confirms_nothing() -> None:
    """The quick way of a client for confirms is none of a server."""
    stage = Stage()
    client, served = stage.open()
    client.select_confirm()
    client.consume("q", "t", no_wait=True)
    client.publish("x", "k", b"unconfirmed")
    stage.run()
    answer(served, confirm.SelectOk())
    served.deliver("t", b"m")
    stage.run()
    stage.take()
    client.ack(1)
    stage.run()
    assert stage.take() == ([], [DeliveriesSettled(1, RangeSet.of(1), "basic.ack")])
    assert served.unconfirmed == RangeSet.of(1)


def test_settled_deliveries_are_reported_as_sets() -> None:
    stage = Stage()
    client, served = stage.open()
    client.consume("q", "t", no_wait=True)
    stage.run()
    for _ in range(4):
        served.deliver("t", b"m")
    stage.run()
    client.send(basic.Nack(3, True, True))
    stage.run()
    assert stage.take()[1][-1] == DeliveriesSettled(1, RangeSet([(1, 3)]), "basic.nack", True)
    assert served.unsettled == RangeSet.of(4)
