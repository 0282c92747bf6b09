"""Traces of messages by OpenTelemetry's conventions for messaging (extra `[otel]`): `connect(url, tracing=Tracing())`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from amqp_sansio.errors.extras import of_extra

with of_extra("otel"):
    from opentelemetry import propagate, trace
    from opentelemetry.trace import Link, SpanKind, Status, StatusCode, TracerProvider

from amqp_sansio.conversation.properties import octets_of
from amqp_sansio.errors import HeaderError
from amqp_sansio.kernel.build import VERSION

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.properties import AnyProperties
    from amqp_sansio.conversation.properties import Arguments
    from amqp_sansio.conversation.tracing import Received

SYSTEM: Final = "amqp"
"""The value of `messaging.system`."""


class Tracing:
    """Makes a span for each publish (until its confirm), receive and settlement.

    The context travels in the message's headers (`traceparent`, as the configured propagator writes it); the receiver's spans
    link to it.
    """

    def __init__(self, provider: TracerProvider | None = None) -> None:
        self._tracer: Final = trace.get_tracer("amqp_sansio", VERSION, provider)

    def publishing(
        self, endpoint: str, exchange: str, routing_key: str | None, size: int, properties: AnyProperties
    ) -> tuple[AnyProperties, Callable[[Exception | None], None]]:
        """See `conversation.tracing`."""
        attributes = _attributes(endpoint, exchange or routing_key or "", "publish", "send", size)
        attributes["messaging.amqp.destination.routing_key"] = routing_key or ""
        attributes.update(_ids(properties.get("message_id"), properties.get("correlation_id")))
        span = self._tracer.start_span(_named("publish", attributes), kind=SpanKind.PRODUCER, attributes=attributes)
        carrier: dict[str, str] = {}
        propagate.inject(carrier, trace.set_span_in_context(span))
        headers: Arguments = {**(properties.get("headers") or {}), **carrier}
        sent: AnyProperties = {**properties, "headers": headers}

        def end(error: Exception | None) -> None:
            if error is not None:
                span.set_attribute("error.type", type(error).__name__)
                span.set_status(Status(StatusCode.ERROR, str(error)))
            span.end()

        return sent, end

    def received(self, endpoint: str, message: Received) -> None:
        """See `conversation.tracing`."""
        self._short(endpoint, message, "receive", "receive")

    def settled(self, endpoint: str, message: Received, how: str) -> None:
        """See `conversation.tracing`."""
        self._short(endpoint, message, how, "settle")

    def _short(self, endpoint: str, message: Received, name: str, kind: str) -> None:
        attributes = _attributes(endpoint, message.queue, name, kind, len(message.body))
        links: list[Link] = []
        try:
            context = trace.get_current_span(
                propagate.extract({k: v for k, v in message.headers.items() if isinstance(v, str)})
            )
            if context.get_span_context().is_valid:
                links.append(Link(context.get_span_context()))
            attributes.update(_ids(message.message_id, message.correlation_id))
        except HeaderError:
            pass  # the sender encoded its headers wrongly: they hold no context
        self._tracer.start_span(_named(name, attributes), kind=SpanKind.CLIENT, attributes=attributes, links=links).end()


def _ids(message: object, conversation: object) -> dict[str, str]:
    given = {"messaging.message.id": message, "messaging.message.conversation_id": conversation}
    return {name: _text(value) for name, value in given.items() if value is not None}


def _text(value: object) -> str:
    return ((value if isinstance(value, bytes) else octets_of("", str(value))) or b"").decode(errors="replace")


def _named(operation: str, attributes: dict[str, str | int]) -> str:
    return f"{operation} {attributes['messaging.destination.name']}".rstrip()


def _attributes(endpoint: str, destination: str, name: str, kind: str, size: int) -> dict[str, str | int]:
    host, _, port = endpoint.rpartition(":")
    return {
        "messaging.system": SYSTEM,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": destination,
        "messaging.message.body.size": size,
        "server.address": host.strip("[]"),
        "server.port": int(port) if port.isdigit() else 0,
    }
