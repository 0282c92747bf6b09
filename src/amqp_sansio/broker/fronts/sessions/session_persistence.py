"""Converts a detached session, with all that it holds at the broker, to a plain value and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from amqp_sansio.broker.conditions import SUBSCRIBE_QUEUE_DELETED, Refused
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.fronts.sessions.holder import SessionConsumer, SessionHolder, Since, Unsettled
from amqp_sansio.broker.model.arguments import SubscriptionArguments
from amqp_sansio.broker.selectors.parser import Selector
from amqp_sansio.broker.transactions import Work
from amqp_sansio.config import Profile
from amqp_sansio.engine.session import Session
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
from amqp_sansio.limits import BrokerLimits, Limits
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.types import decode_struct32

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.front import SessionFront
    from amqp_sansio.broker.model.message import QueueEntry
    from amqp_sansio.broker.snapshot import Needed, Rebuilding


def keepable(holder: SessionHolder) -> bool:
    """Returns whether a restart can restore a session: it is detached, and works on no unprepared branch."""
    detached = holder.peer is None and holder.session.state == "detached"
    return detached and not holder.ended and not holder.host.coordinator.associated(holder.owner)


def need(holder: SessionHolder, needed: Needed) -> None:
    """Adds what a session needs of its virtual host."""
    queues = [consumer.queue for consumer in holder.consumers.values()]
    queues += holder.host.owned(holder.owner)
    for record in (*holder.unsettled.values(), *holder.provisional.values()):
        if record.acquired:
            needed.entries[record.entry] = None
            queues.append(record.entry.queue)
    if holder.tx is not None:
        for message, targets in holder.tx.published:
            needed.messages[message] = None
            queues += targets
    for queue in queues:
        if not queue.durable and not queue.deleted:
            needed.queues[queue] = None


def take(holder: SessionHolder) -> dict[str, object]:
    """Returns the session as a plain value."""
    session = holder.session
    host, identity, name = holder.key
    failing = holder.failing
    return {
        "host": host,
        "identity": identity,
        "name": name,
        "session": session.snapshot(),
        "profile": attrs.asdict(session.profile),
        "limits": attrs.asdict(session.limits),
        "consumers": tuple([
            (
                each.destination, each.queue.name, each.exclusive, each.selector and each.selector.text, each.priority,
                each.no_local, _moment(each.since, holder.broker.config.epoch),
            )
            for each in holder.consumers.values() if not each.queue.deleted
        ]),
        "owned": tuple([queue.name for queue in holder.host.owned(holder.owner)]),
        "unsettled": _records(holder.unsettled),
        "pledged": _records(holder.provisional),
        "accepted": holder.provisional.accepted_ids().ranges,
        "published": None if holder.tx is None else tuple([
            (message.number, tuple([queue.name for queue in queues if not queue.deleted]))
            for message, queues in holder.tx.published
        ]),
        "accepts": holder.accepts.freeze().ranges,
        "rejects": tuple([(int(code), ids.freeze().ranges) for code, ids in holder.rejects.items()]),
        "owing": tuple([(id, None if v is None else encode_struct32(v)) for id, v in holder.owing.items()]),
        "failing": None if failing is None else (failing[0], int(failing[1]), failing[2], failing[3]),
        "told": holder.front.throttle.told(holder),
    }  # fmt: skip


def _records(records: Mapping[int, Unsettled]) -> tuple[tuple[int, str, int, bool, bool], ...]:
    return tuple([
        (id, r.entry.queue.name, r.entry.message.number, r.acquired, r.explicit)
        for id, r in records.items()
        if not r.entry.queue.deleted
    ])  # fmt: skip


def claims(plain: Mapping[str, Any]) -> tuple[set[str], set[tuple[str, int]]]:
    """Returns what a value of `take` needs: the names of queues, and the queues and numbers of messages."""
    queues: set[str] = {*plain["owned"], *[name for _, name, *_ in plain["consumers"]]}
    entries: set[tuple[str, int]] = set()
    for _, queue, number, acquired, _ in (*plain["unsettled"], *plain["pledged"]):
        queues.add(queue)
        if acquired:
            entries.add((queue, number))
    for _, names in plain["published"] or ():
        queues.update(names)
    return queues, entries


def restore(front: SessionFront, plain: Mapping[str, Any], rebuilding: Rebuilding) -> SessionHolder:
    """Restores the session, detached; its timeout starts.

    Raises Refused or DecodeError when the model or the engine refuses it; TypeError, ValueError or KeyError for what `take` did
    not return.
    """
    host, broker = rebuilding.host, front.broker
    session = Session.restore(plain["session"], profile=Profile(**plain["profile"]), limits=Limits(**plain["limits"]))
    holder = SessionHolder(front, None, host, (host.name, plain["identity"], plain["name"]), session)
    for name in plain["owned"]:
        if name in rebuilding.queues:
            host.declare_queue(name, exclusive=True, owner=holder.owner)
    failing = plain["failing"]
    for destination, name, exclusive, *more in plain["consumers"]:
        if name in rebuilding.queues:
            subscriber = session.subscribers[destination]
            holder.consumers[destination] = SessionConsumer(
                holder, name, subscriber, exclusive, _asked(host.limits, *more[:3]), _since(broker.config.epoch, *more[3:])
            )  # fmt: skip
        else:
            deleted = Refused(SUBSCRIBE_QUEUE_DELETED, queue=name)
            failing = failing or (None, code_of(deleted, session.profile.error_codes), deleted.text, None)
    holder.unsettled.add_all(_unsettled(plain["unsettled"], rebuilding))
    for id in [id for id, record in holder.unsettled.items() if not record.acquired]:
        holder.show(id)
    holder.provisional.add_all(_unsettled(plain["pledged"], rebuilding))
    if plain["published"] is not None:
        holder.tx = Work(host, holder.provisional)
        for number, queues in plain["published"]:
            holder.tx.hold(
                rebuilding.messages[number], [rebuilding.queues[name] for name in queues if name in rebuilding.queues]
            )
        accepted = plain.get("accepted")  # before 0.2 a rollback left nothing there
        holder.provisional.accept(holder.provisional.ids.freeze() if accepted is None else RangeSet(accepted))
    holder.accepts.update(RangeSet(plain["accepts"]))
    for code, ranges in plain["rejects"]:
        holder.rejects[code] = MutableRangeSet(RangeSet(ranges))
    for id, octets in plain["owing"]:
        holder.owing[id] = None if octets is None else decode_struct32(octets, 0, len(octets))[0]
    holder.failing = None if failing is None else (failing[0], ErrorCode(failing[1]), failing[2], failing[3])
    if plain["told"] is not None:
        front.throttle.restored(holder, plain["told"])
    _catch_up(holder)
    broker._keep(holder)
    return holder


def _moment(since: Since | None, epoch: float | None) -> tuple[float, int] | None:
    """Returns the start of a replay period on the epoch's clock, since the broker's own clock ends with it."""
    return None if since is None else (since.moment + (epoch or 0.0), since.number)


def _since(epoch: float | None, kept: tuple[float, int] | None = None) -> Since | None:
    return None if kept is None else Since(kept[0] - (epoch or 0.0), kept[1])


def _asked(limits: BrokerLimits, selector: str | None = None, *more: Any) -> SubscriptionArguments:
    """Returns the kept arguments of a subscription; before 0.2 none were kept."""
    return SubscriptionArguments(None if selector is None else Selector(selector, limits), *more)


def _unsettled(records: Any, rebuilding: Rebuilding) -> dict[int, Unsettled]:  # Any: what `_records` made, or it raises
    found: dict[int, Unsettled] = {}
    for id, queue, number, acquired, explicit in records:
        entry: QueueEntry | None = rebuilding.entries.get((queue, number))
        if entry is not None and (not acquired or entry.queue.acquire(entry)):
            found[id] = Unsettled(entry, acquired, explicit)
    return found


def _catch_up(holder: SessionHolder) -> None:
    """Handles what waited for the journal: the snapshot has made it durable."""
    session = holder.session
    flushes = {id: subscriber.destination for id, subscriber in session._subscribers.flushes.items()}
    for id in [id for id, owed in session._inbound.owed.items() if not owed.result]:
        consumer = holder.consumers.get(flushes.get(id, ""))
        if consumer is not None:
            consumer.flush(id)
        else:
            holder.complete(id)
    deliveries = session._transfers.deliveries
    rest = session._inbound.outstanding.freeze() - RangeSet.of(*session._inbound.owed) - RangeSet.of(*deliveries)
    if rest:  # publishes that are not accepted
        session._complete_now(rest)
    rejects = [ids.freeze() for ids in holder.rejects.values()]
    for id in list(deliveries):
        if id not in holder.accepts and not [ids for ids in rejects if id in ids]:
            holder.accept(id)
