"""The front of 0-10: the sessions of a broker, and what their clients may publish, and how fast.

`SessionFront` attaches sessions, has all of them by virtual host, identity and name, and keeps them over a restart, as plain
values and up to the limit that `Kept` counts to.  `Reception` makes messages of transfers; `Throttle` stops the publishers of
queues that are too long.  One session, and the service of those of one connection, is in `holder`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING, Any, Final

import attrs

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import SUBSCRIBE_QUEUE_DELETED, Refused
from amqp_sansio.broker.fronts.front import Front, Plain
from amqp_sansio.broker.fronts.sessions.commands import demand_again
from amqp_sansio.broker.fronts.sessions.error_column import code_of
from amqp_sansio.broker.fronts.sessions.form import FORM, NOTHING, envelope_of, rebuilt, user_id_of
from amqp_sansio.broker.fronts.sessions.holder import (
    SessionConsumer,
    SessionHolder,
    SessionKey,
    SessionService,
    Since,
    Unsettled,
)
from amqp_sansio.broker.journal import SessionLeft
from amqp_sansio.broker.model.arguments import SubscriptionArguments
from amqp_sansio.broker.model.exchange import less, more
from amqp_sansio.broker.model.message import Envelope, Intake, Message
from amqp_sansio.broker.selectors.parser import Selector
from amqp_sansio.broker.transactions import Work
from amqp_sansio.config import Profile
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.engine.session import Session
from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.events import AttachRequested
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet
from amqp_sansio.ledger.credit import CREDIT_MODE, INFINITE, MESSAGE
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.codes import DetachCode, ErrorCode
from amqp_sansio.spec.message import DeliveryProperties, Flow, FragmentProperties, SetFlowMode, Stop, Transfer
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.layouts.layout import decode_headers, encode_headers
from amqp_sansio.wire.primitives import u32
from amqp_sansio.wire.types import decode_struct32

if TYPE_CHECKING:
    from amqp_sansio.broker.access import Guard
    from amqp_sansio.broker.broker import Broker, Peer
    from amqp_sansio.broker.model.message import QueueEntry
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.snapshot import Needed, Rebuilding


# --- the sessions ---------------------------------------------------------------------------------------------------------


class SessionFront(Front):
    """The front of 0-10.  Sessions outlive their connection, and the broker, for the timeout that was granted to them."""

    CONNECTION = ServerConnection
    FORM = FORM
    KEEPS = True
    GUARDED = True

    def __init__(self, broker: Broker) -> None:
        super().__init__(broker)
        self.reception: Final = Reception(broker._intake)
        self.sessions: Final[dict[SessionKey, SessionHolder]] = {}
        """All sessions, attached or kept."""
        self.throttle: Final = Throttle(broker.limits.throttle_messages)
        self.pending = self.throttle.short  # stopped publishers may resume, and do not know it yet
        self.kept: Final = Kept(broker.limits.kept_sessions)
        self._remembered: Final[dict[SessionKey, None]] = {}  # sessions in the last snapshot, unchanged since
        self._leaving: Final[
            dict[SessionKey, int]
        ] = {}  # by session, the journal entry that `touched` wrote, until it is journalled

    def serve(self, peer: Peer) -> SessionService:
        """Returns the service for the sessions of a connection."""
        return SessionService(self, peer)

    def attach(self, service: SessionService, event: AttachRequested) -> None:
        """Attaches a session: a new one, or the kept one of that identity and name.

        Waits until the journal has stored what a restart would need, and refuses a name that is in use, unless forced.
        """
        peer, connection, name = service.peer, service.connection, event.session
        broker, host = peer._broker, peer._host
        assert host is not None  # no attach comes before open-ok
        if peer._config.attach == "refuse":
            connection.refuse(name)
            return
        key = (host.name, peer._identity or "", name)
        number = self.touched(key)
        if number > broker._journals.done:  # until then a restart would restore the session, or messages, as they were
            peer._waits = True
            broker._journals.after(number, lambda: self._attach_again(service, event))
            return
        known = self.sessions.get(key)
        if known is not None:
            session = known.session
            channel = session._channel
            if channel is not None and not event.force:
                connection.refuse(name, DetachCode.SESSION_BUSY)
                return
            if session._timeout == 0 or session.state not in ("attached", "resuming", "detached"):
                # No timeout was granted, so nothing is kept: the attach begins a new session (old clients force that).
                if channel is not None:
                    channel.force_off()
                known.end()
                if known.peer is not None and known.peer is not peer:
                    broker._ready[known.peer] = None
            else:
                before = known.peer
                connection.accept(name, resume=session)
                known.moved(service)
                if before is not None and before is not peer:
                    broker._ready[before] = None
                service.holders[name] = known
                return
        timeout = peer._config.session_timeout
        if timeout != 0 and not self.kept.has_room(key):
            timeout = 0
        session = connection.accept(name, timeout=timeout)
        session._keep_for(0)  # until its client asks for more: one that does not starts anew, and must find nothing kept
        service.holders[name] = SessionHolder(self, service, host, key, session)

    def _attach_again(self, service: SessionService, event: AttachRequested) -> None:
        peer = service.peer
        peer._waits = False
        if not peer._ended and peer._connection._closed_cause is None:
            self.attach(service, event)
            peer._broker._ready[peer] = None
        peer._broker._stored(peer)

    def work(self) -> None:
        """Resumes publishers that waited for a queue to shorten."""
        self.throttle.relieve()

    @property
    def alive(self) -> bool:
        """Whether any session exists."""
        return bool(self.sessions)

    def revoke(self, guard: Guard) -> None:
        """Ends each session with a subscription that is no longer allowed: no server of 0-10 can end a single subscription."""
        for holder in list(self.sessions.values()):
            demand_again(guard, holder)

    # --- over a restart ---------------------------------------------------------------------------------------------------

    def take(self) -> tuple[Plain, ...]:
        """Returns the detached sessions that are kept."""
        kept = self._keepable()
        self._remembered.clear()
        self._remembered.update(dict.fromkeys([holder.key for holder in kept]))
        return tuple([_plain(holder) for holder in kept])

    def need(self, host: str, needed: Needed) -> None:
        """Adds what the kept sessions need of a virtual host."""
        for holder in self._keepable():
            if holder.key[0] == host:
                queues = [consumer.queue for consumer in holder.consumers.values()]
                queues += holder.host.owned(holder.owner)
                for record in (*holder.unsettled.values(), *holder.provisional.values()):
                    if record.acquired:
                        needed.entries[record.entry] = None
                        queues.append(record.entry.queue)
                for message, targets in () if holder.tx is None else holder.tx.published:
                    needed.messages[message] = None
                    queues += targets
                needed.queues.update(dict.fromkeys([queue for queue in queues if not queue.durable and not queue.deleted]))

    def _keepable(self) -> list[SessionHolder]:
        """Returns the sessions that a restart can restore: those that are detached and work on no unprepared branch."""
        return [
            each
            for each in self.sessions.values()
            if each.peer is None
            and each.session.state == "detached"
            and not each.ended
            and not each.host.coordinator.associated(each.owner)
        ]

    def claims(self, plain: Plain) -> tuple[set[str], set[tuple[str, int]]]:
        """Returns the queues that a session owns, subscribes to or has messages of, and these messages."""
        queues: set[str] = {*plain["owned"], *[name for _, name, *_ in plain["consumers"]]}
        entries: set[tuple[str, int]] = set()
        for _, queue, number, acquired, _ in (*plain["unsettled"], *plain["pledged"]):
            queues.add(queue)
            if acquired:
                entries.add((queue, number))
        for _, names in plain["published"] or ():
            queues.update(names)
        return queues, entries

    def outlived(self, plain: Plain, left: Collection[tuple[str, str, bytes]]) -> bool:
        """Returns whether the session is unchanged since the snapshot: it is not among the journal's SessionLeft."""
        return (plain["host"], plain["identity"], plain["name"]) not in left

    def restore(self, plain: Plain, rebuilding: Rebuilding) -> None:
        """Restores the session, detached; its timeout begins."""
        holder = _restored(self, plain, rebuilding)
        self._remembered[holder.key] = None
        self.broker._keep(holder)

    def touched(self, key: SessionKey) -> int:
        """Records that a session begins, continues or ends, so that an earlier snapshot of it must not be restored.

        Returns the journal entry that must be stored before anything is sent in the session; 0 for none.
        """
        journals = self.broker._journals
        if key in self._remembered:
            del self._remembered[key]
            number = self._leaving[key] = journals.write(SessionLeft(*key))
            journals.after(number, lambda: self._left(key, number))
        return max(self._leaving.get(key, 0), self.broker._opened_entry)

    def _left(self, key: SessionKey, number: int) -> None:
        if self._leaving.get(key) == number:
            del self._leaving[key]


class Kept:
    """Counts the kept sessions of each identity at each virtual host, up to `most` (BrokerLimits.kept_sessions)."""

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._counts: Final[dict[tuple[str, str], int]] = {}

    def has_room(self, key: SessionKey) -> bool:
        """Returns whether one more session of this identity may outlive its connection."""
        return self._counts.get(key[:2], 0) < self._most

    def begins(self, key: SessionKey) -> None:
        """Counts a session that outlives its connection, even if there is no room."""
        more(self._counts, key[:2])

    def ends(self, key: SessionKey) -> None:
        """Stops counting a session that outlived its connection."""
        less(self._counts, key[:2])


# --- a kept session as a plain value --------------------------------------------------------------------------------------


def _plain(holder: SessionHolder) -> dict[str, object]:
    """Returns a detached session, with all that it holds at the broker, as a plain value."""
    session = holder.session
    host, identity, name = holder.key
    failing, epoch = holder.failing, holder.broker.config.epoch or 0.0
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
                # On the epoch's clock, since the broker's own clock ends with it.
                each.no_local, None if each.since is None else (each.since.moment + epoch, each.since.number),
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


_NOT_ASKED: Final[tuple[Any, ...]] = (None, 0, False, None)
"""The selector, priority, no-local and replay period of subscriptions; before 0.2 none were kept."""


def _restored(front: SessionFront, plain: Plain, rebuilding: Rebuilding) -> SessionHolder:
    """Restores what `_plain` returned; raises as `Front.restore` does."""
    host, epoch = rebuilding.host, front.broker.config.epoch or 0.0
    known = attrs.fields_dict(Limits)  # earlier versions had one that is gone
    limits = Limits(**{name: value for name, value in plain["limits"].items() if name in known})
    session = Session.restore(plain["session"], profile=Profile(**plain["profile"]), limits=limits)
    holder = SessionHolder(front, None, host, (host.name, plain["identity"], plain["name"]), session)
    for name in plain["owned"]:
        if name in rebuilding.queues:
            host.declare_queue(name, exclusive=True, owner=holder.owner)
    failing = plain["failing"]
    for destination, name, exclusive, *kept in plain["consumers"]:
        if name in rebuilding.queues:
            subscriber = session.subscribers[destination]
            selector, priority, no_local, since = tuple(kept) + _NOT_ASKED[len(kept) :]
            asked = SubscriptionArguments(None if selector is None else Selector(selector, host.limits), priority, no_local)
            begun = None if since is None else Since(since[0] - epoch, since[1])
            holder.consumers[destination] = SessionConsumer(holder, name, subscriber, exclusive, asked, begun)
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
    return holder


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


# --- publishes ------------------------------------------------------------------------------------------------------------

CACHED: Final = 1024
"""The most envelopes that are cached; when the cache is full, all are dropped."""
CACHED_OCTETS: Final = 512
"""The largest header, in octets, that is cached."""
LATEST: Final = 2**63 - 1
"""The largest expiration, in either unit: a datetime has 64 bits, which readers treat as signed."""
MILLISECONDS: Final = 10**11
"""An expiration of at least this is in milliseconds, as Java clients write and expect it; a lower one is in seconds."""


class Reception:
    """Makes messages from transfers; one for each broker.

    If the time of day is known (`Intake.epoch`), the expiration of a message with a ttl is written into its header, in the
    publisher's unit.  The envelopes of short headers are cached, because the messages of a client often have the same header.
    """

    def __init__(self, intake: Intake) -> None:
        self._intake: Final = intake
        self.envelopes: Final[dict[tuple[str, bytes], Envelope]] = {}
        """By exchange and header, envelopes that were made before."""

    def read(
        self,
        transfer: Transfer,
        header: bytes,
        body: bytes,
        now: float = 0.0,
        identity: str | None = None,
        reading: Reading = DEFAULT_READING,
        empty_body: bool = False,
        publisher: int = 0,
    ) -> Message:
        """Returns the message of a transfer.

        `now` is the broker's time in seconds; `empty_body`: it has a body segment of 0 octets; `publisher` is the number of the
        connection, 0 when it has none.

        Raises Refused: 403 when message-properties name a user other than `identity` (None: not checked; of an identity with a
        realm, the part before "@" is enough); 503 for an unreadable header; 540 for a fragment.
        """
        exchange = transfer.destination or ""
        envelope = None if empty_body else self.envelopes.get((exchange, header))
        if envelope is None:
            envelope = self._envelope(exchange, header, reading, now, empty_body)
        if envelope.user_id and identity is not None:
            users = identity.encode("utf-8", "surrogateescape"), identity.partition("@")[0].encode("utf-8", "surrogateescape")
            if envelope.user_id not in users:
                raise Refused(conditions.TRANSFER_USER_ID, user=envelope.user_id, identity=identity)
        return self._intake.made(envelope, body, now, publisher)

    def _envelope(self, exchange: str, header: bytes, reading: Reading, now: float, empty_body: bool) -> Envelope:
        try:
            structs = decode_headers(header, 0, len(header), reading)
            delivery, rest = _parted(header, structs)
            # The broker adds the expiration of a ttl; an expiration without a ttl concerns only the consumer.
            expiration = None
            if delivery.ttl is not None and self._intake.epoch is not None:
                moment = self._intake.epoch + now + delivery.ttl / 1000
                expiration = ceil(min(moment * 1000 if (delivery.expiration or 0) >= MILLISECONDS else moment, LATEST))
            made = encode_headers([rebuilt(delivery, exchange=exchange, expiration=expiration)]) + rest
        except (DecodeError, EncodeError) as why:
            raise Refused(conditions.TRANSFER_HEADER, why=str(why)) from None
        envelope = envelope_of(made, exchange, delivery, user_id_of(structs), empty_body)
        if expiration is None and len(header) <= CACHED_OCTETS and not empty_body:
            if len(self.envelopes) >= CACHED:
                self.envelopes.clear()
            self.envelopes[exchange, header] = envelope
        return envelope


def _parted(header: bytes, structs: Sequence[Struct]) -> tuple[DeliveryProperties, bytes]:
    """Returns the delivery-properties, and the octets of all other structs unchanged.  Raises Refused for a fragment."""
    delivery = None
    rest: list[bytes] = []
    start = 0
    for struct in structs:
        end = start + 4 + u32(header, start)[0]  # the size stands before each struct
        if type(struct) is DeliveryProperties and delivery is None:
            delivery = struct
        elif type(struct) is FragmentProperties and not (struct.first and struct.last):
            raise Refused(conditions.TRANSFER_FRAGMENT)
        else:
            rest.append(header[start:end])
        start = end
    return delivery or NOTHING, b"".join(rest)


# --- producer flow control ------------------------------------------------------------------------------------------------


class Throttle:
    """Producer flow control: the queues that are too long, and the sessions that wait for them to shorten.

    A queue of `most` messages is too long; it is short enough again with half of them, so that its publishers do not stop at
    every message.  message.set-flow-mode and message.stop stop a publisher that supports it, message.flow resumes it: all for
    destination "", which means every transfer of the session.
    """

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self.queues: Final[dict[Queue, dict[SessionHolder, None]]] = {}
        """The queues that are too long, with the sessions that wait for each."""
        self.short: Final[dict[Queue, None]] = {}
        """Those of them that are short enough again, or deleted: `relieve` resumes their publishers."""
        self._waiting: Final[dict[SessionHolder, dict[Queue, None]]] = {}
        """The queues that each session waits for."""
        self.owing: Final[dict[SessionHolder, None]] = {}
        """Sessions that may resume, but to which nothing can be sent yet: they keep as much for replay as the limit allows."""
        self._told: Final[dict[SessionHolder, bool]] = {}
        """The last word to each session that was ever stopped: True to stop, False to resume."""

    def published(self, holder: SessionHolder, queues: Iterable[Queue]) -> None:
        """Records that the session published into these queues; stops it if one is too long."""
        if not holder.throttles:
            return
        for queue in queues:
            if queue.messages >= self._most and holder not in self.queues.get(queue, ()):
                if not self._waiting.get(holder):
                    words = (Stop(""),) if holder in self._told else (SetFlowMode("", CREDIT_MODE), Stop(""))
                    if not holder.say(*words):
                        return
                    self._told[holder] = True
                self._waiting.setdefault(holder, {})[queue] = None
                self.queues.setdefault(queue, {})[holder] = None
                queue.shortened = self._shortened

    def _shortened(self, queue: Queue) -> None:
        if queue.messages <= self._most // 2 or queue.deleted:
            self.short[queue] = None

    def relieve(self) -> None:
        """Resumes the publishers that wait for none but queues which are short enough again."""
        short = list(self.short)
        self.short.clear()
        for queue in short:
            if queue.messages <= self._most // 2 or queue.deleted:
                queue.shortened = None
                for holder in self.queues.pop(queue):
                    waiting = self._waiting[holder]
                    del waiting[queue]
                    if not waiting:
                        del self._waiting[holder]
                        self._resume(holder)

    def _resume(self, holder: SessionHolder) -> None:
        if self._told.get(holder):
            if holder.say(Flow("", MESSAGE, INFINITE)):
                self._told[holder] = False
                self.owing.pop(holder, None)
            elif holder.speaks:  # otherwise it is checked when it is attached
                self.owing[holder] = None
                holder.wait_for_replay()

    def attached(self, holder: SessionHolder) -> None:
        """Resumes a session whose queues became short enough while it was detached."""
        if holder not in self._waiting:
            self._resume(holder)

    def told(self, holder: SessionHolder) -> bool | None:
        """Returns whether the session is stopped; None when it never was."""
        return self._told.get(holder)

    def restored(self, holder: SessionHolder, told: bool) -> None:
        """Restores whether a session is stopped."""
        self._told[holder] = told

    def ended(self, holder: SessionHolder) -> None:
        """Forgets a session that ended."""
        self._told.pop(holder, None)
        self.owing.pop(holder, None)
        for queue in self._waiting.pop(holder, ()):
            holders = self.queues[queue]
            del holders[holder]
            if not holders:
                del self.queues[queue]
                self.short.pop(queue, None)
                queue.shortened = None
