"""The transactions of one session, local and distributed: what was asked, and the tickets for the answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.errors import BranchFailed, TransactionFailed
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    Event,
    TransactionEnded,
    TransactionOutcome,
)
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid

if TYPE_CHECKING:
    from amqp_sansio.conversation.talk import Talk

GOOD: Final = frozenset([XaStatus.XA_OK, XaStatus.XA_RDONLY])


class Transactions:
    """Commits, rollbacks and branches of one `Talk`.

    A ticket of a transaction fails with TransactionFailed, one of a branch with BranchFailed, unless it went well; where the
    session is lost before the answer, their outcome is "unknown".
    """

    def __init__(self, talk: Talk) -> None:
        self._talk: Final = talk
        self._local: Final[dict[int, tuple[Ticket[None], TransactionOutcome]]] = {}
        self._branches: Final[dict[int, Ticket[XaStatus]]] = {}
        self._recovering: Final[dict[int, Ticket[tuple[Xid, ...]]]] = {}
        self._timeouts: Final[dict[int, Ticket[int]]] = {}
        self._selected: tuple[object, str] | None = None  # for which session, and what

    # --- local -------------------------------------------------------------------------------------------------------------

    def select_tx(self) -> None:
        """Makes the session transactional, unless it is so already."""
        session = self._talk.session
        if self._selected != (session, "tx"):
            session.select_tx()
            self._selected = (session, "tx")

    def commit(self) -> Ticket[None]:
        """Commits what was published and accepted; settled when the other side has done so."""
        return self._end_local(self._talk.session.tx.commit(), TransactionOutcome.COMMITTED)

    def rollback(self) -> Ticket[None]:
        """Undoes what was published and accepted.  What was accepted is held by the session again."""
        return self._end_local(self._talk.session.tx.rollback(), TransactionOutcome.ROLLED_BACK)

    def _end_local(self, id: int, wanted: TransactionOutcome) -> Ticket[None]:
        ticket: Ticket[None] = Ticket()
        self._local[id] = (ticket, wanted)
        self._talk.wake()
        return ticket

    # --- distributed -------------------------------------------------------------------------------------------------------

    def select_dtx(self) -> None:
        """Makes the session one of distributed transactions, unless it is so already."""
        session = self._talk.session
        if self._selected != (session, "dtx"):
            session.select_dtx()
            self._selected = (session, "dtx")

    def start(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Ticket[XaStatus]:
        """What is published and accepted from now on belongs to the branch."""
        self.select_dtx()
        return self._about(self._talk.session.dtx.start(xid, join=join, resume=resume))

    def end(self, xid: Xid, *, suspend: bool = False, fail: bool = False) -> Ticket[XaStatus]:
        """What follows belongs to the branch no more."""
        return self._about(self._talk.session.dtx.end(xid, suspend=suspend, fail=fail))

    def prepare(self, xid: Xid) -> Ticket[XaStatus]:
        """The first phase: XA_OK, or XA_RDONLY where there is nothing to commit."""
        return self._about(self._talk.session.dtx.prepare(xid))

    def commit_branch(self, xid: Xid, *, one_phase: bool = False) -> Ticket[XaStatus]:
        """Makes the work of the branch final."""
        return self._about(self._talk.session.dtx.commit(xid, one_phase=one_phase))

    def rollback_branch(self, xid: Xid) -> Ticket[XaStatus]:
        """Undoes the work of the branch."""
        return self._about(self._talk.session.dtx.rollback(xid))

    def forget(self, xid: Xid) -> Ticket[XaStatus]:
        """The broker may forget what it decided by itself."""
        return self._about(self._talk.session.dtx.forget(xid))

    def set_timeout(self, xid: Xid, seconds: int) -> Ticket[XaStatus]:
        """Lets a branch take so many seconds; 0: the broker's default."""
        return self._about(self._talk.session.dtx.set_timeout(xid, seconds))

    def get_timeout(self, xid: Xid) -> Ticket[int]:
        """How many seconds a branch may take."""
        ticket = self._timeouts[self._talk.session.dtx.get_timeout(xid)] = Ticket()
        self._talk.wake()
        return ticket

    def recover(self) -> Ticket[tuple[Xid, ...]]:
        """The branches in doubt at this broker: prepared and not decided, or decided by the broker."""
        ticket = self._recovering[self._talk.session.dtx.recover()] = Ticket()
        self._talk.wake()
        return ticket

    def _about(self, id: int) -> Ticket[XaStatus]:
        ticket = self._branches[id] = Ticket()
        self._talk.wake()
        return ticket

    # --- answers -----------------------------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        """An event of the session that may be about a transaction."""
        match event:
            case TransactionEnded(id=id, outcome=outcome) if id is not None:
                self._ended(id, outcome)
            case BranchAnswered(id=id, verb=verb, status=status):
                branch = self._branches.pop(id, None)
                if branch is not None and status in GOOD:
                    branch.settle(XaStatus(status))
                elif branch is not None:
                    branch.fail(BranchFailed(verb, status))
            case BranchesRecovered(id=id, xids=xids):
                recovering = self._recovering.pop(id, None)
                if recovering is not None and xids is not None:
                    recovering.settle(xids)
                elif recovering is not None:
                    recovering.fail(BranchFailed("dtx.recover", None))
            case BranchTimeout(id=id, seconds=seconds):
                asked = self._timeouts.pop(id, None)
                if asked is not None and seconds is not None:
                    asked.settle(seconds)
                elif asked is not None:
                    asked.fail(BranchFailed("dtx.get-timeout", None))
            case _:
                pass

    def _ended(self, id: int, outcome: TransactionOutcome) -> None:
        waiting = self._local.pop(id, None)
        if waiting is None:
            return
        ticket, wanted = waiting
        if outcome == wanted:
            ticket.settle(None)
        else:
            ticket.fail(TransactionFailed(outcome))
