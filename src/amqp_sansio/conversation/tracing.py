"""What a client asks of an object that traces messages, such as `adapters.otel.Tracing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from amqp_sansio.conversation.properties import SessionProperties, written
from amqp_sansio.conversation.ticket import Ticket

if TYPE_CHECKING:
    from amqp_sansio.conversation.message import Message


class Traces(NamedTuple):
    """A tracing, and where its messages go."""

    tracing: Tracing
    endpoint: Callable[[], str]

    def publish(
        self,
        post: Callable[[str, str | None, bytes, SessionProperties, bool], Ticket[None]],
        exchange: str,
        routing_key: str | None,
        body: bytes,
        properties: SessionProperties,
        sync: bool,
    ) -> Ticket[None]:
        """Publishes by `post`, between the two calls of the tracing."""
        written(routing_key, properties)  # or says what is wrong in them
        sent, end = self.tracing.publishing(self.endpoint(), exchange, routing_key, len(body), properties)
        try:
            ticket = post(exchange, routing_key, body, sent, sync)
        except Exception as error:
            end(error)
            raise
        ticket.on_done(lambda: end(ticket.error))
        return ticket


class Tracing(Protocol):
    """Hears of each message that is published, received and settled.  It raises nothing."""

    def publishing(
        self, endpoint: str, exchange: str, routing_key: str | None, size: int, properties: SessionProperties
    ) -> tuple[SessionProperties, Callable[[Exception | None], None]]:
        """A message is about to be published: the properties with which it goes out, and what is called at its confirm."""
        raise NotImplementedError

    def received(self, endpoint: str, message: Message) -> None:
        """A message was handed to the program."""
        raise NotImplementedError

    def settled(self, endpoint: str, message: Message, how: str) -> None:
        """A message was settled: "accept", "release" or "reject"."""
        raise NotImplementedError
