"""What a message tells its receiver."""

from __future__ import annotations

from uuid import UUID

from tests.conversation.stage import staged

from amqp_sansio.conversation.message import Message
from amqp_sansio.spec import queue
from amqp_sansio.spec.message import ReplyTo


def received(**properties: object) -> Message:
    stage = staged()
    talk = stage.open()
    stage.get(talk.say(queue.Declare("q")))
    talk.publish("", "q", b"body", **properties)  # type: ignore[arg-type]
    inbox = talk.subscribe("q", "here")
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
    assert (message.message_id, message.correlation_id, message.content_type) == (UUID(int=7), b"c", "text/plain")
    assert message.reply_to == ReplyTo("amq.direct", "back")
    assert message.headers == {"n": 1}
    assert not message.redelivered
    assert message.exchange == ""
    assert repr(message) == f"<Message {message.id} for 'here', 4 octets>"


def test_one_without_any() -> None:
    message = received()
    assert message.message_id is None
    assert message.correlation_id is None
    assert message.reply_to is None
    assert message.content_type is None
    assert message.headers == {}
