"""Channels at RabbitMQ, in 0-9-1, 0-9 and 0-8: what our client says does at the broker what it means, down to its queues."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

import pytest
from tests.interop.rabbitmq_talk import DIALECTS, EXTENDED, Talk

from amqp_sansio.dialects import AMQP_0_8_UNBIND, ChannelDialect
from amqp_sansio.engine.channels.client import Channel
from amqp_sansio.events import (
    ChannelClosed,
    Confirmed,
    ConsumerCancelled,
    MessageDelivered,
    MessageGot,
    MessageReturned,
    Nacked,
    Origin,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import Limits
from amqp_sansio.spec.fields import Field, FieldTable
from amqp_sansio.spec.methods import basic, confirm, queue, tx
from amqp_sansio.spec.values import List
from tools.interop.rabbitmq import RabbitMq

each_dialect = pytest.mark.parametrize("dialect", DIALECTS, ids=lambda dialect: dialect.name)
extended = pytest.mark.parametrize("dialect", EXTENDED, ids=lambda dialect: dialect.name)
pytestmark = pytest.mark.usefixtures("witness")


@pytest.fixture
def talk(rabbitmq: RabbitMq, dialect: ChannelDialect) -> Iterator[Talk]:
    with Talk(rabbitmq.port, dialect) as opened:
        yield opened


def holds(talk: Talk, channel: Channel, name: str, *bodies: bytes) -> None:
    """The queue holds these messages, in any order, and then none: they are taken out."""
    talk.until(lambda: talk.count(channel, name) == len(bodies))
    for _ in bodies:
        channel.get(name, no_ack=True)
    assert sorted([event.body for event in talk.wait(MessageGot, len(bodies))]) == sorted(bodies)
    talk.answer(channel, channel.get(name), basic.GetEmpty)


# --- to and fro -----------------------------------------------------------------------------------------------------------


@each_dialect
def test_what_is_published_is_consumed_and_acknowledged(talk: Talk) -> None:
    channel = talk.open()
    name = talk.declare(channel).queue
    for number in range(100):
        channel.publish("", name, b"%d" % number, message_id=f"m{number}", headers={"n": number})
    talk.until(lambda: talk.count(channel, name) == 100)
    channel.qos(10)
    channel.consume(name, "c")
    for first in range(0, 100, 10):
        here = talk.wait(MessageDelivered, 10)
        assert [each.body for each in here] == [b"%d" % number for number in range(first, first + 10)]
        assert [each.properties.headers for each in here] == [{"n": number} for number in range(first, first + 10)]
        assert len(channel.unsettled) == 10
        channel.ack(channel.unsettled)
    channel.cancel("c")
    (ended,) = talk.wait(ConsumerCancelled)
    assert (ended.consumer_tag, ended.origin) == ("c", Origin.LOCAL)
    talk.until(lambda: talk.count(channel, name) == 0)


@each_dialect
def test_a_message_is_got_or_there_is_none(talk: Talk) -> None:
    channel = talk.open()
    name = talk.declare(channel).queue
    talk.answer(channel, channel.get(name), basic.GetEmpty)
    channel.publish("", name, b"one", content_type="text/plain")
    channel.publish("", name, b"two")
    id = channel.get(name)
    (event,) = talk.wait(MessageGot)
    assert (event.id, event.body, event.properties.content_type, event.method.message_count) == (id, b"one", "text/plain", 1)
    talk.until(lambda: talk.count(channel, name) == 1)
    channel.ack(event.tag)
    holds(talk, channel, name, b"two")


LARGE = Limits(assembly_octets=65 << 20, buffered_octets=65 << 20)


@each_dialect
@pytest.mark.parametrize("size", [0, 1, 131064, 131065, 64 << 20])
def test_bodies_of_any_size(rabbitmq: RabbitMq, dialect: ChannelDialect, size: int) -> None:
    """Of none, of one frame, of one more, and of 64 MiB, said in parts."""
    body = bytes(range(256)) * (size // 256 + 1)
    body = body[:size]
    with Talk(rabbitmq.port, dialect, limits=LARGE, shown=size < 1 << 20) as talk:
        channel = talk.open()
        name = talk.declare(channel).queue
        channel.publish("", name, body[:1000], size=size)
        for at in range(1000, size, 1 << 20):
            channel.body(body[at : at + (1 << 20)])
            talk.say()
        talk.until(lambda: talk.count(channel, name) == 1)
        holds(talk, channel, name, body)


# --- what the broker took, and what it did not ------------------------------------------------------------------------------


@extended
def test_as_many_are_confirmed_as_were_published(talk: Talk) -> None:
    """10,000, at most 1,000 of them unconfirmed at any time."""
    channel = talk.open()
    name = talk.declare(channel).queue
    talk.answer(channel, channel.select_confirm(), confirm.SelectOk)
    sent = 0
    while sent < 10_000 or channel.in_doubt:
        while sent < 10_000 and len(channel.in_doubt) < 1000:
            sent = channel.publish("", name, b"%d" % (sent + 1))
        talk.step()
    confirmed = RangeSet()
    for event in talk.all(Confirmed):
        assert not confirmed & event.ids, "each comes once"
        confirmed = confirmed | event.ids
    assert confirmed == RangeSet.span(1, 10_000)
    assert talk.all(Nacked) == []
    talk.until(lambda: talk.count(channel, name) == 10_000)


@extended
def test_a_full_queue_nacks(talk: Talk) -> None:
    channel = talk.open()
    name = talk.declare(channel, arguments={"x-max-length": 1, "x-overflow": "reject-publish"}).queue
    talk.answer(channel, channel.select_confirm(), confirm.SelectOk)
    for number in range(3):
        channel.publish("", name, b"%d" % number)
        talk.until(lambda: not channel.in_doubt)
    assert [event.ids for event in talk.all(Confirmed)] == [RangeSet.of(1)]
    assert [event.ids for event in talk.all(Nacked)] == [RangeSet.of(2), RangeSet.of(3)]
    holds(talk, channel, name, b"0")


@each_dialect
def test_what_goes_nowhere_comes_back_before_its_confirm(talk: Talk, dialect: ChannelDialect) -> None:
    channel = talk.open()
    name = talk.declare(channel).queue
    if dialect in EXTENDED:
        talk.answer(channel, channel.select_confirm(), confirm.SelectOk)
    channel.publish("", name, b"kept", mandatory=True)
    lost = channel.publish("", "no such queue", b"back", mandatory=True, message_id="m")
    channel.publish("", "no such queue", b"dropped")
    (event,) = talk.wait(MessageReturned)
    assert (event.number, event.body, event.properties.message_id) == (lost, b"back", "m")
    assert (event.method.reply_code, event.method.reply_text) == (312, "NO_ROUTE")
    if dialect in EXTENDED:
        talk.until(lambda: not channel.in_doubt)
        confirmed = next(each for each in talk.all(Confirmed) if lost in each.ids)
        assert talk.events.index(event) < talk.events.index(confirmed)
    holds(talk, channel, name, b"kept")


@each_dialect
def test_transactions(talk: Talk) -> None:
    channel, other = talk.open(), talk.open()
    name = talk.declare(channel).queue
    talk.answer(channel, channel.select_tx(), tx.SelectOk)
    channel.publish("", name, b"taken back")
    talk.answer(channel, channel.rollback(), tx.RollbackOk)
    channel.publish("", name, b"kept")
    assert len(channel.in_doubt) == 1
    talk.until(lambda: talk.count(other, name) == 0)
    talk.answer(channel, channel.commit(), tx.CommitOk)
    assert not channel.in_doubt
    talk.until(lambda: talk.count(other, name) == 1)
    channel.get(name)
    (event,) = talk.wait(MessageGot)
    channel.ack(event.tag)
    assert not channel.unsettled
    talk.answer(channel, channel.rollback(), tx.RollbackOk)
    assert channel.unsettled == RangeSet.of(event.tag)
    channel.ack(event.tag)
    talk.answer(channel, channel.commit(), tx.CommitOk)
    assert not channel.unsettled
    holds(talk, other, name)


# --- what a consumer gives back ---------------------------------------------------------------------------------------------


@each_dialect
def test_what_is_given_back_is_delivered_again(talk: Talk) -> None:
    channel = talk.open()
    name = talk.declare(channel).queue
    for number in range(4):
        channel.publish("", name, b"%d" % number)
    channel.consume(name, "c")
    first = talk.wait(MessageDelivered, 4)
    assert not any(each.method.redelivered for each in first)
    channel.ack(first[0].tag)
    channel.nack([first[1].tag, first[2].tag])
    channel.reject(first[3].tag, requeue=False)
    again = talk.wait(MessageDelivered, 2)
    assert sorted(each.body for each in again) == [b"1", b"2"]
    assert all(each.method.redelivered for each in again)
    channel.close()
    talk.until(lambda: talk.all(ChannelClosed))
    (closed,) = talk.all(ChannelClosed)
    assert closed.unsettled == RangeSet.of(*[each.tag for each in again])
    other = talk.open()
    holds(talk, other, name, b"1", b"2")


@each_dialect
def test_all_is_recovered(talk: Talk, dialect: ChannelDialect) -> None:
    channel = talk.open()
    name = talk.declare(channel).queue
    channel.publish("", name, b"m")
    channel.consume(name, "c")
    (first,) = talk.wait(MessageDelivered)
    if dialect is AMQP_0_8_UNBIND:
        channel.recover_async()
    else:
        channel.recover()
    (again,) = talk.wait(MessageDelivered)
    assert (again.body, again.method.redelivered) == (b"m", True)
    assert again.tag != first.tag
    channel.ack(again.tag)
    channel.cancel("c")
    talk.wait(ConsumerCancelled)
    holds(talk, channel, name)


@each_dialect
def test_what_was_on_its_way_when_all_was_recovered(rabbitmq: RabbitMq, talk: Talk, dialect: ChannelDialect) -> None:
    """It cannot be acknowledged any more; only an answer to the recovery tells the client so."""
    channel, name = talk.open(), f"late {dialect.name}"
    talk.declare(channel, name, exclusive=False)
    channel.publish("", name, b"m")
    talk.until(lambda: talk.count(channel, name) == 1)
    channel.consume(name, "c")
    with Talk(rabbitmq.port) as other:
        looking = other.open()
        talk.say()
        other.until(lambda: other.count(looking, name) == 0)  # it is delivered, and nobody has heard it
    channel.recover()
    first, again = talk.wait(MessageDelivered, 2)
    assert (first.method.redelivered, again.method.redelivered) == (False, True)
    if "basic.recover" in channel._channels.answerable:
        talk.until(lambda: channel.unsettled == RangeSet.of(again.tag))
        channel.ack(again.tag)
    else:
        channel.ack(first.tag)
        talk.until(lambda: talk.all(ChannelClosed))
        assert [each.code for each in talk.all(ChannelClosed)] == [406]
        channel = talk.open()
        holds(talk, channel, name, b"m")
    talk.answer(channel, channel.delete_queue(name), queue.DeleteOk)


@each_dialect
def test_a_dead_letter_tells_where_it_died(talk: Talk) -> None:
    channel = talk.open()
    grave = talk.declare(channel).queue
    name = talk.declare(channel, arguments={"x-dead-letter-exchange": "", "x-dead-letter-routing-key": grave}).queue
    channel.publish("", name, b"m", headers={"mine": 1})
    channel.get(name)
    (event,) = talk.wait(MessageGot)
    channel.reject(event.tag, requeue=False)
    talk.until(lambda: talk.count(channel, grave))
    channel.get(grave, no_ack=True)
    (dead,) = talk.wait(MessageGot)
    headers = dead.properties.headers
    assert headers is not None
    assert headers["mine"] == 1
    deaths = headers["x-death"]
    assert isinstance(deaths, list | tuple)
    (death,) = deaths
    assert isinstance(death, FieldTable)
    assert {key: death[key] for key in ("count", "reason", "queue", "exchange", "routing-keys")} == {
        "count": 1, "reason": "rejected", "queue": name, "exchange": "", "routing-keys": List([name]),
    }  # fmt: skip
    assert dead.body == b"m"
    holds(talk, channel, name)
    holds(talk, channel, grave)


LETTERS = {
    "t": True, "b": -5, "B": 250, "s": -700, "u": 60_000, "I": -70_000, "i": 3_000_000_000, "l": -(1 << 40), "L": -(1 << 41),
    "f": 0.5, "d": 0.1, "D": Decimal("12.34"), "S": "text", "x": b"\0\xff", "T": 1_700_000_000, "V": None,
    "A": (Field("S", "in an array"), Field("I", 7)), "F": FieldTable([("inner", Field("b", 1))]),
}  # fmt: skip


LETTERED = {letter: Field(letter, value) for letter, value in LETTERS.items()}
"""Headers with each letter but U, which RabbitMQ does not read (see the ends)."""


@each_dialect
def test_each_letter_of_field_tables_is_kept(talk: Talk) -> None:
    channel = talk.open()
    name = talk.declare(channel).queue
    channel.publish("", name, b"m", headers=LETTERED)
    channel.get(name, no_ack=True)
    (event,) = talk.wait(MessageGot)
    headers = event.properties.headers
    assert isinstance(headers, FieldTable)
    assert dict(headers.fields) == LETTERED
    talk.until(lambda: talk.count(channel, name) == 0)


# --- many channels, and their ends --------------------------------------------------------------------------------------------


@each_dialect
def test_2047_channels(rabbitmq: RabbitMq, dialect: ChannelDialect) -> None:
    with Talk(rabbitmq.port, dialect) as talk:
        first = talk.open()
        name = talk.declare(first).queue
        channels = [first, *[talk.client.channel() for _ in range(2046)]]
        for channel in channels:
            channel.publish("", name, b"%d" % channel.number)
        ids = [channel.declare_queue(name, passive=True) for channel in channels]
        for channel, id in zip(channels, ids, strict=True):
            talk.answer(channel, id, queue.DeclareOk)
        assert len(talk.client.channels) == 2047
        talk.until(lambda: talk.count(first, name) == 2047)
        with pytest.raises(Exception, match="channels"):
            talk.client.channel()


@each_dialect
@pytest.mark.parametrize("code", [403, 404, 405, 406])
def test_a_channel_is_closed_and_the_connection_goes_on(
    rabbitmq: RabbitMq, talk: Talk, dialect: ChannelDialect, code: int
) -> None:
    channel, other = talk.open(), talk.open()
    name = talk.declare(other, f"sansio-{code}").queue
    with Talk(rabbitmq.port, dialect) as stranger:
        locked = stranger.declare(stranger.open()).queue
        channel.publish("", name, b"before")
        wrong = {
            403: ("amq.mine", {}),
            404: ("no such queue", {"passive": True}),
            405: (locked, {"passive": True}),
            406: (name, {"exclusive": True, "auto_delete": True}),
        }[code]
        id = channel.declare_queue(wrong[0], **wrong[1])  # type: ignore[arg-type]
        behind = channel.publish("", name, b"behind")
        (closed,) = talk.wait(ChannelClosed)
    assert (closed.channel, closed.origin, closed.code, closed.method) == (channel.number, Origin.PEER, code, "queue.declare")
    assert closed.calls == closed.concerned & RangeSet.of(id)
    assert id in closed.concerned
    assert behind in closed.in_doubt
    assert channel.closed_cause is not None
    holds(talk, other, name, b"before")
    again = talk.client.channel(channel.number)  # its number is free again
    talk.answer(again, again.declare_queue(name, passive=True), queue.DeclareOk)


@extended
def test_a_consumer_ends_with_its_queue(talk: Talk) -> None:
    channel, other = talk.open(), talk.open()
    name = talk.declare(channel, "sansio-consumed").queue
    for number in range(3):
        channel.publish("", name, b"%d" % number)
    channel.qos(1)
    talk.answer(channel, channel.consume(name, "c"), basic.ConsumeOk)
    talk.wait(MessageDelivered)
    talk.until(lambda: talk.count(other, name) == 2)
    assert talk.answer(other, other.delete_queue(name), queue.DeleteOk).message_count == 2
    (ended,) = talk.wait(ConsumerCancelled)
    assert (ended.channel, ended.consumer_tag, ended.origin) == (channel.number, "c", Origin.PEER)
    assert channel.consumers == ()
    again = talk.declare(channel, name).queue
    holds(talk, other, again)
