"""Queues, exchanges and bindings of a session, for asynchronous code."""

from __future__ import annotations

from typing import TypeVar

from amqp_sansio.conversation.properties import Arguments, as_arguments
from amqp_sansio.errors.checks import check_types
from amqp_sansio.spec import exchange as exchanges
from amqp_sansio.spec import queue as queues
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.exchange import ExchangeBoundResult
from amqp_sansio.spec.queue import QueueQueryResult

Result = TypeVar("Result")


class Topology:
    """A session's calls for queues, exchanges and bindings.  They raise SessionFailed when the broker refuses something."""

    async def execute(self, command: Command[Result], *, timeout: float | None = None) -> Result:
        """See the session."""
        raise NotImplementedError

    async def declare_queue(
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
        """Creates a queue unless it exists; with `passive`, raises SessionFailed when it does not exist.

        `exclusive`: it belongs to this session and is deleted with it.  `alternate_exchange` gets messages that are rejected.
        """
        check_types(str, queue=queue)
        said = queues.Declare(queue, alternate_exchange, passive, durable, exclusive, auto_delete, as_arguments(arguments))
        await self.execute(said, timeout=timeout)

    async def delete_queue(
        self, queue: str, *, if_unused: bool = False, if_empty: bool = False, timeout: float | None = None
    ) -> None:
        """Deletes a queue with its messages.  `if_unused`, `if_empty`: raises SessionFailed when it is not."""
        check_types(str, queue=queue)
        await self.execute(queues.Delete(queue, if_unused, if_empty), timeout=timeout)

    async def purge(self, queue: str, *, timeout: float | None = None) -> None:
        """Removes the messages of a queue, except those that a session has acquired."""
        check_types(str, queue=queue)
        await self.execute(queues.Purge(queue), timeout=timeout)

    async def query_queue(self, queue: str, *, timeout: float | None = None) -> QueueQueryResult:
        """Returns the properties of a queue; `queue` in the result is None when it does not exist."""
        check_types(str, queue=queue)
        return await self.execute(queues.Query(queue), timeout=timeout)

    async def declare_exchange(
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
        """Creates an exchange unless it exists; with `passive`, raises SessionFailed when it does not exist.

        `type`: "direct", "topic", "fanout", "headers", or another that the broker has.  `alternate_exchange` gets messages that
        no queue takes.
        """
        check_types(str, exchange=exchange, type=type)
        said = exchanges.Declare(exchange, type, alternate_exchange, passive, durable, auto_delete, as_arguments(arguments))
        await self.execute(said, timeout=timeout)

    async def delete_exchange(self, exchange: str, *, if_unused: bool = False, timeout: float | None = None) -> None:
        """Deletes an exchange with its bindings; `if_unused`: raises SessionFailed when it has any."""
        check_types(str, exchange=exchange)
        await self.execute(exchanges.Delete(exchange, if_unused), timeout=timeout)

    async def bind(
        self,
        queue: str,
        exchange: str,
        binding_key: str = "",
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> None:
        """Binds a queue: messages to `exchange` whose routing key, or headers, match go to `queue` from now on."""
        check_types(str, queue=queue, exchange=exchange, binding_key=binding_key)
        await self.execute(exchanges.Bind(queue, exchange, binding_key, as_arguments(arguments)), timeout=timeout)

    async def unbind(self, queue: str, exchange: str, binding_key: str = "", *, timeout: float | None = None) -> None:
        """Removes a binding."""
        check_types(str, queue=queue, exchange=exchange, binding_key=binding_key)
        await self.execute(exchanges.Unbind(queue, exchange, binding_key), timeout=timeout)

    async def bound(
        self,
        exchange: str,
        queue: str | None = None,
        binding_key: str | None = None,
        *,
        arguments: Arguments | None = None,
        timeout: float | None = None,
    ) -> ExchangeBoundResult:
        """Checks for a binding: a field that is True in the result names what does not exist or match."""
        check_types(str, exchange=exchange)
        return await self.execute(exchanges.Bound(exchange, queue, binding_key, as_arguments(arguments)), timeout=timeout)
