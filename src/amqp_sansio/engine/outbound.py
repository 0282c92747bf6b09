"""Our half of a session: the commands that we send, and the peer's feedback about them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from amqp_sansio.engine.demarcation import COMMANDS
from amqp_sansio.errors import LimitError
from amqp_sansio.events import BranchAnswered, BranchesRecovered, BranchTimeout, Event, TransactionEnded, TransactionOutcome
from amqp_sansio.kernel.picking import ById
from amqp_sansio.kernel.serials import MutableRangeSet, RangeSet, serial_add, serial_le, serial_lt
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.ledger.credit import Credit
from amqp_sansio.ledger.ids import WIDEST, OwnIds, trim
from amqp_sansio.limits import Limits
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import ErrorCode, XaStatus
from amqp_sansio.tables.connection import OTHER_SIDE
from amqp_sansio.tables.session import CLIENT, COMMAND_POINT, EXPECTED, FLUSH_EXPECTED

_STATUSES: Final = {int(status): status for status in XaStatus}

Said = tuple[bytes, bytes | None, bytes | None]
"""The octets of a command: command, header and body segment.  Frames are cut anew on replay."""

_SETS: Final = {"outstanding": "outstanding", "confirmed": "confirmed", "known": "known"}
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

    def say_again(self, id: int) -> Said:
        """Records a replayed command, which follows `position`; returns its octets."""
        self.position = serial_add(id, 1)
        return self.kept[id]

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
        events: list[Event | None] = []
        for id in self.asked.among(ids):
            command = self.asked[id]
            if not command.RESULT:
                del self.asked[id]
                events.append(self._end(id, command, TransactionOutcome.COMMITTED, XaStatus.XA_OK, None))
        return [event for event in events if event is not None]

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
        return [event for event in events if event is not None]

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
            "outbound": {**begun, **self._sets(_SETS), "retain": self.retain, "kept": tuple(self.kept.items())},
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
        self._restore_sets(_SETS, half)
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


def _undone(refused: tuple[int, int] | None, id: int) -> bool:
    """Returns whether a commit was certainly not executed: it was refused, or sent after a refused command.

    A commit that failed inside the server (internal-error) may have taken effect.
    """
    if refused is None:
        return False
    at, code = refused
    return serial_le(at, id) and (serial_lt(at, id) or code != ErrorCode.INTERNAL_ERROR)
