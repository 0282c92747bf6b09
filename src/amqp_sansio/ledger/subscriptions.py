"""The subscriptions of one side of a session: the credit of each, and the deliveries that use it up."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Final, TypeAlias

from amqp_sansio.kernel.picking import ById
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.ledger.credit import WINDOW_MODE, CreditBook

BARRIERS: Final = 4096
"""Words that take credit back and are not carried out yet; beyond it the oldest counts as carried out."""

Exhausted: TypeAlias = tuple[int | None, int, int]
"""The delivery that used credit up (None: of unknown id), and what was left of messages and of octets then."""


class Subscription:
    """One of them: its credit.  `doubt`: the credit is not to be known, or the deliverer takes it for another."""

    __slots__ = ("book", "cancel_id", "doubt", "exhausted", "uncounted")

    def __init__(self, book: CreditBook) -> None:
        self.book: Final = book
        self.cancel_id: int | None = None
        """The command that cancelled it, until it is carried out."""
        self.doubt = False
        self.exhausted: Exhausted | None = None
        """What used its credit up, until there is credit again or it is taken back."""
        self.uncounted = False
        """Deliveries came without a limit in window mode; by the letter, their completion gives credit after a stop, too."""


class Subscriptions:
    """Fed with what the subscriber says, and with the deliveries of the other side.

    At most `subscriptions` of them, and `deliveries` deliveries under windows that are not completed.
    """

    __slots__ = ("_barriers", "_deliveries", "_most", "doubt", "entries", "live", "moved")

    def __init__(self, subscriptions: int, deliveries: int) -> None:
        self._most: Final = subscriptions
        self._deliveries: Final = deliveries
        self.entries: Final[dict[str, Subscription]] = {}
        self.live: Final[ById[tuple[str, int, int]]] = ById()
        """Deliveries under windows by id: to whom, their octets, and those that they were charged with."""
        self._barriers: Final[ById[str]] = ById()
        self.moved: list[str] = []
        """Whose windows the word moved that was completed last."""
        self.doubt = False
        """Some of it is not known: nobody is held to anything."""

    # --- what the subscriber says --------------------------------------------------------------------------------------------

    def subscribe(self, destination: str) -> bool:
        """A subscription with this destination: False when one stands that nothing has cancelled."""
        before = self.entries.get(destination)
        if before is None:
            if len(self.entries) >= self._most:
                self.doubt = True
                del self.entries[next(iter(self.entries))]
            self.entries[destination] = Subscription(CreditBook())
        elif before.cancel_id is not None:
            self.entries[destination] = Subscription(CreditBook.behind(before.book))
        else:  # refused, or a second one of that name: then nobody knows which of them a delivery is for
            before.doubt = True
            return False
        return True

    def grant(self, destination: str, unit: int, value: int) -> None:
        """Credit for one of them."""
        entry = self.entries.get(destination)
        if entry is not None:
            entry.book.grant(unit, value)
            if entry.exhausted is not None:
                self._look(entry)

    def take_back(self, destination: str, id: int | None, flush: bool, cancel: bool) -> None:
        """Stop, flush or cancel, as command `id`."""
        entry = self.entries.get(destination)
        if entry is None:
            return
        entry.exhausted = None
        if id is None:  # when it is carried out will not be heard
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
        """The mode changes: whether that was while there was no credit."""
        entry = self.entries.get(destination)
        if entry is None:
            return True
        book = entry.book
        empty = book.ends_empty
        if not empty and mode != book.mode:
            entry.doubt = True  # changed under way: when it takes effect is not to be known
        book.set_mode(mode)
        return empty

    def completed(self, ids: RangeSet) -> None:
        """The subscriber has completed these deliveries: windows move."""
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

    # --- what the deliverer says ---------------------------------------------------------------------------------------------

    def carried_out(self, ids: RangeSet) -> None:
        """The deliverer has completed these commands of the subscriber: what they take back is gone."""
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
        """The deliverer sends a transfer of `octets` octets, charged with `charge`.  The unit of which there was not enough."""
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
        """As many transfers at once, the first as command `id`, if credit allows them all: whether they were taken so."""
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

    # --- what was not heard --------------------------------------------------------------------------------------------------

    def lose(self) -> None:
        """Something was lost: what credit there is is not known."""
        self.doubt = True
        self.entries.clear()
        self.live.clear()
        self._barriers.clear()
        self.moved = []
