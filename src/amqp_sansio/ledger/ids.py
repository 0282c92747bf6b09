"""One half of a session by the ids of its commands: the other side's feedback about them, and the transfers among them.

Transfers follow the rows of `tables.transfer`: single deliveries, for working on them, and sets of ids, for judging words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, MutableRangeSet, Range, RangeSet, between, pick, serial_add
from amqp_sansio.tables import transfer as rows
from amqp_sansio.tables.session import STREAM

W = TypeVar("W")

WIDEST: Final = 1 << 30
"""A set of ids wider than this drops its oldest ids, long before serial numbers lose their order at 2**31."""


def trim(ids: MutableRangeSet, next_id: int) -> None:
    """Drops the oldest half of a set that is too wide for serial numbers; the other side knew them long ago."""
    oldest = ids.next_from(serial_add(next_id, 1))
    if oldest is not None and (next_id - oldest) & TOP > WIDEST:
        ids.discard(RangeSet([(serial_add(next_id, 1), serial_add(next_id, -WIDEST // 2))]))


def bound(ids: MutableRangeSet, next_id: int, ranges: int) -> bool:
    """Keeps at most `ranges` ranges of a set of ids before the next id; returns whether it dropped the oldest."""
    excess = ids.range_count - ranges
    if excess > 0:
        ids.discard(ids.first_ranges(serial_add(next_id, 1 - HALF), excess))
    return excess > 0


class Ids:
    """Commands by id, until their receiver completes them.

    * `next_id`: of the next command.
    * `outstanding`: sent, as far as known, and not complete: in doubt when nothing more arrives.
    * `confirmed`: those of them that will certainly complete.
    * `known`: complete, and not yet acknowledged by their sender with known-completed, if it has to.
    * `awaited`: the name of each awaited result, for matching.
    """

    __slots__ = ("awaited", "confirmed", "known", "next_id", "outstanding")

    def __init__(self, next_id: int = 0) -> None:
        self.next_id = next_id
        self.outstanding: MutableRangeSet = MutableRangeSet()
        self.confirmed: MutableRangeSet = MutableRangeSet()
        self.known: MutableRangeSet = MutableRangeSet()
        self.awaited: dict[int, str] = {}

    # --- sent by the sender ---------------------------------------------------------------------------------------------------

    def take(self) -> int:
        """Notes that a command is sent; returns its id."""
        id = self.next_id
        self.next_id = id + 1 & TOP
        highs = self.outstanding.highs
        if highs and id and highs[-1] == id - 1:  # nearly always: `add` inlined
            highs[-1] = id
        else:
            self.outstanding.add(id)
        return id

    def take_run(self, count: int) -> int | None:
        """Notes that `count` commands are sent; returns the first id.  None, with nothing changed, where ids wrap."""
        id = self.next_id
        if id + count > TOP:
            return None
        self.next_id = id + count
        self.outstanding.add_range(id, id + count - 1)
        return id

    def wait(self, id: int, result: str, results: int) -> int | None:
        """Notes that the last command has a result of this name.

        Beyond `results` of them it drops the oldest and returns its id; None where all are kept.
        """
        oldest = next(iter(self.awaited)) if len(self.awaited) >= results else None
        if oldest is not None:
            del self.awaited[oldest]
        self.awaited[id] = result
        return oldest

    def skip(self, ids: RangeSet) -> None:
        """Notes that these will never come."""
        self.outstanding.discard(ids)
        self.confirmed.discard(ids)

    # --- sent by the receiver -------------------------------------------------------------------------------------------------

    def beyond(self, ids: RangeSet) -> RangeSet:
        """Returns the ids that were not sent yet, about which no feedback is possible."""
        return between(ids, self.next_id, serial_add(self.next_id, HALF - 1))

    def complete(self, ids: RangeSet) -> RangeSet:
        """Notes that these are complete; returns those that are new.  Ignores ids that were never sent."""
        news = self.outstanding.take(ids)
        if news and self.confirmed:
            self.confirmed.discard(news)
        return news

    def complete_run(self, low: int, high: int) -> RangeSet | None:
        """Like `complete` for the ids from `low` to `high`, without set algebra, which is nearly always possible.

        Returns None, with nothing changed, unless all of them were sent, the oldest outstanding ones are among them, and what
        is outstanding is one range.
        """
        lows, highs = self.outstanding.lows, self.outstanding.highs
        if len(highs) != 1 or not low <= (first := lows[0]) <= high < self.next_id <= low + HALF:
            return None
        if (last := highs[0]) > high:
            last = high
            lows[0] = high + 1
        else:
            lows.clear()
            highs.clear()
        news = RangeSet.span(first, last)
        if self.confirmed.highs:
            self.confirmed.discard(news)
        return news

    def confirm(self, ids: RangeSet) -> RangeSet:
        """Notes that these will certainly complete; returns those that are new.  Ignores ids that were never sent."""
        news = self.confirmed.missing(self.outstanding.common(ids))
        if news:
            self.confirmed.update(news)
        return news

    def bound(self, ranges: int) -> bool:
        """Keeps at most `ranges` ranges of what is outstanding.

        Returns whether it dropped the oldest, which begins doubt.
        """
        return bound(self.outstanding, self.next_id, ranges)


class OwnIds(Ids):
    """The commands of `sender`, as kept by one of the two sides from the beginning.

    * `begun`: some were sent; until then none are known.
    * `stream`: what is legal about them on this attachment.
    """

    __slots__ = ("begun", "sender", "stream")

    def __init__(self, sender: str) -> None:
        super().__init__()
        self.begun = False
        self.sender: Final = sender
        self.stream = Machine(STREAM[sender])

    def begin_attachment(self) -> None:
        """Begins a new attachment: nothing may come before a command-point."""
        self.stream = Machine(STREAM[self.sender])

    def beyond(self, ids: RangeSet) -> RangeSet:
        """Like `Ids.beyond`; before the first command, all ids are."""
        return super().beyond(ids) if self.begun else ids

    def _sets(self, names: Mapping[str, str]) -> dict[str, object]:
        """Returns its sets of ids as plain values: these attributes, by their names in a snapshot."""
        return {name: getattr(self, attribute).freeze().ranges for name, attribute in names.items()}

    def _restore_sets(self, names: Mapping[str, str], snapshot: Mapping[str, Any]) -> None:
        for name, attribute in names.items():
            setattr(self, attribute, MutableRangeSet(RangeSet(snapshot[name])))


# --- transfers ------------------------------------------------------------------------------------------------------------

EXPLICIT: Final = 0
NONE: Final = 1


class Delivery(NamedTuple, Generic[W]):
    """One transfer: its state in the table of its accept-mode, its subscription, its cost in octets.

    `charge` is the part of the cost that its sender is held to.
    """

    state: str
    accept_mode: int
    subscription: W | None
    octets: int
    completed: bool
    charge: int


_MOVES: Final = {accept_mode: table.moves for accept_mode, table in rows.TRANSFER.items()}

NextStates: TypeAlias = list[tuple[int, Delivery[W], str]]
"""Deliveries by id, with their next states."""
CompletedSums: TypeAlias = dict[W, tuple[int, int, int]]
"""By subscription: how many messages were completed, their octets, and their charge."""


class TransferBook(Generic[W]):
    """`deliveries` by command id: those that are not settled or not completed.

    `provisional`: those accepted in an open local transaction; its rollback makes them acquired again.
    """

    __slots__ = ("deliveries", "provisional")

    def __init__(self) -> None:
        self.deliveries: dict[int, Delivery[W]] = {}
        self.provisional: dict[int, Delivery[W]] = {}

    def plan(self, verb: str, ids: RangeSet) -> tuple[NextStates[W], list[int]]:
        """Returns the effect of the recipient's `verb` about `ids`, and the ids for which it is illegal; changes nothing."""
        planned: NextStates[W] = []
        bad: list[int] = []
        for id in pick(ids, self.deliveries):
            delivery = self.deliveries[id]
            state = _MOVES[delivery[1]].get((delivery[0], rows.RECIPIENT, verb))
            if state is None:
                bad.append(id)
            else:
                planned.append((id, delivery, state))
        return planned, bad

    def apply(self, planned: NextStates[W], ids: RangeSet, completes: bool) -> tuple[RangeSet, CompletedSums[W]]:
        """Applies a plan about `ids`.

        With `completes`, what is settled is completed as well, unless it was before.
        """
        deliveries = self.deliveries
        done: list[int] = []
        given: CompletedSums[W] = {}
        for id, delivery, state in planned:
            if state != rows.END or not (completes or delivery.completed):
                deliveries[id] = delivery._replace(state=state)
                continue
            del deliveries[id]
            if not delivery.completed:
                done.append(id)
                _count(given, delivery)
        return (ids if len(done) == len(planned) else RangeSet.of(*done)), given

    def accepted_provisionally(self, planned: NextStates[W]) -> None:
        """Notes that the plan's deliveries are accepted in a transaction; call it before `apply`."""
        self.provisional.update({id: delivery for id, delivery, _ in planned})

    def decided(self, committed: bool) -> None:
        """Ends the transaction: what was accepted in it is ours for good or, rolled back, acquired and not accepted."""
        if not committed:
            for id, delivery in self.provisional.items():
                now = self.deliveries.get(id)
                self.deliveries[id] = delivery._replace(completed=True if now is None else now.completed)
        self.provisional.clear()

    def acquired(self, asked: RangeSet, acquired: RangeSet) -> None:
        """Notes the result of an acquire for `asked`: `acquired` are ours now, the others are as before."""
        for id in pick(asked, self.deliveries):
            delivery = self.deliveries[id]
            verb = rows.RESULT_ACQUIRED if id in acquired else rows.RESULT_NOT_ACQUIRED
            state = _MOVES[delivery.accept_mode].get((delivery.state, rows.SENDER, verb))
            if state is None:
                continue
            if delivery.completed and delivery.accept_mode == NONE:
                del self.deliveries[id]
            else:
                self.deliveries[id] = delivery._replace(state=state)

    def complete(self, ids: RangeSet) -> CompletedSums[W]:
        """Completes these commands; returns what is new.  Drops what is also settled."""
        given: CompletedSums[W] = {}
        for id in pick(ids, self.deliveries):
            delivery = self.deliveries[id]
            if delivery.completed:
                continue
            _count(given, delivery)
            state = _MOVES[delivery.accept_mode].get((delivery.state, rows.RECIPIENT, rows.COMPLETE), delivery.state)
            if state == rows.END:
                del self.deliveries[id]
            else:
                self.deliveries[id] = delivery._replace(state=state, completed=True)
        return given

    def unsettled(self, subscription: W | None = None) -> RangeSet:
        """Returns transfers with explicit accept that are neither accepted, rejected nor released."""
        return RangeSet([
            (id, id)
            for id, d in self.deliveries.items()
            if d.state != rows.END and d.accept_mode == EXPLICIT and subscription in (None, d.subscription)
        ])  # fmt: skip

    def _tables(self) -> dict[str, dict[int, Delivery[W]]]:
        """Returns both tables, by their names in a snapshot."""
        return {"deliveries": self.deliveries, "provisional": self.provisional}

    def subscriptions(self) -> list[W]:
        """Returns the subscriptions of deliveries, one for each."""
        every = (*self.deliveries.values(), *self.provisional.values())
        return [delivery.subscription for delivery in every if delivery.subscription is not None]

    def snapshot(self, numbers: Mapping[W, int]) -> dict[str, object]:
        """Returns it as plain values, with subscriptions as these numbers."""
        return {
            name: tuple([
                (id, state, accept_mode, None if whose is None else numbers[whose], *more)
                for id, (state, accept_mode, whose, *more) in table.items()
            ])
            for name, table in self._tables().items()
        }  # fmt: skip

    def restore(self, snapshot: Mapping[str, Any], subscriptions: Sequence[W]) -> None:
        """Restores what `snapshot` returned, with `subscriptions` by number.  Raises TypeError, ValueError or KeyError for
        anything else."""
        for name, table in self._tables().items():
            for id, state, accept_mode, at, *more in snapshot[name]:
                table[id] = Delivery(state, accept_mode, None if at is None else subscriptions[at], *more)


def _count(given: CompletedSums[W], delivery: Delivery[W]) -> None:
    subscription = delivery.subscription
    if subscription is not None:
        messages, octets, charge = given.get(subscription, (0, 0, 0))
        given[subscription] = messages + 1, octets + delivery.octets, charge + delivery.charge


class Settling:
    """Takes transfers and both sides' words about them.  A refused word changes nothing.

    Ids that it does not have are in doubt, and no side is accused because of them.
    """

    __slots__ = ("_asked", "_wanted", "standing")

    def __init__(self) -> None:
        self.standing: Final[dict[tuple[int, str], MutableRangeSet]] = {}
        """The ids by accept-mode and state."""
        self._asked: Final[dict[int, tuple[Range, ...]]] = {}
        """The ids of each acquire without a result, by its command id."""
        self._wanted = 0
        """The number of ranges in those."""

    def sent(self, low: int, high: int, accept_mode: int, acquired: bool) -> None:
        """Notes transfers of the sender with ids from `low` to `high`; `acquired`: they are pre-acquired."""
        verb = rows.TRANSFER_PRE_ACQUIRED if acquired else rows.TRANSFER_NOT_ACQUIRED
        self._at(accept_mode, rows.TRANSFER[accept_mode].moves[rows.START, rows.SENDER, verb]).add_range(low, high)

    def said(self, speaker: str, verb: str, ids: RangeSet) -> RangeSet:
        """Takes a word about transfers; returns those of them for which it is illegal."""
        refused = EMPTY
        moved: list[tuple[int, str, RangeSet]] = []
        for (accept_mode, state), standing in self.standing.items():
            found = standing.common(ids)
            if found:
                after = rows.TRANSFER[accept_mode].moves.get((state, speaker, verb))
                if after is None:
                    refused |= found
                elif after != state:
                    standing.discard(found)
                    moved.append((accept_mode, after, found))
        for accept_mode, after, found in moved:
            self._at(accept_mode, after).update(found)
        return refused

    def acquire(self, id: int, ids: RangeSet) -> None:
        """Notes the recipient's acquire with command `id`; its result names those that it gets."""
        self.said(rows.RECIPIENT, rows.ACQUIRE, ids)
        self._asked[id] = ids.ranges
        self._wanted += len(ids.ranges)

    def acquired(self, id: int, ids: RangeSet) -> None:
        """Notes the sender's result for that command: these are the recipient's."""
        asked = self._answered(id)
        self.said(rows.SENDER, rows.RESULT_ACQUIRED, asked & ids)
        self.said(rows.SENDER, rows.RESULT_NOT_ACQUIRED, asked - ids)

    def _answered(self, id: int) -> RangeSet:
        asked = self._asked.pop(id, ())
        self._wanted -= len(asked)
        return RangeSet(asked)

    def bound(self, next_id: int, ranges: int) -> bool:
        """Keeps at most `ranges` ranges of each set of ids before the next id; returns whether it dropped the oldest."""
        gone = [bound(standing, next_id, ranges) for standing in self.standing.values()]
        while self._wanted > ranges:
            gone.append(bool(self._answered(next(iter(self._asked)))))
        return any(gone)

    def lose(self) -> None:
        """Drops everything after a gap."""
        self.standing.clear()
        self._asked.clear()
        self._wanted = 0

    def _at(self, accept_mode: int, state: str) -> MutableRangeSet:
        return self.standing.setdefault((accept_mode, state), MutableRangeSet())
