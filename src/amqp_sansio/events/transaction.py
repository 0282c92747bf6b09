"""Events of transactions: a local one ended, the peer answered a command about a branch, or it listed its branches."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value
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


class TransactionEnded(Value):
    """A local transaction of a session with tx.select ended; the next one began with it, unless the session is over.

    `id` is our tx.commit or tx.rollback.  It is None when we sent neither and the end of the session rolled the transaction
    back; that is reported when any command was sent since the last tx.select, tx.commit or tx.rollback.
    """

    __slots__ = ("id", "outcome", "session")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "outcome")
    __match_args__ = ("session", "id", "outcome")

    def __init__(self, session: bytes, id: int | None, outcome: TransactionOutcome) -> None:
        self.session: Final = session
        self.id: Final = id
        self.outcome: Final = outcome


class BranchAnswered(Value):
    """The peer answered our command `id` about the branch `xid`; `verb` names the command, such as "dtx.prepare".

    `status` is that of the result; XA_OK when dtx.forget or dtx.set-timeout, which have no result, are complete.  It is None
    when unknown: the session ended before the answer, or the result held no status of the specification.  `refused` is the
    error code when the server refused the command itself, which ended the session (`ExceptionReceived`).
    """

    __slots__ = ("id", "refused", "session", "status", "verb", "xid")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "verb", "xid", "status", "refused")
    __match_args__ = ("session", "id", "verb", "xid", "status", "refused")

    def __init__(
        self, session: bytes, id: int, verb: str, xid: Xid, status: XaStatus | None, refused: int | None = None
    ) -> None:
        self.session: Final = session
        self.id: Final = id
        self.verb: Final = verb
        self.xid: Final = xid
        self.status: Final = status
        self.refused: Final = refused


class BranchTimeout(Value):
    """The answer to our dtx.get-timeout `id`: the branch's timeout in `seconds`.  None: the session ended before it."""

    __slots__ = ("id", "seconds", "session", "xid")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "xid", "seconds")
    __match_args__ = ("session", "id", "xid", "seconds")

    def __init__(self, session: bytes, id: int, xid: Xid, seconds: int | None) -> None:
        self.session: Final = session
        self.id: Final = id
        self.xid: Final = xid
        self.seconds: Final = seconds


class BranchesRecovered(Value):
    """The answer to our dtx.recover `id`: the branches that are prepared, or that the server decided heuristically.

    `xids` is None when the session ended before the answer.
    """

    __slots__ = ("id", "session", "xids")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "xids")
    __match_args__ = ("session", "id", "xids")

    def __init__(self, session: bytes, id: int, xids: tuple[Xid, ...] | None) -> None:
        self.session: Final = session
        self.id: Final = id
        self.xids: Final = xids
