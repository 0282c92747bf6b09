"""What a message tells its receiver."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.conversation.stage import staged

from amqp_sansio.conversation.message import Message
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.spec import queue
from amqp_sansio.spec.codes import RejectCode
from amqp_sansio.spec.message import ReplyTo
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.encoding import encode_list, encode_map


def received(**properties: object) -> Message:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    core.publish("", "q", b"body", properties)  # type: ignore[arg-type]
    inbox = core.subscribe("q", "here")
    stage.run()
    message = inbox.take()
    assert message is not None
    return message


def test_all_its_properties() -> None:
    message = received(
        message_id=UUID(int=7), correlation_id=b"c", reply_to=ReplyTo("amq.direct", "back"), content_type="text/plain",
        headers={"n": 1},
    )  # fmt: skip
    assert (message.body, message.subscription, message.routing_key) == (b"body", "here", "q")
    assert (message.message_id, message.correlation_id, message.content_type) == (UUID(int=7), "c", "text/plain")
    assert message.reply_to == ReplyTo("amq.direct", "back")
    assert message.headers == {"n": 1}
    assert not message.redelivered
    assert message.exchange == ""
    assert repr(message) == f"<Message {message.id} for 'here', 4 octets>"


def test_a_correlation_id_is_text_and_goes_back_as_it_came() -> None:
    """A requester that uses octets which are not UTF-8 gets them back from whoever answers with the text."""
    asked = received(correlation_id="grün", app_id=b"\xff")
    assert (asked.correlation_id, asked.raw_correlation_id, asked.user_id) == ("grün", "grün".encode(), None)
    assert asked.app_id == "\udcff"
    octets = bytes(range(256))
    question = received(correlation_id=octets)
    assert isinstance(question.correlation_id, str)
    assert received(correlation_id=question.correlation_id).raw_correlation_id == octets
    assert received().correlation_id is None


def written(body: bytes, content_type: str | None) -> Message:
    stage = staged()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    core.publish("", "q", body, {"content_type": content_type})
    inbox = core.subscribe("q")
    stage.run()
    message = inbox.take()
    assert message is not None
    return message


def test_a_map_and_a_list_are_decoded() -> None:
    entries: dict[str, Value] = {"n": 1, "id": UUID(int=7)}
    assert written(encode_map(entries), "amqp/map").decoded() == {"n": 1, "id": str(UUID(int=7))}
    assert written(encode_list([1, b"two", b"\xff"]), "amqp/list").decoded() == [1, "two", "ff"]


@pytest.mark.parametrize(
    ("body", "content_type", "says"),
    [
        (b"{}", "application/json", "must be amqp/map or amqp/list, not 'application/json'"),
        (b"{}", None, "not None"),
        (b"", "amqp/map", "map at octet 0"),
        (encode_map({}) + b"!", "amqp/map", "1 octet after the amqp/map"),
    ],
)
def test_what_is_no_map_and_no_list_is_not_decoded(body: bytes, content_type: str | None, says: str) -> None:
    with pytest.raises(DecodeError, match=says):
        written(body, content_type).decoded()


def test_one_without_any() -> None:
    message = received()
    assert (message.priority, message.ttl, message.timestamp, message.expiration, message.user_id) == (None,) * 5
    assert (message.persistent, message.immediate, message.discard_unroutable) == (False, False, False)
    assert message.message_id is None
    assert message.correlation_id is None
    assert message.reply_to is None
    assert message.content_type is None
    assert message.headers == {}


@pytest.mark.parametrize("code", [99, "unroutable"])
def test_a_message_is_rejected_with_a_code_that_there_is(code: Any) -> None:
    message = written(b"x", None)
    with pytest.raises(EncodeError, match=r"message\.reject\.code: 0 unspecified, 1 unroutable, 2 immediate, not"):
        message.reject(code)
    message.reject(RejectCode.UNROUTABLE)
