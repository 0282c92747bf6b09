"""The traffic of a virtual host: how messages enter and leave queues, under limits, with journal and expiry."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.journal import Dequeued, Enqueued, Journal, MessageStored, Operation
from amqp_sansio.broker.model.entry import ACQUIRED, AVAILABLE, GONE, HELD, Entry
from amqp_sansio.broker.model.expiry import Expiry
from amqp_sansio.broker.model.last_values import ReadHeaders
from amqp_sansio.broker.model.message import Intake, Message
from amqp_sansio.broker.model.queue import REJECT, RING, SELF_DESTRUCT
from amqp_sansio.kernel.deadlines import AT_ONCE
from amqp_sansio.limits import BrokerLimits

if TYPE_CHECKING:
    from amqp_sansio.broker.model.owner import Owner
    from amqp_sansio.broker.model.queue import Queue
    from amqp_sansio.broker.routing.exchange import Exchange

_position: Final = attrgetter("position")
Publish: TypeAlias = "tuple[Message, Sequence[Queue]]"
"""A message and the queues that receive it."""
CHEAP: Final = 256
"""The most steps of routing for each dead letter of a command."""
LOOKS: Final = 16
"""The most queues checked for room for the dead letters of a command, per copy that they may make."""
UNDATED: Final = 1024
"""The most messages that wait for the next tick before those that are gone are forgotten."""
SLICE: Final = 16
"""The most deliveries of one queue before another gets its turn."""


class Traffic:
    """The messages of one virtual host, with their sizes and limits.

    What returns a number gives that of the journal entry that must be journalled before the change counts; 0 when there is
    none.
    """

    def __init__(self, name: str, journal: Journal, limits: BrokerLimits, intake: Intake) -> None:
        self.limits: Final = limits
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
        """Queues that may have something for somebody.  An OrderedDict: the first key of a dict that was emptied from the front
        is searched behind all those that were deleted."""
        self.wakeable: Final[OrderedDict[Callable[[], None], None]] = OrderedDict()
        """Callbacks that wake further subscriptions, once those woken have taken the available messages."""
        self._watching: Final[dict[Queue, dict[Callable[[], None], None]]] = {}
        self._headers: Final = ReadHeaders()
        self._expiry: Final = Expiry()
        self._undated: dict[Message, list[Entry]] = {}  # messages whose lifetime begins with the next tick, and their entries
        self._most_undated = UNDATED
        self.late = False
        """Whether the lifetime of a message ever began after it was stored: then the journal does not know when it ends."""

    # --- how much there is, and whether more may be --------------------------------------------------------------------------

    def admit(self, publishes: Iterable[Publish], letters: bool = False) -> None:
        """Raises Refused (506), naming the limit, unless there is room for all of these together.  Changes nothing.

        A ring has room for whatever is not larger than all of it, and a queue that destroys itself for everything; only not for
        `letters`, dead ones: they destroy no queue.  What a message takes the place of is not counted with it, once.
        """
        counts: dict[Queue, list[int]] = {}
        replaced: dict[Entry, None] = {}
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
                older = None if queue.last_values is None else queue.last_values.replaced_by(message)
                if older is not None and older not in replaced:
                    replaced[older] = None
                    count[0] -= 1
                    count[1] -= older.message.size
                    messages -= 1
                    octets -= older.message.size
                _room("queue_messages", queue.most_messages, count[0], queue)
                _room("queue_octets", queue.most_octets, count[1], queue)
            _room("host_messages", self.limits.host_messages, messages)  # now, so that what follows is not even routed
            _room("host_octets", self.limits.host_octets, octets)

    def takes(self, message: Message, copies: int) -> bool:
        """Returns whether the host may have `copies` of this message in addition to all others."""
        octets = self.octets + message.size * copies
        return self.messages + copies <= self.limits.host_messages and octets <= self.limits.host_octets

    # --- in ---------------------------------------------------------------------------------------------------------------

    def enqueue(self, message: Message, queues: Sequence[Queue]) -> int:
        """Puts a message on queues; on durable ones a persistent message is held until it is journalled.

        Refused 506, naming the limit, when one of them has no room: then it is on none.  A full ring gives up older messages
        for it, in the same journal entry, and a full queue that destroys itself is deleted with it.  So does a queue that keeps
        the last message of each key give up the one before it.
        """
        size = message.size
        for queue in queues:
            if queue.messages >= queue.most_plain or queue.octets + size > queue.most_octets:
                return self.commit([(message, queues)], ())
        if not self.takes(message, len(queues)):
            self.admit([(message, queues)])
        if message.persistent and self.journal.enabled:
            operations = self._stored(message, queues)
            if operations:
                number = self.journal.write(*operations)
                self._put(message, [queue for queue in queues if not queue.durable])
                self._unhold_after(number, self._put(message, [queue for queue in queues if queue.durable], held=True))
                return number
        self._put(message, queues)
        return 0

    def dequeue(self, entries: Iterable[Entry]) -> int:
        """Removes messages for good, after an accept or a delivery that needs none.

        What is gone already is passed over.
        """
        operations: list[Operation] = []
        for entry in entries:
            self._off(entry, operations)
        return self.journal.write(*operations) if operations else 0

    def commit(
        self,
        publishes: Sequence[Publish],
        entries: Sequence[Entry],
        operations: Sequence[Operation] = (),
        admitted: bool = False,
    ) -> int:
        """Commits the work of a transaction: messages enter and leave in one journal entry, together with `operations`.

        Nothing of it is visible before that entry is journalled.  Refused 506 as `enqueue` unless the messages were `admitted`
        before.
        """
        if not admitted:
            self.admit(publishes)
        taken: list[Operation] = []
        for entry in entries:
            self._off(entry, taken)
        written: list[Operation] = []
        held: list[Entry] = []
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

    def restore(self, queue: Queue, message: Message, redelivered: bool) -> Entry:
        """Puts a message that the journal knows on its queue again."""
        message.stored += 1
        older = None if queue.last_values is None else queue.last_values.before(message)
        (entry,) = self._put(message, (queue,))
        entry.redelivered = entry.redelivered or redelivered
        if older is not None:
            self._off(older, [])
        if queue.numbering is not None:
            queue.numbering.restored(message)
        self._headers.forget()
        return entry

    # --- back and out -----------------------------------------------------------------------------------------------------

    def release(self, entries: Iterable[Entry], set_redelivered: bool = False) -> None:
        """Releases acquired messages to their places; `set_redelivered` marks them.

        What expired meanwhile goes; what was on a queue that is deleted goes to its alternate exchange.
        """
        operations: list[Operation] = []
        orphans: list[Entry] = []
        for entry in sorted(entries, key=_position):  # who is sent them again gets them in order
            if entry.state != ACQUIRED:
                continue
            if self._expiry.overdue(entry) or (entry.queue.last_values is not None and entry.queue.last_values.passed(entry)):
                self._off(entry, operations)
            elif entry.queue.deleted:
                if set_redelivered:
                    entry.redelivered = True
                orphans.append(entry)
            else:
                entry.queue.release(entry, set_redelivered)
        self._move(orphans, operations)

    def reject(self, entries: Iterable[Entry]) -> int:
        """Removes acquired messages, to the alternate exchange where there is one.

        What is not acquired is not affected.  Refused 506 when there is no room where they would go.
        """
        rejected = [entry for entry in entries if entry.state == ACQUIRED]
        routes = Letters(self.limits)
        letters = ((each.message, [to for to in routes.of(each) if takes_letter(to, each)]) for each in rejected)
        self.admit(letters, letters=True)
        return self._move(rejected, [], rejected=True)

    def begin_ttl(self, message: Message) -> None:
        """Starts the lifetime of a message that is on no queue yet with the next `expire`, since the last one may be long ago.

        What is journalled before that says no moment: then its time begins once more when it is restored.
        """
        self.late = True
        message.expires = None
        self._undated[message] = []
        if len(self._undated) > self._most_undated:  # nobody tells the time: what has gone is not kept until somebody does
            self._undated = {
                each: entries
                for each, entries in self._undated.items()
                if not entries or [entry for entry in entries if entry.state != GONE]
            }
            self._most_undated = max(UNDATED, 2 * len(self._undated))

    def _date(self, now: float) -> None:
        """Starts the lifetime of messages that waited for the time."""
        for message, entries in self._undated.items():
            message.expires = now + (message.envelope.ttl or 0) / 1000
            for entry in entries:
                if entry.state != GONE:
                    self._expiry.add(entry)
        self._undated.clear()

    @property
    def next_expiry(self) -> float | None:
        """The moment to call `expire_messages`: at once when the lifetime of messages must begin, None when nothing will
        expire."""
        return AT_ONCE if self._undated else self._expiry.next

    def expire_messages(self, now: float) -> None:
        """Removes the messages that expired up to now."""
        if self._undated:
            self._date(now)
        operations: list[Operation] = []
        for entry in self._expiry.due(now):
            if entry.state == AVAILABLE:  # somebody has the others, or they are not there yet: `release`, `_unhold`
                self._off(entry, operations)
        if operations:
            self.journal.write(*operations)

    def dispatch(self, most: int) -> bool:
        """Makes about `most` deliveries at most, a few from each queue that can deliver; returns whether there is more to
        do."""
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

    # --- inside -----------------------------------------------------------------------------------------------------------

    def _put(self, message: Message, queues: Sequence[Queue], held: bool = False) -> list[Entry]:
        entries = [queue.put(message, held) for queue in queues]
        self.messages += len(entries)
        self.octets += len(entries) * message.size
        if message.expires is not None:
            for entry in entries:
                self._expiry.add(entry)
        elif self._undated and message in self._undated:
            self._undated[message] += entries
        return entries

    def _place(
        self,
        message: Message,
        queues: Sequence[Queue],
        operations: list[Operation],
        held: list[Entry],
        spent: dict[Queue, None],
    ) -> None:
        """Puts a message on those of the queues that there still are, `held` where a journal is kept; `spent` are those that it
        destroys.

        What rings give up for it goes where their alternate exchanges say, as far as there is room; of the first
        BrokerLimits.displacing_queues of them, so that one message costs no more routes than that.
        """
        waits = self.journal.enabled
        chosen: list[Queue] = []
        letters: list[Entry] = []
        displacing = 0
        for queue in queues:
            if queue.deleted:
                continue
            self._replace(message, queue, operations)
            if queue.policy != REJECT and not queue.has_room(message):
                if queue.policy == SELF_DESTRUCT:
                    spent[queue] = None
                else:
                    given_up: list[Entry] = []
                    fits = self._make_room(message, queue, operations, given_up)
                    if given_up and queue.alternate is not None:
                        displacing += 1
                        if displacing <= self.limits.displacing_queues:
                            letters += given_up
                    if not fits:
                        continue
            chosen.append(queue)
        for each, targets in self._numbered(message, chosen):
            if waits and each.persistent:
                operations += self._stored(each, targets)
            entries = self._put(each, targets, held=waits)
            if waits:
                held += entries
        if letters:
            self._carry(letters, operations, held, bounded=True)

    def _replace(self, message: Message, queue: Queue, operations: list[Operation]) -> None:
        """Removes the entry that the message replaces."""
        older = None if queue.last_values is None else queue.last_values.replaced_by(message)
        if older is not None:
            self._off(older, operations)

    def _numbered(self, message: Message, queues: Sequence[Queue]) -> list[Publish]:
        """The message for its queues; each that numbers what comes gets a copy of its own.

        As it is where BrokerLimits.numbered_octets of headers were written: each is read and written once more.
        """
        plain = [queue for queue in queues if queue.numbering is None]
        if len(plain) == len(queues):
            return [(message, plain)]
        placed: list[Publish] = [(message, plain)]
        left = self.limits.numbered_octets
        for queue in queues:
            if queue.numbering is None:
                continue
            left -= message.envelope.size
            if left < 0:
                plain.append(queue)
                continue
            copy = self.intake.copy(message, queue.numbering.numbered(message))
            if message in self._undated:
                self.begin_ttl(copy)
            placed.append((copy, (queue,)))
        return placed

    def _make_room(self, message: Message, ring: Queue, operations: list[Operation], given_up: list[Entry]) -> bool:
        """Takes off what a ring gives up until the message fits; whether it does.

        Nothing goes that somebody has acquired, nor what has a higher priority than the message.
        """
        level = ring.level[message.priority]
        while not ring.has_room(message):
            entry = ring.oldest
            ring.given_up += 1
            self.given_up += 1
            if entry is None or ring.level[entry.message.priority] > level:
                return False
            self._off(entry, operations)
            given_up.append(entry)
        return True

    def _drop(self, queue: Queue, by: Owner | None = None) -> int:
        """Removes a queue.  Implemented by the subclass that has the queues."""
        raise NotImplementedError

    def _off(self, entry: Entry, operations: list[Operation]) -> None:
        queue = entry.queue
        if not queue.remove(entry):
            return
        message = entry.message
        self.messages -= 1
        self.octets -= message.size
        if message.expires is not None:
            self._expiry.gone(entry)
        if message.stored and queue.durable and message.persistent:
            message.stored -= 1
            if not queue.deleted:  # else the journal has forgotten it with its queue
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
        expires = message.expires
        return MessageStored(
            self.name,
            message.number,
            message.redelivered_header if redelivered else message.header,
            message.body if message.body or message.envelope.empty_body else None,
            None if expires is None else expires + (self.intake.epoch or 0.0),
            message.envelope.form.name,
        )

    def _unhold_after(self, number: int, entries: list[Entry]) -> None:
        if number and entries:
            self.journal.after(number, partial(self._unhold, entries))

    def _unhold(self, entries: list[Entry]) -> None:
        operations: list[Operation] = []
        for entry in entries:
            if entry.state == HELD and self._expiry.overdue(entry):
                self._off(entry, operations)
            elif entry.state != GONE:
                entry.queue.unhold(entry)
        if operations:
            self.journal.write(*operations)

    def _move(self, entries: Iterable[Entry], operations: list[Operation], rejected: bool = False) -> int:
        """Moves entries to the destinations of the alternate exchange, in one journal entry.

        There each is a message of its own, which counts as redelivered when it did so before; what was `rejected` only when it
        was published with that mark, for nobody was sent it from there.
        """
        held: list[Entry] = []
        self._carry(entries, operations, held, rejected)
        number = self.journal.write(*operations) if operations else 0
        self._unhold_after(number, held)
        return number

    def _carry(
        self,
        entries: Iterable[Entry],
        operations: list[Operation],
        held: list[Entry],
        rejected: bool = False,
        bounded: bool = False,
    ) -> None:
        """Does the same as `_move` without the journal entry.

        A queue that is full gets none, but a ring gives up older messages, which go nowhere then: nothing is moved twice.
        Where the limits of the host do not let in all copies of a message, one goes to the first queue: no more than was there;
        likewise when BrokerLimits.letter_copies were made besides one for each message.  A persistent message for which all are
        full goes to the first that is no ring nevertheless.  `bounded`, for what one message took the place of, it goes
        nowhere, as does what the host's limits, or routing_steps queues looked at, keep out; displacing_queues copies.  Where
        so many queues are full that LOOKS times letter_copies were looked at, each further letter looks at one.
        """
        limits, routes = self.limits, Letters(self.limits)
        spare = limits.displacing_queues if bounded else limits.letter_copies
        looks = limits.routing_steps if bounded else LOOKS * limits.letter_copies
        for entry in entries:
            queues = routes.of(entry) if looks > 0 or not bounded else ()
            self._off(entry, operations)
            message = self.intake.copy(entry.message)
            if entry.message in self._undated:
                self.begin_ttl(message)
            chosen: list[Queue] = []
            full: Queue | None = None
            for queue in queues:
                looks -= 1
                if not takes_letter(queue, entry):
                    continue
                if queue.has_room(message) or (queue.policy == RING and self._gives_way(message, queue, operations)):
                    chosen.append(queue)
                elif full is None and queue.policy != RING:
                    full = queue
                if len(chosen) > spare or looks <= 0:
                    break
            if not self.takes(message, len(chosen)):
                chosen = [] if bounded else chosen[:1]
            if not chosen and full is not None and message.persistent and not bounded:
                chosen = [full]
            spare -= max(0, len(chosen) - 1)
            redelivered = message.redelivered if rejected else entry.redelivered
            for queue in chosen:
                self._replace(message, queue, operations)
            for each, targets in self._numbered(message, chosen):
                stored = self._stored(each, targets, redelivered) if each.persistent and self.journal.enabled else []
                operations += stored
                for queue in targets:
                    waits = bool(stored) and queue.durable
                    (moved,) = self._put(each, (queue,), held=waits)
                    moved.redelivered = redelivered
                    if waits:
                        held.append(moved)
        self._headers.forget()

    def _gives_way(self, message: Message, ring: Queue, operations: list[Operation]) -> bool:
        """Returns whether a ring has room for a dead letter; it drops older messages for it, which go nowhere."""
        return message.size <= ring.most_octets and self._make_room(message, ring, operations, [])


def _room(limit: str, value: int, asked: int, queue: Queue | None = None) -> None:
    if asked > value:
        where = f" for queue {queue.name!r}" if queue is not None else ""
        raise Refused(conditions.TRANSFER_LIMIT, limit=limit, value=value, where=where, why=f"{asked} would be there")


class Letters:
    """The destinations of dead letters, all because of one command or one message.

    Each may take CHEAP steps of routing, however many there are; the first BrokerLimits.costly_letters that need more, as many
    as a message that is published.
    """

    __slots__ = ("_costly", "_most")

    def __init__(self, limits: BrokerLimits) -> None:
        self._most: Final = limits.routing_steps
        self._costly = limits.costly_letters

    def of(self, entry: Entry) -> Sequence[Queue]:
        """Returns the queues found by the alternate exchange of the queue, or else by the alternate of that exchange.

        Nobody is there to hear that an exchange refuses to route it: then it cannot.
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


def takes_letter(queue: Queue, entry: Entry) -> bool:
    """Whether a queue to which a dead letter is routed gets it: not that from which it comes, nor one with no-local whose user
    published it."""
    return queue is not entry.queue and not (queue.no_local and queue.local(entry.message))
