"""The peer's half of a session: the commands that we receive, and the feedback that we owe for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.kernel.picking import pick
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, MutableRangeSet, RangeSet, serial_add, serial_lt
from amqp_sansio.ledger.credit import Credit
from amqp_sansio.ledger.ids import OwnIds, trim
from amqp_sansio.spec.base import Struct
from amqp_sansio.tables.session import COMMAND, COMMAND_POINT, SERVER

TIMELY_IDS: Final = 256
"""We ask for a reply when the set of completed commands unknown to the sender has grown by this number of ids."""
TIMELY_RANGES: Final = 16
EXPECTED_RANGES: Final = 64
"""The largest number of holes named in session.expected; the last id named stands for all that follow."""

ASKED_EXPECTED: Final = 1
ASKED_CONFIRMED: Final = 2
ASKED_COMPLETED: Final = 4

DUPLICATE: Final = -1
"""Instead of an id: the command is a duplicate."""


class Owed(NamedTuple):
    """A command of the peer that is not complete: its codes, and the name of the result that it awaits ("" for none)."""

    class_code: int
    code: int
    result: str


_SETS: Final = {
    "holes": "holes", "gapped": "gapped", "incomplete": "outstanding", "skipped": "skipped", "completed": "known",
    "confirmed": "confirmed",
}  # fmt: skip
"""The sets of ids, by their names in a snapshot."""


class Inbound(OwnIds):
    """The ids of the peer's commands, and what a receiver adds: holes, and the feedback that it owes.

    * `pointed`: a command may come on this attachment, according to `stream`.
    * `cursor`: the id of the next command in the stream; `next_id`: the one after the highest received.
    * `holes`: ids below `next_id` that were never received; `gapped`: ids ahead of the cursor that will never come.
    * `outstanding`: received and not complete, except execution.sync, which waits in `syncs` (`sync_count` of them).
    * `skipped`: ids that a gap has completed while the application still works on their commands.
    * `owed`: the incomplete commands other than transfers.
    """

    __slots__ = (
        "counting",
        "cursor",
        "answered",
        "asked",
        "due",
        "gapped",
        "holes",
        "owed",
        "pointed",
        "skipped",
        "sync_count",
        "syncs",
        "throttle",
        "timely_at",
        "untold",
    )

    def __init__(self, sender: str = SERVER) -> None:
        super().__init__(sender)
        self.pointed = False
        self.cursor = 0
        self.holes: MutableRangeSet = MutableRangeSet()
        self.gapped: MutableRangeSet = MutableRangeSet()
        self.skipped: MutableRangeSet = MutableRangeSet()
        self.syncs: MutableRangeSet = MutableRangeSet()
        self.sync_count = 0
        self.throttle: Credit | None = None
        """The credit, in messages, that we granted to the peer's publishing; None unless we ever throttled it."""
        self.due = False
        """Whether there are completions not sent yet on this attachment."""
        self.asked = 0
        """What a flush asked for and we have not sent yet: ASKED_EXPECTED | ASKED_CONFIRMED | ASKED_COMPLETED."""
        self.answered = 0
        """What we answered at once since octets were last taken."""
        self.timely_at = 0
        self.counting = False
        """Whether `untold` holds all completions since the last report: it does once they form many ranges."""
        self.untold: MutableRangeSet = MutableRangeSet()
        self.owed: dict[int, Owed] = {}

    def begin_attachment(self) -> None:
        """Starts a new attachment: no command may come before a command-point."""
        super().begin_attachment()
        self.pointed = self.stream.can(self.sender, COMMAND)
        self.timely_at = 0
        self.counting = False
        self.due = False
        self.asked = self.answered = 0

    def resume(self) -> bool:
        """Resumes the session on a new attachment; returns whether there are completions to report."""
        self.due = bool(self.known)
        return self.due

    def stop_publisher(self) -> None:
        """Records that we stopped the peer's publishing with message.stop."""
        self.throttle = Credit()

    def point(self, id: int) -> None:
        """Handles session.command-point with offset 0: the next command has this id.

        A lower id than the highest received: the commands up to there are duplicates.  A higher one: the ids in between become
        holes.
        """
        self.stream.step(self.sender, COMMAND_POINT)
        self.pointed = self.stream.can(self.sender, COMMAND)
        if not self.begun:
            self.begun, self.next_id = True, id
        elif serial_lt(self.next_id, id):
            self._open_hole(id)
        self.cursor = id
        if self.gapped:
            self.gapped.discard(RangeSet([(serial_add(id, 1 - HALF), serial_add(id, -1))]))

    def take(self) -> int:
        """Counts a complete command; returns its id, or DUPLICATE."""
        id = self.cursor
        if id == self.next_id:
            self.next_id = self.cursor = (id + 1) & 0xFFFFFFFF
            return id
        if self.gapped and id in self.gapped:
            id = self._behind_gap(id)
        self.cursor = next_id = (id + 1) & 0xFFFFFFFF
        if id == self.next_id:
            self.next_id = next_id
            return id
        if id in self.holes:
            self.holes.discard_id(id)
            return id
        if id in self.known:
            self._update_completed(RangeSet.of(id))  # the sender seems to have missed our report
            self.due = True
        return DUPLICATE

    @property
    def last(self) -> int:
        """The id of the command that `take` counted last."""
        return serial_add(self.cursor, -1)

    def seen(self, id: int) -> bool:
        """Returns whether a command with this id was ever received."""
        return self.begun and serial_lt(id, self.next_id) and id not in self.holes

    def complete(self, ids: RangeSet) -> RangeSet:
        """Completes these commands, a subset of `outstanding` and `skipped`; returns those that were not complete before."""
        if self.skipped.highs:
            ids -= self.skipped.take(ids)
        self.outstanding.discard(ids)  # all are outstanding: `Ids.complete` would check that
        if self.confirmed.highs:
            self.confirmed.discard(ids)
        self._update_completed(ids)
        for id in pick(ids, self.owed) if self.owed else ():
            del self.owed[id]
        self.due = True
        self.settle_syncs()
        return ids

    def complete_one(self, id: int) -> None:
        """Completes one command, which no gap has skipped."""
        self.outstanding.discard_id(id)
        self.owed.pop(id, None)
        if self.confirmed.lows:
            self.confirmed.discard_id(id)
        self.known.add(id)
        if self.counting:
            self.untold.add(id)
        self.due = True
        if self.sync_count:
            self.settle_syncs()

    def owe(self, id: int, class_code: int, code: int, result: str) -> int:
        """Records an incomplete command; returns how many there are."""
        self.owed[id] = Owed(class_code, code, result)
        return len(self.owed)

    def check_result(self, id: int, value: Struct | None) -> None:
        """Raises LocalProtocolError unless the peer's command `id` awaits a result of this type."""
        owed = self.owed.get(id)
        if owed is None or not owed.result:
            waiting = tuple([f"execution.result for {id}: {o.result}" for id, o in self.owed.items() if o.result][:8])
            raise LocalProtocolError(f"execution.result for {id}", "no result is owed", waiting, "execution")
        if value is not None and owed.result != value.NAME:
            raise LocalProtocolError(
                f"execution.result {value.NAME} for {id}", "another result is owed", (f"execution.result {owed.result}",)
            )

    def given(self, id: int) -> None:
        """Records that the result of the peer's command `id` was sent."""
        self.owed[id] = self.owed[id]._replace(result="")

    def check_results_given(self, ids: RangeSet) -> None:
        """Raises LocalProtocolError when one of these commands still awaits its result, which must come first."""
        waiting = [id for id in pick(ids, self.owed) if self.owed[id].result]
        if waiting:
            legal = tuple([f"execution.result for {id}: {self.owed[id].result}" for id in waiting[:8]])
            raise LocalProtocolError(f"session.completed {RangeSet.of(*waiting)}", "a result is owed", legal)

    def add_sync(self, id: int) -> None:
        """Records an execution.sync."""
        self.syncs.add(id)
        self.sync_count += 1
        self.settle_syncs()

    def settle_syncs(self) -> None:
        """Completes each execution.sync before which all commands have arrived and are complete."""
        if not self.syncs:
            return
        oldest = serial_add(self.next_id, -HALF)
        first = self.syncs.next_from(oldest)
        stop = self.next_id
        for pending in (self.outstanding, self.holes):
            other = pending.next_from(oldest)
            if other is not None and serial_lt(other, stop):
                stop = other
        if first is None or not serial_lt(first, stop):
            return
        done = self.syncs.take(RangeSet.span(first, serial_add(stop, -1)))
        self.sync_count -= len(done)
        self._update_completed(done)
        self.due = True

    def gap(self, ids: RangeSet) -> RangeSet:
        """Handles session.gap: these ids will never come.  Returns those that were not received before.

        All of them now count as completed and confirmed, including received commands that are still incomplete.
        """
        if not ids:
            return EMPTY
        if not self.begun:
            self.begun, self.next_id, self.cursor = True, ids.first, ids.first
        ahead = self.beyond(ids)
        news = self.holes.common(ids) | ahead
        if ahead:
            self._open_hole(serial_add(ahead.last, 1))
        self.holes.discard(news)
        skipped = self.outstanding.take(ids)
        self.skipped.update(skipped)
        syncs = self.syncs.take(ids)
        self.sync_count -= len(syncs)
        done = news | skipped | syncs
        self._update_completed(done)
        self.due = self.due or bool(done)
        self.confirmed.discard(done)
        self.gapped.update(ids & RangeSet([(self.cursor, serial_add(self.cursor, HALF - 1))]) & news)
        if self.cursor in self.gapped:
            self.cursor = self._behind_gap(self.cursor)
        self.settle_syncs()
        trim(self.known, self.next_id)
        return news

    def _update_completed(self, ids: RangeSet) -> None:
        self.known.update(ids)
        if self.counting:
            self.untold.update(ids)

    def ask(self, asked: int) -> int:
        """Handles a flush; returns what to answer at once.

        If the peer repeats it before our octets are taken, we answer just once more, later: the answer may be 4000 times as
        long.
        """
        new = asked & ~self.answered
        self.asked |= asked & self.answered
        self.answered |= asked
        return new

    def take_asked(self) -> int:
        """Returns what is still to be answered."""
        asked, self.asked, self.answered = self.asked, 0, 0
        return asked

    def tell_confirmed(self) -> RangeSet:
        """Returns the confirmations to report: we confirm every command that is complete."""
        if self.known.range_count > TIMELY_RANGES:
            self.due = True  # Reported once in full; a repeated request does not get it all again.
        return self.confirmed.freeze() | self.untold_completed()

    def tell_completed(self) -> RangeSet:
        """Returns the completions to report: all unknown to the sender or, with many ranges, those that have changed.

        Reports a changed range whole: some clients only understand up to which id everything is complete.
        """
        # By the letter, completed informs "of all commands completed", except those that the sender is known to consider
        # complete.  What we leave out here was reported with timely-reply on this attachment, after which "the sender is no
        # longer free to delay the known-completed reply", and that reply would have removed it from the set.  A sender that
        # keeps this rule gets everything; one that does not would make us repeat the same thousands of ranges at each flush.
        told = self.untold_completed()
        self.due = False
        self.counting = self.known.range_count > TIMELY_RANGES
        self.untold.clear()
        return told

    def tell_one_range(self) -> tuple[int, int] | None:
        """Does the same for one range of less than half of all ids; otherwise returns None, with nothing changed."""
        lows, highs = self.known.lows, self.known.highs
        if len(lows) != 1 or self.counting or highs[0] - lows[0] >= HALF:
            return None
        self.due = False
        self.untold.clear()
        return lows[0], highs[0]

    def untold_completed(self) -> RangeSet:
        """What `tell_completed` would report."""
        return self.known.around(self.untold.freeze()) if self.counting else self.known.freeze()

    def known_completed(self, ids: RangeSet) -> None:
        """Handles session.known-completed: the sender knows of these, and we need not repeat them."""
        self.known.discard(ids)
        self.confirmed.discard(ids)
        self.timely_at = 0

    def expected(self, new: bool) -> RangeSet:
        """Returns what we expect: the holes and the id after the highest received; nothing for a `new` session."""
        if not self.begun:
            return EMPTY if new else RangeSet.of(0)
        holes = self.holes.first_ranges(serial_add(self.next_id, -HALF), EXPECTED_RANGES)
        return holes if self.holes.range_count > EXPECTED_RANGES else holes | RangeSet.of(self.next_id)

    def wants_timely(self) -> bool:
        """Returns whether to ask for known-completed now, because what the sender does not know has grown."""
        known = self.known
        many = len(known.lows) >= TIMELY_RANGES
        size = 0 if many else len(known)
        if many or size - self.timely_at >= TIMELY_IDS:
            self.timely_at = size
            trim(self.known, self.next_id)
            return True
        return False

    @property
    def ranges(self) -> int:
        """The largest number of ranges in any set that the peer can make grow."""
        return max(self.holes.range_count, self.known.range_count, self.gapped.range_count)

    def _open_hole(self, id: int) -> None:
        """Makes `id` the next expected one, and the ids before it holes."""
        self.holes.add_range(self.next_id, serial_add(id, -1))
        self.next_id = id
        trim(self.holes, id)

    def _behind_gap(self, id: int) -> int:
        """Returns the id after the gap that contains this one."""
        end = self.gapped.end_of(id)
        if end == TOP and 0 in self.gapped:
            end = self.gapped.end_of(0)
        self.gapped.discard(RangeSet([(serial_add(end, 1 - HALF), end)]))
        return serial_add(end, 1)

    def snapshot(self) -> dict[str, object]:
        """Returns the state as plain values, without what belongs to one attachment."""
        seen = {"cursor": self.cursor, "received": self.next_id if self.begun else None}
        syncs = [id for low, high in zip(self.syncs.lows, self.syncs.highs, strict=True) for id in range(low, high + 1)]
        half = {**seen, **self._sets(_SETS), "syncs": tuple(syncs)}
        owed = tuple([(id, tuple(each)) for id, each in self.owed.items()])
        return {"inbound": half, "throttle": self.throttle and self.throttle.snapshot(), "owed": owed}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        half, throttle = snapshot["inbound"], snapshot["throttle"]
        received, syncs = half["received"], half["syncs"]
        self._restore_sets(_SETS, half)
        self.begun = received is not None
        self.cursor, self.next_id = [RangeSet.of(id).first for id in (half["cursor"], 0 if received is None else received)]
        self.syncs, self.sync_count = MutableRangeSet(RangeSet.of(*syncs)), len(syncs)
        self.throttle = None if throttle is None else Credit(*throttle)
        self.owed.update({id: Owed(*each) for id, each in snapshot["owed"]})
