"""What a client may send about transactions on one session, in the third person.

A session is in the state none, tx, dtx idle or dtx active.  Which branch is meant, and which are suspended, is stored beside
the rows: the verbs of dtx.start and dtx.end say how their xid relates to the session ("of the associated xid").  All else is
forbidden; `FORBIDDEN` has the errors: by the specification, and of deployed brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from amqp_sansio.kernel.machine import Row, Table
from amqp_sansio.spec.codes import ErrorCode

CLIENT: Final = "client"

NO_TRANSACTIONS: Final = "none"
TX: Final = "tx"
DTX_IDLE: Final = "dtx idle"
DTX_ACTIVE: Final = "dtx active"

TX_SELECT: Final = "tx.select"
TX_SELECT_BESIDE: Final = "tx.select beside a subscription with accept-mode none"
TX_COMMIT: Final = "tx.commit"
TX_ROLLBACK: Final = "tx.rollback"
SUBSCRIBE_NONE: Final = "message.subscribe with accept-mode none"
DTX_SELECT: Final = "dtx.select"
START: Final = "dtx.start"
"""With join or without."""
RESUME: Final = "dtx.start resume of a suspended xid"
RESUME_OTHER: Final = "dtx.start resume of another xid"
JOIN_AND_RESUME: Final = "dtx.start join and resume"
END: Final = "dtx.end of the associated xid"
"""With fail or without."""
SUSPEND: Final = "dtx.end suspend of the associated xid"
END_SUSPENDED: Final = "dtx.end of a suspended xid"
SUSPEND_AGAIN: Final = "dtx.end suspend of a suspended xid"
SUSPEND_AND_FAIL: Final = "dtx.end suspend and fail"
"""Of the associated xid or a suspended one."""
END_OTHER: Final = "dtx.end of another xid"
"""With any flags."""

DEMARCATION: Final = Table(
    "demarcation of transactions",
    NO_TRANSACTIONS,
    [
        Row(NO_TRANSACTIONS, CLIENT, TX_SELECT, TX),
        Row(NO_TRANSACTIONS, CLIENT, DTX_SELECT, DTX_IDLE),
        Row(NO_TRANSACTIONS, CLIENT, SUBSCRIBE_NONE, NO_TRANSACTIONS),
        Row(TX, CLIENT, TX_COMMIT, TX),
        Row(TX, CLIENT, TX_ROLLBACK, TX),
        Row(DTX_IDLE, CLIENT, DTX_SELECT, DTX_IDLE),
        Row(DTX_IDLE, CLIENT, START, DTX_ACTIVE),
        Row(DTX_IDLE, CLIENT, RESUME, DTX_ACTIVE),
        Row(DTX_IDLE, CLIENT, END_SUSPENDED, DTX_IDLE),
        Row(DTX_IDLE, CLIENT, SUBSCRIBE_NONE, DTX_IDLE),
        Row(DTX_ACTIVE, CLIENT, DTX_SELECT, DTX_ACTIVE),
        Row(DTX_ACTIVE, CLIENT, END, DTX_IDLE),
        Row(DTX_ACTIVE, CLIENT, SUSPEND, DTX_IDLE),
        Row(DTX_ACTIVE, CLIENT, END_SUSPENDED, DTX_ACTIVE),
        Row(DTX_ACTIVE, CLIENT, SUBSCRIBE_NONE, DTX_ACTIVE),
    ],
    final=[NO_TRANSACTIONS, TX, DTX_IDLE, DTX_ACTIVE],
)


class Forbidden(NamedTuple):
    """In `state` the client must not send `verb`, by `rule`.

    `spec` is the error code of the specification; `qpid` that of deployed brokers, None where they allow it: the session is
    then in state `passed`.
    """

    state: str
    verb: str
    rule: str
    spec: int
    qpid: int | None
    passed: str


def _cells() -> Iterator[Forbidden]:
    illegal, not_allowed, invalid = ErrorCode.ILLEGAL_STATE, ErrorCode.NOT_ALLOWED, ErrorCode.COMMAND_INVALID

    def cell(
        states: tuple[str, ...], verbs: tuple[str, ...], rule: str, spec: int, qpid: int | None, then: str = ""
    ) -> Iterator[Forbidden]:
        for state in states:
            for verb in verbs:
                yield Forbidden(state, verb, rule, int(spec), None if qpid is None else int(qpid), then or state)

    none, tx, idle, active = (NO_TRANSACTIONS,), (TX,), (DTX_IDLE,), (DTX_ACTIVE,)
    selects, dtx = (TX_SELECT, TX_SELECT_BESIDE), (DTX_IDLE, DTX_ACTIVE)
    # tx.select: deployed brokers allow it to be repeated, and check no subscription.
    yield from cell(none, (TX_SELECT_BESIDE,), "tx.select.explicit-accepts", not_allowed, None, TX)
    yield from cell(tx, selects, "tx.select.exactly-once", illegal, None)
    yield from cell(dtx, selects, "tx.select.no-dtx", illegal, illegal)
    yield from cell(tx, (SUBSCRIBE_NONE,), "tx.select.explicit-accepts", not_allowed, None)
    yield from cell(none, (TX_COMMIT,), "tx.commit.select-required", illegal, invalid)
    yield from cell(none, (TX_ROLLBACK,), "tx.rollback.select-required", illegal, invalid)
    yield from cell(dtx, (TX_COMMIT,), "tx.commit.select-required", illegal, illegal)
    yield from cell(dtx, (TX_ROLLBACK,), "tx.rollback.select-required", illegal, illegal)
    # No rule forbids it by name, but a session cannot be both: qpidd allows it, and then confuses the two.
    yield from cell(tx, (DTX_SELECT,), "dtx.select", illegal, illegal)
    starts = (START, RESUME_OTHER, JOIN_AND_RESUME)
    yield from cell((*none, *tx), starts, "dtx.start.illegal-state", illegal, invalid)
    # qpidd lets a second start overwrite the association, which loses a branch: that cannot be wanted.
    # A start of the associated branch itself is passed on (see `engine.demarcation`): that branch is already known.
    yield from cell(active, (START, RESUME, RESUME_OTHER), "dtx.start.illegal-state", illegal, illegal)
    yield from cell(active, (JOIN_AND_RESUME,), "dtx.start.illegal-state", illegal, invalid)
    yield from cell(idle, (JOIN_AND_RESUME,), "dtx.start.join-and-resume", not_allowed, invalid)
    yield from cell(idle, (RESUME_OTHER,), "dtx.start.illegal-state", illegal, invalid, DTX_ACTIVE)
    # qpidd answers 503 to a dtx.start there and 409 to a dtx.end; we use one code, because the mistake is the same.
    yield from cell((*none, *tx), (END_OTHER,), "dtx.end.illegal-state", illegal, invalid)
    yield from cell(idle, (END_OTHER, SUSPEND_AGAIN), "dtx.end.xid.not-associated", illegal, illegal)
    yield from cell(active, (END_OTHER, SUSPEND_AGAIN), "dtx.end.xid.not-associated", illegal, invalid)
    yield from cell(dtx, (SUSPEND_AND_FAIL,), "dtx.end.suspend-and-fail", not_allowed, invalid)


FORBIDDEN: Final[dict[tuple[str, str], Forbidden]] = {(cell.state, cell.verb): cell for cell in _cells()}
"""Every cell that is not a row, by state and verb, except those that cannot occur."""

HANDED_ON: Final = frozenset({(DTX_IDLE, RESUME_OTHER)})
"""Cells that a server leaves to its coordinator, which alone knows whether the branch is unknown (530 by the specification),
timed out, or somebody else's.  The session is in state `passed` unless it is refused or answered otherwise."""

COORDINATION: Final = (
    "dtx.prepare", "dtx.commit", "dtx.rollback", "dtx.forget", "dtx.recover", "dtx.get-timeout", "dtx.set-timeout",
)  # fmt: skip
"""What a client may send in every state, even without dtx.select: it concerns a branch instead of the session."""
