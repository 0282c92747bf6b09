"""Tags of a channel in the older dialects: of what was delivered and is to be settled, and of what was published and is to be
confirmed."""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.serials import EMPTY, HALF, MutableRangeSet, RangeSet
from amqp_sansio.ledger.ids import Ids

UNKNOWN: Final = "unknown"
"""A tag that was never given."""
TWICE: Final = "twice"
"""One that was settled before, or that is not to be settled."""


class Tags:
    """Numbers that one side gives from 1 on, and the other names one by one, or "all up to and including".

    `ids` are the ledger's: what is outstanding.  `doubt`: what came may not be all that was said, so nobody is held to it.
    """

    __slots__ = ("doubt", "ids")

    def __init__(self, doubt: bool) -> None:
        self.ids: Final = Ids(1)
        self.doubt = doubt

    def give(self, tag: int | None = None) -> bool:
        """The next one is given; `tag`: this one, and whether it is higher than those before it."""
        if tag is None:
            tag = self.ids.next_id
        if tag >= HALF:  # serial numbers have no order beyond it
            self.doubt = True
        if tag < self.ids.next_id or self.doubt:
            return self.doubt
        self.ids.next_id = tag
        self.ids.take()
        return True

    def named(self, tag: int, multiple: bool) -> tuple[RangeSet, str]:
        """What is outstanding of those that are named, and what is wrong with the tag: UNKNOWN, TWICE or ""."""
        last = self.ids.next_id - 1
        if tag > last or (tag == 0 and not multiple):
            return EMPTY, UNKNOWN
        if not last:
            return EMPTY, ""
        low, high = (1, tag or last) if multiple else (tag, tag)
        found = self.ids.outstanding.common(RangeSet.span(low, high))
        return found, TWICE if tag and not found else ""

    def settle(self, tags: RangeSet) -> None:
        """These are settled."""
        self.ids.complete(tags)

    def bound(self, ranges: int) -> bool:
        """Holds it to so many ranges: whether there is doubt from now on, and was not before."""
        if not self.ids.bound(ranges) or self.doubt:
            return False
        self.doubt = True
        return True


class Deliveries:
    """What the server delivered on a channel."""

    __slots__ = ("_returned", "_settled", "tags")

    def __init__(self, doubt: bool) -> None:
        self.tags: Final = Tags(doubt)
        self._settled: Final = MutableRangeSet()
        """What was settled in the transaction that is open."""
        self._returned: Final = MutableRangeSet()
        """What was outstanding when the client asked for recovery: who settles it may not have known."""

    def deliver(self, tag: int, settled: bool) -> bool:
        """A message is delivered, which nobody need settle when it is `settled`; False for a tag that is not higher than all
        before it."""
        sound = self.tags.give(tag)
        if settled and sound and not self.tags.doubt:
            self.tags.settle(RangeSet.of(tag))
        return sound

    def settle(self, tag: int, multiple: bool, transacted: bool) -> str:
        """The client settles; what is wrong with that."""
        if self.tags.doubt:
            return ""
        found, wrong = self.tags.named(tag, multiple)
        if wrong == TWICE and self._among_returned(1 if multiple else tag, tag):
            return ""
        self.tags.settle(found)
        if transacted:
            self._settled.update(found)
        return wrong

    def _among_returned(self, low: int, high: int) -> bool:
        first = self._returned.next_from(low)
        return first is not None and low <= first <= high

    def recover(self) -> None:
        """All that is outstanding will be delivered again, under other tags."""
        found = RangeSet.span(1, max(1, self.tags.ids.next_id - 1))
        found = self.tags.ids.outstanding.common(found)
        self._returned.update(found)
        self.tags.settle(found)

    def commit(self) -> None:
        """The transaction ends: what it settled stays so."""
        self._settled.discard(RangeSet.span(1, HALF))

    def roll_back(self) -> None:
        """The transaction ends: what it settled is outstanding again."""
        self.tags.ids.outstanding.update(self._settled.common(RangeSet.span(1, HALF)))
        self.commit()

    def bound(self, ranges: int) -> bool:
        """As `Tags.bound`."""
        kept = self._settled.range_count + self._returned.range_count
        if kept > ranges and not self.tags.doubt:
            self.tags.doubt = True
            return True
        return self.tags.bound(ranges)
