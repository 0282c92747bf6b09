"""Applies the ledger of a session's transactions for client, server and observer: legal commands, and the errors for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.engine.findings import Findings
from amqp_sansio.engine.objection import Objection
from amqp_sansio.engine.xid import show
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.ledger.demarcation import Demarcation, key_of
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode
from amqp_sansio.spec.message import Cancel, Subscribe
from amqp_sansio.tables import demarcation as rows

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session

# --- a client, before it sends a command ----------------------------------------------------------------------------------

Effect: TypeAlias = Callable[[int], None]

NAMES_BRANCH: Final = (
    dtx.Start, dtx.End, dtx.Prepare, dtx.Commit, dtx.Rollback, dtx.Forget, dtx.GetTimeout, dtx.SetTimeout,
)  # fmt: skip
"""Commands that concern one branch and need its xid."""
COMMANDS: Final = (tx.Select, tx.Commit, tx.Rollback, dtx.Select, dtx.Recover, *NAMES_BRANCH)
"""The commands of classes tx and dtx."""


def check(session: Session, command: Command) -> Effect:
    """Checks whether our client may send a command of class tx or dtx; returns its effect.  Raises LocalProtocolError."""
    if isinstance(command, NAMES_BRANCH) and command.xid is None:
        raise EncodeError(f"{command.VERB}.xid", "names the branch")
    demarcation = session._demarcation
    verb = demarcation.verb(command, isinstance(command, tx.Select) and unaccepting(session))
    if verb is not None:
        check_verb(session, verb)
        if verb == rows.SUSPEND and len(demarcation.suspended) >= session.limits.suspended_branches:
            raise LimitError("suspended_branches", session.limits.suspended_branches)

    def effect(id: int) -> None:
        if verb is not None:
            demarcation.said(verb, command, id)
        session._outbound.expect_answer(id, command)
        if isinstance(command, tx.Commit | tx.Rollback):
            session._transfers.decided(isinstance(command, tx.Commit))

    return effect


def check_verb(session: Session, verb: str) -> None:
    """Raises LocalProtocolError when our client may not send this verb now."""
    cell = session._demarcation.refusal(verb)
    if cell is not None:
        raise LocalProtocolError(verb, state_of(session._demarcation), session._demarcation.legal(verb), cell.rule)


def unaccepting(session: Session) -> bool:
    """Returns whether the client has an active subscription with accept-mode none."""
    if session.role == "client":
        return any(each.accept_mode == 1 and not each.cancelled for each in session.subscriptions.values())
    return any(each.accept_mode == 1 for each in session.subscribers.values())


def state_of(demarcation: Demarcation) -> str:
    """Returns the state of the session's transactions, as error texts show it."""
    if demarcation.state == rows.NO_TRANSACTIONS:
        return "no transactions"
    return demarcation.state + ("" if demarcation.associated is None else f" with xid {show(demarcation.associated)}")


# --- a server, when a client's command arrives ------------------------------------------------------------------------------


def hear(session: Session, id: int, command: Command) -> Objection | None:
    """Checks the client's command of class tx or dtx; None when the broker has to judge it further."""
    demarcation = session._demarcation
    if isinstance(command, NAMES_BRANCH) and command.xid is None:
        verb = rows.START if isinstance(command, dtx.Start) else rows.END_OTHER if isinstance(command, dtx.End) else None
        cell = None if verb is None else demarcation.refusal(verb)
        if cell is not None and cell.state in (rows.NO_TRANSACTIONS, rows.TX) and (code := _code(session, cell)) is not None:
            return Objection(
                cell.rule, command.VERB, demarcation.legal(), code, f"{command.VERB} in state {state_of(demarcation)}"
            )
        legal = (f"{command.VERB} with an xid",)
        return Objection(f"{command.VERB}.xid", command.VERB, legal, ErrorCode.ILLEGAL_ARGUMENT, "it names no branch")
    verb = demarcation.verb(command, isinstance(command, tx.Select) and unaccepting(session))
    if verb is None:
        return None
    most = session.limits.suspended_branches
    if verb == rows.SUSPEND and len(demarcation.suspended) >= most:
        legal = (f"at most {most} suspended branches",)
        text = f"more than {most} branches are suspended on one session"
        return Objection("limits.suspended_branches", verb, legal, ErrorCode.RESOURCE_LIMIT_EXCEEDED, text)
    cell = demarcation.refusal(verb)
    # The coordinator must refuse what depends on the branch rather than on the session.
    again = isinstance(command, dtx.Start) and key_of(command.xid) == demarcation.associated
    code = None if cell is None or again or (cell.state, cell.verb) in rows.HANDED_ON else _code(session, cell)
    if cell is not None and code is not None:
        words = demarcation.words(verb, command)
        return Objection(cell.rule, words, demarcation.legal(verb), code, f"{words} in state {state_of(demarcation)}")
    demarcation.said(verb, command, id, cell)
    return None


def hear_subscribe(session: Session) -> Objection | None:
    """Checks the client's subscribe with accept-mode none."""
    cell = session._demarcation.refusal(rows.SUBSCRIBE_NONE)
    code = None if cell is None else _code(session, cell)
    if cell is None or code is None:
        return None
    text = "the session is transactional"
    return Objection(cell.rule, rows.SUBSCRIBE_NONE, ("message.subscribe with accept-mode explicit",), code, text)


def _code(session: Session, cell: rows.Forbidden) -> int | None:
    return cell.spec if session.profile.error_codes == "spec" else cell.qpid


# --- an observer ------------------------------------------------------------------------------------------------------------


class DemarcationWitness:
    """Checks a client against the rows.  What deployed brokers accept is a note, unless strict.

    While a dtx.start is unanswered its outcome is unknown, and the client may act on either.
    """

    __slots__ = ("_demarcation", "_findings", "_unaccepting")

    def __init__(self, findings: Findings, late: bool) -> None:
        self._findings: Final = findings
        self._demarcation: Final = Demarcation()
        self._unaccepting: set[str] = set()
        """Destinations of subscriptions with accept-mode none."""
        if late:
            self._demarcation.lost()

    def hear(self, id: int | None, command: Command) -> None:
        """Judges a command of class tx or dtx, or one about subscriptions, sent as command `id`."""
        demarcation = self._demarcation
        if isinstance(command, Cancel):
            self._unaccepting.discard(command.destination or "")
            return
        if isinstance(command, Subscribe):
            if not command.accept_mode:
                return
            if len(self._unaccepting) < self._findings.limits.subscriptions:
                self._unaccepting.add(command.destination or "")
            verb: str | None = rows.SUBSCRIBE_NONE
        else:
            verb = demarcation.verb(command, isinstance(command, tx.Select) and bool(self._unaccepting))
        if verb is None:
            return
        cell = demarcation.refusal(verb)
        if cell is not None:
            findings, words, legal = self._findings, demarcation.words(verb, command), demarcation.legal(verb)
            text = f"{words} in state {state_of(demarcation)}"
            if cell.qpid is not None:
                findings.breach(cell.rule, words, text, legal, cell.spec if findings.strict else cell.qpid)
                return
            findings.divergence(cell.rule, words, text, legal, cell.spec, about=words)
        demarcation.said(verb, command, id, cell)
        excess = demarcation.bound(self._findings.limits.suspended_branches)
        self._findings.bounded(excess, "suspended_branches", "suspended branches")

    def answered(self, id: int | None, value: object) -> None:
        """Handles the result of the client's command `id`."""
        if isinstance(value, dtx.XaResult) and value.status is not None:
            self._demarcation.answered(id, value.status, heard=False)

    def lost(self) -> None:
        """Records that we missed something from the client, or that it replays commands."""
        self._demarcation.lost()
