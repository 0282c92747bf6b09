"""What identifiers mean for a message."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.broker.model.things import message

from amqp_sansio.broker.selectors import properties as module
from amqp_sansio.broker.selectors.expressions import Identifier
from amqp_sansio.broker.selectors.properties import Selectable, named
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Float, List, Map, Str8, Uint8, Value, Vbin16


def jms(properties: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in properties.items() if not name.startswith("amqp.")}


def test_header_fields_as_qpidd_names_them() -> None:
    sent = message(
        "k", b"", "x",
        message_id=UUID(int=5), correlation_id=b"c", priority=7, delivery_mode=2, timestamp=17, expiration=9,
        reply_to=ReplyTo("e", "r"),
        application_headers=Map({"x-jms-type": "car", "qpid.subject": "s", "amqp.to": "a lie"}),
    )  # fmt: skip
    found = Selectable().properties(sent, True)
    expected = {
        "delivery_mode": "PERSISTENT", "subject": "s", "redelivered": True, "priority": 7, "correlation_id": "c",
        "message_id": "00000000-0000-0000-0000-000000000005", "to": "x", "reply_to": "e/r", "absolute_expiry_time": 9,
        "creation_time": 17, "jms_type": "car",
    }  # fmt: skip
    for name, value in expected.items():
        assert Identifier(named(f"amqp.{name}")).value(found.get) == value
    plain = Selectable().properties(message("queue"), False)
    told = {name: Identifier(named(f"amqp.{name}")).value(plain.get) for name in expected}
    assert {name: value for name, value in told.items() if value is not None} == {
        "delivery_mode": "NON_PERSISTENT", "redelivered": False, "priority": 4, "to": "queue", "absolute_expiry_time": 0,
        "creation_time": 0,
    }  # fmt: skip


@pytest.mark.parametrize(("exchange", "key", "text"), [("e", None, "e"), (None, "r", "r"), (None, None, None)])
def test_an_address_to_reply_to(exchange: str | None, key: str | None, text: str | None) -> None:
    assert Selectable().properties(message(reply_to=ReplyTo(exchange, key)), False).get("amqp.reply_to") == text


def test_header_fields_of_jms() -> None:
    sent = message(
        message_id=UUID(int=5), correlation_id=b"gr\xc3\xbcn", priority=7, delivery_mode=2, timestamp=1700000000000,
        expiration=9,
        application_headers=Map({"x-jms-type": "car"}),
    )  # fmt: skip
    assert jms(Selectable().properties(sent, True)) == {
        "JMSMessageID": "ID:00000000-0000-0000-0000-000000000005",
        "JMSCorrelationID": "grün",
        "JMSType": "car",
        "JMSDeliveryMode": "PERSISTENT",
        "JMSPriority": 7,
        "JMSTimestamp": 1700000000000,
        "JMSExpiration": 9,
        "JMSRedelivered": True,
        "x-jms-type": "car",
    }


def test_a_message_without_properties() -> None:
    assert jms(Selectable().properties(message(), False)) == {
        "JMSDeliveryMode": "NON_PERSISTENT",
        "JMSPriority": 4,
        "JMSTimestamp": 0,
        "JMSExpiration": 0,
        "JMSRedelivered": False,
    }


def test_application_headers_are_plain_values_and_what_cannot_be_compared_is_null() -> None:
    headers: dict[str, Value] = {
        "text": Str8("a"), "octets": Vbin16(b"gr\xc3\xbcn"), "other": b"\xff", "number": Uint8(3), "ratio": Float(2.5),
        "yes": True, "map": Map({"a": 1}), "list": List([1]), "none": None,
    }  # fmt: skip
    found = Selectable().properties(message(application_headers=Map(headers)), False)
    plain = {name: value for name, value in found.items() if not name.startswith(("JMS", "amqp."))}
    assert plain == {"text": "a", "octets": "grün", "number": 3, "ratio": 2.5, "yes": True}
    assert [type(value) for value in plain.values()] == [str, str, int, float, bool]


def test_an_application_header_does_not_replace_a_header_field() -> None:
    found = Selectable().properties(message(application_headers=Map({"JMSPriority": 9, "JMSRedelivered": True})), False)
    assert (found["JMSPriority"], found["JMSRedelivered"]) == (4, False)


def test_only_the_last_messages_are_remembered() -> None:
    selectable = Selectable()
    sent = [message(key=f"k{number}") for number in range(module.REMEMBERED + 1)]
    for each in sent:
        selectable.properties(each, False)
        assert len(selectable._remembered) <= module.REMEMBERED
    assert selectable.properties(sent[-1], True) is selectable.properties(sent[-1], False)


def test_of_large_headers_only_the_last_one_is_remembered() -> None:
    selectable = Selectable()
    sent = [message(application_headers=Map({f"h{number}": "x" * 40000})) for number in range(3)]
    for each in sent:
        selectable.properties(each, False)
        assert len(selectable._remembered) == 1
    assert selectable.properties(sent[-1], True) is selectable.properties(sent[-1], False)
