"""What becomes of a message that a client transfers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.model.topology import DROPPED, IMMEDIATE, UNROUTABLE, Rejection
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec.codes import RejectCode

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder

AHEAD: Final = 256
"""Deliveries at most that an immediate message waits for."""
CODES: Final[dict[Rejection, RejectCode]] = {UNROUTABLE: RejectCode.UNROUTABLE, IMMEDIATE: RejectCode.IMMEDIATE}
"""The code of message.reject."""


def publish(holder: SessionHolder, event: TransferReceived) -> None:
    """Routes the message and puts it on its queues, or keeps it for the transaction; says that it is done, or what is wrong."""
    site, broker = holder.site, holder.broker
    host = site.host
    transfer = event.transfer
    explicit = holder.session.profile.publish_is_explicit(transfer.accept_mode)
    now = broker._now
    guard = broker._guard
    try:
        exchange = host.destination(transfer.destination) if guard is None else None
        message = holder.front.reception.read(
            transfer,
            event.header,
            event.body,
            0.0 if now is None else now,
            holder.key[1],
            None,
            holder.reading,
            event.empty_body,
            0 if holder.peer is None else holder.peer.number,
        )
        if exchange is None:
            assert guard is not None
            name, identity, _ = holder.key
            guard.demand_publish(identity, name, transfer.destination or "", message.routing_key)
            exchange = host.destination(transfer.destination)
        if host.stirred and message.envelope.immediate:
            site.dispatch(AHEAD)  # the credit that counts is what earlier messages leave
        if message.expires is not None and (holder.peer is None or holder.peer._connection.untimed):
            host.begin_ttl(message)
        routed = host.route(exchange, message, explicit)
        queues = routed.queues
        if host.no_local:
            queues = [queue for queue in queues if not (queue.no_local and queue.local(message))]
        number = 0
        if queues:
            work = holder.work
            if work is not None:
                work.publish(message, queues)
            else:
                number = host.enqueue(message, queues)
    except Refused as refused:
        holder.refuse(event.id, refused)
        return
    if queues and holder.throttles:
        holder.front.throttle.published(holder, queues)
    id = event.id
    if routed is DROPPED:
        host.dropped += 1
    if routed.reject is not None:
        holder.reject(id, CODES[routed.reject])
    elif not explicit:
        holder.complete_after(number, id)
    elif number:
        broker._journals.after(number, lambda: holder.accept(id))
    else:
        holder.accept(id)
