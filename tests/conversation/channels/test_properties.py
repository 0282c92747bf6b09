"""The properties of messages of channels."""

from __future__ import annotations

import pytest

from amqp_sansio.conversation.channels.properties import NAMES, ChannelProperties, published
from amqp_sansio.errors import EncodeError


def test_every_property_has_its_place() -> None:
    said = published(
        {
            "mandatory": True, "immediate": True, "persistent": True, "priority": 255, "ttl": 1500, "timestamp": 7,
            "content_type": "text/plain", "content_encoding": "gzip", "headers": {"a": 1}, "correlation_id": b"c",
            "user_id": "guest", "app_id": "app", "message_id": "m", "reply_to": "r", "type": "t", "cluster_id": "k",
        }
    )  # fmt: skip
    assert (said.mandatory, said.immediate) == (True, True)
    properties = said.properties
    assert properties is not None
    assert properties.delivery_mode == 2
    assert properties.expiration == "1500"
    assert (properties.correlation_id, properties.user_id, properties.app_id) == ("c", "guest", "app")
    assert (properties.message_id, properties.reply_to, properties.type_, properties.cluster_id) == ("m", "r", "t", "k")
    assert (properties.priority, properties.timestamp) == (255, 7)
    assert properties.headers == {"a": 1}
    assert (properties.content_type, properties.content_encoding) == ("text/plain", "gzip")


def test_without_any_there_is_no_header_to_write() -> None:
    assert published({}).properties is None


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"priority": 256}, "priority"), ({"priority": -1}, "priority"), ({"ttl": -1}, "ttl"), ({"ttl": "1"}, "ttl"),
        ({"priority": True}, "priority"), ({"priority": 5.0}, "priority"), ({"ttl": True}, "ttl"),
        ({"mandatory": 2}, "publish: mandatory: True or False, not 2"),
        ({"persistent": "no"}, "publish: persistent: True or False, not 'no'"),
        ({"headers": "none"}, "publish: headers: takes a mapping, not str"),
        ({"expiration": "60000"}, r"'expiration': no such property \('ttl' may be meant\)"),
        ({"correlation_id": b"\xff"}, "correlation_id"), ({"persitent": True}, "persitent"),
    ],
)  # fmt: skip
def test_a_property_that_cannot_be_sent_is_named(wrong: ChannelProperties, named: str) -> None:
    with pytest.raises(EncodeError, match=named):
        published(wrong)


def test_a_name_that_is_unknown_is_answered_with_what_there_is() -> None:
    with pytest.raises(EncodeError) as caught:
        published({"delivery_mode": 2})  # type: ignore[typeddict-unknown-key]
    assert all(name in str(caught.value) for name in NAMES)
