"""The transactions of one session, as known to the client, the server or an observer.

It follows the client's commands by the rows of `tables.demarcation`, and stores with which branch the session is associated and
which it has suspended.  `verb` translates a command into the rows' words, `refusal` tells whether it is legal, and `said`
records it as sent.
"""

from __future__ import annotations

from typing import TypeAlias

from amqp_sansio.kernel.machine import Machine
from amqp_sansio.kernel.snapshots import typed
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.tables import demarcation as rows

XidKey: TypeAlias = tuple[int, bytes, bytes]
"""Format, global id and branch id, by which two xids are compared."""


def key_of(given: dtx.Xid | None) -> XidKey:
    """Returns the key by which an xid is compared; absent parts count as 0 and as no octets."""
    if given is None:
        return 0, b"", b""
    return given.format_ or 0, given.global_id or b"", given.branch_id or b""


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


def key_in(value: object) -> XidKey:
    """Returns the key in a plain value.  Raises TypeError or ValueError for anything else."""
    form, global_id, branch_id = typed(value, tuple)
    if not isinstance(form, int) or not isinstance(global_id, bytes) or not isinstance(branch_id, bytes):
        raise TypeError("xid")
    return form, global_id, branch_id
