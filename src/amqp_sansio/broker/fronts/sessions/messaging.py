"""Executes commands of class message except transfers: subscriptions, credit, and settlement."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Condition, Refused
from amqp_sansio.broker.fronts.sessions.consumer import Consumer
from amqp_sansio.broker.fronts.sessions.holder import Missed
from amqp_sansio.broker.model.arguments import NOTHING_ASKED, read_subscription_arguments
from amqp_sansio.engine.subscription import Subscriber
from amqp_sansio.kernel.serials import EMPTY, MutableRangeSet, RangeSet
from amqp_sansio.spec import message
from amqp_sansio.spec.message import Acquired, MessageResumeResult

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder
    from amqp_sansio.broker.model.message import Entry

Flowing: TypeAlias = message.Flow | message.Flush | message.Stop | message.SetFlowMode


def subscribe(holder: SessionHolder, id: int, command: message.Subscribe) -> None:
    """Executes message.subscribe.

    Sends nothing yet, for there is no credit.  A missing destination counts as the empty name.
    """
    destination = command.destination or ""
    if destination in holder.consumers:
        raise Refused(conditions.SUBSCRIBE_TWICE, destination=destination)
    most = holder.broker.limits.subscribers
    if holder.site.subscribers >= most:
        raise Refused(conditions.LIMIT, limit="subscribers", value=most, why=f"there would be {most + 1}")
    queue, modes = command.queue or "", (command.accept_mode or 0, command.acquire_mode or 0)
    asked = read_subscription_arguments(command.arguments, holder.broker.limits) if command.arguments else NOTHING_ASKED
    known = holder.session._subscribers.current.get(destination)
    if known is None or (known.queue, known.accept_mode, known.acquire_mode) != (queue, *modes):
        # After a resume the engine knows more than we do: this subscription was cancelled, and gets nothing.
        known = Subscriber(queue, destination, *modes)
    holder.consumers[destination] = Consumer(holder, queue, known, command.exclusive, asked)
    if command.arguments:
        holder.broker.hints.given(command.VERB, command.arguments)
    holder.complete(id)


def cancel(holder: SessionHolder, id: int, command: message.Cancel) -> None:
    """Executes message.cancel; transferred messages can still be settled."""
    destination = command.destination or ""
    consumer = holder.consumers.pop(destination, None)
    if consumer is None:
        raise Refused(conditions.CANCEL_NO_DESTINATION, destination=destination)
    holder.complete_after(consumer.cancel(), id)


def _consumer(holder: SessionHolder, command: Flowing, condition: Condition) -> Consumer:
    consumer = holder.consumers.get(command.destination or "")
    if consumer is None:
        raise Refused(condition, destination=command.destination or "")
    return consumer


def flow(holder: SessionHolder, id: int, command: message.Flow) -> None:
    """Executes message.flow: the engine has added the credit, and the consumer sends what it can now."""
    _consumer(holder, command, conditions.FLOW_NO_DESTINATION).wake()
    holder.complete(id)


def set_flow_mode(holder: SessionHolder, id: int, command: message.SetFlowMode) -> None:
    """Executes message.set-flow-mode: the engine has done so, and the credit left is unchanged."""
    consumer = _consumer(holder, command, conditions.SET_FLOW_MODE_NO_DESTINATION)
    if conditions.SET_FLOW_MODE_CREDIT.counts(holder.session.profile.error_codes) and not consumer.subscriber._book.ends_empty:
        raise Refused(conditions.SET_FLOW_MODE_CREDIT, destination=command.destination or "")
    consumer.wake()
    holder.complete(id)


def flush(holder: SessionHolder, id: int, command: message.Flush) -> None:
    """Executes message.flush, which completes once all that credit and queue allow now was sent."""
    _consumer(holder, command, conditions.FLUSH_NO_DESTINATION).flush(id)


def stop(holder: SessionHolder, id: int, command: message.Stop) -> None:
    """Executes message.stop: the engine has removed the credit, so that no message follows the completion."""
    _consumer(holder, command, conditions.STOP_NO_DESTINATION).wake()
    holder.complete(id)


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
        number = holder.site.host.dequeue(entries)
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
    number = holder.site.host.reject([unsettled[each].entry for each in rejected]) if rejected else 0
    for each in rejected:  # only now: a refused reject ends the session, which releases what is unsettled
        holder.settled(each)
    holder.wake_more()
    holder.complete_after(number, id)


def release(holder: SessionHolder, id: int, command: message.Release) -> None:
    """Executes message.release: acquired messages become available in their places; others are forgotten."""
    ids = command.transfers or EMPTY
    _withdraw_accepts(holder, ids)
    unsettled = holder.unsettled
    entries: list[Entry] = []
    for each in unsettled.among(ids):
        record = holder.settled(each)
        if record.acquired:
            entries.append(record.entry)
    if entries:
        holder.site.host.release(entries, command.set_redelivered)
    holder.wake_more()
    holder.complete(id)


def acquire(holder: SessionHolder, id: int, command: message.Acquire) -> None:
    """Executes message.acquire; the result names the messages acquired."""
    unsettled = holder.unsettled
    ids = command.transfers or EMPTY
    shown = holder.shown.common(ids)
    had = holder.provisional.ids.common(ids) | holder.acquired(ids)
    mine = MutableRangeSet(had)
    gone: list[Entry] = []
    for each in unsettled.among(shown):
        record = unsettled[each]
        if not record.entry.queue.acquire(record.entry):
            holder.shown.discard_id(each)
            holder.missed[each] = Missed(holder, each, record.entry)
            continue
        record.acquired = True
        holder.shown.discard_id(each)
        if not record.explicit:  # no accept will follow: remove it from the queue at once
            del unsettled[each]
            gone.append(record.entry)
        elif holder.taken is not None:
            holder.taken.add(each)
        mine.add(each)
    number = holder.site.host.dequeue(gone) if gone else 0
    holder.wake_more()
    holder.result_after(number, id, Acquired(mine.freeze()))


def resume(holder: SessionHolder, id: int, command: message.Resume) -> None:
    """Executes message.resume: nothing is kept of a partial message, so it starts again."""
    if (command.destination or "") not in holder.consumers:
        raise Refused(conditions.RESUME_NO_DESTINATION, destination=command.destination or "")
    holder.result(id, MessageResumeResult(0))
