"""Requests whose answers come by direct reply-to, without a queue (RabbitMQ)."""

from __future__ import annotations

from typing import Final

from amqp_sansio.conversation.answers import IN_FLIGHT
from amqp_sansio.conversation.channels.message import Message
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import AmqpError, LimitError, LocalProtocolError

REPLY_TO: Final = "amq.rabbitmq.reply-to"
"""The queue of a channel's answers, and the tag of its consumer."""


class Requests:
    """The callers of one channel that wait for answers, by the correlation ids of their requests."""

    __slots__ = ("_waiting", "most")

    def __init__(self) -> None:
        self.most = IN_FLIGHT
        self._waiting: Final[dict[str, Ticket[Message]]] = {}

    def ask(self, id: str) -> Ticket[Message]:
        """A request is about to be published.  LimitError for too many; LocalProtocolError for an id that waits already."""
        if len(self._waiting) >= self.most:
            raise LimitError("requests", self.most, len(self._waiting) + 1)
        if id in self._waiting:
            raise LocalProtocolError(f"a request with correlation_id {id!r}", "another one waits", ("an id of its own",))
        answer: Ticket[Message] = Ticket()
        self._waiting[id] = answer
        return answer

    def answered(self, id: str, message: Message) -> None:
        """An answer came; nobody may be waiting for it any more."""
        answer = self._waiting.pop(id, None)
        if answer is not None:
            answer.settle(message)

    def failed(self, id: str, error: Exception) -> None:
        """The request did not reach a queue: there will be no answer."""
        answer = self._waiting.pop(id, None)
        if answer is not None:
            answer.fail(error)

    def forget(self, answer: Ticket[Message]) -> None:
        """Its caller does not wait any more."""
        for id in [id for id, each in self._waiting.items() if each is answer]:
            del self._waiting[id]

    def lost(self, error: AmqpError) -> None:
        """The channel is gone, and with it all answers."""
        waiting = list(self._waiting.values())
        self._waiting.clear()
        for answer in waiting:
            answer.fail(error)
