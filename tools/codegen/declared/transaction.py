"""Events of transactions: a local one ended, the peer answered a command about a branch, or it listed its branches."""

from __future__ import annotations

from enum import StrEnum

from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid


class TransactionOutcome(StrEnum):
    """How a local transaction ended."""

    COMMITTED = "committed"
    """All that was published and accepted in the transaction takes effect."""
    ROLLED_BACK = "rolled back"
    """Nothing that was published or accepted in the transaction takes effect."""
    UNKNOWN = "unknown"
    """Committed or rolled back: the session ended while tx.commit was in progress, so the answer is lost."""


class TransactionEnded(ValueObject):
    """A local transaction of a session with tx.select ended; the next one began with it, unless the session is over.

    `id` is our tx.commit or tx.rollback.  It is None when we sent neither and the end of the session rolled the transaction
    back; that is reported when any command was sent since the last tx.select, tx.commit or tx.rollback.
    """

    session: bytes
    id: int | None
    outcome: TransactionOutcome


class BranchAnswered(ValueObject):
    """The peer answered our command `id` about the branch `xid`; `verb` names the command, such as "dtx.prepare".

    `status` is that of the result; XA_OK when dtx.forget or dtx.set-timeout, which have no result, are complete.  It is None
    when unknown: the session ended before the answer, or the result held no status of the specification.  `refused` is the
    error code when the server refused the command itself, which ended the session (`ExceptionReceived`).
    """

    session: bytes
    id: int
    verb: str
    xid: Xid
    status: XaStatus | None
    refused: int | None = None


class BranchTimeout(ValueObject):
    """The answer to our dtx.get-timeout `id`: the branch's timeout in `seconds`.  None: the session ended before it."""

    session: bytes
    id: int
    xid: Xid
    seconds: int | None


class BranchesRecovered(ValueObject):
    """The answer to our dtx.recover `id`: the branches that are prepared, or that the server decided heuristically.

    `xids` is None when the session ended before the answer.
    """

    session: bytes
    id: int
    xids: tuple[Xid, ...] | None
