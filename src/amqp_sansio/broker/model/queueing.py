"""The traffic of a virtual host: how messages are routed, enter and leave queues, under limits, with journal and expiry."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, Final, Literal, TypeAlias

import attrs

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.journal import Dequeued, Enqueued, Journal, MessageStored, Operation
from amqp_sansio.broker.model.exchange import ALIASES, PREDECLARED, STEPS, Exchange
from amqp_sansio.broker.model.message import ACQUIRED, AVAILABLE, GONE, HELD, Intake, Message, QueueEntry
from amqp_sansio.broker.model.queue import REJECT, RING, SELF_DESTRUCT
from amqp_sansio.broker.model.queue_options import ReadHeaders
from amqp_sansio.broker.model.subscribers import Asks
from amqp_sansio.kernel.timers import AT_ONCE, Agenda
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.model.subscribers import Owner

_position: Final = attrgetter("position")
Placement: TypeAlias = "tuple[Message, Sequence[Queue]]"
"""A message and the queues that receive it."""
CHEAP: Final = 256
"""The most steps of routing for each dead letter of a command."""
LOOKS: Final = 16
"""The most queues checked for room for the dead letters of a command, per copy that they may make."""
MOVED: Final = 1024
"""The most dead letters moved at once; the others of a command follow in later turns."""
MOVED_OCTETS: Final = 128 * 1024
"""The octets of their headers, which may have to be read, after which others have their turn."""
UNDATED: Final = 1024
"""The most messages that wait for the next tick before those already removed are forgotten."""
SLICE: Final = 16
"""The most deliveries of one queue before another gets its turn."""


Rejection: TypeAlias = Literal["unroutable", "immediate"]
UNROUTABLE: Final = "unroutable"
"""No queue for the message."""
IMMEDIATE: Final = "immediate"
"""Queues exist, but no subscriber that could take the message at once."""


@attrs.define
class Routed:
    """The routing of a message: the `queues` that get it or, without any, perhaps a `reject` for its publisher."""

    queues: Final[Sequence[Queue]]
    reject: Final[Rejection | None] = None


DROPPED: Final = Routed(())


class Default(Exchange):
    """The default exchange, without a name: every queue is bound to it by its own name, irrevocably."""

    __slots__ = ("_named",)
    TYPE: ClassVar[str] = "direct"

    def __init__(self, queues: Mapping[str, Queue]) -> None:
        super().__init__("", durable=True)
        self._named: Final = queues

    def route(self, message: Message, most: int = STEPS) -> Sequence[Queue]:
        queue = self._named.get(message.envelope.routing_key)
        return (queue,) if queue is not None else ()

    def has(self, queue: Queue | None, key: str | None, arguments: Map | None) -> bool:
        if arguments:
            return False
        if queue is None:
            return bool(self._named) if key is None else key in self._named
        return key in (None, queue.name)

    def __contains__(self, queue: object) -> bool:
        return True

    def __len__(self) -> int:
        return len(self._named)


class HostMessages:
    """The messages of one virtual host, with their sizes and limits.

    A returned number is that of the journal entry that must be journalled before the change counts; 0 for none.
    """

    def __init__(self, name: str, journal: Journal, limits: BrokerLimits, intake: Intake) -> None:
        self.limits: Final = limits
        self.queues: Final[dict[str, Queue]] = {}
        self.default: Final = Default(self.queues)
        self.exchanges: Final[dict[str, Exchange]] = {name: kind(name, durable=True) for name, kind in PREDECLARED.items()}
        """The exchanges by name, without the default exchange."""
        self.no_local = 0
        """The number of queues that ignore what their owner's connection publishes."""
        self.dropped = 0
        """Published messages that reached no queue, and that no message.reject reported to their publishers."""
        self.messages = 0
        """The messages on all queues; a message on several counts on each."""
        self.octets = 0
        self.given_up = 0
        """The messages that rings dropped or did not accept (`Queue.given_up`), including rings that are deleted."""
        self.held_messages = 0
        """The messages that transactions hold back, counted per queue; they are on none yet."""
        self.held_octets = 0
        self.name: Final = name
        self.journal: Final = journal
        self.intake: Final = intake
        """Numbers the messages of the broker; its epoch is that of the broker."""
        self.dispatchable: Final[OrderedDict[Queue, None]] = OrderedDict()
        """Queues that may have something to deliver.

        An OrderedDict: looking for the first key of a dict that was emptied from the front steps over all deleted ones.
        """
        self.wakeable: Final[OrderedDict[Callable[[], None], None]] = OrderedDict()
        """Callbacks that wake further subscriptions, once those woken have taken the available messages."""
        self._watching: Final[dict[Queue, dict[Callable[[], None], None]]] = {}
        self.leaving: Final[deque[Letters]] = deque()
        """Dead letters that are still to be moved, by the commands that made them such (`move_some`)."""
        self._headers: Final = ReadHeaders()
        self._expiry: Final[Agenda[QueueEntry]] = Agenda()
        self._now = float("-inf")  # everything that expired until then was removed, unless it was not available
        self._undated: dict[
            Message, list[QueueEntry]
        ] = {}  # messages whose lifetime starts with the next tick, and their entries
        self._most_undated = UNDATED
        self.late = False
        """Whether the lifetime of a message ever started after it was stored: then the journal does not know when it ends."""

    # --- limits ---------------------------------------------------------------------------------------------------------------

    def admit(self, publishes: Iterable[Placement], letters: bool = False) -> None:
        """Raises Refused (506), naming the limit, unless there is room for all of these together.  Changes nothing.

        A ring has room for any message up to its own size, and a queue that destroys itself for any message; except for dead
        letters (`letters`), which destroy no queue.  A message that replaces another one is counted without that one, once.
        """
        counts: dict[Queue, list[int]] = {}
        replaced: dict[QueueEntry, None] = {}
        messages, octets = self.messages, self.octets
        for message, queues in publishes:
            size = message.size
            messages += len(queues)
            octets += len(queues) * size
            for queue in queues:
                if queue.policy == RING:
                    _room("queue_octets", queue.most_octets, size, queue)
                    continue
                if queue.policy == SELF_DESTRUCT and not letters:
                    continue
                count = counts.setdefault(queue, [queue.messages, queue.octets])
                count[0] += 1
                count[1] += size
                older = None if queue.last_values is None else queue.last_values.replaceable(message)
                if older is not None and older not in replaced:
                    replaced[older] = None
                    count[0] -= 1
                    count[1] -= older.message.size
                    messages -= 1
                    octets -= older.message.size
                _room("queue_messages", queue.most_messages, count[0], queue)
                _room("queue_octets", queue.most_octets, count[1], queue)
            _room("host_messages", self.limits.host_messages, messages)  # checked now, so that the rest is not even routed
            _room("host_octets", self.limits.host_octets, octets)

    def takes(self, message: Message, copies: int) -> bool:
        """Returns whether the host has room for this number of copies of the message."""
        octets = self.octets + message.size * copies
        return self.messages + copies <= self.limits.host_messages and octets <= self.limits.host_octets

    # --- routing ------------------------------------------------------------------------------------------------------------

    def exchange(self, name: str | None) -> Exchange | None:
        """Returns the exchange of that name, the default one for "" and None.  None when there is none."""
        return self.exchanges.get(ALIASES.get(name, name)) if name else self.default

    def destination(self, name: str | None) -> Exchange:
        """Returns the exchange to which a transfer goes.  Raises Refused (404)."""
        exchange = self.exchange(name)
        if exchange is None:
            raise Refused(conditions.TRANSFER_NO_EXCHANGE, exchange=name, legal=self._named_exchanges())
        return exchange

    def route(self, exchange: Exchange, message: Message, explicit: bool = True) -> Routed:
        """Decides what happens to a message published to an exchange.  `explicit`: it is accepted or rejected by command.

        Dispatch a queue before the next message is routed to it, so that an immediate one sees the credit that is left.
        """
        queues = exchange.route(message, self.limits.routing_steps)
        envelope = message.envelope
        if envelope.immediate:
            asks = Asks(self.limits.routing_steps)
            if queues and all(queue.able(message, asks) for queue in queues):
                return Routed(queues)
            why: Rejection = IMMEDIATE if queues else UNROUTABLE
        elif queues:
            return Routed(queues)
        else:
            why = UNROUTABLE
        if envelope.discard_unroutable:
            return DROPPED
        if explicit:
            return Routed((), why)
        alternate = exchange.alternate
        if alternate is not None:  # one hop
            queues = alternate.route(message, self.limits.routing_steps)
            if queues:
                return Routed(queues)
        return DROPPED

    def _named_exchanges(self) -> str:
        return f'"" and the names of {len(self.exchanges)} exchanges'

    # --- in ---------------------------------------------------------------------------------------------------------------

    def enqueue(self, message: Message, queues: Sequence[Queue]) -> int:
        """Puts a message on queues; on durable ones a persistent message is held until it is journalled.

        Raises Refused (506), naming the limit, when one of them has no room: then it is on none.  For it, in the same journal
        entry, a full ring drops older messages, a full queue that destroys itself is deleted, and a last-value queue drops the
        previous message of its key.
        """
        size = message.size
        for queue in queues:
            if queue.messages >= queue.most_plain or queue.octets + size > queue.most_octets:
                return self.commit([(message, queues)], ())
        if not self.takes(message, len(queues)):
            self.admit([(message, queues)])
        if message.envelope.persistent and self.journal.enabled:
            operations = self._stored(message, queues)
            if operations:
                number = self.journal.write(*operations)
                self._put(message, [queue for queue in queues if not queue.durable])
                self._unhold_after(number, self._put(message, [queue for queue in queues if queue.durable], held=True))
                return number
        self._put(message, queues)
        return 0

    def dequeue(self, entries: Iterable[QueueEntry]) -> int:
        """Removes messages for good, after an accept or a delivery that needs none.

        Skips messages that are gone already.
        """
        operations: list[Operation] = []
        for entry in entries:
            self._off(entry, operations)
        return self.journal.write(*operations) if operations else 0

    def commit(
        self,
        publishes: Sequence[Placement],
        entries: Sequence[QueueEntry],
        operations: Sequence[Operation] = (),
        admitted: bool = False,
    ) -> int:
        """Commits the work of a transaction: messages enter and leave in one journal entry, together with `operations`.

        Nothing is visible before that entry is journalled.  Raises Refused (506) as `enqueue` does, unless the messages were
        `admitted` before.
        """
        if not admitted:
            self.admit(publishes)
        taken: list[Operation] = []
        for entry in entries:
            self._off(entry, taken)
        written: list[Operation] = []
        held: list[QueueEntry] = []
        spent: dict[Queue, None] = {}
        for message, queues in publishes:
            self._place(message, queues, written, held, spent)
        number = self.journal.write(*written, *taken, *operations)
        if held:
            self.journal.after(number, partial(self._unhold, held))
        for queue in spent:
            number = max(number, self._drop(queue))
        self._headers.forget()
        return number

    def restore(self, queue: Queue, message: Message, redelivered: bool) -> QueueEntry:
        """Puts a journalled message back on its queue."""
        message.stored += 1
        older = None if queue.last_values is None else queue.last_values.last_for(message)
        (entry,) = self._put(message, (queue,))
        entry.redelivered = entry.redelivered or redelivered
        if older is not None:
            self._off(older, [])
        if queue.numbering is not None:
            queue.numbering.restored(message)
        self._headers.forget()
        return entry

    # --- release and removal --------------------------------------------------------------------------------------------------

    def release(self, entries: Iterable[QueueEntry], set_redelivered: bool = False) -> None:
        """Releases acquired messages to their places; `set_redelivered` marks them.

        Removes those that expired meanwhile; those of deleted queues go to the alternate exchange.
        """
        operations: list[Operation] = []
        orphans: list[QueueEntry] = []
        for entry in sorted(entries, key=_position):  # redeliveries are in order
            if entry.state != ACQUIRED:
                continue
            if self._overdue(entry) or (entry.queue.last_values is not None and entry.queue.last_values.superseded(entry)):
                self._off(entry, operations)
            elif entry.queue.deleted:
                if set_redelivered:
                    entry.redelivered = True
                orphans.append(entry)
            else:
                entry.queue.release(entry, set_redelivered)
        self._move(orphans, operations)

    def reject(self, entries: Iterable[QueueEntry]) -> int:
        """Removes acquired messages, to the alternate exchange if there is one.

        Other messages are not affected.  Raises Refused (506) when their destinations have no room; of so many that some are
        moved later, those without room are dropped.
        """
        rejected = [entry for entry in entries if entry.state == ACQUIRED]
        routes = Letters(self.limits)
        if len(rejected) <= MOVED and sum([len(entry.message.envelope.header) for entry in rejected]) <= MOVED_OCTETS:
            letters = ((each.message, [to for to in routes.of(each) if takes_letter(to, each)]) for each in rejected)
            self.admit(letters, letters=True)
        return self._move(rejected, [], rejected=True)

    def move_some(self) -> None:
        """Moves some of the dead letters that are left, if any, for one turn."""
        if not self.leaving:
            return
        letters = self.leaving[0]
        operations: list[Operation] = []
        held: list[QueueEntry] = []
        self._carry(letters.some(), operations, held, letters)
        if operations:
            self._unhold_after(self.journal.write(*operations), held)
        if not letters.waiting:
            self.leaving.popleft()
            letters.gone()

    def begin_ttl(self, message: Message) -> None:
        """Starts the lifetime of a message on no queue yet with the next `expire`, since the last one may be long ago.

        A message journalled before then has no expiry time: its lifetime starts again when it is restored.
        """
        self.late = True
        message.expires = None
        self._undated[message] = []
        if len(self._undated) > self._most_undated:  # without ticks, removed messages must not pile up
            self._undated = {
                each: entries
                for each, entries in self._undated.items()
                if not entries or [entry for entry in entries if entry.state != GONE]
            }
            self._most_undated = max(UNDATED, 2 * len(self._undated))

    @property
    def next_expiry(self) -> float | None:
        """The moment to call `expire_messages`; None when nothing will expire.

        At once when the lifetime of messages must start.
        """
        return AT_ONCE if self._undated else self._expiry.next

    def expire_messages(self, now: float) -> None:
        """Removes the messages that expired up to now."""
        self._now = max(self._now, now)
        if self._undated:
            for message, entries in self._undated.items():  # their lifetime waited for the time
                message.expires = now + (message.envelope.ttl or 0) / 1000
                for entry in entries:
                    if entry.state != GONE:
                        self._expiry.note(entry, message.expires)
            self._undated.clear()
        operations: list[Operation] = []
        for entry in self._expiry.due(self._now):
            if entry.state == AVAILABLE:  # others are acquired or held, see `release` and `_unhold`
                self._off(entry, operations)
        if operations:
            self.journal.write(*operations)

    def dispatch(self, most: int) -> bool:
        """Makes at most about `most` deliveries, a few from each queue that can deliver; returns whether more are due."""
        dispatchable, wakeable = self.dispatchable, self.wakeable
        while most > 0 and (dispatchable or wakeable):
            if not dispatchable:
                wake, _ = wakeable.popitem(last=False)
                wake()
                most -= 1
                continue
            queue, _ = dispatchable.popitem(last=False)
            if queue.dispatch(min(most, SLICE)):
                dispatchable[queue] = None
                most -= SLICE
            else:
                most -= 1
                for done in self._watching.pop(queue, ()):
                    done()
        return bool(dispatchable or wakeable)

    def watch(self, queue: Queue, done: Callable[[], None]) -> None:
        """Calls `done` once no subscriber of the queue can take more messages now."""
        self._watching.setdefault(queue, {})[done] = None
        self.dispatchable[queue] = None

    # --- internals ------------------------------------------------------------------------------------------------------------

    def _put(self, message: Message, queues: Sequence[Queue], held: bool = False) -> list[QueueEntry]:
        entries = [queue.put(message, held) for queue in queues]
        self.messages += len(entries)
        self.octets += len(entries) * message.size
        if message.expires is not None:
            for entry in entries:
                self._expiry.note(entry, message.expires)
        elif self._undated and message in self._undated:
            self._undated[message] += entries
        return entries

    def _place(
        self,
        message: Message,
        queues: Sequence[Queue],
        operations: list[Operation],
        held: list[QueueEntry],
        spent: dict[Queue, None],
    ) -> None:
        """Puts a message on those of the queues that still exist, `held` if there is a journal.

        `spent` are the queues that it destroys.  Messages that rings drop for it go to their alternate exchanges as far as
        there is room, for the first BrokerLimits.displacing_queues of them only, which bounds the routing for one message.
        """
        waits = self.journal.enabled
        chosen: list[Queue] = []
        letters: list[QueueEntry] = []
        displacing = 0
        for queue in queues:
            if queue.deleted:
                continue
            self._replace(message, queue, operations)
            if queue.policy != REJECT and not queue.has_room(message):
                if queue.policy == SELF_DESTRUCT:
                    spent[queue] = None
                else:
                    given_up: list[QueueEntry] = []
                    fits = self._make_room(message, queue, operations, given_up)
                    if given_up and queue.alternate is not None:
                        displacing += 1
                        if displacing <= self.limits.displacing_queues:
                            letters += given_up
                    if not fits:
                        continue
            chosen.append(queue)
        for each, targets in self._numbered(message, chosen):
            if waits and each.envelope.persistent:
                operations += self._stored(each, targets)
            entries = self._put(each, targets, held=waits)
            if waits:
                held += entries
        if letters:
            self._carry(letters, operations, held, Letters(self.limits, bounded=True))

    def _replace(self, message: Message, queue: Queue, operations: list[Operation]) -> None:
        """Removes the entry that the message replaces."""
        older = None if queue.last_values is None else queue.last_values.replaceable(message)
        if older is not None:
            self._off(older, operations)

    def _numbered(self, message: Message, queues: Sequence[Queue]) -> list[Placement]:
        """Returns the message for its queues; each queue that numbers its messages gets a copy of its own.

        Beyond BrokerLimits.numbered_octets of rewritten headers the message stays unnumbered: each header is decoded and
        encoded again.
        """
        plain = [queue for queue in queues if queue.numbering is None]
        if len(plain) == len(queues):
            return [(message, plain)]
        placed: list[Placement] = [(message, plain)]
        left = self.limits.numbered_octets
        for queue in queues:
            if queue.numbering is None:
                continue
            left -= len(message.envelope.header)
            if left < 0:
                plain.append(queue)
                continue
            copy = self.intake.copy(message, queue.numbering.numbered(message))
            if message in self._undated:
                self.begin_ttl(copy)
            placed.append((copy, (queue,)))
        return placed

    def _make_room(self, message: Message, ring: Queue, operations: list[Operation], given_up: list[QueueEntry]) -> bool:
        """Removes messages from a ring until the new one fits; returns whether it does.

        Never removes acquired messages, nor those with a higher priority than the new one.
        """
        level = ring.level[message.envelope.priority]
        while not ring.has_room(message):
            entry = ring.oldest
            ring.given_up += 1
            self.given_up += 1
            if entry is None or ring.level[entry.message.envelope.priority] > level:
                return False
            self._off(entry, operations)
            given_up.append(entry)
        return True

    def _drop(self, queue: Queue, by: Owner | None = None) -> int:
        """Removes a queue.  Implemented by the subclass that has the queues."""
        raise NotImplementedError

    def _off(self, entry: QueueEntry, operations: list[Operation]) -> None:
        queue = entry.queue
        if not queue.remove(entry):
            return
        if queue.shortened is not None:
            queue.shortened(queue)
        message = entry.message
        self.messages -= 1
        self.octets -= message.size
        if message.expires is not None:
            self._expiry.forget(entry)
        if message.stored and queue.durable and message.envelope.persistent:
            message.stored -= 1
            if not queue.deleted:  # otherwise the journal has dropped it with its queue
                operations.append(Dequeued(self.name, queue.name, message.number))

    def _stored(self, message: Message, queues: Sequence[Queue], redelivered: bool = False) -> list[Operation]:
        """Returns the operations that store a persistent message on the durable ones of these queues; none without any."""
        durable = [queue.name for queue in queues if queue.durable and not queue.deleted]
        if not durable:
            return []
        operations: list[Operation] = []
        if not message.stored:
            operations.append(self.stored(message, redelivered))
        message.stored += len(durable)
        return operations + [Enqueued(self.name, name, message.number) for name in durable]

    def stored(self, message: Message, redelivered: bool = False) -> MessageStored:
        """Returns the journal's record of a message."""
        expires, envelope = message.expires, message.envelope
        return MessageStored(
            self.name,
            message.number,
            envelope.redelivered_header if redelivered else envelope.header,
            message.body if message.body or envelope.empty_body else None,
            None if expires is None else expires + (self.intake.epoch or 0.0),
            envelope.form.name,
        )

    def _overdue(self, entry: QueueEntry) -> bool:
        """Returns whether its message expired while it was not available, and so was not removed then."""
        expires = entry.message.expires
        return expires is not None and expires <= self._now

    def _unhold_after(self, number: int, entries: list[QueueEntry]) -> None:
        if number and entries:
            self.journal.after(number, partial(self._unhold, entries))

    def _unhold(self, entries: list[QueueEntry]) -> None:
        operations: list[Operation] = []
        for entry in entries:
            if entry.state == HELD and self._overdue(entry):
                self._off(entry, operations)
            elif entry.state != GONE:
                entry.queue.unhold(entry)
        if operations:
            self.journal.write(*operations)

    def _move(
        self,
        entries: Iterable[QueueEntry],
        operations: list[Operation],
        rejected: bool = False,
        gone: Callable[[], int] = lambda: 0,
    ) -> int:
        """Moves entries to the destinations of the alternate exchange, in one journal entry, and calls `gone` after the last;
        which returns the number of a journal entry, too.

        Each becomes a message of its own there, which counts as redelivered if it did before; a `rejected` one only if it was
        published with that mark, because no consumer got it from there.

        Of very many, those that no journal keeps are moved in later turns (`move_some`).
        """
        letters = Letters(self.limits, rejected, gone=gone)
        held: list[QueueEntry] = []
        kept: list[QueueEntry] = []
        for entry in entries:
            (kept if self.journal.enabled and entry.message.envelope.persistent else letters.waiting).append(entry)
        self._carry(kept, operations, held, letters)
        self._carry(letters.some(), operations, held, letters)
        number = self.journal.write(*operations) if operations else 0
        self._unhold_after(number, held)
        if letters.waiting:
            self.leaving.append(letters)
            return number
        return max(number, gone())

    def _carry(
        self,
        entries: Iterable[QueueEntry],
        operations: list[Operation],
        held: list[QueueEntry],
        letters: Letters,
    ) -> None:
        """Does the same as `_move` without the journal entry.

        A full queue gets none, but a ring drops older messages for it, which are not moved again.  Where the host's limits do
        not allow all copies of a message, the first queue gets one, which adds nothing to the total; the same applies once
        BrokerLimits.letter_copies copies were made besides one for each message.  A persistent message for which all queues are
        full goes to the first that is not a ring all the same.  `bounded` letters, which one message replaced, are dropped
        instead, and so is what exceeds the host's limits, routing_steps queues examined, or displacing_queues copies.  Once
        LOOKS times letter_copies full queues were examined, each further letter examines one.
        """
        bounded = letters.bounded
        for entry in entries:
            queues = letters.of(entry) if letters.looks > 0 or not bounded else ()
            self._off(entry, operations)
            message = self.intake.copy(entry.message)
            if entry.message in self._undated:
                self.begin_ttl(message)
            chosen: list[Queue] = []
            full: Queue | None = None
            for queue in queues:
                letters.looks -= 1
                if not takes_letter(queue, entry):
                    continue
                ring = queue.policy == RING  # it drops older messages, which go nowhere
                if queue.has_room(message) or (
                    ring and message.size <= queue.most_octets and self._make_room(message, queue, operations, [])
                ):
                    chosen.append(queue)
                elif full is None and not ring:
                    full = queue
                if len(chosen) > letters.spare or letters.looks <= 0:
                    break
            if not self.takes(message, len(chosen)):
                chosen = [] if bounded else chosen[:1]
            if not chosen and full is not None and message.envelope.persistent and not bounded:
                chosen = [full]
            letters.spare -= max(0, len(chosen) - 1)
            redelivered = message.envelope.redelivered if letters.rejected else entry.redelivered
            for queue in chosen:
                self._replace(message, queue, operations)
            for each, targets in self._numbered(message, chosen):
                stored = self._stored(each, targets, redelivered) if each.envelope.persistent and self.journal.enabled else []
                operations += stored
                for queue in targets:
                    waits = bool(stored) and queue.durable
                    (moved,) = self._put(each, (queue,), held=waits)
                    moved.redelivered = redelivered
                    if waits:
                        held.append(moved)
        self._headers.forget()


def _room(limit: str, value: int, asked: int, queue: Queue | None = None) -> None:
    if asked > value:
        where = f" for queue {queue.name!r}" if queue is not None else ""
        raise Refused(conditions.TRANSFER_LIMIT, limit=limit, value=value, where=where, why=f"there would be {asked}")


class Letters:
    """The dead letters that one command or one message causes, and their destinations.

    Each may take CHEAP steps of routing, however many there are; of those that need more, the first BrokerLimits.costly_letters
    may take as many as a published message.
    """

    __slots__ = ("_costly", "_most", "bounded", "gone", "looks", "rejected", "spare", "waiting")

    def __init__(
        self,
        limits: BrokerLimits,
        rejected: bool = False,
        bounded: bool = False,
        gone: Callable[[], int] = lambda: 0,
    ) -> None:
        self._most: Final = limits.routing_steps
        self._costly = limits.costly_letters
        self.rejected: Final = rejected
        """Whether a client has rejected them."""
        self.bounded: Final = bounded
        """Whether one message took their places, which must cost little."""
        self.gone: Final = gone
        """Called after the last."""
        self.waiting: Final[deque[QueueEntry]] = deque()
        """Those that are still to be moved."""
        self.spare = limits.displacing_queues if bounded else limits.letter_copies
        """Copies that may yet be made, besides one for each."""
        self.looks = limits.routing_steps if bounded else LOOKS * limits.letter_copies
        """Queues that may yet be looked at."""

    def some(self) -> Iterator[QueueEntry]:
        """Takes as many of those that wait as are moved in one turn; one that needed many steps of routing is the last."""
        octets, costly = MOVED_OCTETS, self._costly
        for _ in range(min(MOVED, len(self.waiting))):
            entry = self.waiting.popleft()
            if entry.state == GONE:  # it expired meanwhile
                continue
            octets -= len(entry.message.envelope.header)
            yield entry
            if octets <= 0 or self._costly < costly:
                return

    def of(self, entry: QueueEntry) -> Sequence[Queue]:
        """Returns the queues found by the alternate exchange of the queue, or else by the alternate of that exchange.

        An exchange that refuses to route it finds none, since there is no publisher to notify.
        """
        alternate = entry.queue.alternate
        if alternate is None:
            return ()
        queues = self._route(alternate, entry.message)
        return queues or (() if alternate.alternate is None else self._route(alternate.alternate, entry.message))

    def _route(self, exchange: Exchange, message: Message) -> Sequence[Queue]:
        with suppress(Refused):
            return exchange.route(message, min(CHEAP, self._most))
        if self._costly:
            self._costly -= 1
            with suppress(Refused):
                return exchange.route(message, self._most)
        return ()


def takes_letter(queue: Queue, entry: QueueEntry) -> bool:
    """Returns whether a queue accepts a dead letter routed to it.

    The queue from which it comes does not, nor does one with no-local whose user published it.
    """
    return queue is not entry.queue and not (queue.no_local and queue.local(entry.message))
