"""Traces of messages, as OpenTelemetry's exporter in memory gets them."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.adapters.served import Served

from amqp_sansio.adapters import asyncio as awaiting
from amqp_sansio.adapters.sync import EncodeError, MessageReturned, connect

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
