"""Commands of classes queue and exchange.  They change the model at once; what they answer waits until it is journalled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.broker.fronts.sessions import queries
from amqp_sansio.spec import exchange, queue

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder


def declare_queue(holder: SessionHolder, id: int, command: queue.Declare) -> None:
    """queue.declare."""
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
    """queue.delete: sessions that subscribe to it hear of it afterwards."""
    number = holder.site.host.delete_queue(command.queue, command.if_unused, command.if_empty, owner=holder.owner)
    holder.complete_after(number, id)


def purge(holder: SessionHolder, id: int, command: queue.Purge) -> None:
    """queue.purge."""
    holder.complete_after(holder.site.host.purge(command.queue, owner=holder.owner), id)


def query_queue(holder: SessionHolder, id: int, command: queue.Query) -> None:
    """queue.query."""
    holder.result(id, queries.query_queue(holder.site.host, command.queue))


def declare_exchange(holder: SessionHolder, id: int, command: exchange.Declare) -> None:
    """exchange.declare."""
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
    """exchange.delete."""
    holder.complete_after(holder.site.host.delete_exchange(command.exchange, command.if_unused), id)


def query_exchange(holder: SessionHolder, id: int, command: exchange.Query) -> None:
    """exchange.query."""
    holder.result(id, queries.query_exchange(holder.site.host, command.name))


def bind(holder: SessionHolder, id: int, command: exchange.Bind) -> None:
    """exchange.bind."""
    number = holder.site.host.bind(command.queue, command.exchange, command.binding_key, command.arguments, owner=holder.owner)
    holder.complete_after(number, id)


def unbind(holder: SessionHolder, id: int, command: exchange.Unbind) -> None:
    """exchange.unbind."""
    number = holder.site.host.unbind(command.queue, command.exchange, command.binding_key, owner=holder.owner)
    holder.complete_after(number, id)


def bound(holder: SessionHolder, id: int, command: exchange.Bound) -> None:
    """exchange.bound."""
    host = holder.site.host
    holder.result(id, queries.bound(host, command.exchange, command.queue, command.binding_key, command.arguments))
