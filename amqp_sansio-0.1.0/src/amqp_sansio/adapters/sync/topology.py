"""Queues, exchanges and bindings: the calls that every session for blocking code has for them."""

from __future__ import annotations

from typing import TypeVar

from amqp_sansio.conversation.properties import Arguments, as_map
from amqp_sansio.spec import exchange as exchanges
from amqp_sansio.spec import queue as queues
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.exchange import ExchangeBoundResult
from amqp_sansio.spec.queue import QueueQueryResult

Result = TypeVar("Result")


class Topology:
    """A session, as far as it makes queues, exchanges and bindings.  SessionFailed where the broker refuses something."""

    def execute(self, command: Command[Result], *, timeout: float | None = None) -> Result:
        """See the session."""
        raise NotImplementedError

    def declare_queue(
        self,
        queue: str,
        *,
        durable: bool = False,
        exclusive: bool = False,
        auto_delete: bool = False,
        passive: bool = False,
        alternate_exchange: str | None = None,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Sees to it that there is such a queue; `passive`: SessionFailed when there is none.

        `exclusive`: it belongs to this session and goes with it.  `alternate_exchange` gets messages that are rejected.
        """
        said = queues.Declare(queue, alternate_exchange, passive, durable, exclusive, auto_delete, as_map(arguments))
        self.execute(said, timeout=timeout)

    def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, timeout: float | None = None
    ) -> None:
        """Removes a queue, with its messages; SessionFailed when it has subscribers, or messages, and must not."""
        self.execute(queues.Delete(queue, if_unused, if_empty), timeout=timeout)

    def purge(self, queue: str, *, timeout: float | None = None) -> None:
        """Removes the messages of a queue that nobody holds."""
        self.execute(queues.Purge(queue), timeout=timeout)

    def query_queue(self, queue: str, *, timeout: float | None = None) -> QueueQueryResult:
        """What a queue is like: its `queue` is None when there is no such queue."""
        return self.execute(queues.Query(queue), timeout=timeout)

    def declare_exchange(
        self,
        exchange: str,
        type: str = "direct",
        *,
        durable: bool = False,
        auto_delete: bool = False,
        passive: bool = False,
        alternate_exchange: str | None = None,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Sees to it that there is such an exchange; `passive`: SessionFailed when there is none.

        `type`: "direct", "topic", "fanout", "headers", or what else the broker has.  `alternate_exchange` gets messages that go
        to no queue.
        """
        said = exchanges.Declare(exchange, type, alternate_exchange, passive, durable, auto_delete, as_map(arguments))
        self.execute(said, timeout=timeout)

    def delete_exchange(self, exchange: str, *, if_unused: bool = False, timeout: float | None = None) -> None:
        """Removes an exchange, with its bindings; SessionFailed when it has some, and must not."""
        self.execute(exchanges.Delete(exchange, if_unused), timeout=timeout)

    def bind(
        self,
        queue: str,
        exchange: str,
        binding_key: str = "",
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Messages to `exchange` whose routing key, or headers, match go to `queue` from now on."""
        self.execute(exchanges.Bind(queue, exchange, binding_key, as_map(arguments)), timeout=timeout)

    def unbind(self, queue: str, exchange: str, binding_key: str = "", *, timeout: float | None = None) -> None:
        """Removes a binding."""
        self.execute(exchanges.Unbind(queue, exchange, binding_key), timeout=timeout)

    def bound(
        self,
        exchange: str,
        queue: str | None = None,
        binding_key: str | None = None,
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> ExchangeBoundResult:
        """Whether there is such a binding: what is True in the result is not there, or does not match."""
        return self.execute(exchanges.Bound(exchange, queue, binding_key, as_map(arguments)), timeout=timeout)
