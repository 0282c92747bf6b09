"""The transactions of one session, as known to the client, the server or an observer.

`Demarcation` follows the client's commands by the rows of `tables.demarcation`, and stores with which branch the session is
associated and which it has suspended.  `verb` translates a command into the rows' words, `refusal` tells whether it is legal,
and `said` records it as sent.  The functions apply it for each side: legal commands, and the errors for others."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias

from amqp_sansio.engine.findings import Findings, Objection
from amqp_sansio.errors import EncodeError, LimitError, LocalProtocolError
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode, XaStatus
from amqp_sansio.spec.message import Cancel, Subscribe
from amqp_sansio.spec.xids import XidKey, key_in, key_of, show
from amqp_sansio.tables import demarcation as rows

if TYPE_CHECKING:
    from amqp_sansio.engine.session import Session


class Demarcation:
    """The state of a session's transactions.

    * `machine`: walks the rows; in several states when the client's words are not all known.
    * `associated`: the branch that the session works on, `start` the id of the dtx.start that began it; None without one.
    * `suspended`: branches that the session has suspended, with the id of the dtx.start that began each.
    * `late`: some of the client's words are missing: unknown xids may be associated or suspended.
    """

    __slots__ = ("associated", "late", "machine", "start", "suspended")

    def __init__(self) -> None:
        self.machine: Machine = Machine(rows.DEMARCATION)
        self.associated: XidKey | None = None
        self.start: int | None = None
        self.suspended: dict[XidKey, int | None] = {}
        self.late = False

    @property
    def state(self) -> str:
        """The state of the rows; several possible ones are joined by "|"."""
        return self.machine.state

    # --- translating commands into the rows' words ----------------------------------------------------------------------------

    def verb(self, command: Command, beside: bool = False) -> str | None:
        """Returns the verb of the rows; None for what is legal in every state.  `beside`: some subscription has accept-mode
        none."""
        if isinstance(command, dtx.Start):
            if command.join and command.resume:
                return rows.JOIN_AND_RESUME
            if not command.resume:
                return rows.START
            return rows.RESUME if self.late or key_of(command.xid) in self.suspended else rows.RESUME_OTHER
        if isinstance(command, dtx.End):
            return self._end(command)
        if isinstance(command, tx.Select):
            return rows.TX_SELECT_BESIDE if beside else rows.TX_SELECT
        return command.VERB if isinstance(command, tx.Commit | tx.Rollback | dtx.Select) else None

    def _end(self, command: dtx.End) -> str:
        key = key_of(command.xid)
        if key == self.associated or (self._unheard(key) and self.machine.can(rows.CLIENT, rows.END)):
            if command.suspend:
                return rows.SUSPEND_AND_FAIL if command.fail else rows.SUSPEND
            return rows.END
        if key in self.suspended or (self.late and not command.suspend):
            if command.suspend:
                return rows.SUSPEND_AND_FAIL if command.fail else rows.SUSPEND_AGAIN
            return rows.END_SUSPENDED
        return rows.END_OTHER

    def _unheard(self, key: XidKey) -> bool:
        """Whether the session may be associated with a branch by a command that was missed."""
        return self.late and self.associated is None and key not in self.suspended

    # --- judging commands -----------------------------------------------------------------------------------------------------

    def refusal(self, verb: str) -> rows.Forbidden | None:
        """Returns why the client must not send a verb of the rows now; None when it may.  Changes nothing."""
        if self.machine.can(rows.CLIENT, verb):
            return None
        for said in (verb, rows.RESUME_OTHER if verb == rows.RESUME else rows.END_OTHER):  # a late observer may be mistaken
            for state in self.machine.states:
                cell = rows.FORBIDDEN.get((state, said))
                if cell is not None:
                    return cell
        raise AssertionError(f"no cell for {verb} in {self.state}")

    def legal(self, instead: str = "") -> tuple[str, ...]:
        """Returns what the client may send now (instead of a refused verb), as verbs of the rows."""
        words = [word.partition(":")[2] for word in self.machine.legal]
        unknown = () if self.suspended or self.late else (rows.RESUME, rows.END_SUSPENDED)
        found = tuple([word for word in words if word not in unknown])
        if instead == rows.TX_SELECT_BESIDE and rows.TX_SELECT in found:
            return ("message.cancel", *[word for word in found if word != rows.TX_SELECT])
        return found

    def words(self, verb: str, command: Command) -> str:
        """Returns a verb of the rows for an error text, without the xid where none was given or it does not matter."""
        selected = set(self.machine.states) & {rows.DTX_IDLE, rows.DTX_ACTIVE}
        if isinstance(command, dtx.Start | dtx.End) and (command.xid is None or not selected):
            return command.VERB
        return verb

    # --- recording commands ---------------------------------------------------------------------------------------------------

    def said(self, verb: str, command: Command, id: int | None, passed: rows.Forbidden | None = None) -> None:
        """Records the client's command `id`; with `passed`, one that is forbidden and was allowed all the same."""
        if passed is None:
            before = self.machine.states
            self.machine.step(rows.CLIENT, verb)
            if verb == rows.END and self.associated is None:  # late: it may have been a suspended one
                ended = self.machine.states
                kept = [state for state in before if (state, rows.CLIENT, rows.END_SUSPENDED) in rows.DEMARCATION.moves]
                self.machine.states = tuple(dict.fromkeys((*ended, *kept)))
        else:
            self.machine.states = (passed.passed,)
        if isinstance(command, dtx.Start):
            key = key_of(command.xid)
            self.associated, self.start = key, id
            self.suspended.pop(key, None)
        elif isinstance(command, dtx.End):
            key = key_of(command.xid)
            if verb == rows.SUSPEND:
                self.suspended[key] = self.start if key == self.associated else None
            else:
                self.suspended.pop(key, None)
            if verb in (rows.END, rows.SUSPEND):
                self.associated = self.start = None

    def answered(self, id: int | None, status: int, *, heard: bool) -> None:
        """Records the result of the client's command `id`.  A dtx.start that did not succeed associates nothing.

        `heard`: the client has received it.  Otherwise it may have sent its next command before: both states are possible.
        """
        if status == XaStatus.XA_OK or id is None:
            return
        if id == self.start and self.associated is not None:
            if heard:
                self.machine.states = (rows.DTX_IDLE,)
                self.associated = self.start = None
            else:
                self.machine.states = (rows.DTX_ACTIVE, rows.DTX_IDLE)
        elif heard:
            for key in [key for key, start in self.suspended.items() if start == id]:
                del self.suspended[key]

    def bound(self, branches: int) -> bool:
        """Keeps at most `branches` suspended ones; returns whether it dropped the oldest, which begins doubt."""
        if len(self.suspended) <= branches:
            return False
        del self.suspended[next(iter(self.suspended))]
        self.late = True
        return True

    def lost(self) -> None:
        """Records that some of the client's commands are missing: any state is possible."""
        self.machine.forget()
        self.associated = self.start = None
        self.suspended.clear()
        self.late = True

    # --- snapshots ------------------------------------------------------------------------------------------------------------

    def snapshot(self) -> tuple[object, ...]:
        """Returns all of it as a plain value, for `restore`."""
        return self.machine.states, self.associated, self.start, tuple(self.suspended.items()), self.late

    @classmethod
    def restore(cls, value: tuple[object, ...]) -> Demarcation:
        """Restores a snapshot.  Raises ValueError or TypeError for anything else."""
        states, associated, start, suspended, late = value
        made = cls()
        made.machine.restore(states)
        made.associated = None if associated is None else key_in(associated)
        made.start = typed(start, int, type(None))
        made.suspended = {key_in(key): typed(id, int, type(None)) for key, id in typed(suspended, tuple)}
        made.late = typed(late, bool)
        return made


def demarcation_of(session: Session) -> Demarcation:
    """Returns the transactions of a session, which makes the record when it is first needed."""
    return session._transactions or session._begin_transactions()


# --- a client, before it sends a command ----------------------------------------------------------------------------------

OnceWritten: TypeAlias = Callable[[int], None]

NAMES_BRANCH: Final = (
    dtx.Start, dtx.End, dtx.Prepare, dtx.Commit, dtx.Rollback, dtx.Forget, dtx.GetTimeout, dtx.SetTimeout,
)  # fmt: skip
"""Commands that concern one branch and need its xid."""
COMMANDS: Final = (tx.Select, tx.Commit, tx.Rollback, dtx.Select, dtx.Recover, *NAMES_BRANCH)
"""The commands of classes tx and dtx."""


def check(session: Session, command: Command) -> OnceWritten:
    """Checks whether our client may send a command of class tx or dtx; returns its effect.  Raises LocalProtocolError."""
    if isinstance(command, NAMES_BRANCH) and command.xid is None:
        raise EncodeError(f"{command.VERB}.xid", "names the branch")
    demarcation = demarcation_of(session)
    verb = demarcation.verb(command, isinstance(command, tx.Select) and unaccepting(session))
    if verb is not None:
        check_verb(session, verb)
        if verb == rows.SUSPEND and len(demarcation.suspended) >= session.limits.suspended_branches:
            raise LimitError("suspended_branches", session.limits.suspended_branches)

    def effect(id: int) -> None:
        if verb is not None:
            demarcation.said(verb, command, id)
        if isinstance(command, tx.Commit | tx.Rollback):
            session._transfers.decided(isinstance(command, tx.Commit))

    return effect


def check_verb(session: Session, verb: str) -> None:
    """Raises LocalProtocolError when our client may not send this verb now."""
    demarcation = demarcation_of(session)
    cell = demarcation.refusal(verb)
    if cell is not None:
        raise LocalProtocolError(verb, state_of(demarcation), demarcation.legal(verb), cell.rule)


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
    demarcation = demarcation_of(session)
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
    cell = demarcation_of(session).refusal(rows.SUBSCRIBE_NONE)
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
