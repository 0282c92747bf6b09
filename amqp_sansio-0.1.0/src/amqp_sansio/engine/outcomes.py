"""What becomes of our client's commands of class tx and dtx: told once each, when it is known or can never be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.events import BranchAnswered, BranchesRecovered, BranchTimeout, Event, TransactionEnded, TransactionOutcome
from amqp_sansio.kernel.serials import RangeSet, serial_le, serial_lt
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command, Struct
from amqp_sansio.spec.codes import ErrorCode, XaStatus
from amqp_sansio.tables.demarcation import TX

if TYPE_CHECKING:
    from amqp_sansio.engine.standing import Standing

_STATUSES: Final = {int(status): status for status in XaStatus}


def result(session: Standing, id: int, command: Command, value: Struct | None) -> Event | None:
    """The result of our command `id` came: what it means for a branch; None when it is about something else."""
    status = _STATUSES.get(value.status) if isinstance(value, dtx.XaResult) and value.status is not None else None
    if status is not None:
        session._demarcation.answered(id, status, heard=True)
    return _answer(session, id, command, value, status)


def _answer(
    session: Standing, id: int, command: Command, value: Struct | None, status: XaStatus | None, refused: int | None = None
) -> Event | None:
    """The event of an answer; without `value` and `status` that of none."""
    if isinstance(command, dtx.Recover):
        if not isinstance(value, dtx.RecoverResult):
            return BranchesRecovered(session.name, id, None)
        return BranchesRecovered(session.name, id, tuple([each for each in value.in_doubt or () if isinstance(each, dtx.Xid)]))
    xid: object = getattr(command, "xid", None)
    if not isinstance(xid, dtx.Xid):
        return None
    if isinstance(command, dtx.GetTimeout):
        return BranchTimeout(session.name, id, xid, value.timeout if isinstance(value, dtx.GetTimeoutResult) else None)
    return BranchAnswered(session.name, id, command.VERB, xid, status, refused)


def completed(session: Standing, ids: RangeSet) -> None:
    """The other side has completed these of our commands: tells what that means for those that have no result."""
    commands = session._results.asked
    for id in commands.among(ids):
        command = commands[id]
        if command.RESULT:
            continue
        del commands[id]
        _tell(session, id, command, TransactionOutcome.COMMITTED, XaStatus.XA_OK, None)


def ended(session: Standing) -> None:
    """The session is over: reports everything without an answer, in the order in which it was sent."""
    refused = session._results.refused
    commands = list(session._results.asked.items())
    session._results.asked.clear()
    for id, command in commands:
        outcome = TransactionOutcome.ROLLED_BACK if _undone(refused, id) else TransactionOutcome.UNKNOWN
        code = refused[1] if refused is not None and refused[0] == id else None
        _tell(session, id, command, outcome, None, code)
    if session._demarcation.state == TX and session._outbound.next_id != session._results.boundary:
        session._emit(TransactionEnded(session.name, None, TransactionOutcome.ROLLED_BACK))


def _tell(
    session: Standing, id: int, command: Command, commit: TransactionOutcome, status: XaStatus | None, refused: int | None
) -> None:
    """Tells what became of a command: `commit` if it is one; a rollback is as good as done when the session is over."""
    event: Event | None
    if isinstance(command, tx.Commit | tx.Rollback):
        outcome = commit if isinstance(command, tx.Commit) else TransactionOutcome.ROLLED_BACK
        event = TransactionEnded(session.name, id, outcome)
    else:
        event = _answer(session, id, command, None, status, refused)
    if event is not None:
        session._emit(event)


def _undone(refused: tuple[int, int] | None, id: int) -> bool:
    """Whether a commit was certainly not executed: it was refused, or came behind what was.

    A commit that broke down inside the server (internal-error) may have had its effect.
    """
    if refused is None:
        return False
    at, code = refused
    return serial_le(at, id) and (serial_lt(at, id) or code != ErrorCode.INTERNAL_ERROR)
