"""Local transactions of a session (rows of `transactions`), and branches of distributed ones (rows of `dtx`)."""

from __future__ import annotations

from operator import attrgetter
from typing import Final, TypeAlias

import attrs

from amqp_sansio.captures.replay.doubt import DECIDED
from amqp_sansio.captures.replay.rows import Half, Rows, TransferRecord, passed
from amqp_sansio.kernel.serials import ById, RangeSet
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Commit, End, Forget, Prepare, Rollback, SetTimeout, Start, XaResult, Xid

BranchCommand: TypeAlias = Start | End | Prepare | Commit | Rollback | Forget | SetTimeout

ENDING: Final = 8192
"""Commits and rollbacks that are not complete; beyond it the outcome of the oldest stays unknown."""


class TransactionRecord:
    """One transaction.  `accepted` are deliveries that were provisionally accepted in it."""

    __slots__ = ("accepted", "accepts", "begin", "commits", "end", "number", "transfers")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.begin: int | None = None
        self.end: int | None = None
        self.commits = False
        self.transfers = 0
        self.accepts = 0
        self.accepted: list[TransferRecord] = []


class TransactionRecords:
    """The transactions of one session, from tx.select on."""

    __slots__ = ("_deliveries", "_ending", "_head", "_rows", "current")

    def __init__(self, rows: Rows, head: tuple[str | None, int], deliveries: Half) -> None:
        self._rows: Final = rows
        self._head: Final = head
        self._deliveries: Final = deliveries
        self.current = TransactionRecord(1)
        self._ending: ById[TransactionRecord] = ById()

    def touch(self, time: int) -> TransactionRecord:
        """Notes a command in the present transaction, and returns that."""
        current = self.current
        if current.begin is None:
            current.begin = time
        return current

    def ends(self, time: int, id: int | None, commits: bool) -> None:
        """Notes tx.commit or tx.rollback."""
        ending = self.touch(time)
        ending.end = time
        ending.commits = commits
        self.current = TransactionRecord(ending.number + 1)
        gone = ending if id is None else self._ending.push(id, ending, ENDING)
        if gone is not None:
            self._over(gone, "unknown")

    def completed(self, ids: RangeSet, time: int) -> None:
        """Notes commands that the broker has completed, perhaps commits and rollbacks."""
        for ending in self._ending.take(ids) if self._ending else ():
            self._over(ending, "committed" if ending.commits else "rolled-back", time)

    def refused(self, id: int) -> None:
        """Notes a command that the broker refused."""
        ending = self._ending.drop(id)
        if ending is not None:
            self._over(ending, "refused")

    def finish(self, how: str) -> None:
        """Ends it; `how`: abandoned (the session ended), open or unknown."""
        for ending in self._ending.values():
            doubt = "in-doubt" if ending.commits else "abandoned" if how == "abandoned" else "open"
            self._over(ending, "unknown" if how == "unknown" else doubt)
        self._ending.clear()
        current, self.current = self.current, TransactionRecord(self.current.number + 1)
        if current.begin is not None:
            self._over(current, how)

    def _over(self, ending: TransactionRecord, outcome: str, time: int | None = None) -> None:
        if outcome == "committed" and time is not None:
            self._deliveries.sealed(ending.accepted, time)
        else:
            self._deliveries.reopened(ending.accepted, outcome in ("rolled-back", "refused", "abandoned"))
        end = ending.end
        latency = None if time is None or end is None else passed(end, time)
        begin = end if ending.begin is None else ending.begin
        counts = ending.transfers, ending.accepts
        self._rows.by_table["transactions"].append((begin, *self._head, ending.number, end, time, latency, outcome, *counts))


BRANCHES: Final = 8192
"""Branches of one connection that are followed; beyond it the least recently named one is written as it is."""

_WORDS: Final = {int(status): status.name.removeprefix("XA_").lower() for status in XaStatus}
_OUTCOMES: Final = {
    ("ok", "dtx.prepare"): "prepared",
    ("ok", "dtx.commit"): "committed",
    ("ok", "dtx.rollback"): "rolled-back",
    ("rbtimeout", "dtx.start"): "failed",
    ("rbtimeout", "dtx.end"): "failed",
    ("rbrollback", "dtx.commit"): "rolled-back",
}
"""The outcome of a branch by the status and the command that it answers."""
_OTHERWISE: Final = {"rdonly": "read-only", "rbtimeout": "timed-out", "rbrollback": "failed", "heur": "heuristic"}
"""The outcome by the status alone."""


def name_of(xid: Xid) -> str:
    """Formats an xid: format:global-id:branch-id, the ids in hex digits."""
    return f"{xid.format_ or 0}:{(xid.global_id or b'').hex()}:{(xid.branch_id or b'').hex()}"


@attrs.define(eq=False)
class Branch:
    """One branch."""

    xid: str
    first: int
    start: int | None = None
    end: int | None = None
    prepare: int | None = None
    prepared: int | None = None
    decide: int | None = None
    decided: int | None = None
    one_phase: bool | None = None
    timeout: int | None = None
    status: str | None = None
    outcome: str = "unknown"
    shaky: bool = False
    """Whether lost octets may have held more about it, so that its outcome is unknown."""
    starts: int = 0
    transfers: int = 0
    accepts: int = 0
    error: int | None = None

    def doubt(self) -> None:
        """Notes that something about it may have been missed."""
        self.shaky = True
        if self.outcome in ("active", "prepared", "failed"):
            self.outcome = "unknown"

    @property
    def in_doubt(self) -> bool:
        """Whether it is prepared and undecided, or decided without an observed outcome."""
        if self.shaky:
            return False
        if self.decide is not None:
            return self.decided is None and self.error is None
        unanswered = self.prepare is not None and self.outcome in ("active", "unknown") and self.error is None
        return unanswered or self.outcome == "prepared"


_ROW: Final = attrgetter(
    "first", "xid", "start", "end", "prepare", "prepared", "decide", "decided", "one_phase", "timeout", "status", "outcome",
    "in_doubt", "starts", "transfers", "accepts", "error",
)  # fmt: skip
"""Returns the row of a branch."""


class Branches:
    """The branches of one connection."""

    __slots__ = ("_branches", "_firm", "_rows")

    def __init__(self, rows: Rows) -> None:
        self._rows: Final = rows
        self._branches: dict[str, Branch] = {}
        self._firm: dict[str, Branch] = {}
        """Those observed without gaps."""

    def of(self, xid: str, time: int) -> Branch:
        """Returns the branch of that name, a new one if it was not named before."""
        branch = self._branches.get(xid)
        if branch is None:
            if len(self._branches) >= BRANCHES:
                self._leave(next(iter(self._branches)))
            branch = self._branches[xid] = self._firm[xid] = Branch(xid, time)
        return branch

    def said(self, command: BranchCommand, time: int, id: int | None = 0) -> str | None:
        """Notes a client's command; returns the name of its branch, None when it names none.

        `id` is that of the command; None while unknown, so that the broker's answer cannot be attributed.
        """
        if command.xid is None:
            return None
        branch = self.of(name_of(command.xid), time)
        if id is None:
            branch.doubt()
        elif not isinstance(command, End | SetTimeout | Forget):
            self._settled(branch)
        if isinstance(command, Start):
            branch.starts += 1
            branch.start = time if branch.start is None else branch.start
            if branch.outcome == "unknown" and not branch.shaky:
                branch.outcome = "active"
        elif isinstance(command, End):
            branch.end = time
        elif isinstance(command, Prepare):
            branch.prepare = time
        elif isinstance(command, SetTimeout):
            branch.timeout = command.timeout
        elif not isinstance(command, Forget):
            branch.decide = time
            branch.one_phase = command.one_phase if isinstance(command, Commit) else branch.one_phase
        return branch.xid

    def result(self, verb: str, xid: str, value: Struct | None, time: int) -> None:
        """Notes the broker's answer to a command about a branch."""
        branch = self._branches.get(xid)
        if branch is None or not isinstance(value, XaResult):
            return
        self._settled(branch)
        status = value.status or 0
        word = branch.status = _WORDS.get(status, str(status))
        if verb in ("dtx.commit", "dtx.rollback"):
            branch.decided = time
        outcome = _OUTCOMES.get((word, verb)) or _OTHERWISE.get(word[:4] if word.startswith("heur") else word)
        branch.outcome = outcome or branch.outcome
        if outcome == "prepared":
            branch.prepared = time
        if branch.outcome in DECIDED:
            self._leave(xid)

    def completed(self, verb: str, xid: str) -> None:
        """Notes the completion of a command about a branch, the only answer to dtx.forget."""
        branch = self._branches.get(xid) if verb == "dtx.forget" else None
        if branch is not None:
            branch.outcome = "forgotten"
            self._leave(xid)

    def refused(self, verb: str, xid: str, code: int | None) -> None:
        """Notes that the broker refused a command about a branch, which therefore had no effect."""
        branch = self._branches.get(xid)
        if branch is not None:
            branch.error = code
            if verb in ("dtx.commit", "dtx.rollback"):
                branch.decide = None
            elif verb == "dtx.prepare":
                branch.prepare = None

    def lost(self) -> None:
        """Notes a gap: the outcome of undecided branches is unknown."""
        for branch in self._firm.values():
            branch.doubt()
        self._firm.clear()

    def finish(self) -> None:
        """Writes all branches: nothing more comes."""
        for xid in tuple(self._branches):
            self._leave(xid)

    def _settled(self, branch: Branch) -> None:
        branch.shaky = False
        self._firm[branch.xid] = branch

    def _leave(self, xid: str) -> None:
        self._firm.pop(xid, None)
        self._rows.by_table["dtx"].append(_ROW(self._branches.pop(xid)))
