"""Tags of a channel in the older dialects: of deliveries to be settled, and of published messages to be confirmed."""

from __future__ import annotations

from typing import Final

from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, MutableRangeSet, RangeSet, serial_add, serial_le
from amqp_sansio.ledger.ids import WIDEST, Ids

UNKNOWN: Final = "unknown"
"""A tag that was never given."""
TWICE: Final = "twice"
"""A tag that was settled before, or that needs no settling."""


class Tags:
    """Numbers that one side assigns from 1 on, and the other names one by one, or "all up to and including".

    `ids` are the ledger's: what is outstanding, as serial numbers, which are the lower 32 bits of tags (`tag_of` returns all
    64). `doubt`: some may be missing, so no side is accused.
    """

    __slots__ = ("count", "doubt", "ids", "last")

    def __init__(self, doubt: bool) -> None:
        self.ids: Final = Ids(1)
        self.doubt = doubt
        self.last = 0
        """The last tag; 0 before the first."""
        self.count = 0
        """How many are outstanding."""

    def give_next(self) -> int:
        """Assigns the next tag and returns it; it is outstanding."""
        last = self.last
        if last >= WIDEST or self.doubt:
            self.give(last + 1)
            return self.last
        self.last = tag = last + 1  # nearly always: `give` inlined
        ids = self.ids
        ids.next_id = tag + 1
        self.count += 1
        highs = ids.outstanding.highs
        if highs and highs[-1] == last:
            highs[-1] = tag
        else:
            ids.outstanding.add(tag)
        return tag

    def give(self, tag: int, kept: bool = True) -> bool:
        """Records an assigned tag; returns whether it is higher than those before.

        `kept`: it is outstanding; otherwise it must not be named.
        """
        if tag == self.last + 1 and kept and tag <= WIDEST and not self.doubt:
            self.give_next()
            return True
        if tag <= self.last or self.doubt:
            return self.doubt
        if tag > WIDEST and self._span(tag) > WIDEST:
            self.doubt = True  # serial numbers have no order beyond it
            return True
        self.last = tag
        ids = self.ids
        if kept:
            ids.next_id = tag & TOP
            ids.take()
            self.count += 1
        else:
            ids.next_id = tag + 1 & TOP
        return True

    def _span(self, tag: int) -> int:
        """Returns how far the oldest outstanding one is behind `tag`."""
        oldest = self._oldest
        return 0 if oldest is None else tag - self.last + ((self.last - oldest) & TOP)

    @property
    def _oldest(self) -> int | None:
        return self.ids.outstanding.next_from(serial_add(self.ids.next_id, -HALF))

    def tag_of(self, serial: int) -> int:
        """Returns the recent tag with a serial number."""
        return self.last - ((self.last - serial) & TOP)

    def named(self, tag: int, multiple: bool, itself: bool = False) -> tuple[RangeSet, str]:
        """Returns the outstanding ones that are named, and what is wrong with the tag: UNKNOWN, TWICE or "".

        `itself`: the tag is one of them, whichever of those before it are outstanding.
        """
        last = self.last
        if tag > last or (tag == 0 and not multiple):
            return EMPTY, UNKNOWN
        found = EMPTY
        oldest = self._oldest
        if oldest is not None and last - (tag or last) < HALF:
            high = (tag or last) & TOP
            if not multiple:
                found = RangeSet.span(high, high) if high in self.ids.outstanding else EMPTY
            elif serial_le(oldest, high):
                found = self.ids.outstanding.common(RangeSet([(oldest, high)]))
                if itself and tag and high not in found:
                    found = EMPTY
        return found, TWICE if tag and not found else ""

    def take(self, tag: int, multiple: bool) -> RangeSet:
        """Settles the outstanding ones that are named, and returns them."""
        lows, highs = self.ids.outstanding.lows, self.ids.outstanding.highs
        if len(lows) == 1 and (low := lows[0]) <= tag <= (high := highs[0]) <= WIDEST >= self.last and (multiple or tag == low):
            # Nearly always the oldest of one range: what follows with its calls inlined; serial numbers equal tags up to there.
            if tag == high:
                lows.clear()
                highs.clear()
            else:
                lows[0] = tag + 1
            self.count -= tag - low + 1
            return RangeSet.span(low, tag)
        found, _ = self.named(tag, multiple)
        self.settle(found)
        return found

    def settle(self, tags: RangeSet) -> None:
        """Settles these, which are outstanding."""
        self.count -= len(self.ids.complete(tags))

    def settle_all(self) -> RangeSet:
        """Settles all, and returns them."""
        found = self.ids.outstanding.freeze()
        self.ids.outstanding.clear()
        self.count = 0
        return found

    def give_back(self, tags: RangeSet) -> None:
        """Makes these, which were settled, outstanding again."""
        self.ids.outstanding.update(tags)
        self.count += len(tags)

    def bound(self, ranges: int) -> bool:
        """Keeps at most `ranges` ranges; returns whether doubt begins."""
        if not self.ids.bound(ranges) or self.doubt:
            return False
        self.doubt = True
        return True


class Deliveries:
    """The server's deliveries on a channel."""

    __slots__ = ("_free", "_returned", "_settled", "tags")

    def __init__(self, doubt: bool) -> None:
        self.tags: Final = Tags(doubt)
        self._free = False
        """Whether the last tag was that of a delivery that needs no settling."""
        self._settled: Final = MutableRangeSet()
        """What was settled in the open transaction."""
        self._returned: Final = MutableRangeSet()
        """What was outstanding when the client requested recovery: a side may settle it before it knows."""

    @property
    def unsettled(self) -> int:
        """How many are outstanding unless the open transaction is committed."""
        return self.tags.count + len(self._settled)

    def deliver(self, tag: int, settled: bool) -> bool:
        """Notes a delivery, which needs no settling if `settled`; returns False for a tag that is not higher than all before
        it.

        The tag of one that needs no settling may be repeated: RabbitMQ delivers direct replies with the tag of the next
        delivery.
        """
        free, self._free = self._free, settled
        if tag == self.tags.last and free and not self.tags.doubt:
            if not settled:
                self.tags.give_back(RangeSet.of(tag & TOP))
            return True
        return self.tags.give(tag, not settled)

    def deliver_higher(self, tag: int, settled: bool, most: int) -> bool:
        """Like `deliver`, in the simplest case.

        Returns False, with nothing changed, where the tag is not higher, more than `most` are outstanding, or there is doubt.
        """
        tags = self.tags
        if tag <= tags.last or tags.doubt or tags.count >= most or (tag > WIDEST and tags._span(tag) > WIDEST):
            return False
        self._free = settled
        if settled and tag <= WIDEST:  # `give` inlined
            tags.last = tag
            tags.ids.next_id = tag + 1
            return True
        return tags.give(tag, not settled)

    def settle(self, tag: int, multiple: bool, transacted: bool) -> str:
        """Settles for the client; returns what is wrong with that."""
        if self.tags.doubt:
            return ""
        found, wrong = self.tags.named(tag, multiple, True)
        if wrong == TWICE and self._among_returned(tag, multiple):
            return ""
        self.settle_set(found, transacted)
        return wrong

    def settle_set(self, found: RangeSet, transacted: bool) -> None:
        """Settles these outstanding ones for the client; `transacted`: in a transaction."""
        self.tags.settle(found)
        if transacted:
            self._settled.update(found)

    def ranges_with(self, found: RangeSet) -> int:
        """Returns the most ranges settled in the open transaction if it settles these too."""
        return self._settled.range_count + len(found.ranges)

    def _among_returned(self, tag: int, multiple: bool) -> bool:
        if not multiple:
            return tag & TOP in self._returned
        oldest = self._returned.next_from(serial_add(self.tags.ids.next_id, -HALF))
        return oldest is not None and serial_le(oldest, tag & TOP)

    def recover(self, ranges: int | None = None) -> RangeSet:
        """Notes that everything outstanding will be redelivered with other tags; returns it.

        It remembers at most `ranges` ranges of that; beyond, everything delivered so far counts as part of it.
        """
        found = self.tags.settle_all()
        self._returned.update(found)
        if ranges is not None and self._returned.range_count > ranges:
            next_id = self.tags.ids.next_id
            oldest = self._returned.next_from(serial_add(next_id, -HALF))
            assert oldest is not None  # they are not empty
            self._returned.clear()
            self._returned.add_range(oldest, serial_add(next_id, -1))
        return found

    def commit(self) -> None:
        """Ends the transaction: what it settled stays settled."""
        self._settled.clear()

    def roll_back(self) -> None:
        """Ends the transaction: what it settled is outstanding again."""
        self.tags.give_back(self._settled.freeze())
        self.commit()

    def bound(self, ranges: int) -> bool:
        """See `Tags.bound`."""
        kept = self._settled.range_count + self._returned.range_count
        if kept > ranges and not self.tags.doubt:
            self.tags.doubt = True
            return True
        return self.tags.bound(ranges)
