"""Properties by name: all of them there and back, and what is refused before anything is said."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import pytest
from tests.conversation.stage import staged
from tests.conversation.test_message import received

from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.properties import HEADERS, NAMES, CommonProperties, PlainHeaders, written
from amqp_sansio.errors import EncodeError
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties, ReplyTo, Transfer
from amqp_sansio.spec.queue import Declare
from amqp_sansio.wire.layouts.properties import write_properties

GIVEN: dict[str, Any] = {
    "mandatory": True, "immediate": False, "persistent": True, "priority": 9, "ttl": 1000, "timestamp": 1_700_000_000,
    "content_type": "text/plain", "content_encoding": "gzip", "headers": {"n": 1, "in": {"list": [1, "two", b"three"]}},
    "correlation_id": b"c", "user_id": b"u", "app_id": b"a", "message_id": UUID(int=7),
    "reply_to": ReplyTo("amq.direct", "back"), "redelivered": False, "discard_unroutable": True,
    "expiration": 1_700_000_001, "content_length": 4, "resume_id": "r",
    "resume_ttl": 5,
}  # fmt: skip
TEXTS = {"message_id": str(UUID(int=7)), "correlation_id": "c", "user_id": "u", "app_id": "a", "reply_to": "back"}
GONE = {"mandatory"}
"""The accept-mode of the transfer."""


def test_all_are_of_the_two_structs() -> None:
    fields = {*DeliveryProperties.FIELDS, *MessageProperties.FIELDS} - {"exchange", "routing_key"}
    renamed = {"delivery_mode": "persistent", "application_headers": "headers"}
    assert {renamed.get(name, name) for name in fields} | {"mandatory"} == NAMES
    assert CommonProperties.__annotations__.keys() <= NAMES
    assert set(GIVEN) == NAMES


def read(properties: dict[str, Any]) -> Message:
    """What a receiver reads in the header that is written."""
    inbox: Any = None  # nobody settles it
    _, header = written("q", properties)  # type: ignore[arg-type]
    return Message(TransferReceived(b"s", 0, Transfer("d"), header), inbox, inbox)


def test_all_of_them_there_and_back() -> None:
    message = read(GIVEN)
    assert {name: getattr(message, name) for name in NAMES - GONE - {"headers"}} == {
        name: each.decode() if isinstance(each := GIVEN[name], bytes) else each for name in NAMES - GONE - {"headers"}
    }
    assert message.raw_headers == {"n": 1, "in": {"list": (1, "two", b"three")}}
    assert message.headers == {"n": 1, "in": {"list": [1, "two", "three"]}}
    assert json.loads(json.dumps(message.headers)) == message.headers


def test_ids_are_given_as_text_too() -> None:
    message = read(TEXTS)
    assert (message.message_id, message.correlation_id, message.user_id, message.app_id) == (UUID(int=7), "c", "u", "a")
    assert message.reply_to == ReplyTo("", "back")


@pytest.mark.parametrize(
    ("properties", "says"),
    [
        ({"priority": 10}, "priority: 0 to 9, not 10"),
        ({"priority": -1}, "priority: 0 to 9, not -1"),
        ({"priority": True}, "priority: 0 to 9, not True"),
        ({"priority": 5.0}, "priority: 0 to 9, not 5.0"),
        ({"persistent": "no"}, "publish: persistent: True or False, not 'no'"),
        ({"mandatory": True, "redelivered": 2}, "publish: redelivered: True or False, not 2"),
        ({"ttl": -1}, "ttl: -1 is not within"),
        ({"ttl": 1.5}, "ttl"),
        ({"message_id": "seven"}, "message_id: a UUID, or its text, not 'seven'"),
        ({"message_id": 7}, "publish: message_id: a UUID, or its text, not 7"),
        ({"message_id": b"seven"}, "publish: message_id: a UUID, or its text, not b'seven'"),
        ({"content_type": 7}, "content_type: takes a str, not int"),
        ({"content_type": "x" * 256}, "content_type"),
        ({"correlation_id": 7}, "publish: correlation_id: text or bytes, not 7"),
        ({"app_id": "\ud800"}, r"publish: app_id: text that UTF-8 can carry, not '\\ud800'"),
        ({"headers": {"good": 1, "bad": object()}}, r"^publish: headers: map\['bad'\]: object"),
        ({"headers": {"deep": {"bad": [object()]}}}, r"map\['deep'\]: map\['bad'\]: list\[0\]"),
        ({"headers": 7}, "publish: headers: takes a mapping"),
        ({"payload": b""}, r"'payload': no such property \('body' may be meant\)"),
        ({"delivery_mode": 2}, r"'delivery_mode': no such property \('persistent' may be meant\)"),
        ({"persistant": True}, "'persistant': no such property \\('persistent' may be meant\\); there are app_id, body, cont"),
        ({"routing_key": "x", "xyz": 1}, "'(routing_key|xyz)': no such property"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_and_nothing_is_sent(properties: dict[str, Any], says: str) -> None:
    stage = staged()
    core = stage.open()
    stage.run()
    before = core.session._outbound.next_id
    with pytest.raises(EncodeError, match=says):
        core.publish("", "q", b"x", properties)  # type: ignore[arg-type]
    assert (core.session._outbound.next_id, core.in_flight, stage.client.machine.data_to_send()) == (before, 0, b"")


@pytest.mark.parametrize("priority", [0, 9, None])
def test_a_priority_may_be(priority: int | None) -> None:
    assert received(priority=priority).priority == priority


@pytest.mark.parametrize(
    ("body", "kind", "back"),
    [
        ({"n": 1, "in": {"l": [b"x"]}}, "amqp/map", {"n": 1, "in": {"l": ["x"]}}),
        ([1, None], "amqp/list", [1, None]),
        ((), "amqp/list", []),
    ],
)
def test_a_mapping_and_a_list_are_sent_as_what_decoding_reads(body: Any, kind: str, back: object) -> None:
    stage = staged()
    core = stage.open()
    core.execute(Declare("q"))
    core.publish("", "q", body, {"priority": 5})
    core.publish("", "q", body, {"content_type": kind})
    inbox = core.subscribe("q")
    stage.run()
    for priority in (5, None):
        message = inbox.take()
        assert message is not None
        assert (message.content_type, message.decoded(), message.priority) == (kind, back, priority)


@pytest.mark.parametrize(
    ("body", "properties", "says"),
    [
        ({"bad": object()}, {}, r"publish: body: map\['bad'\]: object"),
        ([1, {2: 3}], {}, r"publish: body: list\[1\]: map\[2\]: a key is a str"),
        ({}, {"content_type": "text/plain"}, "publish: content_type: amqp/map for a body that is a dict, not 'text/plain'"),
        ("text", {}, "body: takes octets, not str"),
    ],
)
def test_a_body_that_cannot_be_sent_is_refused_before_anything_is_sent(body: Any, properties: Any, says: str) -> None:
    stage = staged()
    core = stage.open()
    stage.run()
    with pytest.raises(EncodeError, match=says):
        core.publish("", "q", body, properties)
    assert (core.in_flight, stage.client.machine.data_to_send()) == (0, b"")


@pytest.mark.parametrize(("count", "kept"), [(HEADERS - 1, HEADERS - 1), (HEADERS, HEADERS), (HEADERS + 1, 1)])
def test_so_many_are_remembered(count: int, kept: int) -> None:
    headers = PlainHeaders()
    for _ in range(2):
        assert headers.of("0") == write_properties(routing_key="0")
    for number in range(count):
        headers.of(str(number))
    assert len(headers) == kept


def test_what_is_no_routing_key_is_not_remembered() -> None:
    headers = PlainHeaders()
    with pytest.raises(EncodeError):
        headers.of("k" * 256)
    assert not headers
