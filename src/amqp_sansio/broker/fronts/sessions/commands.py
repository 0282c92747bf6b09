"""What the commands of sessions do, except transfers: each changes the model at once, and is answered once that is journalled.

Those of classes tx and dtx are in `broker.transactions`.  The engine has refused those that are illegal in the session's state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.broker import conditions, transactions
from amqp_sansio.broker.access import Kind, Request, Verb
from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.broker.model.arguments import NOTHING_ASKED, read_subscription_arguments
from amqp_sansio.broker.model.host import VirtualHost
from amqp_sansio.engine.subscription import Subscriber
from amqp_sansio.kernel.serials import EMPTY, MutableRangeSet, RangeSet
from amqp_sansio.spec import dtx, exchange, file, message, queue, stream, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.exchange import ExchangeBoundResult, ExchangeQueryResult
from amqp_sansio.spec.message import Acquired, MessageResumeResult
from amqp_sansio.spec.queue import QueueQueryResult
from amqp_sansio.spec.values import Map, Value
from amqp_sansio.spec.xids import key_of, show

if TYPE_CHECKING:
    from amqp_sansio.broker.access import Guard
    from amqp_sansio.broker.fronts.sessions.holder import SessionConsumer, SessionHolder
    from amqp_sansio.broker.model.message import QueueEntry


# --- class message --------------------------------------------------------------------------------------------------------

_OfSubscription: TypeAlias = message.Cancel | message.Flow | message.Flush | message.Stop | message.SetFlowMode | message.Resume


def subscribe(holder: SessionHolder, id: int, command: message.Subscribe) -> None:
    """Executes message.subscribe.

    Sends nothing yet, for there is no credit.  A missing destination counts as the empty name.
    """
    destination = command.destination or ""
    if destination in holder.consumers:
        raise Refused(conditions.SUBSCRIBE_TWICE, destination=destination)
    holder.host.room("subscribers", holder.host.subscribers + 1)
    queue, modes = command.queue or "", (command.accept_mode or 0, command.acquire_mode or 0)
    asked = read_subscription_arguments(command.arguments, holder.broker.limits) if command.arguments else NOTHING_ASKED
    known = holder.session._subscribers.current.get(destination)
    if known is None or (known.queue, known.accept_mode, known.acquire_mode) != (queue, *modes):
        # After a resume the engine knows more than we do: this subscription was cancelled, and gets nothing.
        known = Subscriber(queue, destination, *modes)
    holder.subscribe(queue, known, command.exclusive, asked)
    if command.arguments:
        holder.broker.hints.given(command.VERB, command.arguments)
    holder.complete(id)


def cancel(holder: SessionHolder, id: int, command: message.Cancel) -> None:
    """Executes message.cancel; transferred messages can still be settled."""
    consumer = _consumer(holder, command)
    del holder.consumers[consumer.destination]
    holder.complete_after(consumer.cancel(), id)


def _consumer(holder: SessionHolder, command: _OfSubscription) -> SessionConsumer:
    consumer = holder.consumers.get(command.destination or "")
    if consumer is None:
        raise Refused(conditions.NO_DESTINATION[command.VERB], destination=command.destination or "")
    return consumer


def wake(holder: SessionHolder, id: int, command: message.Flow | message.Stop) -> None:
    """Executes message.flow or message.stop: the engine has changed the credit, and the consumer sends what it can now."""
    _consumer(holder, command).wake()
    holder.complete(id)


def set_flow_mode(holder: SessionHolder, id: int, command: message.SetFlowMode) -> None:
    """Executes message.set-flow-mode: the engine has done so, and the credit left is unchanged."""
    consumer = _consumer(holder, command)
    if conditions.SET_FLOW_MODE_CREDIT.counts(holder.session.profile.error_codes) and not consumer.subscriber._book.ends_empty:
        raise Refused(conditions.SET_FLOW_MODE_CREDIT, destination=command.destination or "")
    consumer.wake()
    holder.complete(id)


def flush(holder: SessionHolder, id: int, command: message.Flush) -> None:
    """Executes message.flush, which completes once all that credit and queue allow now was sent."""
    _consumer(holder, command).flush(id)


def accept(holder: SessionHolder, id: int, command: message.Accept) -> None:
    """Executes message.accept: removes acquired messages from their queues; ignores settled and unknown ids."""
    unsettled = holder.unsettled
    named = command.transfers or EMPTY
    ids = unsettled.among(named)
    entries = [record.entry for each in ids if (record := unsettled[each]).acquired]
    work = holder.work
    number = 0
    if work is not None and work is holder.tx:
        work.admit(len(entries))
        for each in ids:
            if unsettled[each].acquired:
                holder.provisional[each] = unsettled[each]
        holder.provisional.accept(named)
    elif work is not None:
        work.accept(entries)
    elif entries:
        number = holder.host.dequeue(entries)
    for each in ids:
        holder.settled(each)
    holder.wake_more()
    holder.complete_after(number, id)


def _withdraw_accepts(holder: SessionHolder, ids: RangeSet) -> None:
    """Makes transfers unsettled again that a local transaction has accepted: reject and release do not wait for commit.

    At each rollback, qpid.messaging releases whatever it has accepted before.
    """
    provisional = holder.provisional
    for each in provisional.among(ids):
        holder.unsettled[each] = provisional.remove(each)
        if holder.taken is not None:
            holder.taken.add(each)


def reject(holder: SessionHolder, id: int, command: message.Reject) -> None:
    """Executes message.reject: acquired messages go to the alternate exchange of their queue, if any; other ids are ignored."""
    ids = command.transfers or EMPTY
    _withdraw_accepts(holder, ids)
    unsettled = holder.unsettled
    rejected = unsettled.among(holder.acquired(ids))
    number = holder.host.reject([unsettled[each].entry for each in rejected]) if rejected else 0
    for each in rejected:  # only now: a refused reject ends the session, which releases what is unsettled
        holder.settled(each)
    holder.wake_more()
    holder.complete_after(number, id)


def release(holder: SessionHolder, id: int, command: message.Release) -> None:
    """Executes message.release: acquired messages become available in their places; others are forgotten."""
    ids = command.transfers or EMPTY
    _withdraw_accepts(holder, ids)
    unsettled = holder.unsettled
    entries: list[QueueEntry] = []
    for each in unsettled.among(ids):
        record = holder.settled(each)
        if record.acquired:
            entries.append(record.entry)
    if entries:
        holder.host.release(entries, command.set_redelivered)
    holder.wake_more()
    holder.complete(id)


def acquire(holder: SessionHolder, id: int, command: message.Acquire) -> None:
    """Executes message.acquire; the result names the messages acquired."""
    unsettled = holder.unsettled
    ids = command.transfers or EMPTY
    shown = holder.shown.common(ids)
    had = holder.provisional.ids.common(ids) | holder.acquired(ids)
    mine = MutableRangeSet(had)
    gone: list[QueueEntry] = []
    for each in unsettled.among(shown):
        record = unsettled[each]
        if not record.entry.queue.acquire(record.entry):
            holder.miss(each, record.entry)
            continue
        record.acquired = True
        holder.shown.discard_id(each)
        if not record.explicit:  # no accept will follow: remove it from the queue at once
            del unsettled[each]
            gone.append(record.entry)
        elif holder.taken is not None:
            holder.taken.add(each)
        mine.add(each)
    number = holder.host.dequeue(gone) if gone else 0
    holder.wake_more()
    holder.result_after(number, id, Acquired(mine.freeze()))


def resume(holder: SessionHolder, id: int, command: message.Resume) -> None:
    """Executes message.resume: nothing is kept of a partial message, so it starts again."""
    _consumer(holder, command)
    holder.result(id, MessageResumeResult(0))


# --- classes queue and exchange -------------------------------------------------------------------------------------------


_Does: TypeAlias = "Callable[[SessionHolder, int, Any], None]"
"""Executes a command with this id.  Any: each takes its own command."""


def _changing(change: Callable[..., int], owned: bool = True) -> _Does:
    """Returns what executes a command by the method of the virtual host that takes its fields and, if `owned`, the owner."""

    def execute(holder: SessionHolder, id: int, command: Command) -> None:
        host = holder.host
        number = change(host, *command.values(), owner=holder.owner) if owned else change(host, *command.values())
        holder.complete_after(number, id)

    return execute


_declare: Final = _changing(VirtualHost.declare_queue)


def declare_queue(holder: SessionHolder, id: int, command: queue.Declare) -> None:
    """Executes queue.declare."""
    _declare(holder, id, command)
    if command.arguments:
        holder.broker.hints.given(command.VERB, command.arguments)


def _asking(result: Callable[..., Struct]) -> _Does:
    """Returns what executes a query by the function that makes its result of the virtual host and its fields."""

    def execute(holder: SessionHolder, id: int, command: Command) -> None:
        holder.result(id, result(holder.host, *command.values()))

    return execute


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


# --- all of them ----------------------------------------------------------------------------------------------------------

COMMANDS: Final[dict[type[Command], _Does]] = {
    message.Subscribe: subscribe,
    message.Cancel: cancel,
    message.Flow: wake,
    message.SetFlowMode: set_flow_mode,
    message.Flush: flush,
    message.Stop: wake,
    message.Accept: accept,
    message.Reject: reject,
    message.Release: release,
    message.Acquire: acquire,
    message.Resume: resume,
    queue.Declare: declare_queue,
    queue.Delete: _changing(VirtualHost.delete_queue),
    queue.Purge: _changing(VirtualHost.purge),
    queue.Query: _asking(queue_result),
    exchange.Declare: _changing(VirtualHost.declare_exchange, owned=False),
    exchange.Delete: _changing(VirtualHost.delete_exchange, owned=False),
    exchange.Query: _asking(exchange_result),
    exchange.Bind: _changing(VirtualHost.bind),
    exchange.Unbind: _changing(VirtualHost.unbind),
    exchange.Bound: _asking(bound_result),
    tx.Select: transactions.tx_select,
    tx.Commit: transactions.tx_commit,
    tx.Rollback: transactions.tx_rollback,
    dtx.Select: transactions.dtx_select,
    dtx.Start: transactions.dtx_start,
    dtx.End: transactions.dtx_end,
    dtx.Prepare: transactions.dtx_prepare,
    dtx.Commit: transactions.dtx_commit,
    dtx.Rollback: transactions.dtx_rollback,
    dtx.Forget: transactions.dtx_forget,
    dtx.Recover: transactions.dtx_recover,
    dtx.GetTimeout: transactions.dtx_get_timeout,
    dtx.SetTimeout: transactions.dtx_set_timeout,
}
"""The handler of each command."""


# --- rights ---------------------------------------------------------------------------------------------------------------

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


def _declaration(holder: SessionHolder, command: queue.Declare | exchange.Declare) -> _Wants:
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
    queue.Declare: _declaration,
    queue.Delete: _of(Verb.DELETE),
    queue.Purge: _of(Verb.PURGE),
    queue.Query: _of(Verb.QUERY),
    exchange.Declare: _declaration,
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
    branch = holder.host.coordinator.branches.get(key_of(command.xid))
    if branch is None and type(command) is dtx.Start and not (command.join or command.resume):
        return
    if (branch is None or branch.identity != identity) and not guard.manages(identity, host):
        who = repr(identity) if identity else "anonymous"
        raise Refused(ACCESS_DENIED, why=f"{who} may not manage branch {show(key_of(command.xid))}, which it did not begin")
