"""Converts transfers to messages of the model."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING, Final

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions.form import NOTHING, envelope_of, rebuilt, user_id_of
from amqp_sansio.broker.model.message import Envelope, Intake, Message
from amqp_sansio.broker.model.topology import DROPPED, IMMEDIATE, UNROUTABLE, Rejection
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import TransferReceived
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.codes import RejectCode
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, Transfer
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers
from amqp_sansio.wire.primitives import u32

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder


CACHED: Final = 1024
"""The most envelopes cached; when there are more, all are dropped."""
CACHED_OCTETS: Final = 512
"""The largest header, in octets, that is cached."""
LATEST: Final = 2**63 - 1
"""The largest datetime, which readers treat as signed."""
MILLISECONDS: Final = 10**11
"""An expiration from here on is in milliseconds, as Java clients write and expect it; others are in seconds."""


class Reception:
    """Makes messages from transfers; one for each broker.

    If the epoch is known, the expiration of a message with a ttl is written into its header, in its publisher's unit.
    """

    __slots__ = ("_cache", "_intake")

    def __init__(self, intake: Intake) -> None:
        self._intake: Final = intake
        self._cache: dict[tuple[str, bytes], Envelope] = {}

    def read(
        self,
        transfer: Transfer,
        header: bytes,
        body: bytes,
        now: float = 0.0,
        identity: str | None = None,
        structs: Sequence[Struct] | None = None,
        reading: Reading = DEFAULT_READING,
        empty_body: bool = False,
        publisher: int = 0,
    ) -> Message:
        """Returns the message of a transfer.

        `structs` are those of the header if they were decoded already; `empty_body`: it has a body segment of 0 octets;
        `publisher` is the number of the connection, 0 when it has none.  Raises Refused: 403 when message-properties name a
        user other than `identity` (None: not checked; the part before "@" of a name with a realm is enough); 503 for an
        unreadable header; 540 for a fragment.
        """
        exchange = transfer.destination or ""
        envelope = None if empty_body else self._cache.get((exchange, header))
        if envelope is None:
            envelope = self._envelope(exchange, header, structs, reading, now, empty_body)
        if envelope.user_id and identity is not None:
            users = identity.encode("utf-8", "surrogateescape"), identity.partition("@")[0].encode("utf-8", "surrogateescape")
            if envelope.user_id not in users:
                raise Refused(conditions.TRANSFER_USER_ID, user=envelope.user_id, identity=identity)
        return self._intake.made(envelope, body, now, publisher)

    def _envelope(
        self, exchange: str, header: bytes, structs: Sequence[Struct] | None, reading: Reading, now: float, empty_body: bool
    ) -> Envelope:
        try:
            if structs is None:
                structs = decode_headers(header, 0, len(header), reading)
            delivery, rest = _parted(header, structs)
            # ttl: the broker adds the expiration; an expiration without a ttl is only for the consumer
            expiration = None
            if delivery.ttl is not None and self._intake.epoch is not None:
                moment = self._intake.epoch + now + delivery.ttl / 1000
                expiration = ceil(min(moment * 1000 if (delivery.expiration or 0) >= MILLISECONDS else moment, LATEST))
            made = encode_headers([rebuilt(delivery, exchange=exchange, expiration=expiration)]) + rest
        except (DecodeError, EncodeError) as why:
            raise Refused(conditions.TRANSFER_HEADER, why=str(why)) from None
        envelope = envelope_of(made, exchange, delivery, user_id_of(structs), empty_body)
        if expiration is None and len(header) <= CACHED_OCTETS and not empty_body:
            if len(self._cache) >= CACHED:
                self._cache.clear()
            self._cache[exchange, header] = envelope
        return envelope


def _parted(header: bytes, structs: Sequence[Struct]) -> tuple[DeliveryProperties, bytes]:
    """Returns the delivery-properties, and all other structs unchanged."""
    delivery = None
    rest: list[bytes] = []
    p = 0
    for struct in structs:
        q = p + 4 + u32(header, p)[0]
        if type(struct) is DeliveryProperties and delivery is None:
            delivery = struct
        elif type(struct) is FragmentProperties and not (struct.first and struct.last):
            raise Refused(conditions.TRANSFER_FRAGMENT)
        else:
            rest.append(header[p:q])
        p = q
    return delivery or NOTHING, b"".join(rest)


AHEAD: Final = 256
"""The most deliveries that an immediate message waits for."""
CODES: Final[dict[Rejection, RejectCode]] = {UNROUTABLE: RejectCode.UNROUTABLE, IMMEDIATE: RejectCode.IMMEDIATE}
"""The code of message.reject."""


def publish(holder: SessionHolder, event: TransferReceived) -> None:
    """Routes the message and enqueues it, or holds it back for the transaction; accepts or refuses it."""
    site, broker = holder.site, holder.broker
    host = site.host
    transfer = event.transfer
    mode = transfer.accept_mode
    explicit = holder.explicit if mode is None else mode == 0
    now = broker._now
    guard = broker._guard
    try:
        if len(event.body) > (most := broker.limits.body_octets):
            why = f"the body has {len(event.body)}"
            raise Refused(conditions.TRANSFER_LIMIT, limit="body_octets", value=most, where="", why=why)
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
        if host.dispatchable and message.envelope.immediate:
            host.dispatch(AHEAD)  # the credit that counts is what earlier messages leave
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
