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
"""By how many ids the set of completed commands that the sender does not know of may grow before we ask for its reply."""
TIMELY_RANGES: Final = 16
EXPECTED_RANGES: Final = 64
"""Holes that are named where commands are expected: the last id that is named stands for all that follow."""

ASKED_EXPECTED: Final = 1
ASKED_CONFIRMED: Final = 2
ASKED_COMPLETED: Final = 4

DUPLICATE: Final = -1
"""Not an id: the command was received before."""


class Owed(NamedTuple):
    """A command of the other side that is not complete: its codes, and the name of the result that it waits for or ""."""

    class_code: int
    code: int
    result: str


_SETS: Final = {
    "holes": "holes", "gapped": "gapped", "incomplete": "outstanding", "skipped": "skipped", "completed": "known",
    "confirmed": "confirmed",
}  # fmt: skip
"""Sets of ids by their names in a snapshot."""


class Inbound(OwnIds):
    """The book of the other side's ids, and what a receiver adds: holes, and what it has to tell.

    * `pointed`: a command may come on this attachment, as `stream` says.  `cursor`: the id of the next command in the stream.
    * `next_id`: the one after the highest seen.
    * `holes`: ids below it that were never seen.  `gapped`: ids ahead of the cursor that will never come.
    * `outstanding`: as far as it was received; an execution.sync waits in `syncs` instead, `sync_count` of them.
    * `skipped`: those of them that a gap has completed while the application still works on them.
    * `owed`: those of them that are no transfers.
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
        """What we let the other side publish, in messages; None as long as we never throttled it."""
        self.due = False
        """There are completions that we have not sent on this attachment."""
        self.asked = 0
        """What a flush of the other side asked for and we have not sent yet: ASKED_EXPECTED | ASKED_CONFIRMED |
        ASKED_COMPLETED."""
        self.answered = 0
        """What we answered at once since octets were last taken."""
        self.timely_at = 0
        self.counting = False
        """Whether `untold` has all completions since the last report: when they fall into many ranges."""
        self.untold: MutableRangeSet = MutableRangeSet()
        self.owed: dict[int, Owed] = {}

    def begin_attachment(self) -> None:
        """A new transport: nothing may come before a command-point."""
        super().begin_attachment()
        self.pointed = self.stream.can(self.sender, COMMAND)
        self.timely_at = 0
        self.counting = False
        self.due = False
        self.asked = self.answered = 0

    def resume(self) -> bool:
        """The attachment goes on where another ended: whether there are completions to report."""
        self.due = bool(self.known)
        return self.due

    def stop_publisher(self) -> None:
        """We say message.stop of all that the other side publishes."""
        self.throttle = Credit()

    def point(self, id: int) -> None:
        """session.command-point with offset 0: the next command has this id.

        Behind what was seen: what follows was received before, up to there.  Ahead of it: the ids in between are holes.
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
        """A command arrived whole: its id, or DUPLICATE when it was received before."""
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
            self.add_completed(id)  # the sender seems not to have heard
            self.due = True
        return DUPLICATE

    @property
    def last(self) -> int:
        """The id of the command that `take` counted last."""
        return serial_add(self.cursor, -1)

    def seen(self, id: int) -> bool:
        """Whether a command with this id was ever received."""
        return self.begun and serial_lt(id, self.next_id) and id not in self.holes

    def complete(self, ids: RangeSet) -> RangeSet:
        """These commands, a subset of `outstanding` and `skipped`, are executed: what of it is news."""
        if self.skipped.highs:
            ids -= self.skipped.take(ids)
        self.outstanding.discard(ids)  # all are there: `Ids.complete` would look which
        if self.confirmed.highs:
            self.confirmed.discard(ids)
        self._update_completed(ids)
        for id in pick(ids, self.owed) if self.owed else ():
            del self.owed[id]
        self.due = True
        self.settle_syncs()
        return ids

    def complete_one(self, id: int) -> None:
        """`complete` of one command, which no gap has skipped."""
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
        """The other side said a command, which is under way: how many are."""
        self.owed[id] = Owed(class_code, code, result)
        return len(self.owed)

    def check_result(self, id: int, value: Struct | None) -> None:
        """LocalProtocolError unless their command `id` waits for a result of this kind."""
        owed = self.owed.get(id)
        if owed is None or not owed.result:
            waiting = tuple([f"execution.result for {id}: {o.result}" for id, o in self.owed.items() if o.result][:8])
            raise LocalProtocolError(f"execution.result for {id}", "no result is owed", waiting, "execution")
        if value is not None and owed.result != value.NAME:
            raise LocalProtocolError(
                f"execution.result {value.NAME} for {id}", "another result is owed", (f"execution.result {owed.result}",)
            )

    def given(self, id: int) -> None:
        """The result of their command `id` was sent."""
        self.owed[id] = self.owed[id]._replace(result="")

    def check_results_given(self, ids: RangeSet) -> None:
        """LocalProtocolError when a command among them still waits for its result: the result comes first."""
        waiting = [id for id in pick(ids, self.owed) if self.owed[id].result]
        if waiting:
            legal = tuple([f"execution.result for {id}: {self.owed[id].result}" for id in waiting[:8]])
            raise LocalProtocolError(f"session.completed {RangeSet.of(*waiting)}", "a result is owed", legal)

    def add_sync(self, id: int) -> None:
        """This command is an execution.sync."""
        self.syncs.add(id)
        self.sync_count += 1
        self.settle_syncs()

    def settle_syncs(self) -> None:
        """Completes each execution.sync before which every command has come and is complete."""
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
        """session.gap: these ids will never come.  Returns those that were not received before.

        All of them count as completed, and so as confirmed, from now on; so does what was received and is under way.
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

    def add_completed(self, id: int) -> None:
        """One command is completed."""
        self.known.add(id)
        if self.counting:
            self.untold.add(id)

    def _update_completed(self, ids: RangeSet) -> None:
        self.known.update(ids)
        if self.counting:
            self.untold.update(ids)

    def ask(self, asked: int) -> int:
        """A flush of the other side asks for this: what of it is answered at once.

        Said again before our octets are taken, it is answered once more in the end: the answer may be 4000 times as long.
        """
        new = asked & ~self.answered
        self.asked |= asked & self.answered
        self.answered |= asked
        return new

    def take_asked(self) -> int:
        """What is still to be answered."""
        asked, self.asked, self.answered = self.asked, 0, 0
        return asked

    def tell_confirmed(self) -> RangeSet:
        """The confirmations to report; with us, all that is complete is confirmed."""
        if self.known.range_count > TIMELY_RANGES:
            self.due = True  # told once, it is not said all over again to who asks again
        return self.confirmed.freeze() | self.untold_completed()

    def tell_completed(self) -> RangeSet:
        """The completions to report: all that the sender does not know of; of many ranges those that have changed.

        It reports a range whole, for some clients know only up to which id all is complete.
        """
        # The letter: completed informs "of all commands completed", but for those that the receiver knows to be considered
        # complete at the sender.  What is left out here was told with timely-reply on this attachment, and since then "the
        # sender is no longer free to delay the known-completed reply", which would have taken it out of the set.  So whoever
        # keeps that rule gets all; whoever does not would make us say the same thousands of ranges for each flush.
        told = self.untold_completed()
        self.due = False
        self.counting = self.known.range_count > TIMELY_RANGES
        self.untold.clear()
        return told

    def untold_completed(self) -> RangeSet:
        """What `tell_completed` would tell."""
        return self.known.around(self.untold.freeze()) if self.counting else self.known.freeze()

    def known_completed(self, ids: RangeSet) -> None:
        """session.known-completed: the sender knows of these; there is no need to repeat them."""
        self.known.discard(ids)
        self.confirmed.discard(ids)
        self.timely_at = 0

    def expected(self, new: bool) -> RangeSet:
        """What we expect: the holes and the id after the highest seen; nothing when the session is `new` and has no state."""
        if not self.begun:
            return EMPTY if new else RangeSet.of(0)
        holes = self.holes.first_ranges(serial_add(self.next_id, -HALF), EXPECTED_RANGES)
        return holes if self.holes.range_count > EXPECTED_RANGES else holes | RangeSet.of(self.next_id)

    def wants_timely(self) -> bool:
        """Whether to ask for known-completed now: what the sender does not know has grown."""
        many = self.known.range_count >= TIMELY_RANGES
        size = 0 if many else len(self.known)
        if many or size - self.timely_at >= TIMELY_IDS:
            self.timely_at = size
            trim(self.known, self.next_id)
            return True
        return False

    @property
    def ranges(self) -> int:
        """The most ranges in any of the sets that the other side can make grow."""
        return max(self.holes.range_count, self.known.range_count, self.gapped.range_count)

    def _open_hole(self, id: int) -> None:
        """`id` becomes the next one never seen."""
        self.holes.add_range(self.next_id, serial_add(id, -1))
        self.next_id = id
        trim(self.holes, id)

    def _behind_gap(self, id: int) -> int:
        """The id behind the gap in which this one is."""
        end = self.gapped.end_of(id)
        if end == TOP and 0 in self.gapped:
            end = self.gapped.end_of(0)
        self.gapped.discard(RangeSet([(serial_add(end, 1 - HALF), end)]))
        return serial_add(end, 1)

    def snapshot(self) -> dict[str, object]:
        """As plain values, without what belongs to one attachment."""
        seen = {"cursor": self.cursor, "received": self.next_id if self.begun else None}
        syncs = [id for low, high in zip(self.syncs.lows, self.syncs.highs, strict=True) for id in range(low, high + 1)]
        half = {**seen, **self._sets(_SETS), "syncs": tuple(syncs)}
        owed = tuple([(id, tuple(each)) for id, each in self.owed.items()])
        return {"inbound": half, "throttle": self.throttle and self.throttle.snapshot(), "owed": owed}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Takes what `snapshot` gave.  TypeError, ValueError or KeyError for anything else."""
        half, throttle = snapshot["inbound"], snapshot["throttle"]
        received, syncs = half["received"], half["syncs"]
        self._restore_sets(_SETS, half)
        self.begun = received is not None
        self.cursor, self.next_id = [RangeSet.of(id).first for id in (half["cursor"], 0 if received is None else received)]
        self.syncs, self.sync_count = MutableRangeSet(RangeSet.of(*syncs)), len(syncs)
        self.throttle = None if throttle is None else Credit(*throttle)
        self.owed.update({id: Owed(*each) for id, each in snapshot["owed"]})
