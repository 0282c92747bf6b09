"""Executes commands of classes queue and exchange: changes the model at once, and answers once that is journalled."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from amqp_sansio.spec import exchange, queue
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map, Value

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder
    from amqp_sansio.broker.model.host import VirtualHost


def declare_queue(holder: SessionHolder, id: int, command: queue.Declare) -> None:
    """Executes queue.declare."""
    number = holder.site.host.declare_queue(
        command.queue,
        command.alternate_exchange,
        command.passive,
        command.durable,
        command.exclusive,
        command.auto_delete,
        command.arguments,
        owner=holder.owner,
    )
    if command.arguments:
        holder.broker.hints.given(command.VERB, command.arguments)
    holder.complete_after(number, id)


def delete_queue(holder: SessionHolder, id: int, command: queue.Delete) -> None:
    """Executes queue.delete, after which sessions that subscribe to the queue are notified."""
    number = holder.site.host.delete_queue(command.queue, command.if_unused, command.if_empty, owner=holder.owner)
    holder.complete_after(number, id)


def purge(holder: SessionHolder, id: int, command: queue.Purge) -> None:
    """Executes queue.purge."""
    holder.complete_after(holder.site.host.purge(command.queue, owner=holder.owner), id)


def query_queue(holder: SessionHolder, id: int, command: queue.Query) -> None:
    """Executes queue.query."""
    holder.result(id, queue_result(holder.site.host, command.queue))


def declare_exchange(holder: SessionHolder, id: int, command: exchange.Declare) -> None:
    """Executes exchange.declare."""
    number = holder.site.host.declare_exchange(
        command.exchange,
        command.type_,
        command.alternate_exchange,
        command.passive,
        command.durable,
        command.auto_delete,
        command.arguments,
    )
    holder.complete_after(number, id)


def delete_exchange(holder: SessionHolder, id: int, command: exchange.Delete) -> None:
    """Executes exchange.delete."""
    holder.complete_after(holder.site.host.delete_exchange(command.exchange, command.if_unused), id)


def query_exchange(holder: SessionHolder, id: int, command: exchange.Query) -> None:
    """Executes exchange.query."""
    holder.result(id, exchange_result(holder.site.host, command.name))


def bind(holder: SessionHolder, id: int, command: exchange.Bind) -> None:
    """Executes exchange.bind."""
    number = holder.site.host.bind(command.queue, command.exchange, command.binding_key, command.arguments, owner=holder.owner)
    holder.complete_after(number, id)


def unbind(holder: SessionHolder, id: int, command: exchange.Unbind) -> None:
    """Executes exchange.unbind."""
    number = holder.site.host.unbind(command.queue, command.exchange, command.binding_key, owner=holder.owner)
    holder.complete_after(number, id)


def bound(holder: SessionHolder, id: int, command: exchange.Bound) -> None:
    """Executes exchange.bound."""
    host = holder.site.host
    holder.result(id, bound_result(host, command.exchange, command.queue, command.binding_key, command.arguments))


def queue_result(host: VirtualHost, queue: str | None) -> QueueQueryResult:
    """Returns the result of queue.query, which is never refused.  Does not count acquired messages."""
    found = host.queues.get(queue or "")
    if found is None:
        return QueueQueryResult()
    return QueueQueryResult(
        found.name,
        found.alternate.name if found.alternate is not None else None,
        found.durable,
        found.owner is not None,
        found.auto_delete,
        found.arguments,
        found.available,
        found.subscribers,
    )


def exchange_result(host: VirtualHost, name: str | None = None) -> ExchangeQueryResult:
    """Returns the result of exchange.query, which is never refused."""
    found = host.exchange(name)
    if found is None:
        return ExchangeQueryResult(not_found=True)
    return ExchangeQueryResult(found.TYPE, found.durable, False, found.arguments)


def bound_result(
    host: VirtualHost,
    exchange: str | None = None,
    queue: str | None = None,
    binding_key: str | None = None,
    arguments: Mapping[str, Value] | None = None,
) -> ExchangeBoundResult:
    """Returns the result of exchange.bound, which is never refused: what is missing.

    Ignores None, an empty queue name and an empty map.
    """
    of = host.exchange(exchange)
    asked = host.queues.get(queue) if queue else None
    no_queue = bool(queue) and asked is None
    if of is None:
        return ExchangeBoundResult(exchange_not_found=True, queue_not_found=no_queue)
    if no_queue:
        return ExchangeBoundResult(queue_not_found=True)
    given = Map(arguments) if arguments else None
    if of.has(asked, binding_key, given):
        return ExchangeBoundResult()
    return ExchangeBoundResult(
        queue_not_matched=asked is not None and not of.has(asked, None, None),
        key_not_matched=binding_key is not None and not of.has(None, binding_key, None),
        args_not_matched=given is not None and not of.has(None, None, given),
    )
