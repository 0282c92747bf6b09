"""The interface of an object that traces messages, such as `adapters.otel.Tracing`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeAlias

from amqp_sansio.conversation.channels.properties import AnyProperties
from amqp_sansio.conversation.ticket import Ticket

if TYPE_CHECKING:
    from amqp_sansio.conversation import message as of_sessions
    from amqp_sansio.conversation.channels import message as of_channels

    Received: TypeAlias = of_sessions.Message | of_channels.Message


class Traces(NamedTuple):
    """A tracing, and the address that its messages go to."""

    tracing: Tracing
    endpoint: Callable[[], str]

    def publish(
        self,
        post: Callable[[AnyProperties], Ticket[None]],
        exchange: str,
        routing_key: str | None,
        body: bytes,
        properties: AnyProperties,
    ) -> Ticket[None]:
        """Publishes by `post`, between the two calls of the tracing.  Wrong properties were raised before."""
        sent, end = self.tracing.publishing(self.endpoint(), exchange, routing_key, len(body), properties)
        try:
            ticket = post(sent)
        except Exception as error:
            end(error)
            raise
        ticket.on_done(lambda: end(ticket.error))
        return ticket

    def received(self, message: Received) -> None:
        """Reports a message that the program has received."""
        self.tracing.received(self.endpoint(), message)

    def settled(self, message: Received, how: str) -> None:
        """Reports a message that the program has settled."""
        self.tracing.settled(self.endpoint(), message, how)


class Tracing(Protocol):
    """Called for each message that is published, received and settled, in either family.  Its methods raise nothing."""

    def publishing(
        self, endpoint: str, exchange: str, routing_key: str | None, size: int, properties: AnyProperties
    ) -> tuple[AnyProperties, Callable[[Exception | None], None]]:
        """Called before a message is published: returns the properties to send, and a function to call at its confirm."""

    def received(self, endpoint: str, message: Received) -> None:
        """Called when a message was returned to the program."""

    def settled(self, endpoint: str, message: Received, how: str) -> None:
        """Called when a message was settled: "accept", "release" or "reject"."""
