"""The subscriptions of one side of a session: the credit of each, and the deliveries that use it.

Credit is how many messages and octets one side may transfer to one destination of the other.  In window mode it is a limit and
a used count, not a balance: a transfer uses credit, its completion gives it back, and stop removes the limit without resetting
the used count.  In credit mode a transfer lowers the limit for good.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final, TypeAlias

from amqp_sansio.kernel.serials import ById, RangeSet

INFINITE: Final = 0xFFFFFFFF
"""Unlimited credit in message.flow (an absent value means the same)."""
MOST: Final = INFINITE - 1
"""The most finite credit; more saturates here and never wraps."""

CREDIT_MODE: Final = 0
WINDOW_MODE: Final = 1
MESSAGE: Final = 0
OCTET: Final = 1


GrantMark: TypeAlias = tuple[int, int]
"""The total granted so far, and the number of this moment."""

FlowState: TypeAlias = tuple[int, tuple[int, int], tuple[int, int], tuple[tuple[int, int, int], ...]]
"""What a subscriber has granted, as a plain value: mode, (limit, used) of messages and of octets, incomplete flushes."""
BookState: TypeAlias = tuple[
    FlowState, tuple[int | None, int | None], tuple[int, int | None, int | None] | None, tuple[int, int]
]
"""A CreditBook as a plain value.

What is granted, what the deliverer may still send, the barrier, and what is not reported yet.
"""


class Credit:
    """Credit in one unit.  `limit` and `used` are at least 0; `limit` is INFINITE or at most MOST."""

    __slots__ = ("limit", "used")

    def __init__(self, limit: int = 0, used: int = 0) -> None:
        self.limit = limit
        self.used = used

    @property
    def available(self) -> int:
        """How much may still be sent: INFINITE, or 0 to MOST."""
        if self.limit == INFINITE:
            return INFINITE
        return max(0, self.limit - self.used)

    def allows(self, cost: int) -> bool:
        """Whether `cost` may be sent now."""
        return self.limit == INFINITE or self.used + cost <= self.limit

    def grant(self, value: int) -> None:
        """Adds `value`.  INFINITE plus anything is INFINITE; otherwise the sum saturates at MOST."""
        if self.limit == INFINITE or value == INFINITE:
            self.limit = INFINITE
        else:
            self.limit = min(MOST, self.limit + value)

    def stop(self) -> None:
        """Removes all credit, even infinite credit; the used count stays."""
        self.limit = 0

    def spend(self, cost: int) -> None:
        """Deducts the cost of a transfer in credit mode, for good."""
        if self.limit != INFINITE:
            self.limit = max(0, self.limit - cost)

    def snapshot(self) -> tuple[int, int]:
        """Returns the constructor's arguments."""
        return self.limit, self.used


class Grants:
    """Grants in one unit since each of several moments, stored as one number per grant."""

    __slots__ = ("_floor", "_infinite", "_moment", "_total")

    def __init__(self) -> None:
        self._total = 0
        self._moment = 0
        self._infinite = -1  # the moment of the last infinite grant
        self._floor: GrantMark = 0, -1  # the total and the moment of the last stop

    def grant(self, value: int) -> None:
        """Like `Credit.grant`, for all moments."""
        if value == INFINITE:
            self._moment += 1
            self._infinite = self._moment
        else:
            self._total += value

    def stop(self) -> None:
        """Like `Credit.stop`, for all moments."""
        self._moment += 1
        self._floor = self._total, self._moment

    def mark(self, granted: int = 0) -> GrantMark:
        """Returns the present moment, or one since which `granted` was granted."""
        if granted == INFINITE:
            mark = self._total, self._moment
            self.grant(INFINITE)
            return mark
        self._moment += 1
        return self._total - granted, self._moment

    def since(self, mark: GrantMark) -> int:
        """Returns what was granted since a moment: INFINITE, or at most MOST."""
        total, moment = mark
        floor, stopped = self._floor
        if self._infinite > max(moment, stopped):
            return INFINITE
        return min(MOST, self._total - (floor if stopped > moment else total))


class CreditBook:
    """The credit of one destination in both units, and its mode.  It answers two questions.

    What has the subscriber granted?  `messages` and `octets`, as deployed servers count it; the deliverer itself needs no more.
    message.flush, once executed, removes the credit that existed when it was sent, but not what was granted since; so grants
    after a flush are remembered until `end_flush`.

    How much may the deliverer still believe that it has?  `most_messages` and `most_octets` are an upper bound: a deliverer
    that sends more has exceeded its credit, whatever the timing.  They follow the text of message.set-flow-mode and
    message.flow, which allows more than deployed servers count:

    * A grant counts from when it was sent.
    * What stop, flush or cancel removes counts until the deliverer has completed the last of them, the `barrier`.
    * In window mode a completion gives its credit back when it is reported, even after a stop.
    """

    __slots__ = (
        "_barrier",
        "_flushes",
        "_message_grants",
        "_octet_grants",
        "_since_messages",
        "_since_octets",
        "_unreported_messages",
        "_unreported_octets",
        "limited",
        "messages",
        "mode",
        "most_messages",
        "most_octets",
        "octets",
        "switches",
    )

    def __init__(self) -> None:
        self.mode = WINDOW_MODE
        self.messages: Final = Credit()
        self.octets: Final = Credit()
        self.switches = 0
        """The number of mode changes, which reset the used count."""
        # For each incomplete flush, by command id: since when grants of messages and octets count.
        self._flushes: dict[int, tuple[GrantMark, GrantMark]] = {}
        self._message_grants: Final = Grants()
        self._octet_grants: Final = Grants()
        self.limited = True
        """False while neither unit has a limit and nothing is being removed: then nothing needs counting."""
        self.most_messages: int | None = 0
        """The most messages that the deliverer may still send; None: any number."""
        self.most_octets: int | None = 0
        """The most octets that the deliverer may still send; None: any number."""
        self._barrier: int | None = None
        # The part of those granted after the barrier.
        self._since_messages: int | None = 0
        self._since_octets: int | None = 0
        # Completed since completions were last reported.
        self._unreported_messages = 0
        self._unreported_octets = 0

    @classmethod
    def behind(cls, cancelled: CreditBook) -> CreditBook:
        """Returns the credit of a new subscription whose destination still has an incomplete cancel.

        Deliveries until then may be for the earlier subscription.
        """
        book = cls()
        book.most_messages, book.most_octets = cancelled.most_messages, cancelled.most_octets
        book._barrier = cancelled._barrier
        return book

    # --- sent by the subscriber -----------------------------------------------------------------------------------------------

    def grant(self, unit: int, value: int) -> None:
        """Records message.flow."""
        added = None if value == INFINITE else value
        if unit == OCTET:
            self.octets.grant(value)
            self.most_octets = _sum(self.most_octets, added)
            self._since_octets = _sum(self._since_octets, added)
        else:
            self.messages.grant(value)
            self.most_messages = _sum(self.most_messages, added)
            self._since_messages = _sum(self._since_messages, added)
        if self._flushes:
            (self._octet_grants if unit == OCTET else self._message_grants).grant(value)
        self._look()

    def stop(self) -> None:
        """Records message.stop, as the deliverer receives it: removes all credit, and ends incomplete flushes."""
        self.messages.stop()
        self.octets.stop()
        if self._flushes:
            self._message_grants.stop()
            self._octet_grants.stop()

    def begin_flush(self, id: int) -> None:
        """Records message.flush with this command id, as the deliverer receives it."""
        self._flushes[id] = self._message_grants.mark(), self._octet_grants.mark()

    def end_flush(self, id: int) -> None:
        """Ends an executed flush: removes the credit from before it."""
        marks = self._flushes.pop(id, None)
        if marks is not None:
            self.messages.limit, self.octets.limit = self._since(marks)

    def _since(self, marks: tuple[GrantMark, GrantMark]) -> tuple[int, int]:
        """Returns the limits without what was granted before these moments."""
        messages, octets = self._message_grants.since(marks[0]), self._octet_grants.since(marks[1])
        return min(self.messages.limit, messages), min(self.octets.limit, octets)

    def take_back(self, id: int, flush: bool = False) -> None:
        """Records message.stop or message.cancel, or with `flush` message.flush, as command `id`."""
        if flush:
            self.begin_flush(id)
        else:
            self.stop()
        self._barrier = id
        self._since_messages = self._since_octets = 0
        self.limited = True

    def set_mode(self, mode: int) -> None:
        """Records message.set-flow-mode: available credit stays, the used count is reset."""
        if mode != self.mode:
            for credit in (self.messages, self.octets):
                credit.limit = credit.available
                credit.used = 0
            self.mode = mode
            self.switches += 1

    def give_back(self, messages: int, octets: int) -> None:
        """Records the completion of `messages` messages of `octets` octets in total; in credit mode nothing counts as used."""
        credit = self.messages
        credit.used = max(0, credit.used - messages)
        credit = self.octets
        credit.used = max(0, credit.used - octets)

    def complete(self, messages: int, octets: int, charge: int) -> None:
        """Like `give_back`, for transfers charged with `charge`, before the deliverer knows of it."""
        self.give_back(messages, octets)
        self._unreported_messages += messages
        self._unreported_octets += charge

    def reported(self) -> None:
        """Records that completions were reported to the deliverer, which moves a window."""
        messages, octets = self._unreported_messages, self._unreported_octets
        self._unreported_messages = self._unreported_octets = 0
        if self.mode == WINDOW_MODE:
            self.most_messages = _sum(self.most_messages, messages)
            self.most_octets = _sum(self.most_octets, octets)
            if self._barrier is not None:
                self._since_messages = _sum(self._since_messages, messages)
                self._since_octets = _sum(self._since_octets, octets)

    # --- sent by the deliverer ------------------------------------------------------------------------------------------------

    def transfer(self, octets: int, messages: int = 1) -> None:
        """Records messages that the deliverer itself sends, at a cost of `octets` octets in total."""
        if self.mode == WINDOW_MODE:
            self.messages.used += messages
            self.octets.used += octets
        else:
            self.messages.spend(messages)
            self.octets.spend(octets)

    def spend(self, octets: int, charge: int) -> int | None:
        """Records a transfer of `octets` octets, charged with `charge`; returns the exceeded unit, or None."""
        self.transfer(octets)
        if not self.limited:
            return None
        excess: int | None = None
        left = self.most_messages
        if left is not None:
            if left < 1:
                excess = MESSAGE
            else:
                self.most_messages = left - 1
        left = self.most_octets
        if left is not None:
            if left < charge:
                excess = OCTET if excess is None else excess
            else:
                self.most_octets = left - charge
        return excess

    def spend_run(self, messages: int, octets: int, charge: int) -> bool:
        """Like `spend`, for `messages` transfers of `octets` octets in total; changes nothing unless credit covers all."""
        if not self.covers(messages, charge):
            return False
        self.transfer(octets, messages)
        if self.most_messages is not None:
            self.most_messages -= messages
        if self.most_octets is not None:
            self.most_octets -= charge
        return True

    def covers(self, messages: int, charge: int) -> bool:
        """Returns whether the deliverer may still send `messages` messages charged with `charge` in total."""
        most_messages, most_octets = self.most_messages, self.most_octets
        return (most_messages is None or most_messages >= messages) and (most_octets is None or most_octets >= charge)

    def carried_out(self, id: int) -> None:
        """Records that the deliverer has completed a stop, flush or cancel: earlier grants are void."""
        self.end_flush(id)
        if id == self._barrier:  # an earlier one removes no more than the last one will
            self.most_messages = least(self.most_messages, self._since_messages)
            self.most_octets = least(self.most_octets, self._since_octets)
            self._barrier = None
            self._look()

    def _look(self) -> None:
        self.limited = self.most_messages is not None or self.most_octets is not None or self._barrier is not None

    # --- queries --------------------------------------------------------------------------------------------------------------

    def lacks(self, octets: int) -> int | None:
        """Returns the unit that lacks credit for a message that costs `octets` octets; None when there is enough."""
        messages, credit = self.messages, self.octets  # `Credit.allows` inlined: needed for each delivery
        if messages.limit != INFINITE and messages.used >= messages.limit:
            return MESSAGE
        return OCTET if credit.limit != INFINITE and credit.used + octets > credit.limit else None

    def allows(self, octets: int) -> bool:
        """Whether one message that costs `octets` octets may be sent now."""
        return self.lacks(octets) is None

    @property
    def flushing(self) -> bool:
        """Whether a flush is incomplete."""
        return bool(self._flushes)

    @property
    def ends_empty(self) -> bool:
        """Whether neither unit has credit besides what the incomplete flushes will remove."""
        if not self._flushes:
            return self.empty
        messages, octets = self._since(next(reversed(self._flushes.values())))  # the least was granted since the last one
        return messages <= self.messages.used and octets <= self.octets.used

    @property
    def empty(self) -> bool:
        """Whether neither unit has credit, as set-flow-mode requires."""
        return not self.messages.available and not self.octets.available

    @property
    def owes_report(self) -> bool:
        """Whether there are completions that were not reported to the deliverer."""
        return bool(self._unreported_messages)

    # --- snapshots ------------------------------------------------------------------------------------------------------------

    def granted(self) -> FlowState:
        """Returns what is granted, as a plain value; see `restore`."""
        flushes = tuple([
            (id, self._message_grants.since(messages), self._octet_grants.since(octets))
            for id, (messages, octets) in self._flushes.items()
        ])  # fmt: skip
        return self.mode, self.messages.snapshot(), self.octets.snapshot(), flushes

    def snapshot(self) -> BookState:
        """Returns a plain value; see `restore`."""
        barrier = None if self._barrier is None else (self._barrier, self._since_messages, self._since_octets)
        left = self.most_messages, self.most_octets
        return self.granted(), left, barrier, (self._unreported_messages, self._unreported_octets)

    @classmethod
    def restore(
        cls,
        granted: FlowState,
        left: tuple[int | None, int | None] = (0, 0),
        barrier: tuple[int, int | None, int | None] | None = None,
        unreported: tuple[int, int] = (0, 0),
    ) -> CreditBook:
        """Restores what `snapshot` returned, or a ledger with only what `granted` returned."""
        book = cls()
        book.mode, messages, octets, flushes = granted
        book.messages.limit, book.messages.used = messages
        book.octets.limit, book.octets.used = octets
        marks: list[dict[int, GrantMark]] = []
        for grants, unit in ((book._message_grants, 1), (book._octet_grants, 2)):
            infinite_first = sorted(flushes, key=lambda flush: flush[unit] != INFINITE)
            marks.append({flush[0]: grants.mark(flush[unit]) for flush in infinite_first})
        book._flushes = {id: (marks[0][id], marks[1][id]) for id, _, _ in flushes}
        book.most_messages, book.most_octets = left
        if barrier is not None:
            book._barrier, book._since_messages, book._since_octets = barrier
        book._unreported_messages, book._unreported_octets = unreported
        book._look()
        return book


def _sum(amount: int | None, more: int | None) -> int | None:
    return None if amount is None or more is None else amount + more


def least(one: int | None, other: int | None) -> int | None:
    """Returns the lesser of two amounts; None is unlimited."""
    return other if one is None else one if other is None else min(one, other)


BARRIERS: Final = 4096
"""Incomplete words that remove credit; beyond it the oldest counts as completed."""

Exhausted: TypeAlias = tuple[int | None, int, int]
"""The delivery that used up credit (None: of unknown id), and the messages and octets left then."""


class Subscription:
    """One subscription with its credit.  `doubt`: its credit is unknown, or the deliverer may take it for another."""

    __slots__ = ("book", "cancel_id", "doubt", "exhausted", "uncounted")

    def __init__(self, book: CreditBook) -> None:
        self.book: Final = book
        self.cancel_id: int | None = None
        """The command that cancelled it, until it is completed."""
        self.doubt = False
        self.exhausted: Exhausted | None = None
        """What used up its credit, until there is credit again or it is removed."""
        self.uncounted = False
        """Whether deliveries came without a limit in window mode; by the specification, their completion gives credit after a
        stop too."""


class Subscriptions:
    """Subscriptions, updated with the subscriber's words and the other side's deliveries.

    At most `subscriptions` of them, and `deliveries` incomplete deliveries under windows.
    """

    __slots__ = ("_barriers", "_deliveries", "_most", "doubt", "entries", "live", "moved")

    def __init__(self, subscriptions: int, deliveries: int) -> None:
        self._most: Final = subscriptions
        self._deliveries: Final = deliveries
        self.entries: Final[dict[str, Subscription]] = {}
        self.live: Final[ById[tuple[str, int, int]]] = ById()
        """Deliveries under windows by id: their destination, octets and charge."""
        self._barriers: Final[ById[str]] = ById()
        self.moved: list[str] = []
        """The subscriptions whose windows moved with the last completion."""
        self.doubt = False
        """Whether some of it is unknown, so that no side is accused."""

    # --- sent by the subscriber -----------------------------------------------------------------------------------------------

    def subscribe(self, destination: str) -> bool:
        """Notes a subscription with this destination; returns False when there is an uncancelled one."""
        before = self.entries.get(destination)
        if before is None:
            if len(self.entries) >= self._most:
                self.doubt = True
                del self.entries[next(iter(self.entries))]
            self.entries[destination] = Subscription(CreditBook())
        elif before.cancel_id is not None:
            self.entries[destination] = Subscription(CreditBook.behind(before.book))
        else:  # refused, or a second one of that name: then it is unknown which of them a delivery is for
            before.doubt = True
            return False
        return True

    def grant(self, destination: str, unit: int, value: int) -> None:
        """Notes credit for a destination."""
        entry = self.entries.get(destination)
        if entry is not None:
            entry.book.grant(unit, value)
            if entry.exhausted is not None:
                self._look(entry)

    def take_back(self, destination: str, id: int | None, flush: bool, cancel: bool) -> None:
        """Notes stop, flush or cancel, as command `id`."""
        entry = self.entries.get(destination)
        if entry is None:
            return
        entry.exhausted = None
        if id is None:  # its completion will not be observed
            self.doubt = True
            if not flush:
                entry.book.stop()
            return
        if len(self._barriers) >= BARRIERS:
            self.doubt = True
            self._carried_out(next(iter(self._barriers)))
        entry.book.take_back(id, flush)
        self._barriers[id] = destination
        if cancel:
            entry.cancel_id = id

    def set_mode(self, destination: str, mode: int) -> bool:
        """Notes a change of mode; returns whether there was no credit, as required."""
        entry = self.entries.get(destination)
        if entry is None:
            return True
        book = entry.book
        empty = book.ends_empty
        if not empty and mode != book.mode:
            entry.doubt = True  # when the change takes effect is unknown
        book.set_mode(mode)
        return empty

    def completed(self, ids: RangeSet) -> None:
        """Notes deliveries that the subscriber has completed: windows move."""
        if not self.live:
            self.moved.clear()
            return
        moved: dict[str, list[int]] = {}
        for destination, octets, charge in self.live.take(ids):
            sums = moved.get(destination)
            if sums is None:
                moved[destination] = [1, octets, charge]
            else:
                sums[0] += 1
                sums[1] += octets
                sums[2] += charge
        for destination, (messages, octets, charge) in moved.items():
            self._back(destination, messages, octets, charge)
        self.moved = list(moved)

    def _back(self, destination: str, messages: int, octets: int, charge: int) -> None:
        entry = self.entries.get(destination)
        if entry is not None:
            entry.book.complete(messages, octets, charge)
            entry.book.reported()
            if entry.exhausted is not None:
                self._look(entry)

    @staticmethod
    def _look(entry: Subscription) -> None:
        if entry.book.messages.available and entry.book.octets.available:
            entry.exhausted = None

    # --- sent by the deliverer ------------------------------------------------------------------------------------------------

    def carried_out(self, ids: RangeSet) -> None:
        """Notes commands of the subscriber that the deliverer has completed: what they remove is gone."""
        if self._barriers:
            for id in self._barriers.among(ids):
                self._carried_out(id)

    def _carried_out(self, id: int) -> None:
        destination = self._barriers.remove(id)
        entry = self.entries.get(destination)
        if entry is None:
            return
        if entry.cancel_id == id:
            del self.entries[destination]
            return
        entry.book.carried_out(id)
        entry.doubt = entry.doubt or entry.uncounted

    def delivered(self, id: int | None, destination: str, octets: int, charge: int) -> int | None:
        """Notes a transfer of `octets` octets, charged with `charge`.  Returns the unit of which there was too little."""
        entry = self.entries.get(destination)
        if entry is None:
            return None
        book = entry.book
        if not book.limited:
            entry.uncounted = entry.uncounted or book.mode == WINDOW_MODE
            return None
        if book.mode == WINDOW_MODE and id is not None:
            if len(self.live) >= self._deliveries:
                self.doubt = True
                other, *sizes = self.live.remove(next(iter(self.live)))
                self._back(other, 1, *sizes)
            self.live[id] = destination, octets, charge
        messages, bytes_ = book.messages, book.octets
        had = messages.limit > messages.used and bytes_.limit > bytes_.used
        excess = book.spend(octets, charge)
        if had and not (messages.available and bytes_.available):
            entry.exhausted = id, messages.available, bytes_.available
        return excess

    def deliveries(self, id: int, destination: str, octets: Sequence[int], charges: Sequence[int]) -> bool:
        """Notes transfers with ids from `id` on, if credit covers all of them; returns whether it did."""
        entry = self.entries.get(destination)
        if entry is None:
            return self.doubt
        book = entry.book
        window = book.mode == WINDOW_MODE
        if not book.limited:
            entry.uncounted = entry.uncounted or window
            return True
        count, total, charge = len(octets), sum(octets), sum(charges)
        if window and len(self.live) + count > self._deliveries:
            return False
        messages, bytes_ = book.messages, book.octets
        covered = book.covers(count, charge)
        if not (covered or entry.doubt or self.doubt):
            return False
        left = min(messages.limit - messages.used - count, bytes_.limit - bytes_.used - total)
        if not covered or left <= 0 < min(messages.available, bytes_.available):  # one of them uses it up
            for number, one in enumerate(octets):
                self.delivered(id + number, destination, one, charges[number])
            return True
        book.spend_run(count, total, charge)
        if window:
            self.live.run(id, list(zip(repeat(destination), octets, charges, strict=False)))
        return True

    # --- gaps -----------------------------------------------------------------------------------------------------------------

    def lose(self) -> None:
        """Notes a gap: credit is unknown."""
        self.doubt = True
        self.entries.clear()
        self.live.clear()
        self._barriers.clear()
        self.moved = []
