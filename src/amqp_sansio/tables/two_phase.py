"""One branch in a two-phase commit, in the third person: the manager asks, the participant answers.

The phase of the whole (voting, committing, rolling back) is the manager's own state; the rows say what may be asked of a
branch, and the effect of each answer.  A participant answers with a status, refuses, does not know the branch (any more), or is
lost before its answer came.  Every awaited answer has a row: no answer of a participant is a violation.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from amqp_sansio.kernel.machine import Row, Table

MANAGER: Final = "manager"
PARTICIPANT: Final = "participant"

ENDED: Final = "ended"
"""The work is done, and no session is associated with it any more."""
PREPARING: Final = "preparing"
PREPARED: Final = "prepared"
COMMITTING: Final = "committing"
COMMIT_IN_DOUBT: Final = "commit in doubt"
"""Commit was sent, and its outcome is unknown."""
COMMITTING_AGAIN: Final = "committing again"
ALONE: Final = "committing alone"
ALONE_IN_DOUBT: Final = "committing alone in doubt"
ALONE_AGAIN: Final = "committing alone again"
DOOMED: Final = "to be rolled back"
ROLLING_BACK: Final = "rolling back"
DECIDED: Final = "decided"
"""A stored decision says that it is to be committed; whether it was is unknown."""
LISTING: Final = "listing"
HEURISTIC: Final = "heuristic"
"""The participant decided heuristically, and remembers that until it is asked to forget it."""
FORGETTING: Final = "forgetting"
COMMITTED: Final = "committed"
READ_ONLY: Final = "read-only"
ROLLED_BACK: Final = "rolled back"
FORGOTTEN: Final = "forgotten"
UNKNOWN: Final = "unknown"

PREPARE: Final = "dtx.prepare"
COMMIT: Final = "dtx.commit"
COMMIT_ONE_PHASE: Final = "dtx.commit one-phase"
ROLLBACK: Final = "dtx.rollback"
FORGET: Final = "dtx.forget"
RECOVER: Final = "dtx.recover"

OK: Final = "xa-ok"
RDONLY: Final = "xa-rdonly"
RBROLLBACK: Final = "xa-rbrollback"
RBTIMEOUT: Final = "xa-rbtimeout"
HEUR: Final = "heuristic status"
NO_SUCH: Final = "no such xid"
"""Refused with not-found."""
REFUSED: Final = "refused"
"""Refused with any other code."""
LOST: Final = "lost"
"""No answer will come."""
LISTED: Final = "listed"
NOT_LISTED: Final = "not listed"

ANSWERS: Final = (OK, RDONLY, RBROLLBACK, RBTIMEOUT, HEUR, NO_SUCH, REFUSED, LOST)

_ASKED: Final = (
    (ENDED, PREPARE, PREPARING), (ENDED, COMMIT_ONE_PHASE, ALONE), (ENDED, ROLLBACK, ROLLING_BACK),
    (PREPARED, COMMIT, COMMITTING), (PREPARED, ROLLBACK, ROLLING_BACK), (COMMIT_IN_DOUBT, COMMIT, COMMITTING_AGAIN),
    (ALONE_IN_DOUBT, COMMIT_ONE_PHASE, ALONE_AGAIN), (DOOMED, ROLLBACK, ROLLING_BACK), (DECIDED, RECOVER, LISTING),
    (HEURISTIC, FORGET, FORGETTING),
)  # fmt: skip

_ANSWERED: Final[dict[str, tuple[str, ...]]] = {  # in the order of ANSWERS
    PREPARING: (PREPARED, READ_ONLY, DOOMED, ROLLED_BACK, HEURISTIC, ROLLED_BACK, DOOMED, DOOMED),
    COMMITTING: (COMMITTED, COMMITTED, ROLLED_BACK, ROLLED_BACK, HEURISTIC, UNKNOWN, PREPARED, COMMIT_IN_DOUBT),
    COMMITTING_AGAIN: (
        COMMITTED, COMMITTED, ROLLED_BACK, ROLLED_BACK, HEURISTIC, COMMITTED, COMMIT_IN_DOUBT, COMMIT_IN_DOUBT,
    ),
    ALONE: (COMMITTED, READ_ONLY, ROLLED_BACK, ROLLED_BACK, HEURISTIC, ROLLED_BACK, DOOMED, ALONE_IN_DOUBT),
    ALONE_AGAIN: (COMMITTED, READ_ONLY, ROLLED_BACK, ROLLED_BACK, HEURISTIC, UNKNOWN, ALONE_IN_DOUBT, ALONE_IN_DOUBT),
    ROLLING_BACK: (ROLLED_BACK, ROLLED_BACK, ROLLED_BACK, ROLLED_BACK, HEURISTIC, ROLLED_BACK, DOOMED, DOOMED),
    # qpidd refuses to forget at all; nothing more can be done.
    FORGETTING: (FORGOTTEN, FORGOTTEN, FORGOTTEN, FORGOTTEN, HEURISTIC, FORGOTTEN, FORGOTTEN, HEURISTIC),
}  # fmt: skip


def _rows() -> Iterator[Row]:
    for state, verb, then in _ASKED:
        yield Row(state, MANAGER, verb, then)
    for state, outcomes in _ANSWERED.items():
        for answer, then in zip(ANSWERS, outcomes, strict=True):
            yield Row(state, PARTICIPANT, answer, then)
    for answer, then in ((LISTED, COMMIT_IN_DOUBT), (NOT_LISTED, COMMITTED), (REFUSED, COMMIT_IN_DOUBT), (LOST, DECIDED)):
        yield Row(LISTING, PARTICIPANT, answer, then)


TWO_PHASE: Final = Table(
    "two-phase commit, one branch", ENDED, _rows(), final=[COMMITTED, READ_ONLY, ROLLED_BACK, FORGOTTEN, UNKNOWN]
)

AWAITED: Final = frozenset([*_ANSWERED, LISTING])
"""States that await the participant's answer."""
