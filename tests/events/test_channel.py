"""Events of channels are plain values that name their channel; properties are decoded when asked for."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from amqp_sansio.dialects import AMQP_0_8
from amqp_sansio.errors import HeaderError
from amqp_sansio.events import (
    ChannelClosed,
    ChannelOpened,
    ChannelRequested,
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
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.methods import basic, queue, stream
from amqp_sansio.wire.codec import DEFAULT_READING
from amqp_sansio.wire.method_codec import RepeatedProperties

ONE, TWO = RangeSet.of(1), RangeSet.of(1, 2)
HEADER = bytes.fromhex("003c0000 0000000000000004 8000 04") + b"text"
DELIVER, GOT = basic.Deliver("t", (1 << 32) + 5), basic.GetOk((1 << 32) + 5)
PAIRS: list[tuple[ValueObject, ValueObject]] = [
    (ChannelRequested(1), ChannelRequested(2)),
    (ChannelOpened(1), ChannelOpened(2)),
    (ChannelClosed(1, Origin.PEER), ChannelClosed(1, Origin.PEER, 404, "gone", "queue.bind", in_doubt=ONE)),
    (MethodAnswered(1, 1, queue.BindOk()), MethodAnswered(1, 2, queue.BindOk())),
    (MethodReceived(1, 1, queue.Bind("q")), MethodReceived(1, None, queue.Bind("q"))),
    (MessageDelivered(1, DELIVER, HEADER, b"m"), MessageDelivered(1, DELIVER, HEADER, b"n")),
    (MessageGot(1, 1, GOT, HEADER, b"m"), MessageGot(1, 2, GOT, HEADER, b"m")),
    (MessageReturned(1, None, basic.Return(312), HEADER, b"m"), MessageReturned(1, 3, basic.Return(312), HEADER, b"m")),
    (ContentReceived(1, None, basic.Publish("x"), HEADER), ContentReceived(1, 1, basic.Publish("x"), HEADER)),
    (Confirmed(1, ONE), Confirmed(1, TWO)),
    (Nacked(1, ONE), Nacked(1, TWO)),
    (DeliveriesSettled(1, ONE, "basic.ack"), DeliveriesSettled(1, ONE, "basic.reject", True)),
    (ConsumerCancelled(1, "t", Origin.PEER), ConsumerCancelled(1, "t", Origin.LOCAL)),
    (FlowChanged(1, True), FlowChanged(1, False)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_an_event_of_a_channel_is_a_plain_value(
    plain: Callable[[ValueObject, ValueObject], None], one: ValueObject, other: ValueObject
) -> None:
    plain(one, other)
    assert one.values()[0] == 1


def test_properties_are_decoded_when_asked_for_and_outside_the_value() -> None:
    read, unread = (MessageDelivered(1, DELIVER, HEADER, b"m") for _ in range(2))
    assert read.properties == basic.Properties(content_type="text")
    assert read.properties is read.properties
    assert read == unread
    assert pickle.dumps(read) == pickle.dumps(unread)
    assert read.property_octets == HEADER[12:]
    assert (read.tag, MessageGot(1, 1, GOT).tag) == (5, 5)  # sets hold the lower 32 bits


def test_the_engine_says_how_properties_are_read() -> None:
    # In 0-8 the field tables of a header know no boolean.
    header = bytes.fromhex("003c0000 0000000000000000 2000 00000004 01") + b"kt\1"
    deployed = MessageReturned(1, 1, basic.Return(), header)
    assert deployed.properties.headers == {"k": True}
    got = MessageGot(1, 1, GOT, header)
    got.read_as(RepeatedProperties(AMQP_0_8.codec, DEFAULT_READING))
    assert got.properties == deployed.properties or isinstance(got.properties, basic.Properties)


@pytest.mark.parametrize(
    "header",
    [b"", b"\0", HEADER[:-1], HEADER[:12] + b"\x80\0", bytes.fromhex("00320000 0000000000000000 0000"),
     bytes.fromhex("00500000 0000000000000000 0000")],
)  # fmt: skip
def test_what_cannot_be_read_raises_in_the_reader_and_not_in_the_repr(header: bytes) -> None:
    event = ContentReceived(1, None, basic.Publish("x"), header)
    with pytest.raises(HeaderError):
        _ = event.properties
    assert repr(event)


def test_a_content_of_another_class_has_its_own_properties() -> None:
    header = bytes.fromhex("00500000 0000000000000000 8000 01") + b"a"
    event = ContentReceived(1, None, stream.Publish(), header)
    event.read_as(RepeatedProperties(AMQP_0_8.codec, DEFAULT_READING))
    assert event.read_properties() == stream.Properties(content_type="a")
    with pytest.raises(HeaderError, match="class basic"):
        _ = event.properties
