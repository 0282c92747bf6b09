"""What may become of transactions: a local one ends, a branch is answered, branches are recovered."""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid


class TransactionOutcome(StrEnum):
    """How a local transaction ended."""

    COMMITTED = "committed"
    """All that was published and accepted in it counts."""
    ROLLED_BACK = "rolled back"
    """Nothing that was published or accepted in it counts."""
    UNKNOWN = "unknown"
    """The session ended while tx.commit was under way: one of the two, and nobody is left to ask."""


class TransactionEnded(Value):
    """A local transaction of a session with tx.select ended; the next one began with it, unless the session is over.

    `id` is our tx.commit or tx.rollback.  None: neither was sent, and the end of the session rolled back what was open (it
    comes when any command was sent since the last tx.select, tx.commit or tx.rollback).
    """

    __slots__ = ("id", "outcome", "session")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "outcome")
    __match_args__ = ("session", "id", "outcome")

    def __init__(self, session: bytes, id: int | None, outcome: TransactionOutcome) -> None:
        self.session: Final = session
        self.id: Final = id
        self.outcome: Final = outcome


class BranchAnswered(Value):
    """Our command `id` about the branch `xid` is answered; `verb` names it, such as "dtx.prepare".

    `status` is what the result says; XA_OK when dtx.forget or dtx.set-timeout, which have no result, are complete.  None: it
    is unknown, because the session ended before the answer or because the result held none that the specification has.
    `refused` is the error code when the server refused the command itself, which ended the session (`ExceptionReceived`).
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
    """The answer to our dtx.get-timeout `id`: how long the branch may take, in `seconds`.  None: the session ended before."""

    __slots__ = ("id", "seconds", "session", "xid")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "xid", "seconds")
    __match_args__ = ("session", "id", "xid", "seconds")

    def __init__(self, session: bytes, id: int, xid: Xid, seconds: int | None) -> None:
        self.session: Final = session
        self.id: Final = id
        self.xid: Final = xid
        self.seconds: Final = seconds


class BranchesRecovered(Value):
    """The answer to our dtx.recover `id`: the branches that are prepared, or about which the server decided.

    `xids` is None when the session ended before the answer.
    """

    __slots__ = ("id", "session", "xids")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "id", "xids")
    __match_args__ = ("session", "id", "xids")

    def __init__(self, session: bytes, id: int, xids: tuple[Xid, ...] | None) -> None:
        self.session: Final = session
        self.id: Final = id
        self.xids: Final = xids
