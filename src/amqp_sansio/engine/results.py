"""Results, exceptions and outcomes, paired with what asked for them, in both directions."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.errors import LocalProtocolError
from amqp_sansio.events import BranchAnswered, BranchesRecovered, BranchTimeout, Event, TransactionEnded, TransactionOutcome
from amqp_sansio.kernel.picking import ById, pick
from amqp_sansio.kernel.serials import RangeSet, serial_le, serial_lt
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import ErrorCode, XaStatus
from amqp_sansio.spec.execution import Exception_

_STATUSES: Final = {int(status): status for status in XaStatus}


class Owed(NamedTuple):
    """A command of the other side that is not complete: its codes, and the name of the result that it waits for or ""."""

    class_code: int
    code: int
    result: str


class Results:
    """`asked`: our commands that wait for a result or, of class tx and dtx, for their outcome, in the order in which they were
    sent; `owed`: theirs that are under way (transfers excepted).

    * `stray` counts results that nobody asked for.
    * `boundary`: the id behind our last tx.select, tx.commit or tx.rollback: where the open transaction begins.
    * `refused`: id and error code of the command at which the other side ended the session; what came behind it is undone.
    """

    __slots__ = ("_session", "asked", "boundary", "owed", "refused", "stray")

    def __init__(self, session: bytes = b"") -> None:
        self._session: Final = session
        self.asked: Final[ById[Command]] = ById()
        self.owed: dict[int, Owed] = {}
        self.stray = 0
        self.boundary = 0
        self.refused: tuple[int, int] | None = None

    def owe(self, id: int, class_code: int, code: int, result: str) -> int:
        """The other side said a command, which is under way: how many are."""
        self.owed[id] = Owed(class_code, code, result)
        return len(self.owed)

    def refuse(self, id: int, error_code: int) -> None:
        """The other side refused our command `id`, and ends the session."""
        self.refused = id, error_code

    def said(self, id: int, command: Command) -> None:
        """We said a command that has a result, or is of class tx or dtx."""
        if isinstance(command, tx.Select | tx.Commit | tx.Rollback):
            self.boundary = (id + 1) & 0xFFFFFFFF
        if not isinstance(command, tx.Select | dtx.Select):
            self.asked[id] = command

    def received(self, id: int) -> Command | None:
        """execution.result came for our command `id`: what asked for it, which waits still; None when nothing did."""
        command = self.asked.get(id)
        if command is None or not command.RESULT:
            self.stray += 1
            return None
        return command

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

    def check_complete(self, ids: RangeSet) -> None:
        """LocalProtocolError when a command among them still waits for its result: the result comes first."""
        waiting = [id for id in pick(ids, self.owed) if self.owed[id].result]
        if waiting:
            legal = tuple([f"execution.result for {id}: {self.owed[id].result}" for id in waiting[:8]])
            raise LocalProtocolError(f"session.completed {RangeSet.of(*waiting)}", "a result is owed", legal)

    def completed(self, ids: RangeSet) -> None:
        """Their commands are complete."""
        for id in pick(ids, self.owed):
            del self.owed[id]

    # --- what becomes of our commands of class tx and dtx: one event each, when it is known or can never be ------------------

    def answered(self, id: int, command: Command, value: Struct | None) -> Event | None:
        """The result of our command `id` came: what it means for a branch; None when it is about something else."""
        del self.asked[id]
        return self._answer(id, command, value, status_of(value))

    def executed(self, ids: RangeSet) -> list[Event]:
        """The other side has completed these of our commands: what that means for those that have no result."""
        events: list[Event | None] = []
        for id in self.asked.among(ids):
            command = self.asked[id]
            if not command.RESULT:
                del self.asked[id]
                events.append(self._end(id, command, TransactionOutcome.COMMITTED, XaStatus.XA_OK, None))
        return [event for event in events if event is not None]

    def ended(self) -> list[Event]:
        """The session is over: reports everything without an answer, in the order in which it was sent."""
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
        """What became of a command: `commit` if it is one; a rollback is as good as done when the session is over."""
        if isinstance(command, tx.Commit | tx.Rollback):
            outcome = commit if isinstance(command, tx.Commit) else TransactionOutcome.ROLLED_BACK
            return TransactionEnded(self._session, id, outcome)
        return self._answer(id, command, None, status, refused)

    def _answer(
        self, id: int, command: Command, value: Struct | None, status: XaStatus | None, refused: int | None = None
    ) -> Event | None:
        """The event of an answer; without `value` and `status` that of none."""
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


def status_of(value: Struct | None) -> XaStatus | None:
    """What a result says of a branch; None when it says nothing."""
    return _STATUSES.get(value.status) if isinstance(value, dtx.XaResult) and value.status is not None else None


def _undone(refused: tuple[int, int] | None, id: int) -> bool:
    """Whether a commit was certainly not executed: it was refused, or came behind what was.

    A commit that broke down inside the server (internal-error) may have had its effect.
    """
    if refused is None:
        return False
    at, code = refused
    return serial_le(at, id) and (serial_lt(at, id) or code != ErrorCode.INTERNAL_ERROR)


def exception_of(received: Exception_) -> tuple[int | None, int | None, int | None, int | None]:
    """The command id, class code, command code and field index of an exception that came.

    Deployed brokers fill all of them with 0 when an exception has nothing to do with a command: that is None.
    """
    if not received.class_code and not received.command_code and not received.command_id and received.class_code is not None:
        return None, None, None, None
    return received.command_id, received.class_code, received.command_code, received.field_index
