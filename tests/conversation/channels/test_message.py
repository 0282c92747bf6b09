"""A message of a channel in the hands of its receiver."""

from __future__ import annotations

import json

from tests.conversation.channels.stage import staged

from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.properties import ChannelProperties


def received(properties: ChannelProperties) -> Message:
    stage = staged()
    stage.queue("q")
    core = stage.open()
    stage.get(core.publish("", "q", b"body", properties))
    return stage.fetch(core, "q")


def test_every_property_arrives_by_its_name() -> None:
    message = received(
        {
            "persistent": True, "priority": 4, "ttl": 1500, "timestamp": 7, "content_type": "text/plain",
            "content_encoding": "gzip", "headers": {"a": [1, {"b": "c"}], "raw": b"\xff"}, "correlation_id": "c",
            "user_id": "guest", "app_id": "app", "message_id": "m", "reply_to": "r", "type": "t", "cluster_id": "k",
        }
    )  # fmt: skip
    assert (message.persistent, message.priority, message.timestamp) == (True, 4, 7)
    assert (message.expiration, message.ttl) == ("1500", 1500)
    assert (message.content_type, message.content_encoding) == ("text/plain", "gzip")
    assert (message.correlation_id, message.user_id, message.app_id) == ("c", "guest", "app")
    assert (message.message_id, message.reply_to, message.type, message.cluster_id) == ("m", "r", "t", "k")
    assert message.headers["a"] == [1, {"b": "c"}]
    json.dumps(message.headers)
    assert message.raw_headers["raw"] == b"\xff"


def test_without_properties_there_are_none() -> None:
    message = received({})
    assert (message.body, message.exchange, message.routing_key) == (b"body", "", "q")
    assert (message.persistent, message.redelivered, message.headers) == (False, False, {})
    names = (
        "priority", "expiration", "ttl", "timestamp", "content_type", "content_encoding", "correlation_id", "reply_to",
        "message_id", "type", "user_id", "app_id", "cluster_id",
    )  # fmt: skip
    assert {getattr(message, name) for name in names} == {None}
    assert repr(message) == "<Message 1 for '', 4 octets>"
