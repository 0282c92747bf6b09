"""A session at the broker: what it holds, what it publishes and is sent; and the service of the sessions of a connection."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import SUBSCRIBE_QUEUE_DELETED, Refused
from amqp_sansio.broker.fronts.front import Holder, Service
from amqp_sansio.broker.fronts.sessions.commands import COMMANDS, demand
from amqp_sansio.broker.fronts.sessions.error_column import code_of, field_index_of
from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.model.arguments import NOTHING_ASKED
from amqp_sansio.broker.model.queueing import DROPPED, IMMEDIATE, UNROUTABLE, Rejection
from amqp_sansio.broker.model.subscribers import SESSION, Owner, published_by
from amqp_sansio.broker.transactions import ProvisionalAccepts
from amqp_sansio.engine.inbound import complete_one, parts
from amqp_sansio.engine.outbound import prepare, say, transfer
from amqp_sansio.engine.server import ServerConnection
from amqp_sansio.errors import AmqpError, EncodeError, LimitError, NoCredit
from amqp_sansio.events import (
    AttachRequested,
    Authenticated,
    CommandReceived,
    CommandsCompleted,
    Event,
    ExceptionReceived,
    SessionAttached,
    SessionDetached,
    TransferReceived,
)
from amqp_sansio.kernel.serials import ById, MutableRangeSet, RangeSet
from amqp_sansio.limits import MAX_FRAME_SIZE
from amqp_sansio.spec import message
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import ErrorCode, RejectCode
from amqp_sansio.spec.execution import Result, Sync
from amqp_sansio.wire.codec import DEFAULT_READING, Reading

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker, Peer
    from amqp_sansio.broker.fronts.sessions.front import SessionFront
    from amqp_sansio.broker.model.arguments import SubscriptionArguments
    from amqp_sansio.broker.model.host import VirtualHost
    from amqp_sansio.broker.model.message import Message, QueueEntry
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.transactions import Work
    from amqp_sansio.engine.session import Session
    from amqp_sansio.engine.subscription import Subscriber


class Unsettled:
    """A transfer to the session that the session may still refer to."""

    __slots__ = ("acquired", "entry", "explicit")

    def __init__(self, entry: QueueEntry, acquired: bool, explicit: bool) -> None:
        self.entry: Final = entry
        self.acquired = acquired
        self.explicit: Final = explicit
        """Whether accept, reject or release ends it; otherwise its completion does."""


def _begin(broker: Broker, replay: int | None) -> Since | None:
    """Returns the earliest arrival of messages that a new subscription wants; `replay` is its replay period in seconds."""
    if replay is None:
        return None
    return Since((broker._now or 0.0) - replay, 0 if replay else broker._intake.last)


class SessionConsumer:
    """A subscription of a session.  The engine keeps its credit: `subscriber.flow`."""

    __slots__ = (
        "_accept_mode",
        "_acquire_mode",
        "_flushes",
        "_left",
        "_most",
        "acquires",
        "destination",
        "exclusive",
        "explicit",
        "holder",
        "no_local",
        "octets_left",
        "owner",
        "priority",
        "queue",
        "selective",
        "selector",
        "since",
        "subscriber",
    )

    def __init__(
        self,
        holder: SessionHolder,
        queue: str | None,
        subscriber: Subscriber,
        exclusive: bool,
        asked: SubscriptionArguments = NOTHING_ASKED,
        since: Since | None = None,
    ) -> None:
        """Adds it to the subscribers of the queue.  Raises `Refused`.

        `since`: where its replay period began, when it is restored.
        """
        self.holder: Final = holder
        self.owner: Final[Owner] = holder.owner
        self.subscriber: Final = subscriber
        self.destination: Final = subscriber.destination
        self.exclusive: Final = exclusive
        self.priority: Final = asked.priority
        self.selector: Final = asked.selector
        self.no_local: Final = asked.no_local
        self.since: Final = _begin(holder.broker, asked.replay) if since is None else since
        """The earliest arrival of messages that it wants; None: any."""
        self.selective: Final = asked.selector is not None or asked.no_local or self.since is not None
        self.explicit: Final = subscriber.accept_mode == 0
        self.acquires: Final = subscriber.acquire_mode == 0
        self._accept_mode: Final = subscriber.accept_mode
        self._acquire_mode: Final = subscriber.acquire_mode
        self._most: Final = holder.broker.limits.unaccepted_transfers
        self._flushes: list[int] = []  # commands that complete once the messages available now are sent
        self.octets_left: int | None = None
        """The octets of credit that were too few for the last message; None when another reason held it back."""
        self._left = 0  # an upper bound of those left
        self.queue: Final[Queue] = holder.host.subscribe(queue, self)
        holder.host.subscribers += 1

    def offer(self, entry: QueueEntry) -> bool:
        """Sends the message if possible now; one that needs no settlement is then removed from the queue."""
        self.octets_left = None
        holder = self.holder
        peer, session = holder.peer, holder.session
        if holder.ended:
            return False
        if peer is None or not session._speaks:
            holder.asleep[self] = None
            return False
        if peer._connection.bytes_to_send >= peer._most_output:  # `Peer.full` inlined
            peer._stalled[self] = None
            holder.asleep[self] = None
            return False
        unsettled = holder.unsettled
        kept = self.explicit or not self.acquires
        if kept and len(unsettled) >= self._most:
            holder.at_limit[self] = None
            return False
        if self._flushes and self._left <= 0:
            self._end_flushes()
            return False  # until `flushed`
        if session._subscribers.current.get(self.destination) is not self.subscriber:
            return False
        try:
            id = transfer(
                session,
                self.destination,
                self._accept_mode,
                self._acquire_mode,
                (),
                entry.message.body,
                False,
                entry.header_in(FORM),
                True,
                entry.message.envelope.empty_body,
            )
        except LimitError:  # too much is kept for replay, until the client confirms some of it
            holder.held_by_replay[self] = None
            holder.wait_for_replay()
            return False
        except NoCredit as lacking:
            self.octets_left = lacking.available if lacking.unit == "byte" else None
            return False
        except AmqpError:  # the connection closes
            holder.asleep[self] = None
            return False
        if self._flushes:
            self._left -= 1
        if kept:
            unsettled[id] = Unsettled(entry, self.acquires, self.explicit)
            if not self.acquires:
                holder.show(id)
            elif holder.taken is not None:
                holder.taken.add(id)
        else:
            holder.host.dequeue((entry,))
        holder.broker._ready[peer] = None
        return True

    def size(self, entry: QueueEntry) -> int:
        """Returns the octets that its credit counts for the message."""
        return len(entry.message.body) + (len(entry.header_in(FORM)) if self.holder.session.counts_headers else 0)

    def selects(self, entry: QueueEntry) -> bool:
        """Returns whether it wants the message: the selector matches, it arrived in time, and no-local does not exclude it."""
        return self._selects(entry.message, entry.redelivered)

    def _selects(self, message: Message, redelivered: bool) -> bool:
        if self.no_local and published_by(message, self.owner):
            return False
        if self.since is not None and not self.since.wants(message, self.holder.broker._began):
            return False
        if self.selector is None:
            return True
        return self.selector.selects(self.holder.host.selectable.properties(message, redelivered).get)

    def able(self, message: Message) -> bool:
        """Returns whether it could take the message at once."""
        holder = self.holder
        if self.selective and not self._selects(message, message.envelope.redelivered):
            return False
        session = holder.session
        peer = holder.peer
        if peer is None or holder.ended or not session._speaks or peer.full:
            return False
        octets = len(message.body) + (len(message.envelope.header_in(FORM, False)) if session.counts_headers else 0)
        return self.subscriber._book.allows(octets) and len(holder.unsettled) < self._most

    def gone(self, queue: Queue, by: Owner | None) -> None:
        """Handles the deletion of its queue, which ends its session unless that session deleted it."""
        self._end_flushes()
        self.holder.asleep.pop(self, None)
        if by is not self.owner:
            self.holder.host.subscribers -= 1
            self.holder.gone(self)

    def wake(self) -> None:
        """Wakes it after a change by which it may be able to take messages again."""
        holder = self.holder
        if not holder.ended:
            if holder.held_by_replay:
                holder.held_by_replay.pop(self, None)
            if holder.asleep:
                holder.asleep.pop(self, None)
            self.queue.wake(self)
            if self._flushes:
                holder.host.watch(self.queue, self.flushed)

    # --- message.flush ----------------------------------------------------------------------------------------------------

    def flush(self, id: int) -> None:
        """Sends what credit and queue allow now; then the command completes, and the credit is used up."""
        self._flushes.append(id)
        self._left = self.queue.available
        self.wake()

    def flushed(self) -> None:
        """Completes its flushes, since the queue has nothing more for it, unless something else holds it up temporarily.

        Too many unsettled messages are not such a reason: the client may wait for the flush before it settles any.
        """
        holder = self.holder
        peer = holder.peer
        if peer is None or not holder.session._speaks:
            holder.asleep[self] = None
            return
        if self not in peer._stalled and self not in holder.held_by_replay:
            self._end_flushes()
            if self.subscriber._book.messages.available:  # credit granted since the flush
                self.queue.wake(self)

    def cancel(self) -> int:
        """Stops deliveries; received messages can still be settled.  Returns the number of the entry to be journalled first."""
        self.holder.host.subscribers -= 1
        self.holder.asleep.pop(self, None)
        self._end_flushes()
        return self.holder.host.unsubscribe(self.queue, self)

    def _end_flushes(self) -> None:
        flushes = self._flushes[:]
        self._flushes.clear()
        for id in flushes:
            self.holder.complete(id)

    def __repr__(self) -> str:
        return f"<SessionConsumer {self.destination!r} of {self.queue!r}>"


class Since:
    """The start of a subscription's replay period: it gets what arrived at `moment` or later.

    `moment` is on the broker's clock.  `number` is that of the last message that it does not get, whatever the moment: messages
    before and after message.subscribe may arrive in the same tick.
    """

    __slots__ = ("moment", "number")

    def __init__(self, moment: float, number: int = 0) -> None:
        self.moment: Final = moment
        self.number: Final = number

    def wants(self, message: Message, began: float) -> bool:
        """Returns whether the message arrived since then.

        What arrived before the clock `began`, at an unknown time, counts as having arrived at that moment.
        """
        return message.number > self.number and max(message.arrived, began) >= self.moment


SessionKey: TypeAlias = tuple[str, str, bytes]
"""Virtual host, identity and name, which identify a session."""

RESULT_OCTETS: Final = 12 + 6 + 4
"""Octets of a frame with execution.result besides its value: frame header, codes and flags, id."""
MOST_TEXT: Final = 1000
"""The most characters of a description."""


class MissedAcquire:
    """A transfer that the session tried to acquire (message.acquire) while another consumer held its message.

    It is not checked again before the message is released, so repeated acquires cost nothing.
    """

    __slots__ = ("_entry", "_holder", "_id")

    def __init__(self, holder: SessionHolder, id: int, entry: QueueEntry) -> None:
        self._holder: Final = holder
        self._id: Final = id
        self._entry: Final = entry
        entry.queue.await_release(entry, self)

    def released(self) -> None:
        """Records that the message can be acquired again."""
        self._holder.missed.remove(self._id)
        self._holder.shown.add(self._id)

    def forget(self) -> None:
        """Records that the session has settled the transfer."""
        self._entry.queue.await_no_more(self._entry, self)


class SessionHolder(Holder):
    """A session at the broker.  It outlives the connection that the session is attached to.

    While the session is detached, all output waits.
    """

    def __init__(
        self, front: SessionFront, service: SessionService | None, host: VirtualHost, key: SessionKey, session: Session
    ) -> None:
        peer = None if service is None else service.peer
        self.front: Final = front
        self.broker: Final[Broker] = front.broker
        self.host: Final = host
        self.key: Final = key
        self.session: Final = session
        self.service = service
        """The service of its connection; None while it is detached."""
        self.peer = peer
        """Its connection; None while it is detached."""
        self.owner: Final = Owner(SESSION, connection=None if peer is None else peer._owner)
        """The owner, in the model, of its exclusive queues, subscriptions and transactions."""
        self.kept: Final = session._max_timeout != 0
        """Whether it counts as a session that outlives its connection."""
        self.explicit: Final = session.profile.publish_is_explicit(None)
        """Whether its publishes without accept-mode are accepted or rejected by command."""
        self.consumers: Final[dict[str, SessionConsumer]] = {}
        self.unsettled: Final[ById[Unsettled]] = ById()
        self.shown: Final = MutableRangeSet()
        """The ids in `unsettled` that are not acquired and might be; without those in `missed`."""
        self.taken: MutableRangeSet | None = None
        """The ids in `unsettled` that are acquired; None until a message was browsed: then all of them are."""
        self.missed: Final[ById[MissedAcquire]] = ById()
        """The other ids in `unsettled` that are not acquired: another consumer holds the message, or it is gone."""
        self.at_limit: Final[OrderedDict[SessionConsumer, None]] = OrderedDict()
        """Consumers that get nothing because too much is unsettled."""
        self.held_by_replay: Final[dict[SessionConsumer, None]] = {}
        """Consumers that get nothing because too much is kept for replay."""
        self.asleep: Final[dict[SessionConsumer, None]] = {}
        """Consumers that got nothing because no connection took octets: they are woken when it is attached again."""
        self.tx: Work | None = None
        """What the local transaction holds back, after tx.select."""
        self.provisional: Final = ProvisionalAccepts()
        """What this or an earlier local transaction accepted and is not settled; it is not in `unsettled`."""
        self.ended = False
        self.owing: Final[dict[int, Struct | None]] = {}
        """Results not sent yet: the session is detached, or an entry is not journalled."""
        self.failing: tuple[int | None, ErrorCode, str, int | None] | None = None
        """The exception that could not be sent while it was detached."""
        self._waiting: Final[set[int]] = set()  # the ids of `owing` that wait for the journal
        self.accepts: Final = MutableRangeSet()  # publishes to accept
        self.rejects: Final[dict[int, MutableRangeSet]] = {}  # publishes to reject, by code
        front.sessions[key] = self
        host.users += 1
        if self.kept:
            front.kept.begins(key)

    @property
    def work(self) -> Work | None:
        """The transaction that its transfers and accepts now belong to; None for none."""
        if self.tx is not None:
            return self.tx
        branch = self.host.coordinator.working.get(self.owner)
        return None if branch is None else branch.work

    @property
    def reading(self) -> Reading:
        """How its connection decodes headers."""
        return self.peer._connection.reading if self.peer is not None else DEFAULT_READING

    @property
    def throttles(self) -> bool:
        """Whether it supports producer flow control."""
        return self.service is not None and self.service.session_flow

    @property
    def speaks(self) -> bool:
        """Whether it can send now."""
        session = self.session
        channel = session._channel
        return session._speaks and channel is not None and channel.carrier._closed_cause is None

    def subscribe(self, queue: str, subscriber: Subscriber, exclusive: bool, asked: SubscriptionArguments) -> None:
        """Subscribes the client to a queue.  Raises Refused."""
        self.consumers[subscriber.destination] = SessionConsumer(self, queue, subscriber, exclusive, asked)

    def miss(self, id: int, entry: QueueEntry) -> None:
        """Records that a shown transfer could not be acquired."""
        self.shown.discard_id(id)
        self.missed[id] = MissedAcquire(self, id, entry)

    # --- attachment -------------------------------------------------------------------------------------------------------

    def attached(self) -> None:
        """Sends what waited, and messages within the credit: the session can send."""
        for id in [id for id in self.owing if id not in self._waiting]:
            if self.speaks:
                self.result(id, self.owing.pop(id))
        if self.failing is not None and self.speaks:
            self.fail(*self.failing)
        if self.ended:
            return
        self.broker._settling[self] = None
        self.front.throttle.attached(self)
        for consumer in list(self.asleep):
            consumer.wake()

    def _hold_no_more(self) -> None:
        """Forgets the subscriptions that wait for this connection's client; the next attach wakes them."""
        self.asleep.update(self.held_by_replay)
        self.held_by_replay.clear()
        self.session._outbound.when_freed(None)
        if self.peer is not None:
            self.peer._freed.pop(self, None)

    def moved(self, service: SessionService) -> None:
        """Moves the session to that connection, which attaches it."""
        self._hold_no_more()
        self.service = service
        self.peer = service.peer
        self.owner.moved(service.peer._owner)
        self.broker._agenda.forget(self)
        self.front.touched(self.key)

    def detached(self) -> None:
        """Ends the session, or keeps it for its granted timeout: it has lost its transport."""
        if self.ended:
            return
        if self.session._state == "ended":
            self.end()
        else:
            self._hold_no_more()
            self.service = self.peer = None
            self.owner.moved(None)
            self.broker._keep(self)

    def tick(self, now: float) -> None:
        """Advances the clock while it is detached, which may end it."""
        moment = self.session.tick(now)
        if self.session._state == "ended":
            self.end()
        elif not self.ended:
            self.broker._agenda.note(self, moment)

    # --- answers ----------------------------------------------------------------------------------------------------------

    def complete(self, id: int) -> None:
        """Completes a command."""
        session = self.session
        if session._state in ("attached", "resuming", "detached"):
            complete_one(session, id)
            if self.peer is not None:
                self.broker._ready[self.peer] = None

    def complete_after(self, number: int, id: int) -> None:
        """Completes a command once that entry is journalled."""
        if number:
            self.broker._journals.after(number, lambda: self.complete(id))
        else:
            self.complete(id)

    def result(self, id: int, value: Struct | None) -> None:
        """Completes a command with this result."""
        if self.ended:
            return
        if not self.speaks:
            self.owing[id] = value
            return
        try:
            say(self.session, [prepare(self.session, Result(id, value), (), b"", False)])
        except (EncodeError, LimitError) as error:
            self.fail(id, ErrorCode.RESOURCE_LIMIT_EXCEEDED, str(error))
            return
        self.complete(id)

    def result_after(self, number: int, id: int, value: Struct | None) -> None:
        """Like `result`, once that entry is journalled."""
        if number <= self.broker._journals.done:
            self.result(id, value)
            return
        self.owing[id] = value
        self._waiting.add(id)
        self.broker._journals.after(number, lambda: self._journalled(id))

    def _journalled(self, id: int) -> None:
        self._waiting.discard(id)
        if id in self.owing:
            self.result(id, self.owing.pop(id))

    def fits(self, value: Struct) -> bool:
        """Returns whether a result fits into one frame of the connection."""
        channel = self.session._channel
        if channel is None:
            return True
        try:
            size = len(channel.layout.encode_struct32(value))
        except EncodeError:
            return False
        return size + RESULT_OCTETS <= channel.carrier._max_frame_size

    @property
    def frame_octets(self) -> int:
        """Octets of the largest frame of its connection."""
        channel = self.session._channel
        return channel.carrier._max_frame_size if channel is not None else MAX_FRAME_SIZE

    def refuse(self, id: int | None, refused: Refused) -> None:
        """Refuses a command, which ends the session."""
        code = code_of(refused, self.session.profile.error_codes)
        self.fail(id, code, refused.text, field_index_of(refused) if id is not None else None)

    def fail(self, id: int | None, code: ErrorCode, text: str, field_index: int | None = None) -> None:
        """Sends an exception, which ends the session."""
        if self.speaks:
            peer = self.peer
            self.session.fail(id, code, text[:MOST_TEXT], field_index=field_index)
            if peer is not None:
                self.broker._ready[peer] = None
            self.end()
        else:
            self.failing = self.failing or (id, code, text, field_index)

    def say(self, *commands: Command) -> bool:
        """Sends commands that nothing depends on; returns False when that is not possible now."""
        try:
            for command in commands:
                self.session.send(command)
        except AmqpError:  # it is not attached, or the replay limit is reached
            return False
        if self.peer is not None:
            self.broker._ready[self.peer] = None
        return True

    # --- publishes with accept-mode explicit ----------------------------------------------------------------------------------

    def accept(self, id: int) -> None:
        """Accepts a publish with accept-mode explicit; sent with others, before the octets are taken."""
        if not self.ended:
            self.accepts.add(id)
            self.broker._settling[self] = None

    def reject(self, id: int, code: RejectCode) -> None:
        """Rejects a publish with accept-mode explicit."""
        if not self.ended:
            self.rejects.setdefault(code, MutableRangeSet()).add(id)
            self.broker._settling[self] = None

    def settle(self) -> None:
        """Sends the accepts and rejects of publishes."""
        if self.ended or not self.speaks or not (self.accepts or self.rejects):
            return
        commands: list[Command] = []
        if self.accepts:
            commands += [message.Accept(ids) for ids in parts(self.session, self.accepts.freeze())]
        for code, rejected in self.rejects.items():
            commands += [message.Reject(ids, code) for ids in parts(self.session, rejected.freeze())]
        self.accepts.clear()
        self.rejects.clear()
        try:
            for command in commands:
                self.session.send(command)
        except LimitError as error:
            self.fail(None, ErrorCode.RESOURCE_LIMIT_EXCEEDED, str(error))
        if self.peer is not None:
            self.broker._ready[self.peer] = None

    # --- deliveries to it -----------------------------------------------------------------------------------------------------

    def completed(self, event: CommandsCompleted) -> None:
        """Handles completions of our commands: windows may open, and transfers without accept are settled."""
        unsettled = self.unsettled
        if unsettled:
            for id in unsettled.among(event.ids):
                if not unsettled[id].explicit:
                    self.settled(id)
            self.wake_more()
        for subscriber in self.session._subscribers.replenished:
            consumer = self.consumers.get(subscriber.destination)
            if consumer is not None and consumer.subscriber is subscriber:
                consumer.wake()

    def settled(self, id: int) -> Unsettled:
        """Settles a transfer."""
        record = self.unsettled.remove(id)
        if record.acquired:
            if self.taken is not None:
                self.taken.discard_id(id)
        else:
            self.shown.discard_id(id)
            if id in self.missed:
                self.missed.remove(id).forget()
        return record

    def show(self, id: int) -> None:
        """Records an unsettled transfer that is not acquired."""
        if self.taken is None:
            self.taken = MutableRangeSet()
            self.taken.update(RangeSet.of(*[each for each, record in self.unsettled.items() if record.acquired]))
        self.shown.add(id)

    def acquired(self, ids: RangeSet) -> RangeSet:
        """Returns the ids that are unsettled and acquired.  Browsed messages cost nothing, however often they are named."""
        return self.unsettled.ids.common(ids) if self.taken is None else self.taken.common(ids)

    def wake_more(self) -> None:
        """Wakes consumers that were at the limit of unsettled messages, as fewer are unsettled now."""
        at_limit = self.at_limit
        room = self.broker.limits.unaccepted_transfers - len(self.unsettled)
        while at_limit and room > 0:  # as many as may get something; the others if there is still room then
            consumer, _ = at_limit.popitem(last=False)
            if self.consumers.get(consumer.destination) is consumer:
                consumer.wake()
                room -= 1
                self.host.wakeable[self.wake_more] = None

    def wait_for_replay(self) -> None:
        """Asks for a call of `replay_freed` once the client has confirmed some of what is kept for replay."""
        self.session._outbound.when_freed(self._freed)

    def _freed(self) -> None:
        self.session._outbound.when_freed(None)
        if self.peer is not None:
            self.peer._freed[self] = None

    def replay_freed(self) -> None:
        """Resumes those consumers, and tells the client that it may publish again."""
        held = list(self.held_by_replay)
        self.held_by_replay.clear()
        for consumer in held:
            consumer.wake()
        if self in self.front.throttle.owing:
            self.front.throttle.attached(self)

    def gone(self, consumer: SessionConsumer) -> None:
        """Handles the deletion of a subscription's queue; the client is notified once the session can send."""
        if self.consumers.get(consumer.destination) is consumer:
            del self.consumers[consumer.destination]
        self.broker._deletions.append((self, consumer.queue.name))

    def queue_deleted(self, queue: str) -> None:
        """Notifies the client that a subscription's queue was deleted."""
        self.refuse(None, Refused(SUBSCRIBE_QUEUE_DELETED, queue=queue))

    # --- the end ----------------------------------------------------------------------------------------------------------

    def end(self) -> None:
        """Ends the session: gives back all that it held."""
        if self.ended:
            return
        self.ended = True
        front, broker = self.front, self.broker
        if front.sessions.get(self.key) is self:
            del front.sessions[self.key]
        self.host.users -= 1
        if self.kept:
            front.kept.ends(self.key)
        front.touched(self.key)
        broker._agenda.forget(self)
        broker._settling.pop(self, None)
        front.throttle.ended(self)
        self.owing.clear()
        self.at_limit.clear()
        self._hold_no_more()
        self.asleep.clear()
        self._give_back()

    def _give_back(self) -> None:
        """Releases acquired messages, and frees or deletes its queues."""
        host = self.host
        if self.tx is not None:
            self.tx.rollback(False)
        self.host.coordinator.owner_ended(self.owner)
        entries = [record.entry for record in self.unsettled.values() if record.acquired]
        entries += [record.entry for record in self.provisional.values()]
        self.unsettled.clear()
        self.provisional.clear()
        self.shown.clear()
        self.taken = None
        for missed in self.missed.values():
            missed.forget()
        self.missed.clear()
        host.wakeable.pop(self.wake_more, None)
        if entries:
            host.release(entries, True)
        consumers = list(self.consumers.values())
        self.consumers.clear()
        for consumer in consumers:
            consumer.cancel()
        host.owner_ended(self.owner)

    def __repr__(self) -> str:
        return f"<SessionHolder of {self.session!r}>"


# --- publishes ------------------------------------------------------------------------------------------------------------

AHEAD: Final = 256
"""The most deliveries that are made before an immediate message is routed."""
CODES: Final[dict[Rejection, RejectCode]] = {UNROUTABLE: RejectCode.UNROUTABLE, IMMEDIATE: RejectCode.IMMEDIATE}
"""Why a message is rejected, as a code of message.reject."""


def publish(holder: SessionHolder, event: TransferReceived) -> None:
    """Routes the message and enqueues it, or holds it back for the transaction; accepts, rejects or refuses the transfer."""
    host, broker = holder.host, holder.broker
    transfer = event.transfer
    mode = transfer.accept_mode
    explicit = holder.explicit if mode is None else mode == 0  # AcceptMode.EXPLICIT
    now = broker._now
    guard = broker._guard
    try:
        if len(event.body) > (most := broker.limits.body_octets):
            why = f"the body has {len(event.body)}"
            raise Refused(conditions.TRANSFER_LIMIT, limit="body_octets", value=most, where="", why=why)
        exchange = host.destination(transfer.destination) if guard is None else None
        moment, publisher = 0.0 if now is None else now, 0 if holder.peer is None else holder.peer.number
        reception = holder.front.reception
        envelope = None if event.empty_body else reception.envelopes.get((transfer.destination or "", event.header))
        if envelope is not None and not envelope.user_id:  # nearly always: `read` inlined
            message = broker._intake.made(envelope, event.body, moment, publisher)
        else:
            message = reception.read(
                transfer,
                event.header,
                event.body,
                moment,
                holder.key[1],
                holder.reading,
                event.empty_body,
                publisher,
            )
        if exchange is None:
            assert guard is not None
            name, identity, _ = holder.key
            guard.demand_publish(identity, name, transfer.destination or "", message.envelope.routing_key)
            exchange = host.destination(transfer.destination)
        if host.dispatchable and message.envelope.immediate:
            host.dispatch(AHEAD)  # the credit that counts is what earlier messages leave
        if message.expires is not None and (holder.peer is None or holder.peer._connection._stored):  # `untimed` inlined
            host.begin_ttl(message)
        routed = host.route(exchange, message, explicit)
        queues = routed.queues
        if host.no_local:
            queues = [queue for queue in queues if not (queue.no_local and queue.local(message))]
        number = 0  # of the journal entry with the message; 0 for none
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


def execute(holder: SessionHolder, event: CommandReceived) -> None:
    """Executes a command and answers it, or refuses it, which ends the session."""
    command = event.command
    does = COMMANDS.get(type(command))
    guard = holder.broker._guard
    try:
        if guard is not None:
            demand(guard, holder, command)
        if does is not None:
            does(holder, event.id, command)
            return
    except Refused as refused:
        holder.refuse(event.id, refused)
        return
    if type(command) is not Sync:  # the engine completes it when all before it is complete
        holder.fail(event.id, ErrorCode.NOT_IMPLEMENTED, f"{command.VERB} is not implemented")


_DOES: Final[dict[type[Event], Callable[[SessionHolder, Any], None]]] = {  # Any: each takes its own event
    TransferReceived: publish,
    CommandsCompleted: SessionHolder.completed,
    CommandReceived: execute,
}
"""What a session does with the three events that every message causes."""


# --- the sessions of a connection -----------------------------------------------------------------------------------------

SESSION_FLOW: Final = "qpid.session_flow"
"""The client property that announces support for producer flow control."""


class SessionService(Service):
    """Handles the events of the sessions of one connection, and its client's requests to attach one."""

    serves = True

    def __init__(self, front: SessionFront, peer: Peer) -> None:
        super().__init__(peer)
        self.front: Final = front
        self.holders: Final[dict[bytes, SessionHolder]] = {}
        """The holders of the sessions that were last attached here, by name."""
        self.session_flow = False
        """Whether the client supports producer flow control."""

    @property
    def connection(self) -> ServerConnection:
        """The connection, which is one of sessions."""
        connection = self.peer._connection
        assert isinstance(connection, ServerConnection)
        return connection

    def act_on(self, event: Event) -> None:
        """Handles an event."""
        does = _DOES.get(type(event))
        if does is not None:
            assert isinstance(event, TransferReceived | CommandsCompleted | CommandReceived)
            holder = self.holders.get(event.session)
            if holder is not None and not holder.ended:
                does(holder, event)
            return
        match event:
            case AttachRequested():
                self.front.attach(self, event)
            case SessionAttached():
                holder = self.holders.get(event.session)
                if holder is not None:
                    holder.attached()
            case SessionDetached():
                self._detached(event.session)
            case ExceptionReceived():
                holder = self.holders.get(event.session)
                if holder is not None:
                    holder.end()
            case _:  # about the connection, about what a session confirmed or skipped, or a result that nobody asked for
                if isinstance(event, Authenticated):
                    self.session_flow = SESSION_FLOW in event.client_properties
                super().act_on(event)

    def _detached(self, name: bytes) -> None:
        holder = self.holders.get(name)
        if holder is None:
            return
        if holder.peer is not self.peer:  # it moved to another connection, or has ended
            del self.holders[name]
        elif holder.session._channel is None:
            del self.holders[name]
            holder.detached()
