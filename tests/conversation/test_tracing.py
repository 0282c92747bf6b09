"""A tracing hears of each message, in order, and changes nothing but its properties."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest
from tests.conversation.channels.stage import Stage as ChannelStage
from tests.conversation.stage import Stage

from amqp_sansio.config import ClientConfig
from amqp_sansio.conversation.channels.message import Message as ChannelMessage
from amqp_sansio.conversation.channels.properties import AnyProperties
from amqp_sansio.conversation.client import Client
from amqp_sansio.conversation.message import Message
from amqp_sansio.conversation.tracing import Tracing
from amqp_sansio.errors import AmqpError, EncodeError, LimitError, LocalProtocolError, SessionDetachedError
from amqp_sansio.spec import queue


class Noted(Tracing):
    def __init__(self) -> None:
        self.noted: list[object] = []

    def publishing(
        self, endpoint: str, exchange: str, routing_key: str | None, size: int, properties: AnyProperties
    ) -> tuple[AnyProperties, Callable[[Exception | None], None]]:
        self.noted.append((endpoint, exchange, routing_key, size))
        sent: AnyProperties = {**properties, "app_id": "traced"}
        return sent, lambda error: self.noted.append(type(error).__name__)

    def received(self, endpoint: str, message: Message | ChannelMessage) -> None:
        self.noted.append((message.queue, message.app_id))

    def settled(self, endpoint: str, message: Message | ChannelMessage, how: str) -> None:
        self.noted.append(how)


def test_each_message_is_traced() -> None:
    stage, tracing = Stage(), Noted()
    stage.client = Client(ClientConfig(), prefix="test", tracing=tracing)
    stage.client.endpoint = "h:1"
    stage.connect()
    core = stage.open()
    stage.get(core.execute(queue.Declare("q")))
    inbox = core.subscribe("q")
    for how in ("accept", "release", "reject"):
        stage.get(core.publish("", "q", b"x", {}))
        message = inbox.take()
        assert message is not None
        getattr(message, how)()
    assert tracing.noted[:4] == [("h:1", "", "q", 1), "NoneType", ("q", "traced"), "accept"]
    assert [each for each in tracing.noted if each in ("accept", "release", "reject")] == ["accept", "release", "reject"]


def test_what_is_not_published_ends_its_trace() -> None:
    stage, tracing = Stage(), Noted()
    stage.client = Client(ClientConfig(), prefix="test", tracing=tracing)
    stage.connect()
    core = stage.open()
    with pytest.raises(EncodeError):
        core.publish("", "q", b"x", {"priority": 11})
    assert tracing.noted == []
    stage.cut()
    with pytest.raises(AmqpError) as caught:
        core.publish("", "q", b"x", {})
    assert tracing.noted == [("", "", "q", 1), type(caught.value).__name__]
    assert not isinstance(caught.value, SessionDetachedError)


def test_each_message_of_a_channel_is_traced() -> None:
    tracing = Noted()
    stage = ChannelStage(tracing=tracing)
    stage.client.endpoint = "h:1"
    stage.connect()
    core = stage.open()
    stage.broker.queues["q"] = deque()
    inbox = core.consumers.subscribe("q")
    for how in ("accept", "reject"):
        stage.get(core.publish("", "q", b"x", {}))
        message = inbox.take()
        assert message is not None
        getattr(message, how)()
        with pytest.raises(LocalProtocolError):
            message.release()  # a second settlement is none
    assert tracing.noted == [
        ("h:1", "", "q", 1), "NoneType", ("q", "traced"), "accept", ("h:1", "", "q", 1), "NoneType", ("q", "traced"), "reject",
    ]  # fmt: skip
    tracing.noted.clear()
    stage.get(inbox.cancel())
    stage.get(core.publish("", "q", b"x", {}))
    got = stage.get(core.calls.get("q"))
    assert got is not None
    got.release()
    assert tracing.noted[2:] == [("q", "traced"), "release"]
    tracing.noted.clear()
    unasked = core.consumers.subscribe("q", accept=False)
    stage.run()
    assert unasked.take() is not None
    assert tracing.noted == [("q", "traced")]  # nothing to settle


def test_what_a_channel_does_not_publish_ends_its_trace() -> None:
    tracing = Noted()
    stage = ChannelStage(tracing=tracing)
    stage.connect()
    core = stage.open()
    with pytest.raises(EncodeError):
        core.publish("", "q", b"x", {"priority": 256})
    assert tracing.noted == []
    core.in_flight.most = 0
    with pytest.raises(LimitError):
        core.publish("", "q", b"x", {})
    assert tracing.noted == [("", "", "q", 1), "LimitError"]
