"""The access requests of each command, which a broker with rules judges before it executes the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.broker.access import Kind, Request, Verb
from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.engine.demarcation import key_of, show
from amqp_sansio.kernel.serials import EMPTY
from amqp_sansio.spec import dtx, exchange, file, message, queue, stream
from amqp_sansio.spec.base import Command

if TYPE_CHECKING:
    from amqp_sansio.broker.access import Guard
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder

_Wants: TypeAlias = Iterator[tuple[Verb, Kind, str, str | None]]

_NOT_ACQUIRED: Final = 1
"""The acquire-mode of message.subscribe for browsing."""


def demand(guard: Guard, holder: SessionHolder, command: Command) -> None:
    """Raises Refused unless the session may do all that the command needs."""
    host, identity, _ = holder.key
    wants = WANTS.get(type(command))
    if wants is not None:
        for verb, kind, name, key in wants(holder, command):
            guard.demand(Request(identity, verb, kind, name, key, host))
    elif type(command) in BRANCHES:
        _demand_branch(guard, holder, command)


def to_subscribe(acquires: bool, exclusive: bool) -> Verb:
    """Returns the verb of a subscription: an exclusive one does more than browse."""
    return Verb.CONSUME if acquires or exclusive else Verb.BROWSE


def demand_again(guard: Guard, holder: SessionHolder) -> None:
    """Ends the session when it has a subscription that is no longer allowed."""
    host, identity, _ = holder.key
    for consumer in holder.consumers.values():
        verb = to_subscribe(consumer.acquires, consumer.exclusive)
        request = Request(identity, verb, Kind.QUEUE, consumer.queue.name, None, host)
        if not guard.may(request):
            holder.refuse(None, Refused(ACCESS_DENIED, why=str(request)))
            return


def _declare(holder: SessionHolder, command: queue.Declare | exchange.Declare) -> _Wants:
    verb = Verb.QUERY if command.passive else Verb.CREATE
    if isinstance(command, queue.Declare):
        yield verb, Kind.QUEUE, command.queue or "", None
    else:
        yield verb, Kind.EXCHANGE, command.exchange or "", None
    if command.alternate_exchange and not command.passive:
        yield Verb.PUBLISH, Kind.EXCHANGE, command.alternate_exchange, None


def _of(
    verb: Verb, kind: Kind = Kind.QUEUE, field: str = "queue"
) -> Callable[[SessionHolder, Any], _Wants]:  # Any: each row takes its own command
    def wants(holder: SessionHolder, command: Any) -> _Wants:
        yield verb, kind, getattr(command, field) or "", None

    return wants


def _binding(verb: Verb) -> Callable[[SessionHolder, Any], _Wants]:
    def wants(holder: SessionHolder, command: Any) -> _Wants:
        yield verb, Kind.QUEUE, command.queue or "", None
        yield verb, Kind.EXCHANGE, command.exchange or "", command.binding_key or ""

    return wants


def _bound(holder: SessionHolder, command: exchange.Bound) -> _Wants:
    yield Verb.QUERY, Kind.EXCHANGE, command.exchange or "", None
    if command.queue:
        yield Verb.QUERY, Kind.QUEUE, command.queue, None


def _subscribe(holder: SessionHolder, command: message.Subscribe) -> _Wants:
    acquires = command.acquire_mode != _NOT_ACQUIRED
    yield to_subscribe(acquires, command.exclusive), Kind.QUEUE, command.queue or "", None


def _acquire(holder: SessionHolder, command: message.Acquire) -> _Wants:
    unsettled = holder.unsettled
    shown = unsettled.among(holder.shown.common(command.transfers or EMPTY))
    for name in dict.fromkeys([unsettled[each].entry.queue.name for each in shown]):
        yield Verb.CONSUME, Kind.QUEUE, name, None


def _publish_elsewhere(holder: SessionHolder, command: file.Publish | stream.Publish) -> _Wants:
    if command.exchange:
        yield Verb.PUBLISH, Kind.EXCHANGE, command.exchange, command.routing_key or ""
    else:
        yield Verb.PUBLISH, Kind.QUEUE, command.routing_key or "", None


WANTS: Final[dict[type[Command], Callable[[SessionHolder, Any], _Wants]]] = {
    message.Subscribe: _subscribe,
    message.Acquire: _acquire,
    queue.Declare: _declare,
    queue.Delete: _of(Verb.DELETE),
    queue.Purge: _of(Verb.PURGE),
    queue.Query: _of(Verb.QUERY),
    exchange.Declare: _declare,
    exchange.Delete: _of(Verb.DELETE, Kind.EXCHANGE, "exchange"),
    exchange.Query: _of(Verb.QUERY, Kind.EXCHANGE, "name"),
    exchange.Bind: _binding(Verb.BIND),
    exchange.Unbind: _binding(Verb.UNBIND),
    exchange.Bound: _bound,
    file.Consume: _of(Verb.CONSUME),
    file.Publish: _publish_elsewhere,
    stream.Consume: _of(Verb.CONSUME),
    stream.Publish: _publish_elsewhere,
}
"""The rights that each command needs.

Commands in no row only touch what the session got through one that is: its subscriptions, its deliveries, its transactions.
"""

BRANCHES: Final = frozenset({
    dtx.Start, dtx.End, dtx.Prepare, dtx.Commit, dtx.Rollback, dtx.Forget, dtx.GetTimeout, dtx.SetTimeout,
})  # fmt: skip
"""Commands that name a branch, which belongs to the identity that began it."""


def _demand_branch(guard: Guard, holder: SessionHolder, command: Any) -> None:
    """Raises Refused for a branch that another identity began, and the same for an unknown one, to reveal nothing."""
    host, identity, _ = holder.key
    if command.xid is None:
        return  # the coordinator refuses it
    branch = holder.site.coordinator.branches.get(key_of(command.xid))
    if branch is None and type(command) is dtx.Start and not (command.join or command.resume):
        return
    if (branch is None or branch.identity != identity) and not guard.manages(identity, host):
        who = repr(identity) if identity else "anonymous"
        raise Refused(ACCESS_DENIED, why=f"{who} may not manage branch {show(key_of(command.xid))}, which it did not begin")


def recoverer(holder: SessionHolder) -> str | None:
    """Returns the identity whose branches the session may see; None: all."""
    guard = holder.broker._guard
    host, identity, _ = holder.key
    return None if guard is None or guard.manages(identity, host) else identity
