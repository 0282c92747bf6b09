"""Two-phase commit over several brokers: what to ask which broker next, and the outcome.  No I/O, and no connection.

`take` returns what to do: an `Ask` for a participant, or, once, a `Decide` with the decision to make durable.  The answers come
back through `hear` (events of the participant's session), `answered`, `recovered` and `durable`.  No commit is handed out
before `durable` is called.  A transaction without a stored decision counts as rolled back (presumed abort), so only a decision
to commit has to be stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from amqp_sansio.errors import DecodeError, EncodeError, LocalProtocolError
from amqp_sansio.events import BranchAnswered, BranchesRecovered, Event, TransactionOutcome
from amqp_sansio.kernel.machine import Machine
from amqp_sansio.spec import dtx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode, XaStatus
from amqp_sansio.spec.xids import key_in, key_of
from amqp_sansio.tables import two_phase as rows

Course: TypeAlias = Literal["voting", "alone", "deciding", "committing", "rolling back"]

VERSION: Final = 1
"""The version of a snapshot's format."""


class Decision(NamedTuple):
    """The decision to commit these branches (participant and xid each), which must be durable before any is committed."""

    branches: tuple[tuple[str, dtx.Xid], ...]

    @property
    def plain(self) -> tuple[tuple[str, int, bytes, bytes], ...]:
        """Returns a plain value: participant, format, global id and branch id of each branch.  See `of`."""
        return tuple([(name, *key_of(xid)) for name, xid in self.branches])

    @classmethod
    def of(cls, plain: Iterable[Iterable[object]]) -> Decision:
        """Returns the decision of a plain value.  Raises DecodeError for anything that `plain` did not return."""
        try:
            return cls(tuple([(_text(name), _xid((form, g, b))) for name, form, g, b in plain]))
        except (TypeError, ValueError) as why:
            raise DecodeError("decision", 0, f"not a decision: {why}") from None


class Ask(NamedTuple):
    """Send `command` to `participant`, on a session that may be lost: a refusal ends it."""

    participant: str
    command: Command


class Decide(NamedTuple):
    """Make `decision` durable, then call `TwoPhase.durable`."""

    decision: Decision


Action: TypeAlias = Ask | Decide

_WORDS: Final = {
    XaStatus.XA_OK: rows.OK,
    XaStatus.XA_RDONLY: rows.RDONLY,
    XaStatus.XA_RBROLLBACK: rows.RBROLLBACK,
    XaStatus.XA_RBTIMEOUT: rows.RBTIMEOUT,
}
_HEURISTIC: Final = (XaStatus.XA_HEURHAZ, XaStatus.XA_HEURCOM, XaStatus.XA_HEURRB, XaStatus.XA_HEURMIX)

# What to ask of a branch by its state; where it also depends on the course of the whole transaction, by both.
_DUE: Final[dict[str, str]] = {
    rows.DOOMED: rows.ROLLBACK,
    rows.COMMIT_IN_DOUBT: rows.COMMIT,
    rows.ALONE_IN_DOUBT: rows.COMMIT_ONE_PHASE,
    rows.DECIDED: rows.RECOVER,
    rows.HEURISTIC: rows.FORGET,
}
_DUE_IN: Final[dict[tuple[str, str], str]] = {
    (rows.ENDED, "voting"): rows.PREPARE,
    (rows.ENDED, "alone"): rows.COMMIT_ONE_PHASE,
    (rows.ENDED, "rolling back"): rows.ROLLBACK,
    (rows.PREPARED, "committing"): rows.COMMIT,
    (rows.PREPARED, "rolling back"): rows.ROLLBACK,
}
_ASKED: Final = {  # the command whose answer is awaited, by state
    state: verb.partition(" ")[0] for (_, speaker, verb), state in rows.TWO_PHASE.moves.items() if speaker == rows.MANAGER
}
_COMMANDS: Final[dict[str, Callable[[dtx.Xid], Command]]] = {
    rows.PREPARE: dtx.Prepare,
    rows.COMMIT: dtx.Commit,
    rows.COMMIT_ONE_PHASE: lambda xid: dtx.Commit(xid, True),
    rows.ROLLBACK: dtx.Rollback,
    rows.FORGET: dtx.Forget,
    rows.RECOVER: lambda _: dtx.Recover(),
}


class TwoPhase:
    """One transaction with one branch for each participant, whose work has ended (dtx.end) on every session.

    * `outcome`: None until it is decided; then every branch that is not finished has to follow it.
    * `finished`: nothing is left to do.
    * `heuristics`: participants that decided on their own, or lost what they had promised, with the status that says how.  Only
      then may participants end differently.

    A single participant commits in one phase, without a decision; participants that only read take no part in the second phase.
    A lost question is asked again: `take` returns it at once, and the caller chooses when to send it.
    """

    __slots__ = ("_branches", "_course", "_decided", "_machines", "heuristics")

    def __init__(self, branches: Mapping[str, dtx.Xid]) -> None:
        """`branches`: the xid of each participant, by any name.  Raises EncodeError when there is none, or one is no xid."""
        if not branches:
            raise EncodeError("two-phase commit", "takes at least one branch")
        given: list[tuple[object, object]] = [*branches.items()]
        for name, xid in given:
            if not isinstance(name, str) or not isinstance(xid, dtx.Xid):
                raise EncodeError("two-phase commit", f"takes names and xids, not {name!r:.40}: {type(xid).__name__}")
        self._branches: Final = dict(branches)
        self._machines: Final = {name: Machine(rows.TWO_PHASE) for name in branches}
        self._course: Course = "alone" if len(branches) == 1 else "voting"
        self._decided = False
        """Whether the decision was handed out and its durability is awaited."""
        self.heuristics: Final[dict[str, XaStatus]] = {}

    # --- what to do -----------------------------------------------------------------------------------------------------------

    def take(self) -> tuple[Action, ...]:
        """Returns what to do now; each action once, and again when its answer is lost."""
        found: list[Action] = []
        for name, machine in self._machines.items():
            verb = _DUE.get(machine.state) or _DUE_IN.get((machine.state, self._course))
            if verb is not None:
                machine.step(rows.MANAGER, verb)
                found.append(Ask(name, _COMMANDS[verb](self._branches[name])))
        if self._course == "deciding" and not self._decided:
            self._decided = True
            machines = self._machines
            prepared = [each for each in self._branches.items() if machines[each[0]].state == rows.PREPARED]
            found.append(Decide(Decision(tuple(prepared))))
        return tuple(found)

    @property
    def awaited(self) -> tuple[str, ...]:
        """Participants whose answer is awaited."""
        return tuple([name for name, machine in self._machines.items() if machine.state in rows.AWAITED])

    # --- answers --------------------------------------------------------------------------------------------------------------

    def hear(self, participant: str, event: Event) -> bool:
        """Takes an event of a participant's session; returns whether it was the awaited answer."""
        if not self._awaits(participant):
            return False
        machine = self._machines[participant]
        if isinstance(event, BranchAnswered) and machine.state != rows.LISTING:
            if key_of(event.xid) != key_of(self._branches[participant]) or event.verb != _ASKED[machine.state]:
                return False
            self.answered(participant, event.status, event.refused)
            return True
        if isinstance(event, BranchesRecovered) and machine.state == rows.LISTING:
            self.recovered(participant, event.xids)
            return True
        return False

    def answered(self, participant: str, status: int | None, refused: int | None = None) -> None:
        """Takes a participant's answer: a status; or the error code with which it `refused`; or neither when it is lost.

        Raises LocalProtocolError when no answer is awaited.
        """
        machine = self._expect(participant, "an answer")
        listing = machine.state == rows.LISTING
        if status in _HEURISTIC and not listing:
            self.heuristics[participant] = XaStatus(status)
            word = rows.HEUR
        elif status in _WORDS and not listing:
            word = _WORDS[XaStatus(status)]
        elif refused is None:
            word = rows.LOST
        else:
            word = rows.NO_SUCH if refused == ErrorCode.NOT_FOUND and not listing else rows.REFUSED
        # A prepared branch that was rolled back or has vanished unasked is as bad as a heuristic outcome.
        if machine.state in (rows.COMMITTING, rows.COMMITTING_AGAIN) and word in (rows.RBROLLBACK, rows.RBTIMEOUT):
            self.heuristics[participant] = XaStatus.XA_HEURRB
        elif machine.state == rows.COMMITTING and word == rows.NO_SUCH:
            self.heuristics[participant] = XaStatus.XA_HEURHAZ
        machine.step(rows.PARTICIPANT, word)
        self._advance()

    def lost(self, participant: str) -> None:
        """Records that a participant's session ended without an answer.  Raises LocalProtocolError when none is awaited."""
        self.answered(participant, None)

    def recovered(self, participant: str, xids: Iterable[dtx.Xid] | None) -> None:
        """Takes a participant's list of branches in doubt (dtx.recover); None when it is lost.

        Raises LocalProtocolError when no list is awaited.
        """
        machine = self._expect(participant, "a list")
        if machine.state != rows.LISTING:
            raise LocalProtocolError(f"a list of {participant!r}", machine.state, ("answered", "lost"))
        if xids is None:
            word = rows.LOST
        else:
            listed = key_of(self._branches[participant]) in [key_of(xid) for xid in xids]
            word = rows.LISTED if listed else rows.NOT_LISTED
        machine.step(rows.PARTICIPANT, word)
        self._advance()

    def durable(self) -> None:
        """Records that the decision is durable: prepared branches are committed from now on."""
        if self._course != "deciding" or not self._decided:
            raise LocalProtocolError("durable", self._course, (), "no decision was handed out")
        self._course = "committing"

    def abort(self) -> None:
        """Rolls everything back.  Raises LocalProtocolError once decided, or after asking a single participant to commit."""
        alone = self._course == "alone" and all(machine.state == rows.ENDED for machine in self._machines.values())
        if self._course != "voting" and not alone:
            raise LocalProtocolError("abort", self._course, (), "only before anything is decided")
        self._course = "rolling back"

    @property
    def outcome(self) -> TransactionOutcome | None:
        """COMMITTED or ROLLED_BACK once decided; UNKNOWN when a single participant's answer is lost for good."""
        if self._course == "committing":
            return TransactionOutcome.COMMITTED
        if self._course == "rolling back":
            return TransactionOutcome.ROLLED_BACK
        if self._course != "alone":
            return None
        ((name, machine),) = self._machines.items()
        if name in self.heuristics:
            known = {XaStatus.XA_HEURCOM: TransactionOutcome.COMMITTED, XaStatus.XA_HEURRB: TransactionOutcome.ROLLED_BACK}
            return known.get(self.heuristics[name], TransactionOutcome.UNKNOWN)
        return {
            rows.COMMITTED: TransactionOutcome.COMMITTED,
            rows.READ_ONLY: TransactionOutcome.COMMITTED,
            rows.ROLLED_BACK: TransactionOutcome.ROLLED_BACK,
            rows.UNKNOWN: TransactionOutcome.UNKNOWN,
        }.get(machine.state)

    @property
    def finished(self) -> bool:
        """Whether nothing is left to do; a stored decision may be deleted then."""
        return self._course != "deciding" and all(machine.finished for machine in self._machines.values())

    @property
    def states(self) -> dict[str, str]:
        """The state of each participant, by the names of `tables.two_phase`."""
        return {name: machine.state for name, machine in self._machines.items()}

    # --- after a crash --------------------------------------------------------------------------------------------------------

    @classmethod
    def recover(cls, decision: Decision) -> TwoPhase:
        """Resumes from a stored decision: asks each participant for its branches in doubt, and commits them."""
        made = cls(dict(decision.branches))
        made._course = "committing"
        for name in made._machines:
            made._machines[name] = Machine(rows.TWO_PHASE, (rows.DECIDED,))
        return made

    @classmethod
    def abandon(cls, branches: Mapping[str, dtx.Xid]) -> TwoPhase:
        """Rolls back branches without a stored decision: see `presumed_aborts`."""
        made = cls(branches)
        made._course = "rolling back"
        return made

    def snapshot(self) -> tuple[object, ...]:
        """Returns all of it as a plain value.

        A decision stored after the snapshot was taken supersedes it: use `recover`.
        """
        statuses = {name: int(status) for name, status in self.heuristics.items()}
        branches = [
            (name, key_of(xid), self._machines[name].state, statuses.get(name)) for name, xid in self._branches.items()
        ]  # fmt: skip
        return VERSION, self._course, tuple(branches)

    @classmethod
    def restore(cls, snapshot: tuple[object, ...]) -> TwoPhase:
        """Restores a snapshot; a decision that is not known to be durable is handed out again.

        Awaited answers are still awaited: call `lost` for sessions that are gone.  Raises DecodeError for anything but a
        snapshot.
        """
        try:
            version, course, branches = snapshot
            if version != VERSION:
                raise ValueError(f"version {version!r}")
            if course not in ("voting", "alone", "deciding", "committing", "rolling back") or not isinstance(branches, tuple):
                raise ValueError(f"course {course!r}")
            made = cls({_text(name): _xid(key) for name, key, _, _ in branches})
            made._course = course
            for name, _, state, status in branches:
                made._machines[name].restore((state,))
                if status is not None:
                    made.heuristics[name] = XaStatus(status)
            return made
        except (TypeError, ValueError, EncodeError) as why:
            raise DecodeError("snapshot", 0, f"not a snapshot of a two-phase commit: {why}") from None

    # --- internals ------------------------------------------------------------------------------------------------------------

    def _advance(self) -> None:
        if self._course == "alone" and any(machine.state == rows.DOOMED for machine in self._machines.values()):
            self._course = "rolling back"
        if self._course != "voting":
            return
        states = {machine.state for machine in self._machines.values()}
        if not states <= {rows.ENDED, rows.PREPARING, rows.PREPARED, rows.READ_ONLY}:
            self._course = "rolling back"
        elif states == {rows.READ_ONLY}:
            self._course = "committing"
        elif states <= {rows.PREPARED, rows.READ_ONLY}:
            self._course = "deciding"

    def _awaits(self, participant: str) -> bool:
        machine = self._machines.get(participant)
        return machine is not None and machine.state in rows.AWAITED

    def _expect(self, participant: str, what: str) -> Machine:
        if not self._awaits(participant):
            state = self._machines[participant].state if participant in self._machines else "no such participant"
            legal = tuple([f"{what} of {name!r}" for name in self.awaited][:8])
            raise LocalProtocolError(f"{what} of {participant!r}", state, legal)
        return self._machines[participant]

    def __repr__(self) -> str:
        return f"<TwoPhase {self._course}: {self.states}>"


def presumed_aborts(
    in_doubt: Mapping[str, Iterable[dtx.Xid]], decisions: Iterable[Decision], ours: Callable[[dtx.Xid], bool]
) -> list[TwoPhase]:
    """Returns what is left to roll back after a crash: one TwoPhase for each transaction without a stored decision.

    `in_doubt`: each participant's list (dtx.recover), taken while no transaction of ours is being prepared.  `ours`: whether we
    made an xid; branches of other transaction managers are left alone.  Branches of one transaction share format and global id.
    """
    kept = {key_of(xid)[:2] for decision in decisions for _, xid in decision.branches}
    found: dict[tuple[int, bytes], list[tuple[str, dtx.Xid]]] = {}
    for name, xids in in_doubt.items():
        for xid in xids:
            if ours(xid) and key_of(xid)[:2] not in kept:
                found.setdefault(key_of(xid)[:2], []).append((name, xid))
    made: list[TwoPhase] = []
    for listed in found.values():
        while listed:  # a participant may list several branches of one transaction
            first: dict[str, dtx.Xid] = {}
            rest = [(name, xid) for name, xid in listed if first.setdefault(name, xid) is not xid]
            made.append(TwoPhase.abandon(first))
            listed = rest
    return made


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{type(value).__name__} is not a name")
    return value


def _xid(key: object) -> dtx.Xid:
    return dtx.Xid(*key_in(key))


__all__ = ["Action", "Ask", "Decide", "Decision", "TwoPhase", "presumed_aborts"]
