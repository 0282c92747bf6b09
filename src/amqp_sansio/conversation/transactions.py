"""The transactions of one session, local and distributed: requests, and tickets for their answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.conversation.inbox import release
from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.engine.two_phase import Ask, TwoPhase
from amqp_sansio.errors import BranchFailed, LocalProtocolError, SessionFailed, TransactionFailed
from amqp_sansio.errors.checks import check_types
from amqp_sansio.events import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    Event,
    TransactionEnded,
    TransactionOutcome,
)
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import dtx
from amqp_sansio.spec.codes import XaStatus
from amqp_sansio.spec.dtx import Xid

if TYPE_CHECKING:
    from amqp_sansio.conversation.session_core import SessionCore
    from amqp_sansio.engine.session import Session
    from amqp_sansio.engine.transactions import Dtx

GOOD: Final = frozenset([XaStatus.XA_OK, XaStatus.XA_RDONLY])


class Transactions:
    """Commits, rollbacks and branches of one `SessionCore`.

    Unless it goes well, a ticket of a transaction fails with TransactionFailed, one of a branch with BranchFailed; where the
    session is lost before the answer, their outcome is "unknown".  A command about a branch that the peer refuses ends the
    session, and fails with SessionFailed.
    """

    def __init__(self, core: SessionCore) -> None:
        self._core: Final = core
        self._local: Final[dict[int, tuple[Ticket[None], TransactionOutcome]]] = {}
        self._asked: Final[dict[int, tuple[Ticket[Any], str]]] = {}  # about branches: for a status, xids, or seconds
        self._selected: tuple[object, str] | None = None  # for which session, and which kind
        self._within: Session | None = None
        self._accepted: Final[list[int]] = []

    # --- blocks ------------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Begins a block of a local transaction: everything sent up to `finish` or `abandon` belongs to it.

        Raises LocalProtocolError when another block is open on the session.
        """
        self._must_be_free()
        self.select_tx()
        self._enter()

    def finish(self) -> Ticket[None]:
        """Ends the block and commits."""
        self.check()
        ticket = self.commit()
        self._leave()
        return ticket

    def abandon(self) -> None:
        """Ends the block and rolls back; releases what was accepted in it, marked as redelivered.

        During a reconnect that is done when the session is resumed, before all else.
        """
        session, accepted = self._within, RangeSet.of(*self._accepted)
        self._leave()

        def undo() -> None:
            self.rollback()
            if accepted:
                release(self._core.session, accepted, True)

        if session is self._core.session and not self._core.ended.done:
            self._core._once_attached(undo)

    def begin_branch(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Ticket[XaStatus]:
        """Begins a block of work in a branch, up to `finish_branch` or `abandon_branch`; settled when work may begin."""
        check_types(bool, join=join, resume=resume)
        self._must_be_free()
        started = self.start(xid, join=join, resume=resume)
        self._enter()
        return started

    def finish_branch(self, xid: Xid) -> Ticket[XaStatus]:
        """Ends the block."""
        self.check()
        ticket = self.end(xid)
        self._leave()
        return ticket

    def abandon_branch(self, xid: Xid, started: Ticket[XaStatus]) -> None:
        """Ends the block of a branch, if that was started, so that it can only be rolled back."""
        session = self._within
        self._leave()
        if session is not self._core.session or self._core.ended.done:
            return  # the peer ended it with the session

        def end() -> None:
            if started.error is None:
                self._core._once_attached(lambda: self.end(xid, fail=True))

        started.on_done(end)

    def _must_be_free(self) -> None:
        if self._within is not None:
            raise LocalProtocolError(
                "a transaction", "another one is open in this session", ("after its end", "another session")
            )

    def _enter(self) -> None:
        self._within = self._core.session
        self._accepted.clear()

    def _leave(self) -> None:
        self._within = None
        self._accepted.clear()

    def check(self) -> None:
        """Raises TransactionFailed when a block is open whose session was lost: a command would not belong to it."""
        if self._within is not None and (self._within is not self._core._session or self._core.ended.done):
            raise TransactionFailed("rolled back", "its session was lost")

    def must_count(self, what: str, session: Session | None) -> None:
        """Raises LocalProtocolError after a block, because the session is transactional for good.

        What is published or accepted there would belong to the next block, and be lost if there is none.
        """
        if self._selected is not None and self._within is None and self._selected == (session, "tx"):
            raise LocalProtocolError(
                what, "the session has had a transaction", ("inside of transaction()", "on another session")
            )

    def accepted(self, id: int) -> None:
        """Notes that a message was accepted."""
        if self._within is not None:
            self._accepted.append(id)

    # --- local -------------------------------------------------------------------------------------------------------------

    def select_tx(self) -> None:
        """Makes the session transactional, unless it already is."""
        session = self._core.session
        if self._selected != (session, "tx"):
            session.select_tx()
            self._selected = (session, "tx")

    def commit(self) -> Ticket[None]:
        """Commits what was published and accepted; settled when the peer has done so."""
        return self._end_local(self._core.session.tx.commit(), TransactionOutcome.COMMITTED)

    def rollback(self) -> Ticket[None]:
        """Undoes what was published and accepted.  The session holds the accepted messages again."""
        return self._end_local(self._core.session.tx.rollback(), TransactionOutcome.ROLLED_BACK)

    def _end_local(self, id: int, wanted: TransactionOutcome) -> Ticket[None]:
        ticket: Ticket[None] = Ticket()
        self._local[id] = (ticket, wanted)
        self._core.wake()
        return ticket

    # --- distributed -------------------------------------------------------------------------------------------------------

    def select_dtx(self) -> None:
        """Makes the session one of distributed transactions, unless it already is."""
        session = self._core.session
        if self._selected != (session, "dtx"):
            session.select_dtx()
            self._selected = (session, "dtx")

    def start(self, xid: Xid, *, join: bool = False, resume: bool = False) -> Ticket[XaStatus]:
        """Starts work in the branch: what is published and accepted from now on belongs to it."""
        self.select_dtx()
        return self._about(self._dtx.start(xid, join=join, resume=resume))

    def end(self, xid: Xid, *, suspend: bool = False, fail: bool = False) -> Ticket[XaStatus]:
        """Ends work in the branch: what follows no longer belongs to it."""
        return self._about(self._dtx.end(xid, suspend=suspend, fail=fail))

    def prepare(self, xid: Xid) -> Ticket[XaStatus]:
        """Prepares the branch, the first phase; settled with XA_OK, or XA_RDONLY where there is nothing to commit."""
        return self._about(self._dtx.prepare(xid))

    def commit_branch(self, xid: Xid, *, one_phase: bool = False) -> Ticket[XaStatus]:
        """Makes the work of the branch final."""
        check_types(bool, one_phase=one_phase)
        return self._about(self._dtx.commit(xid, one_phase=one_phase))

    def rollback_branch(self, xid: Xid) -> Ticket[XaStatus]:
        """Undoes the work of the branch."""
        return self._about(self._dtx.rollback(xid))

    def forget(self, xid: Xid) -> Ticket[XaStatus]:
        """Allows the broker to forget a branch that it decided heuristically."""
        return self._about(self._dtx.forget(xid))

    def set_timeout(self, xid: Xid, seconds: int) -> Ticket[XaStatus]:
        """Sets the timeout of a branch in seconds; 0: the broker's default."""
        return self._about(self._dtx.set_timeout(xid, seconds))

    def get_timeout(self, xid: Xid) -> Ticket[int]:
        """Requests the timeout of a branch in seconds."""
        return self._about(self._dtx.get_timeout(xid))

    def recover(self) -> Ticket[tuple[Xid, ...]]:
        """Lists the branches in doubt at this broker: prepared and not decided, or decided heuristically by the broker."""
        return self._about(self._dtx.recover())

    def carry_out(self, ask: Ask, whole: TwoPhase) -> Ticket[None]:
        """Sends what a two-phase commit wants of this participant; settled once `whole` has the answer, or knows that it is
        lost."""
        told: Ticket[None] = Ticket()
        name, command = ask.participant, ask.command
        if isinstance(command, dtx.Recover):
            listing = self.recover()

            def listed() -> None:
                whole.recovered(name, None if listing.error is not None else listing.result())
                told.settle(None)

            listing.on_done(listed)
            return told
        ticket = self._about(self._core.session.send(command, sync=True))

        def answered() -> None:
            error = ticket.error
            if error is None:
                whole.answered(name, ticket.result())
            elif isinstance(error, SessionFailed):
                whole.answered(name, None, error.code)
            else:
                whole.answered(name, error.status if isinstance(error, BranchFailed) else None)
            told.settle(None)

        ticket.on_done(answered)
        return told

    @property
    def _dtx(self) -> Dtx:
        return self._core.session.dtx

    def _about(self, id: int) -> Ticket[Any]:
        ticket: Ticket[Any] = Ticket()
        self._asked[id] = (ticket, self._core.session._outbound.asked[id].VERB)
        self._core.wake()
        return ticket

    # --- answers -----------------------------------------------------------------------------------------------------------

    def hear(self, event: Event) -> None:
        """Handles an event of the session that may be about a transaction."""
        match event:
            case TransactionEnded(id=id, outcome=outcome) if id is not None:
                self._ended(id, outcome)
            case BranchAnswered(id=id, verb=verb, status=status, refused=refused) if id in self._asked:
                ticket, _ = self._asked.pop(id)
                failure = self._core.failure.error
                if status in GOOD:
                    ticket.settle(XaStatus(status))
                else:
                    ticket.fail(failure if refused is not None and failure is not None else BranchFailed(verb, status))
            case BranchesRecovered(id=id, xids=value) | BranchTimeout(id=id, seconds=value) if id in self._asked:
                ticket, verb = self._asked.pop(id)
                if value is None:
                    ticket.fail(BranchFailed(verb, None))
                else:
                    ticket.settle(value)
            case _:
                pass

    def verb(self, id: int) -> str:
        """Returns the verb of a pending command about a branch, "" for any other id."""
        return self._asked[id][1] if id in self._asked else ""

    def lost(self) -> None:
        """Fails everything pending: the session is over."""
        if self._local:
            self._core.pending.told()
        for local, _ in self._local.values():
            local.fail(TransactionFailed("unknown", "the session was lost before the answer"))
        for asked, verb in self._asked.values():
            asked.fail(BranchFailed(verb, None))
        self._local.clear()
        self._asked.clear()

    def _ended(self, id: int, outcome: TransactionOutcome) -> None:
        waiting = self._local.pop(id, None)
        if waiting is None:
            return
        ticket, wanted = waiting
        if outcome == wanted:
            ticket.settle(None)
        else:
            failure = self._core.failure.error
            error = TransactionFailed(outcome, "" if failure is None else str(failure))
            error.__cause__ = failure
            self._core.pending.told()
            ticket.fail(error)
