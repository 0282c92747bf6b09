"""What a session may ask of a virtual host: the results of queue.query, exchange.query and exchange.bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map, Value

if TYPE_CHECKING:
    from amqp_sansio.broker.model.host import VirtualHost


def query_queue(host: VirtualHost, queue: str | None) -> QueueQueryResult:
    """queue.query: never refused.  Messages that somebody has acquired do not count."""
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


def query_exchange(host: VirtualHost, name: str | None = None) -> ExchangeQueryResult:
    """exchange.query: never refused."""
    found = host.exchange(name)
    if found is None:
        return ExchangeQueryResult(not_found=True)
    return ExchangeQueryResult(found.TYPE, found.durable, False, found.arguments)


def bound(
    host: VirtualHost,
    exchange: str | None = None,
    queue: str | None = None,
    binding_key: str | None = None,
    arguments: Mapping[str, Value] | None = None,
) -> ExchangeBoundResult:
    """exchange.bound: what there is not; never refused.  None, an empty queue name and an empty map do not count."""
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
