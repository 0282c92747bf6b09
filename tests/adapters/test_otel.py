"""Traces of messages, as OpenTelemetry's exporter in memory gets them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.adapters.served import Served
from tests.adapters.served_channels import ServedChannels

from amqp_sansio.adapters import asyncio as awaiting
from amqp_sansio.adapters.asyncio import channels as awaiting_channels
from amqp_sansio.adapters.sync import EncodeError, InDoubt, MessageReturned, connect
from amqp_sansio.adapters.sync import channels as blocking_channels
from amqp_sansio.dialects import AMQP_0_9_1, AMQP_0_9_RABBITMQ, ChannelDialect

pytest.importorskip("opentelemetry.sdk")

from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from amqp_sansio.adapters.otel import Tracing


def traced() -> tuple[Tracing, InMemorySpanExporter]:
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return Tracing(provider), exporter


def spans(exporter: InMemorySpanExporter) -> Sequence[Any]:
    return tuple(exporter.get_finished_spans())


def test_a_message_there_and_back() -> None:
    tracing, exporter = traced()
    with Served() as served:
        with connect(served.url, tracing=tracing) as connection, connection.session() as session:
            session.declare_queue("q")
            session.publish("", "q", b"body", headers={"n": 1}, correlation_id=b"c")
            with session.subscribe("q") as subscription:
                message = subscription.receive(9)
                message.accept()
        assert (message.headers["n"], str(message.headers["traceparent"])[:3]) == (1, "00-")
        sent, received, accepted = spans(exporter)
        assert [each.name for each in (sent, received, accepted)] == ["publish q", "receive q", "accept q"]
        assert [each.kind for each in (sent, received, accepted)] == [SpanKind.PRODUCER, SpanKind.CLIENT, SpanKind.CLIENT]
        for each in (received, accepted):
            (link,) = each.links
            assert (link.context.trace_id, link.context.span_id) == (sent.context.trace_id, sent.context.span_id)
        assert sent.attributes == {
            "messaging.system": "amqp", "messaging.operation.name": "publish", "messaging.operation.type": "send",
            "messaging.destination.name": "q", "messaging.amqp.destination.routing_key": "q",
            "messaging.message.conversation_id": "c", "messaging.message.body.size": 4, "server.address": "localhost",
            "server.port": served.port,
        }  # fmt: skip
        kinds = [each.attributes["messaging.operation.type"] for each in (received, accepted)]
        assert kinds == ["receive", "settle"]


def test_what_becomes_of_a_message_is_in_its_span() -> None:
    tracing, exporter = traced()
    with Served() as served, connect(served.url, tracing=tracing) as connection, connection.session() as session:
        with pytest.raises(MessageReturned):
            session.publish("", "nowhere", b"body", mandatory=True)
        with pytest.raises(EncodeError, match="takes a mapping"):
            session.publish("", "nowhere", b"body", headers=7)  # type: ignore[arg-type]
    (span,) = spans(exporter)
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "MessageReturned")


def test_what_is_not_awaited_ends_its_span_with_the_confirm() -> None:
    tracing, exporter = traced()

    async def main(url: str) -> None:
        async with awaiting.connect(url, tracing=tracing) as connection, connection.session() as session:
            await session.declare_queue("q")
            pending = await session.send("amq.topic", "a.b", b"body", message_id="00000000-0000-0000-0000-000000000007")
            assert not spans(exporter)
            await pending

    with Served() as served:
        asyncio.run(main(served.url))
    (span,) = spans(exporter)
    assert (span.name, span.attributes["messaging.message.id"][-1]) == ("publish amq.topic", "7")


def test_without_tracing_nothing_is_added() -> None:
    with Served() as served, connect(served.url) as connection, connection.session() as session:
        session.declare_queue("q")
        session.publish("", "q", b"body")
        with session.subscribe("q") as subscription:
            assert subscription.receive(9).headers == {}


# --- channels -----------------------------------------------------------------------------------------------------------------


def names(exporter: InMemorySpanExporter) -> list[str]:
    return [each.name for each in spans(exporter)]


def test_a_message_of_a_channel_there_and_back() -> None:
    tracing, exporter = traced()
    with ServedChannels() as served:
        with blocking_channels.connect(served.url, tracing=tracing) as connection, connection.channel() as channel:
            channel.declare_queue("q")
            channel.publish("", "q", b"body", headers={"n": 1}, correlation_id=b"c", message_id="m7")
            with channel.subscribe("q") as subscription:
                message = subscription.receive(9)
                message.accept()
            assert (message.headers["n"], str(message.headers["traceparent"])[:3]) == (1, "00-")
    sent, received, accepted = spans(exporter)
    assert [each.name for each in (sent, received, accepted)] == ["publish q", "receive q", "accept q"]
    assert [each.kind for each in (sent, received, accepted)] == [SpanKind.PRODUCER, SpanKind.CLIENT, SpanKind.CLIENT]
    for each in (received, accepted):
        (link,) = each.links
        assert (link.context.trace_id, link.context.span_id) == (sent.context.trace_id, sent.context.span_id)
        assert each.attributes["messaging.message.id"] == "m7"
        assert each.attributes["messaging.message.conversation_id"] == "c"
    assert sent.attributes == {
        "messaging.system": "amqp", "messaging.operation.name": "publish", "messaging.operation.type": "send",
        "messaging.destination.name": "q", "messaging.amqp.destination.routing_key": "q", "messaging.message.id": "m7",
        "messaging.message.conversation_id": "c", "messaging.message.body.size": 4, "server.address": "127.0.0.1",
        "server.port": served.port,
    }  # fmt: skip


@pytest.mark.parametrize("dialect", [AMQP_0_9_1, AMQP_0_9_RABBITMQ], ids=lambda dialect: dialect.name)
def test_what_becomes_of_a_message_of_a_channel_is_in_its_span(dialect: ChannelDialect) -> None:
    """Returned, refused before it was sent, fetched and given back, rejected, answered; and without a confirm of its own."""
    tracing, exporter = traced()
    with ServedChannels(dialect) as served:
        url = f"{served.url}?protocol={'0-9' if dialect is AMQP_0_9_RABBITMQ else '0-9-1'}"
        with blocking_channels.connect(url, tracing=tracing) as connection, connection.channel() as channel:
            channel.declare_queue("q")
            with pytest.raises(MessageReturned):
                channel.publish("", "nowhere", b"body", mandatory=True)
            with pytest.raises(EncodeError, match="no such property"):
                channel.publish("", "nowhere", b"body", ttll=7)  # type: ignore[call-arg]
            channel.publish("", "q", b"body")
            for how in ("release", "reject"):
                got = channel.get("q")
                assert got is not None
                getattr(got, how)()
            assert channel.get("q") is None
    assert names(exporter) == ["publish nowhere", "publish q", "receive q", "release q", "receive q", "reject q"]
    returned, taken = spans(exporter)[:2]
    assert (returned.status.status_code, returned.attributes["error.type"]) == (StatusCode.ERROR, "MessageReturned")
    assert taken.status.status_code == StatusCode.UNSET


def test_a_request_and_its_answer_are_traced() -> None:
    tracing, exporter = traced()

    async def main(url: str) -> None:
        async with (
            awaiting_channels.connect(url, tracing=tracing) as asking,
            awaiting_channels.connect(url) as serving,
            asking.channel() as channel,
            serving.channel() as other,
        ):
            await other.declare_queue("work")

            async def serve() -> None:
                async with other.subscribe("work") as requests:
                    request = await requests.receive(9)
                    assert request.queue == "work"
                    await other.publish("", request.reply_to or "", b"done", correlation_id=request.correlation_id)
                    request.accept()

            served = asyncio.create_task(serve())
            answer = await channel.request("", "work", b"an order", timeout=9)
            assert (answer.body, answer.queue) == (b"done", "amq.rabbitmq.reply-to")
            await served

    with ServedChannels() as served:
        asyncio.run(main(served.url))
    assert sorted(names(exporter)) == ["publish work", "receive amq.rabbitmq.reply-to"]


def test_a_consumer_that_accepts_nothing_is_traced_without_settlements() -> None:
    tracing, exporter = traced()
    with (
        ServedChannels() as served,
        blocking_channels.connect(served.url, tracing=tracing) as connection,
        connection.channel() as channel,
    ):
        channel.declare_queue("q")
        channel.publish("", "q", b"body")
        with channel.subscribe("q", accept=False) as subscription:
            subscription.receive(9)
    assert names(exporter) == ["publish q", "receive q"]


def test_what_is_not_awaited_on_a_channel_ends_its_span_with_the_confirm() -> None:
    tracing, exporter = traced()

    async def main(url: str) -> None:
        async with awaiting_channels.connect(url, tracing=tracing) as connection, connection.channel() as channel:
            await channel.declare_queue("q")
            pending = await channel.send("", "q", b"body")
            assert not spans(exporter)
            await pending
            async with channel.subscribe("q") as subscription:
                (await subscription.receive(9)).accept()

    with ServedChannels() as served:
        asyncio.run(main(served.url))
    assert names(exporter) == ["publish q", "receive q", "accept q"]


def test_channels_on_trio_are_traced() -> None:
    trio = pytest.importorskip("trio")
    from amqp_sansio.adapters.trio import channels as trio_channels

    tracing, exporter = traced()

    async def main(url: str) -> None:
        async with trio_channels.connect(url, tracing=tracing) as connection, connection.channel() as channel:
            await channel.declare_queue("q")
            await channel.publish("", "q", b"body")
            async with channel.subscribe("q") as subscription:
                (await subscription.receive(9)).release()

    with ServedChannels() as served:
        trio.run(main, served.url)
    assert names(exporter) == ["publish q", "receive q", "release q"]


def test_a_message_in_doubt_has_a_span_that_says_so() -> None:
    tracing, exporter = traced()
    with ServedChannels() as served:
        connection = blocking_channels.connect(served.url, tracing=tracing)
        channel = connection.open_channel()
        channel.declare_queue("q")
        served.broker.mute = True
        pending = channel.send("", "q", b"body")
        served.cut()
        with pytest.raises(InDoubt):
            pending.result(9)
    (span,) = spans(exporter)
    assert (span.status.status_code, span.attributes["error.type"]) == (StatusCode.ERROR, "InDoubt")
