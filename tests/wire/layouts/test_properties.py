"""Properties given one by one are written as the structs that hold them would be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.builds import wrong_type

from amqp_sansio.errors import EncodeError
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo
from amqp_sansio.spec.values import Map, NullMap
from amqp_sansio.wire.layouts.layout import encode_headers
from amqp_sansio.wire.layouts.properties import write_properties

TEXT = st.text(max_size=60)
OCTETS = st.binary(max_size=300)
LONG = st.integers(0, 2**64 - 1)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "discard_unroutable": st.booleans(),
    "immediate": st.booleans(),
    "redelivered": st.booleans(),
    "priority": st.integers(0, 255),
    "delivery_mode": st.integers(0, 255),
    "ttl": LONG,
    "timestamp": LONG,
    "expiration": LONG,
    "exchange": TEXT,
    "routing_key": TEXT,
    "resume_id": TEXT,
    "resume_ttl": LONG,
    "content_length": LONG,
    "message_id": st.uuids(),
    "correlation_id": OCTETS,
    "reply_to": st.builds(ReplyTo, TEXT, TEXT),
    "content_type": TEXT,
    "content_encoding": TEXT,
    "user_id": OCTETS,
    "app_id": OCTETS,
    "application_headers": st.dictionaries(TEXT, st.one_of(TEXT, st.integers(-(2**63), 2**63 - 1), st.none())),
}


def structs(fields: dict[str, Any]) -> tuple[DeliveryProperties, MessageProperties]:
    """The same in structs."""
    delivery = {name: value for name, value in fields.items() if name in DeliveryProperties.FIELDS}
    return DeliveryProperties(**delivery), MessageProperties(**{k: v for k, v in fields.items() if k not in delivery})


@given(st.fixed_dictionaries({}, optional=VALUES))
def test_one_by_one_and_in_structs_are_the_same_octets(fields: dict[str, Any]) -> None:
    """Any properties given one by one are the octets of the structs that hold them, without those that hold nothing."""
    delivery, message = structs(fields)
    kept = [struct for struct in (delivery, message) if struct != type(struct)()]
    assert write_properties(**fields) == encode_headers(kept)


def test_every_field_of_both_structs_may_be_given() -> None:
    assert tuple(VALUES) == DeliveryProperties.FIELDS + MessageProperties.FIELDS
    assert write_properties() == b""


def test_maps_of_any_kind() -> None:
    for given_ in ({"a": 1}, Map({"a": 1}), NullMap()):
        assert write_properties(application_headers=given_) == encode_headers([MessageProperties(application_headers=given_)])


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: write_properties(priority=256), "delivery-properties.priority"),
        (lambda: write_properties(priority=-1), "delivery-properties.priority"),
        (lambda: write_properties(ttl=-1), "delivery-properties.ttl"),
        (lambda: write_properties(routing_key="x" * 256), "delivery-properties.routing_key"),
        (lambda: write_properties(routing_key="ok", message_id="text"), "message_id"),  # type: ignore[arg-type]
        (lambda: write_properties(content_type="\ud800"), "message-properties.content_type"),
        (lambda: write_properties(application_headers={"a": object()}), "application_headers"),  # type: ignore[dict-item]
        (lambda: write_properties(application_headers=5), "application_headers"),  # type: ignore[arg-type]
    ],
)
def test_what_cannot_be_written_is_named(call: Callable[[], bytes], field: str) -> None:
    """A value that its field cannot hold is an EncodeError with the name of the field."""
    with pytest.raises(EncodeError) as caught:
        call()
    assert field in caught.value.what


def test_what_is_of_a_wrong_type_is_named() -> None:
    with wrong_type("routing_key"):
        write_properties(routing_key=7)  # type: ignore[arg-type]
    with wrong_type("correlation_id"):
        write_properties(correlation_id="text")  # type: ignore[arg-type]


def test_one_of_each() -> None:
    """Octets written by hand from the specification: both structs, each with size, code and flags in front."""
    octets = write_properties(priority=4, routing_key="a", message_id=UUID(int=1), application_headers={})
    assert octets.hex() == "00000007040108020401610000001c04030201" + "00" * 15 + "01" + "00000004" + "00000000"
