"""Events about messages are plain values; headers are decoded when asked for and remembered outside the value."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import pytest

from amqp_sansio.errors import HeaderError
from amqp_sansio.events import ProducerCreditChanged, TransferReceived
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, Transfer

# The header segment of model 1.7's golden transfer: delivery-properties{mode 2, key q} and
# message-properties{len 5, reply-to(amq.direct, r), text/plain, {k: int64 1}}.
HEADER = bytes.fromhex(
    "00000007040110020201710000003b040319010000000000000005000f03000a616d712e64697265637401720a746578742f706c61696e"
    "0000000f00000001016b310000000000000001"
)
PAIRS: list[tuple[ValueObject, ValueObject]] = [
    (TransferReceived(b"s", 1, Transfer("d"), HEADER, b"hello"), TransferReceived(b"s", 1, Transfer("d"), HEADER, b"hallo")),
    (ProducerCreditChanged(b"s", 0), ProducerCreditChanged(b"s", None)),
]


@pytest.mark.parametrize(("one", "other"), PAIRS, ids=lambda value: type(value).__name__)
def test_an_event_about_a_message_is_a_plain_value(
    plain: Callable[[ValueObject, ValueObject], None], one: ValueObject, other: ValueObject
) -> None:
    plain(one, other)


def test_headers_are_decoded_when_asked_for() -> None:
    event = TransferReceived(b"s", 1, Transfer("d"), HEADER, b"hello")
    delivery, properties = event.delivery_properties, event.message_properties
    assert delivery == DeliveryProperties(delivery_mode=2, routing_key="q")
    assert isinstance(properties, MessageProperties)
    assert properties.content_type == "text/plain"
    assert properties.application_headers == {"k": 1}
    assert event.fragment_properties is None
    assert event.headers == (delivery, properties)
    assert event.headers is event.headers


def test_what_was_decoded_is_outside_equality_and_pickle() -> None:
    read, unread = (TransferReceived(b"s", 1, Transfer("d"), HEADER) for _ in range(2))
    assert read.headers
    assert read == unread
    assert hash(read) == hash(unread)
    assert pickle.dumps(read) == pickle.dumps(unread)


def test_a_message_without_header_has_no_properties() -> None:
    event = TransferReceived(b"s", 1, Transfer("d"))
    assert event.headers == ()
    assert event.delivery_properties is None
    assert event.message_properties is None


def test_a_field_that_cannot_be_read_raises_in_the_reader_and_not_in_the_repr() -> None:
    # delivery-properties whose routing-key says 9 octets and has 1.
    event = TransferReceived(b"s", 1, Transfer("d"), bytes.fromhex("00000006040100020971"))
    with pytest.raises(HeaderError):
        _ = event.headers
    assert repr(event).startswith("TransferReceived(")
