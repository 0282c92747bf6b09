"""A subscription as its queue sees it: the queue offers it messages, and it decides whether to send them now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.fronts.sessions.form import FORM
from amqp_sansio.broker.model.arguments import NOTHING_ASKED
from amqp_sansio.broker.model.owner import published_by
from amqp_sansio.engine.outbound import transfer
from amqp_sansio.errors import AmqpError, LimitError, NoCredit

if TYPE_CHECKING:
    from amqp_sansio.broker.broker import Broker
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder
    from amqp_sansio.broker.model.arguments import SubscriptionArguments
    from amqp_sansio.broker.model.message import Entry, Message
    from amqp_sansio.broker.model.owner import Owner
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.engine.subscription import Subscriber


class Unsettled:
    """A transfer to the session that the session may still refer to."""

    __slots__ = ("acquired", "entry", "explicit")

    def __init__(self, entry: Entry, acquired: bool, explicit: bool) -> None:
        self.entry: Final = entry
        self.acquired = acquired
        self.explicit: Final = explicit
        """Whether accept, reject or release ends it; otherwise its completion does."""


def _begin(broker: Broker, replay: int | None) -> Since | None:
    """Returns the earliest arrival of messages that a new subscription wants; `replay` is its replay period in seconds."""
    if replay is None:
        return None
    return Since((broker._now or 0.0) - replay, 0 if replay else broker._intake.last)


class Consumer:
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
        self.queue: Final[Queue] = holder.site.host.subscribe(queue, self)
        holder.site.subscribers += 1

    def offer(self, entry: Entry) -> bool:
        """Sends the message if possible now; one that needs no settlement is then removed from the queue."""
        self.octets_left = None
        holder = self.holder
        peer, session = holder.peer, holder.session
        if holder.ended:
            return False
        if peer is None or not session._speaks:
            holder.asleep[self] = None
            return False
        if peer._connection.bytes_to_send >= peer._most:  # `Peer.full` inlined
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
            holder.hold_for_replay(self)
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
            holder.site.host.dequeue((entry,))
        holder.broker._ready[peer] = None
        return True

    def size(self, entry: Entry) -> int:
        """Returns the octets that its credit counts for the message."""
        return len(entry.message.body) + (len(entry.header_in(FORM)) if self.holder.session.counts_headers else 0)

    def selects(self, entry: Entry) -> bool:
        """Returns whether it wants the message: the selector matches, it arrived in time, and no-local does not exclude it."""
        return self._selects(entry.message, entry.redelivered)

    def _selects(self, message: Message, redelivered: bool) -> bool:
        if self.no_local and published_by(message, self.owner):
            return False
        if self.since is not None and not self.since.wants(message, self.holder.broker._began):
            return False
        if self.selector is None:
            return True
        return self.selector.selects(self.holder.site.host.selectable.properties(message, redelivered).get)

    def able(self, message: Message) -> bool:
        """Returns whether it could take the message at once."""
        holder = self.holder
        if self.selective and not self._selects(message, message.redelivered):
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
            self.holder.site.subscribers -= 1
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
                holder.site.host.watch(self.queue, self.flushed)

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
        self.holder.site.subscribers -= 1
        self.holder.asleep.pop(self, None)
        self._end_flushes()
        return self.holder.site.host.unsubscribe(self.queue, self)

    def _end_flushes(self) -> None:
        flushes = self._flushes[:]
        self._flushes.clear()
        for id in flushes:
            self.holder.complete(id)

    def __repr__(self) -> str:
        return f"<Consumer {self.destination!r} of {self.queue!r}>"


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
