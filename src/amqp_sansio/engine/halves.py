"""The two halves of a session: the commands that we receive and the feedback that we owe, and those that we send."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from amqp_sansio.engine.demarcation import COMMANDS
from amqp_sansio.errors import LimitError, LocalProtocolError
from amqp_sansio.events import BranchAnswered, BranchesRecovered, BranchTimeout, Event, TransactionEnded, TransactionOutcome
from amqp_sansio.kernel.serials import EMPTY, HALF, TOP, ById, MutableRangeSet, RangeSet, pick, serial_add, serial_le, serial_lt
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.ledger.credit import Credit
from amqp_sansio.ledger.ids import WIDEST, OwnIds, trim
from amqp_sansio.limits import Limits
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import ErrorCode, XaStatus
from amqp_sansio.tables.connection import OTHER_SIDE
from amqp_sansio.tables.session import CLIENT, COMMAND, COMMAND_POINT, EXPECTED, FLUSH_EXPECTED, SERVER

TIMELY_IDS: Final = 256
"""We ask for a known-completed (timely-reply) when the set of completed commands that the sender does not know to be complete
has grown by this number of ids."""
TIMELY_RANGES: Final = 16
"""We also ask for it when that set has this many ranges.  With more of them, a report names only those that have changed."""
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


_owed: Final = lru_cache(256)(Owed)  # one for each command: to make a named tuple takes longer than to find it
_INBOUND_SETS: Final = {
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
        self.owed[id] = _owed(class_code, code, result)
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
        """Does what `tell_completed` does, if that is one range of less than half of all ids; otherwise returns None, and
        changes nothing."""
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
        half = {**seen, **self._sets(_INBOUND_SETS), "syncs": tuple(syncs)}
        owed = tuple([(id, tuple(each)) for id, each in self.owed.items()])
        return {"inbound": half, "owed": owed}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        half = snapshot["inbound"]
        received, syncs = half["received"], half["syncs"]
        self._restore_sets(_INBOUND_SETS, half)
        self.begun = received is not None
        self.cursor, self.next_id = [RangeSet.of(id).first for id in (half["cursor"], 0 if received is None else received)]
        self.syncs, self.sync_count = MutableRangeSet(RangeSet.of(*syncs)), len(syncs)
        self.owed.update({id: Owed(*each) for id, each in snapshot["owed"]})


_STATUSES: Final = {int(status): status for status in XaStatus}

Said = tuple[bytes, bytes | None, bytes | None]
"""The octets of a command: command, header and body segment.  Frames are cut anew on replay."""

_OUTBOUND_SETS: Final = {"outstanding": "outstanding", "confirmed": "confirmed", "known": "known"}
"""The sets of ids, by their names in a snapshot."""


class Outbound(OwnIds):
    """Our ids, the octets kept for replay, and the commands that await an answer.

    * `position`: the id that the peer will give to the next command on this attachment; None before any command-point on it.
    * `known_due`: the peer asked for a timely reply about what is `known`.
    * `expected_asked`: how many session.expected are still to come, one for each flush that asked for it.
    * `kept`: octets that may have to be replayed; empty unless `retain`.
    * `bare`: ids in doubt whose octets are not kept.  Those sent from `bare_from` on, while nothing was kept, are added on
      demand.
    * `asked`: commands in the order sent that await a result or, of class tx and dtx, their outcome.
    * `stray`: the number of results without a command that awaits one.
    * `boundary`: the id after our last tx.select, tx.commit or tx.rollback, where the open transaction begins.
    * `refused`: id and error code of the command at which the peer ended the session; later commands are undone.
    """

    __slots__ = (
        "_freed",
        "_session",
        "asked",
        "bare",
        "bare_from",
        "boundary",
        "expected_asked",
        "kept",
        "kept_octets",
        "known_due",
        "position",
        "producer",
        "refused",
        "retain",
        "stray",
    )

    def __init__(self, retain: bool, sender: str = CLIENT, session: bytes = b"") -> None:
        super().__init__(sender)
        self._session: Final = session
        self.position: int | None = None
        self.known_due = False
        self.expected_asked = 0
        self.retain = retain
        self.producer: Credit | None = None
        """The credit in messages that the peer grants to our publishing; None unless it ever throttled us."""
        self.kept: Final[ById[Said]] = ById()
        self.kept_octets = 0
        self._freed: Callable[[], object] | None = None
        self.bare: MutableRangeSet = MutableRangeSet()
        self.bare_from = 0
        self.asked: Final[ById[Command]] = ById()
        self.stray = 0
        self.boundary = 0
        self.refused: tuple[int, int] | None = None

    @property
    def throttled(self) -> bool:
        """Whether the peer has paused our publishing."""
        return self.producer is not None and not self.producer.available

    def check_room(self, octets: int, limits: Limits, commands: int = 1) -> None:
        """Raises LimitError when `commands` commands of `octets` octets in total cannot be kept for replay.

        Changes nothing.
        """
        if len(self.kept) + commands > limits.replay_commands:
            raise LimitError("replay_commands", limits.replay_commands, len(self.kept) + commands)
        if self.kept_octets + octets > limits.replay_octets:
            raise LimitError("replay_octets", limits.replay_octets, self.kept_octets + octets)

    def when_freed(self, then: Callable[[], object] | None) -> None:
        """Calls `then` each time when less is kept than before; None: nobody waits for that."""
        self._freed = then

    def say(self, payload: bytes, header: bytes | None, body: bytes | None) -> int:
        """Records a written command; returns its id."""
        id = self.next_id
        self.next_id = self.position = (id + 1) & 0xFFFFFFFF
        self.begun = True
        self.outstanding.add(id)
        if self.retain:
            self.kept[id] = (payload, header, body)
            self.kept_octets += len(payload) + len(header or b"") + len(body or b"")
        return id

    def stop_retaining(self) -> None:
        """Stops keeping commands for replay: no detached lifetime is wanted any more."""
        if self.retain:
            self.retain = False
            self.bare.update(self.kept.ids.freeze())
            self.bare_from = self.next_id
        self.kept.clear()
        self.kept_octets = 0
        if self._freed is not None:
            self._freed()

    def begin_retaining(self) -> None:
        """Keeps everything sent from here on."""
        if not self.retain:
            self._look_up_bare()
            self.retain = True

    def _look_up_bare(self) -> None:
        """Adds to `bare` what was sent while nothing was kept and is in doubt; costs as much as was sent since."""
        if self.bare_from != self.next_id:
            said = RangeSet([(self.bare_from, serial_add(self.next_id, -1))])
            self.bare.update(self.confirmed.missing(self.outstanding.common(said)))
            self.bare_from = self.next_id

    def begin_attachment(self) -> None:
        """Starts a new attachment, which needs a command-point again."""
        super().begin_attachment()
        self.position = None
        self.expected_asked = 0
        self.known_due = False

    def point(self, id: int) -> None:
        """Records a sent command-point: the next command has this id."""
        self.stream.step(self.sender, COMMAND_POINT)
        self.position = id

    def say_again(self, id: int) -> None:
        """Records a replayed command, which follows `position`."""
        self.position = serial_add(id, 1)

    def stop_producer(self) -> None:
        """Records that the peer stopped our publishing with message.stop."""
        self.producer = Credit()

    def ask_expected(self) -> None:
        """Records a sent flush that asks for the expected commands."""
        self.stream.step(self.sender, FLUSH_EXPECTED)
        self.expected_asked += 1

    def hear_expected(self) -> bool:
        """Records a session.expected; returns whether it answers one of our flushes."""
        if self.stream.step(OTHER_SIDE[self.sender], EXPECTED) is not None or not self.expected_asked:
            return False
        self.expected_asked -= 1
        return True

    def completed(self, ids: RangeSet, timely: bool, beyond: RangeSet | None = None) -> RangeSet:
        """Handles session.completed; returns the ids that were not complete before.

        Ignores ids that were never sent: `beyond`, where the caller knows them.
        """
        if beyond is None:
            beyond = self.beyond(ids)
        news = self.complete(ids)
        if news and (self.kept or self.bare.highs):
            self._drop(news)
        self.known.update(ids - beyond if beyond else ids)
        trim(self.known, self.next_id)
        if timely:
            self.known_due = True
        return news

    def completed_run(self, low: int, high: int, timely: bool = False) -> RangeSet | None:
        """Does the same as `completed` for one range of ids, where no set algebra is needed (nearly always).

        Returns None, and changes nothing, when `complete_run` does or what is known would no longer be a range.
        """
        known, tops = self.known.lows, self.known.highs
        if (tops and (len(tops) > 1 or not known[0] <= low <= tops[0] + 1)) or high - (known[0] if tops else low) >= WIDEST:
            return None
        news = self.complete_run(low, high)
        if news is None:
            return None
        if not tops:
            known.append(low)
            tops.append(high)
        elif tops[0] < high:
            tops[0] = high
        if timely:
            self.known_due = True
        if self.kept or self.bare.highs:
            self._drop(news)
        return news

    def confirm(self, ids: RangeSet) -> RangeSet:
        """Handles session.confirmed; returns the ids that were not confirmed before, whose octets are dropped."""
        news = super().confirm(ids)
        if news:
            self._drop(news)
        return news

    def take_known(self) -> RangeSet:
        """Returns what known-completed has to report now, and forgets it."""
        ids = self.known.freeze()
        self.known.clear()
        self.known_due = False
        return ids

    def wanted(self, expected: RangeSet) -> RangeSet:
        """Returns which of our ids the peer wants when it expects these, a non-empty set.

        A set cannot be open-ended: its greatest id stands for itself and everything after it.
        """
        last = expected.last
        wanted = expected - self.beyond(expected)
        if serial_lt(last, self.next_id):
            wanted |= RangeSet([(last, serial_add(self.next_id, -1))])
        return wanted

    def ever(self, ids: RangeSet) -> RangeSet:
        """Returns the ids that may belong to commands of this session; the others are too far back."""
        return ids & RangeSet([(serial_add(self.next_id, -WIDEST), serial_add(self.next_id, -1))])

    def missing(self, wanted: RangeSet) -> RangeSet:
        """Returns the ids that are in doubt and whose octets were not kept: the session cannot be resumed."""
        if not self.retain:
            self._look_up_bare()
        return self.bare.common(wanted)

    def _drop(self, ids: RangeSet) -> None:
        """Drops the octets of ids that are no longer in doubt."""
        if self.bare.highs:
            self.bare.discard(ids)
        for payload, header, body in self.kept.take(ids):
            self.kept_octets -= len(payload) + len(header or b"") + len(body or b"")
        if self._freed is not None:
            self._freed()

    # --- outcomes of commands with a result and of classes tx and dtx: one event each, once it is known or can never be ------

    def expect_answer(self, id: int, command: Command) -> None:
        """Records a command that has a result, or is of class tx or dtx."""
        if isinstance(command, tx.Select | tx.Commit | tx.Rollback):
            self.boundary = (id + 1) & 0xFFFFFFFF
        if not isinstance(command, tx.Select | dtx.Select):
            self.asked[id] = command

    def asked_for(self, id: int) -> Command | None:
        """Returns our command `id`, for which an execution.result came; None when it awaits no result."""
        command = self.asked.get(id)
        if command is None or not command.RESULT:
            self.stray += 1
            return None
        return command

    def refuse(self, id: int, error_code: int) -> None:
        """Records that the peer refused our command `id` and ends the session."""
        self.refused = id, error_code

    def answered(self, id: int, command: Command, value: Struct | None) -> Event | None:
        """Handles the result of our command `id`; returns the event if it concerns a branch, else None."""
        del self.asked[id]
        return self._answer(id, command, value, status_of(value))

    def executed(self, ids: RangeSet) -> list[Event]:
        """Handles the completion of commands; returns the events of those without a result."""
        done = [(id, self.asked.remove(id)) for id in self.asked.among(ids) if not self.asked[id].RESULT]
        return _present([self._end(id, command, TransactionOutcome.COMMITTED, XaStatus.XA_OK, None) for id, command in done])

    def ended(self) -> list[Event]:
        """Ends the session: returns an event for each command without an answer, in the order sent."""
        refused = self.refused
        commands = list(self.asked.items())
        self.asked.clear()
        events: list[Event | None] = []
        for id, command in commands:
            outcome = TransactionOutcome.ROLLED_BACK if _undone(refused, id) else TransactionOutcome.UNKNOWN
            code = refused[1] if refused is not None and refused[0] == id else None
            events.append(self._end(id, command, outcome, None, code))
        return _present(events)

    def _end(
        self, id: int, command: Command, commit: TransactionOutcome, status: XaStatus | None, refused: int | None
    ) -> Event | None:
        """Returns the event of an unanswered command: `commit` is a commit's outcome; a rollback counts as done."""
        if isinstance(command, tx.Commit | tx.Rollback):
            outcome = commit if isinstance(command, tx.Commit) else TransactionOutcome.ROLLED_BACK
            return TransactionEnded(self._session, id, outcome)
        return self._answer(id, command, None, status, refused)

    def _answer(
        self, id: int, command: Command, value: Struct | None, status: XaStatus | None, refused: int | None = None
    ) -> Event | None:
        """Returns the event of an answer; without `value` and `status`, that of a missing answer."""
        name = self._session
        if isinstance(command, dtx.Recover):
            if not isinstance(value, dtx.RecoverResult):
                return BranchesRecovered(name, id, None)
            return BranchesRecovered(name, id, tuple([each for each in value.in_doubt or () if isinstance(each, dtx.Xid)]))
        xid: object = getattr(command, "xid", None)
        if not isinstance(xid, dtx.Xid):
            return None
        if isinstance(command, dtx.GetTimeout):
            return BranchTimeout(name, id, xid, value.timeout if isinstance(value, dtx.GetTimeoutResult) else None)
        return BranchAnswered(name, id, command.VERB, xid, status, refused)

    # --- snapshots ------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> dict[str, object]:
        """Returns the state as plain values, without what belongs to one attachment."""
        begun = {"next_id": self.next_id, "sent": self.begun}
        asked = self.asked.items()
        return {
            "outbound": {**begun, **self._sets(_OUTBOUND_SETS), "retain": self.retain, "kept": tuple(self.kept.items())},
            "producer": self.producer and self.producer.snapshot(),
            "asked": tuple([each for each in asked if each[1].RESULT]),
            "stray": self.stray,
            "unanswered": {
                "commands": tuple([each for each in asked if isinstance(each[1], COMMANDS)]),
                "boundary": self.boundary,
                "refused": self.refused,
            },
        }

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restores what `snapshot` returned.  Raises TypeError, ValueError or KeyError for anything else."""
        half, producer, unanswered = snapshot["outbound"], snapshot["producer"], snapshot["unanswered"]
        self._restore_sets(_OUTBOUND_SETS, half)
        self.next_id = self.bare_from = RangeSet.of(half["next_id"]).first
        self.begun, self.retain = typed(half["sent"], bool), typed(half["retain"], bool)
        self.kept.add_all(dict(half["kept"]))
        self.kept_octets = sum([len(segment or b"") for said in self.kept.values() for segment in said])
        self.bare.update(self.outstanding.freeze() - self.confirmed.freeze() - self.kept.ids.freeze())
        self.producer = None if producer is None else Credit(*producer)
        self.asked.add_all(dict(unanswered["commands"]) | dict(snapshot["asked"]))
        self.stray, self.boundary = typed(snapshot["stray"], int), typed(unanswered["boundary"], int)
        self.refused = typed(unanswered["refused"], tuple, type(None))


def status_of(value: Struct | None) -> XaStatus | None:
    """Returns the status of a branch in a result; None when it has none."""
    return _STATUSES.get(value.status) if isinstance(value, dtx.XaResult) and value.status is not None else None


def _present(events: list[Event | None]) -> list[Event]:
    return [event for event in events if event is not None]


def _undone(refused: tuple[int, int] | None, id: int) -> bool:
    """Returns whether a commit was certainly not executed: it was refused, or sent after a refused command.

    A commit that failed inside the server (internal-error) may have taken effect.
    """
    if refused is None:
        return False
    at, code = refused
    return serial_le(at, id) and (serial_lt(at, id) or code != ErrorCode.INTERNAL_ERROR)
