"""One branch of a distributed transaction, as its coordinator keeps it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from amqp_sansio.broker.operations import BranchPrepared
from amqp_sansio.broker.transactions.transaction_buffer import Work
from amqp_sansio.engine.xid import show
from amqp_sansio.ledger.demarcation import XidKey
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.tables.branch import UNKNOWN, Phase, Relation, Standing

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.owner import Owner


class Outcome(NamedTuple):
    """What a command of class dtx is answered with, once entry `journal` is journalled (0: at once)."""

    status: XaStatus
    journal: int = 0


class InDoubt(NamedTuple):
    """A branch that waits for its transaction manager, for an administrator to look at."""

    xid: Xid
    decided: XaStatus | None
    """None: it is prepared; otherwise what was decided about it, and nobody has said dtx.forget yet."""
    published: int
    """Messages that it holds back."""
    accepted: int
    """Messages that it keeps acquired."""
    octets: int
    """Of the messages that it holds back."""


class Branch:
    """A branch: its phase, the sessions that work on it, and what it holds back."""

    __slots__ = ("decided", "identity", "journal", "phase", "sessions", "stored", "timeout", "work", "xid")

    def __init__(self, xid: XidKey, work: Work, timeout: int, identity: str | None) -> None:
        self.xid: Final = xid
        self.identity: Final = identity
        """Who began it; None where a journal of an older version did not say."""
        self.work: Final = work
        self.timeout = timeout
        """Seconds."""
        self.phase = Phase.OPEN
        self.sessions: Final[dict[Owner, bool]] = {}
        """The associated sessions: True for one that works on it, False for one that has suspended it."""
        self.decided: XaStatus | None = None
        """What an administrator decided."""
        self.stored: dict[Message, None] = {}
        """The messages that the journal knows because it holds them back, once it is prepared."""
        self.journal = 0
        """The entry by which it was prepared or decided: what is answered about that waits for it."""

    def relation(self, owner: Owner | None) -> Relation:
        """What a session has to do with it."""
        active = None if owner is None else self.sessions.get(owner)
        if active is not None:
            return Relation.HERE if active else Relation.SUSPENDED
        return Relation.ELSEWHERE if self.sessions else Relation.NOBODY

    def keep(self, message: Message) -> None:
        """The journal knows the message for as long as the branch is in doubt."""
        self.stored[message] = None
        message.stored += 1

    def let_go(self) -> None:
        """The branch is decided: the queue that has the message keeps it in the journal."""
        for message in self.stored:
            message.stored -= 1
        self.stored.clear()

    @property
    def evictable(self) -> bool:
        """Whether its work is rolled back already and nobody is associated with it: later requests find nothing."""
        return self.phase is Phase.TIMED_OUT and not self.sessions

    @property
    def in_doubt(self) -> bool:
        """Whether dtx.recover names it."""
        return self.phase in (Phase.PREPARED, Phase.HEURISTIC)

    def __repr__(self) -> str:
        return f"<Branch {show(self.xid)}: {self.phase.value}, {len(self.sessions)} sessions, {self.work!r}>"


def standing(branch: Branch | None, owner: Owner | None) -> Standing:
    """How a branch stands for a session."""
    return UNKNOWN if branch is None else Standing(branch.phase, branch.relation(owner))


def prepared(host: str, branch: Branch) -> BranchPrepared:
    """The operation that says what of a prepared branch outlives the broker: whatever has to do with durable queues."""
    published = [
        (message.number, tuple([queue.name for queue in queues if queue.durable and not queue.deleted]))
        for message, queues in branch.work.published
        if message in branch.stored
    ]
    accepted = [
        (entry.queue.name, entry.message.number)
        for entry in branch.work.accepted
        if entry.message.persistent and entry.queue.durable and not entry.queue.deleted
    ]
    return BranchPrepared(host, branch.xid, published, accepted, branch.timeout, branch.identity)


def xid_of(key: XidKey) -> Xid:
    """The xid of its parts."""
    return Xid(*key)
