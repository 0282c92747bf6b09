"""The states of a branch of a distributed transaction (class dtx of 0-10) at its coordinator, in the third person.

A cell says: when the branch is in this state for the sending session, and that session sends this verb, then this is the answer
and the next state.  A state combines the branch's phase and its relation to the sender: the sender works on it, has suspended
it, or only others do.  Refused verbs have a cell too, with the rule and both error codes; the legal ones are also the rows of
the table BRANCH.

Three things are computed outside the cells: a start with a new xid counts against a limit; preparing a branch without work is a
verb of its own; and where a session leaves a branch on which others work, «nobody» in the next state means «elsewhere».
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.spec.codes import ErrorCode as E
from amqp_sansio.spec.codes import XaStatus as X

SESSION: Final = "session"
"""The sender of commands of class dtx, on any session; it need not be the one that works on the branch."""
ADMINISTRATOR: Final = "administrator"
CLOCK: Final = "clock"


class Phase(Enum):
    """What has happened to a branch."""

    UNKNOWN = "unknown"
    """Never seen, or completed and forgotten."""
    OPEN = "open"
    ROLLBACK_ONLY = "rollback-only"
    TIMED_OUT = "timed-out"
    """Its work is rolled back; the first session that asks gets this answer, which forgets the branch."""
    PREPARED = "prepared"
    HEURISTIC = "heuristic"
    """Prepared, and then completed by an administrator; known until it is forgotten."""


class Relation(Enum):
    """The relation of the sending session to a branch."""

    NOBODY = "nobody"
    """No session works on the branch."""
    ELSEWHERE = "elsewhere"
    """Other sessions work on it, or have suspended it."""
    HERE = "here"
    """This session works on it."""
    SUSPENDED = "suspended"
    """This session has suspended it."""


class Standing(NamedTuple):
    """The state of a branch for the sending session."""

    phase: Phase
    relation: Relation = Relation.NOBODY

    @property
    def name(self) -> str:
        """Its name in the table: an open branch is active while a session works on it, and idle otherwise."""
        phase, relation = self
        if phase is Phase.OPEN:
            return "idle" if relation is Relation.NOBODY else f"active {relation.value}"
        return phase.value if relation is Relation.NOBODY else f"{phase.value} {relation.value}"


class Effect(Enum):
    """The effect on the work of the branch."""

    NONE = "none"
    COMMIT = "commit"
    ROLLBACK = "roll back"
    PREPARE = "prepare"


class Fault(NamedTuple):
    """Why the coordinator refuses a verb: the path of the rule ("": there is none), the error codes of the specification and of
    deployed brokers, and the field of the command that is wrong ("": not a single field)."""

    name: str
    rule: str
    spec: int
    qpid: int
    field: str = ""


class Cell(NamedTuple):
    """The answer when the session sends `verb` in `state`, the next state, and the effect on the work.

    `answer` is a status; a fault, if the verb is refused; None if the command has no status; DECIDED if the status is that of
    the administrator's decision.
    """

    state: Standing
    verb: str
    answer: X | Fault | None
    next_state: Standing
    effect: Effect = Effect.NONE


DECIDED: Final = X.XA_HEURHAZ
"""In cells of phase HEURISTIC: whichever of the four statuses the administrator's decision has."""

START: Final = "start"
START_JOIN: Final = "start(join)"
START_RESUME: Final = "start(resume)"
START_JOIN_RESUME: Final = "start(join,resume)"
END: Final = "end"
END_SUSPEND: Final = "end(suspend)"
END_FAIL: Final = "end(fail)"
END_SUSPEND_FAIL: Final = "end(suspend,fail)"
PREPARE: Final = "prepare"
PREPARE_NOTHING: Final = "prepare(read-only)"
COMMIT: Final = "commit"
COMMIT_ONE_PHASE: Final = "commit(one-phase)"
ROLLBACK: Final = "rollback"
FORGET: Final = "forget"
GET_TIMEOUT: Final = "get-timeout"
SET_TIMEOUT: Final = "set-timeout"
SET_TIMEOUT_TOO_LONG: Final = "set-timeout(too long)"

VERBS: Final = (
    START, START_JOIN, START_RESUME, START_JOIN_RESUME, END, END_SUSPEND, END_FAIL, END_SUSPEND_FAIL, PREPARE,
    PREPARE_NOTHING, COMMIT, COMMIT_ONE_PHASE, ROLLBACK, FORGET, GET_TIMEOUT, SET_TIMEOUT, SET_TIMEOUT_TOO_LONG,
)  # fmt: skip
ENDS: Final = (END, END_SUSPEND, END_FAIL)
COMMITS: Final = (COMMIT, COMMIT_ONE_PHASE)
PREPARES: Final = (PREPARE, PREPARE_NOTHING)
OUTCOMES: Final = (*PREPARES, *COMMITS, ROLLBACK, FORGET)

SESSION_ENDED: Final = "ended"
TIME_OUT: Final = "timeout"
COMPLETE: Final = "complete"
"""An administrator decides about a prepared branch: to commit it or to roll it back."""

# --- the states of a branch -----------------------------------------------------------------------------------------------

UNKNOWN: Final = Standing(Phase.UNKNOWN)
IDLE: Final = Standing(Phase.OPEN)
ACTIVE_ELSEWHERE: Final = Standing(Phase.OPEN, Relation.ELSEWHERE)
ACTIVE_HERE: Final = Standing(Phase.OPEN, Relation.HERE)
ACTIVE_SUSPENDED: Final = Standing(Phase.OPEN, Relation.SUSPENDED)
DOOMED: Final = Standing(Phase.ROLLBACK_ONLY)
DOOMED_ELSEWHERE: Final = Standing(Phase.ROLLBACK_ONLY, Relation.ELSEWHERE)
DOOMED_HERE: Final = Standing(Phase.ROLLBACK_ONLY, Relation.HERE)
DOOMED_SUSPENDED: Final = Standing(Phase.ROLLBACK_ONLY, Relation.SUSPENDED)
TIMED_OUT: Final = Standing(Phase.TIMED_OUT)
TIMED_OUT_ELSEWHERE: Final = Standing(Phase.TIMED_OUT, Relation.ELSEWHERE)
TIMED_OUT_HERE: Final = Standing(Phase.TIMED_OUT, Relation.HERE)
TIMED_OUT_SUSPENDED: Final = Standing(Phase.TIMED_OUT, Relation.SUSPENDED)
PREPARED: Final = Standing(Phase.PREPARED)
HEURISTIC: Final = Standing(Phase.HEURISTIC)

STANDINGS: Final = (
    UNKNOWN, IDLE, ACTIVE_ELSEWHERE, ACTIVE_HERE, ACTIVE_SUSPENDED, DOOMED, DOOMED_ELSEWHERE, DOOMED_HERE, DOOMED_SUSPENDED,
    TIMED_OUT, TIMED_OUT_ELSEWHERE, TIMED_OUT_HERE, TIMED_OUT_SUSPENDED, PREPARED, HEURISTIC,
)  # fmt: skip
"""All states of a branch."""
_KNOWN: Final = STANDINGS[1:]
_OTHERS: Final = (ACTIVE_ELSEWHERE, DOOMED_ELSEWHERE, TIMED_OUT_ELSEWHERE)
_WORKED_ON: Final = (
    *_OTHERS, ACTIVE_HERE, DOOMED_HERE, TIMED_OUT_HERE, ACTIVE_SUSPENDED, DOOMED_SUSPENDED, TIMED_OUT_SUSPENDED,
)  # fmt: skip

# --- faults ---------------------------------------------------------------------------------------------------------------

ALREADY_KNOWN: Final = Fault("branch is known", "dtx.start.already-known", E.NOT_ALLOWED, E.NOT_ALLOWED)
JOIN_DECIDED: Final = Fault("join of a decided branch", "dtx.start.already-known", E.NOT_ALLOWED, E.NOT_ALLOWED, "xid")
JOIN_DONE: Final = Fault("join of a prepared branch", "dtx.start.illegal-state", E.ILLEGAL_STATE, E.COMMAND_INVALID, "xid")
JOIN_AND_RESUME: Final = Fault("join and resume", "dtx.start.join-and-resume", E.NOT_ALLOWED, E.COMMAND_INVALID)
JOIN_UNKNOWN: Final = Fault("join of an unknown branch", "dtx.start.xid.unknown-xid", E.NOT_ALLOWED, E.NOT_FOUND, "xid")
RESUME_UNKNOWN: Final = Fault(
    "resume of an unknown branch", "dtx.start.xid.unknown-xid", E.NOT_ALLOWED, E.COMMAND_INVALID, "xid"
)
NOT_SUSPENDED: Final = Fault("not suspended here", "dtx.start.illegal-state", E.ILLEGAL_STATE, E.COMMAND_INVALID, "xid")
WORKING: Final = Fault("session has a branch", "dtx.start.illegal-state", E.ILLEGAL_STATE, E.ILLEGAL_STATE)
SUSPEND_AND_FAIL: Final = Fault("suspend and fail", "dtx.end.suspend-and-fail", E.NOT_ALLOWED, E.COMMAND_INVALID)
NOT_ASSOCIATED: Final = Fault("not associated", "dtx.end.xid.not-associated", E.ILLEGAL_STATE, E.ILLEGAL_STATE, "xid")
SUSPENDED_TWICE: Final = Fault("suspended already", "dtx.end.illegal-state", E.ILLEGAL_STATE, E.ILLEGAL_STATE, "suspend")
TWO_PHASES: Final = Fault(
    "not prepared, two phases", "dtx.commit.one-phase.one-phase", E.ILLEGAL_STATE, E.ILLEGAL_STATE, "one_phase"
)
ONE_PHASE: Final = Fault("prepared, one phase", "dtx.commit.one-phase.two-phase", E.ILLEGAL_STATE, E.ILLEGAL_STATE, "one_phase")
TOO_LONG: Final = Fault("too long", "", E.INVALID_ARGUMENT, E.INVALID_ARGUMENT, "timeout")


def command(verb: str) -> str:
    """Returns the command of a verb: its name in class dtx."""
    return verb.partition("(")[0]


def _unknown_xid(verb: str) -> Fault:
    return Fault("unknown branch", f"dtx.{command(verb)}.xid.unknown-xid", E.NOT_FOUND, E.NOT_FOUND, "xid")


def _worked_on(verb: str) -> Fault:
    rule = f"dtx.{command(verb)}.xid.not-disassociated"
    return Fault("still associated", rule, E.ILLEGAL_STATE, E.ILLEGAL_STATE, "xid")


def _out_of_turn(verb: str) -> Fault:
    return Fault("wrong state", f"dtx.{command(verb)}.illegal-state", E.ILLEGAL_STATE, E.ILLEGAL_STATE)


# --- the rows -------------------------------------------------------------------------------------------------------------

_Answer: TypeAlias = "X | Fault | Callable[[str], Fault] | None"
_Row: TypeAlias = tuple[tuple[Standing, ...], tuple[str, ...], _Answer, Standing | None, Effect]
"""For these states and verbs: the answer, the next state (None: the same), the effect.  One cell each."""

_TIMEOUTS: Final = (GET_TIMEOUT, SET_TIMEOUT)
_NONE: Final = Effect.NONE

ROWS: Final[tuple[_Row, ...]] = (
    (STANDINGS, (START_JOIN_RESUME,), JOIN_AND_RESUME, None, _NONE),
    (STANDINGS, (END_SUSPEND_FAIL,), SUSPEND_AND_FAIL, None, _NONE),
    ((UNKNOWN,), (START,), X.XA_OK, ACTIVE_HERE, _NONE),
    ((UNKNOWN,), (START_JOIN,), JOIN_UNKNOWN, None, _NONE),
    ((UNKNOWN,), (START_RESUME,), RESUME_UNKNOWN, None, _NONE),
    ((UNKNOWN,), ENDS, NOT_ASSOCIATED, None, _NONE),
    ((UNKNOWN,), (*OUTCOMES, *_TIMEOUTS, SET_TIMEOUT_TOO_LONG), _unknown_xid, None, _NONE),
    # Setting the timeout of a prepared branch changes the reported value, and has no other effect.
    (_KNOWN, _TIMEOUTS, None, None, _NONE),
    (_KNOWN, (SET_TIMEOUT_TOO_LONG,), TOO_LONG, None, _NONE),
    # start
    (_KNOWN, (START,), ALREADY_KNOWN, None, _NONE),
    ((IDLE, ACTIVE_ELSEWHERE, ACTIVE_SUSPENDED), (START_JOIN,), X.XA_OK, ACTIVE_HERE, _NONE),
    ((DOOMED, DOOMED_ELSEWHERE, DOOMED_SUSPENDED), (START_JOIN,), X.XA_OK, DOOMED_HERE, _NONE),
    ((ACTIVE_HERE, DOOMED_HERE), (START_JOIN,), WORKING, None, _NONE),
    ((PREPARED,), (START_JOIN,), JOIN_DONE, None, _NONE),
    ((HEURISTIC,), (START_JOIN,), JOIN_DECIDED, None, _NONE),
    ((ACTIVE_SUSPENDED,), (START_RESUME,), X.XA_OK, ACTIVE_HERE, _NONE),
    ((DOOMED_SUSPENDED,), (START_RESUME,), X.XA_OK, DOOMED_HERE, _NONE),
    ((IDLE, ACTIVE_ELSEWHERE, ACTIVE_HERE), (START_RESUME,), NOT_SUSPENDED, None, _NONE),
    ((DOOMED, DOOMED_ELSEWHERE, DOOMED_HERE), (START_RESUME,), NOT_SUSPENDED, None, _NONE),
    ((PREPARED, HEURISTIC), (START_RESUME,), NOT_SUSPENDED, None, _NONE),
    # A session that gets the answer «timed out» no longer works on the branch.
    ((TIMED_OUT, TIMED_OUT_HERE, TIMED_OUT_SUSPENDED), (START_JOIN, START_RESUME), X.XA_RBTIMEOUT, TIMED_OUT, _NONE),
    ((TIMED_OUT_ELSEWHERE,), (START_JOIN, START_RESUME), X.XA_RBTIMEOUT, TIMED_OUT_ELSEWHERE, _NONE),
    # end
    ((IDLE, DOOMED, TIMED_OUT, *_OTHERS, PREPARED, HEURISTIC), ENDS, NOT_ASSOCIATED, None, _NONE),
    ((ACTIVE_HERE, ACTIVE_SUSPENDED), (END,), X.XA_OK, IDLE, _NONE),
    ((ACTIVE_HERE,), (END_SUSPEND,), X.XA_OK, ACTIVE_SUSPENDED, _NONE),
    ((ACTIVE_SUSPENDED, DOOMED_SUSPENDED), (END_SUSPEND,), SUSPENDED_TWICE, None, _NONE),
    ((ACTIVE_HERE, ACTIVE_SUSPENDED), (END_FAIL,), X.XA_RBROLLBACK, DOOMED, _NONE),
    ((DOOMED_HERE,), ENDS, X.XA_RBROLLBACK, DOOMED, _NONE),
    ((DOOMED_SUSPENDED,), (END, END_FAIL), X.XA_RBROLLBACK, DOOMED, _NONE),
    ((TIMED_OUT_HERE, TIMED_OUT_SUSPENDED), ENDS, X.XA_RBTIMEOUT, TIMED_OUT, _NONE),
    # prepare, commit, rollback, forget
    (_WORKED_ON, OUTCOMES, _worked_on, None, _NONE),
    ((IDLE,), (PREPARE,), X.XA_OK, PREPARED, Effect.PREPARE),
    ((IDLE,), (PREPARE_NOTHING,), X.XA_RDONLY, UNKNOWN, _NONE),
    ((IDLE,), (COMMIT_ONE_PHASE,), X.XA_OK, UNKNOWN, Effect.COMMIT),
    ((IDLE,), (COMMIT,), TWO_PHASES, None, _NONE),
    ((IDLE,), (ROLLBACK,), X.XA_OK, UNKNOWN, Effect.ROLLBACK),
    ((DOOMED,), PREPARES, X.XA_RBROLLBACK, DOOMED, _NONE),  # dtx.rollback has to follow
    ((DOOMED,), COMMITS, X.XA_RBROLLBACK, UNKNOWN, Effect.ROLLBACK),
    ((DOOMED,), (ROLLBACK,), X.XA_OK, UNKNOWN, Effect.ROLLBACK),
    ((TIMED_OUT,), (*PREPARES, *COMMITS, ROLLBACK), X.XA_RBTIMEOUT, UNKNOWN, _NONE),  # its work is already rolled back
    ((PREPARED,), (COMMIT,), X.XA_OK, UNKNOWN, Effect.COMMIT),
    ((PREPARED,), (COMMIT_ONE_PHASE,), ONE_PHASE, None, _NONE),
    ((PREPARED,), (ROLLBACK,), X.XA_OK, UNKNOWN, Effect.ROLLBACK),
    ((PREPARED, HEURISTIC), PREPARES, _out_of_turn, None, _NONE),
    ((HEURISTIC,), (*COMMITS, ROLLBACK), DECIDED, HEURISTIC, _NONE),
    ((IDLE, DOOMED, TIMED_OUT, PREPARED), (FORGET,), _out_of_turn, None, _NONE),
    ((HEURISTIC,), (FORGET,), None, UNKNOWN, _NONE),
)


def cells(rows: tuple[_Row, ...] = ROWS) -> dict[tuple[Standing, str], Cell]:
    """Returns a cell for every verb in every state.  Raises ValueError when a cell is missing or duplicated."""
    found: dict[tuple[Standing, str], Cell] = {}
    for states, verbs, answer, next_state, effect in rows:
        for state, verb in product(states, verbs):
            if (state, verb) in found:
                raise ValueError(f"two cells for {verb} in state {state.name}")
            said = answer(verb) if callable(answer) else answer
            found[state, verb] = Cell(state, verb, said, next_state or state, effect)
    missing = set(product(STANDINGS, VERBS)) - found.keys()
    if missing:
        raise ValueError(f"no cell for {sorted([f'{verb} in state {state.name}' for state, verb in missing])}")
    return found


CELLS: Final = cells()
"""The cells by state and verb."""
FAULTS: Final = {(command(cell.verb), cell.answer): None for cell in CELLS.values() if isinstance(cell.answer, Fault)}
"""Every fault, with the command that it refuses."""


def _rows() -> Iterator[Row]:
    for cell in CELLS.values():
        if not isinstance(cell.answer, Fault):
            yield Row(cell.state.name, SESSION, cell.verb, cell.next_state.name)
    for state in STANDINGS:
        if state.relation in (Relation.HERE, Relation.SUSPENDED):
            phase = Phase.TIMED_OUT if state.phase is Phase.TIMED_OUT else Phase.ROLLBACK_ONLY
            yield Row(state.name, SESSION, SESSION_ENDED, Standing(phase).name)
        if state.phase in (Phase.OPEN, Phase.ROLLBACK_ONLY):
            yield Row(state.name, CLOCK, TIME_OUT, Standing(Phase.TIMED_OUT, state.relation).name)
    yield Row(PREPARED.name, ADMINISTRATOR, COMPLETE, HEURISTIC.name)


BRANCH: Final = Table("dtx branch", UNKNOWN.name, _rows(), final=[UNKNOWN.name])
"""The legal verbs, and the events that no session sends."""


def legal(state: Standing) -> tuple[str, ...]:
    """Returns the verbs that a session may send in a state."""
    return tuple([verb for verb in VERBS if not isinstance(CELLS[state, verb].answer, Fault)])
