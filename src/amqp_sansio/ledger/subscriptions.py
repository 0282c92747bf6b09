"""The subscriptions of one side of a session: the credit of each, and the deliveries that use it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final, TypeAlias

from amqp_sansio.kernel.serials import ById, RangeSet
from amqp_sansio.ledger.credit import WINDOW_MODE, CreditBook

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
