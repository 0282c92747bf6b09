"""Requests whose answers come by direct reply-to, without a queue (RabbitMQ)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.answers import IN_FLIGHT
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.channels.properties import ChannelProperties, as_text
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, CapabilityMissing, EncodeError, LimitError, LocalProtocolError
from amqp_sansio.spec.methods import basic

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore

DIRECT_REPLY_TO: Final = "direct_reply_to"
REPLY_TO: Final = "amq.rabbitmq.reply-to"
"""The pseudo-queue for a channel's answers, and the tag of its consumer."""


class Requests:
    """The pending requests of one channel, by their correlation ids."""

    __slots__ = ("_core", "_made", "_waiting", "most")

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self.most = IN_FLIGHT
        self._made = 0
        self._waiting: Final[dict[str, Ticket[Message]]] = {}

    def publish(self, exchange: str, routing_key: str, body: bytes, properties: ChannelProperties) -> Ticket[Message]:
        """Publishes a request, whose answer comes by direct reply-to (RabbitMQ).  Raises CapabilityMissing without it."""
        core = self._core
        channel = core.channel
        if not channel._channels.carrier.capable(DIRECT_REPLY_TO):
            raise CapabilityMissing("request", DIRECT_REPLY_TO)
        if properties.get("reply_to") not in (None, REPLY_TO):
            raise EncodeError("request: reply_to", f"is {REPLY_TO}; to have answers elsewhere, publish and subscribe")
        if core.transaction.open:
            legal = ("after its end", "on another channel")
            raise LocalProtocolError("a request", "inside of a transaction, whose commit would send it", legal)
        if REPLY_TO not in channel.consumers:
            core.calls.call(basic.Consume(REPLY_TO, REPLY_TO, False, True, False, True, 0, {}, {}))
        self._made += 1
        known = properties.get("correlation_id") or f"{core.client.prefix}-{core.index}-request-{self._made}"
        said: ChannelProperties = {**properties, "reply_to": REPLY_TO, "correlation_id": known}
        id = as_text("correlation_id", known)
        if not isinstance(id, str):
            raise EncodeError("request: correlation_id", f"text or bytes, not {id!r}")
        answer = self.ask(id)
        try:
            taken = core.publish(exchange, routing_key, body, said)
        except AmqpError:
            self.forget(answer)
            raise
        taken.heard = True  # whoever waits for the answer hears of that
        taken.on_done(lambda: self.failed(id, taken.error) if taken.error is not None else None)
        return answer

    def ask(self, id: str) -> Ticket[Message]:
        """Registers a request before it is published.  Raises LimitError for too many, LocalProtocolError for an id in use."""
        if len(self._waiting) >= self.most:
            raise LimitError("requests", self.most, len(self._waiting) + 1)
        if id in self._waiting:
            raise LocalProtocolError(f"a request with correlation_id {id!r}", "another one waits", ("an id of its own",))
        answer: Ticket[Message] = Ticket()
        self._waiting[id] = answer
        return answer

    def answered(self, id: str, message: Message) -> None:
        """Settles a request with an answer; ignores an answer without a pending request."""
        answer = self._waiting.pop(id, None)
        if answer is not None:
            answer.settle(message)

    def failed(self, id: str, error: Exception) -> None:
        """Fails a request that did not reach a queue and will get no answer."""
        answer = self._waiting.pop(id, None)
        if answer is not None:
            answer.fail(error)

    def forget(self, answer: Ticket[Message]) -> None:
        """Forgets a request whose caller does not wait any more."""
        if not answer.done:  # else it is settled
            for id in [id for id, each in self._waiting.items() if each is answer]:
                del self._waiting[id]

    def lost(self, error: AmqpError) -> None:
        """Fails all requests: the channel is gone."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        for answer in waiting:
            answer.fail(error)
