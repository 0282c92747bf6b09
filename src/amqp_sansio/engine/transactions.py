"""A client's commands about transactions of a session: local ones (tx), and branches of distributed ones (dtx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.engine.xid import check_xid
from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import TOP, whole
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.dtx import Xid

if TYPE_CHECKING:
    from amqp_sansio.engine.carrier import CommandId
    from amqp_sansio.engine.session import Session


class Tx:
    """What a client says on a session with tx.select; a server, or a session without it, gets LocalProtocolError.

    What is published and accepted on the session belongs to the transaction that is open, everything else does not.  The next
    one begins with commit or rollback at once: nothing has to be awaited.  Each ends in one `TransactionEnded`.
    """

    __slots__ = ("session",)

    def __init__(self, session: Session) -> None:
        self.session: Final = session

    def commit(self, *, sync: bool = True) -> CommandId:
        """Commits what was published and accepted since the last commit or rollback (tx.commit).

        `sync` asks for its completion promptly: that is the outcome.
        """
        return self.session.send(tx.Commit(), sync=sync)

    def rollback(self, *, sync: bool = True) -> CommandId:
        """Undoes what was published and accepted since the last commit or rollback (tx.rollback).

        Messages that were accepted in it are still acquired by the session: accept them anew, or release them.
        """
        return self.session.send(tx.Rollback(), sync=sync)

    @property
    def under_way(self) -> tuple[CommandId, ...]:
        """Commits and rollbacks whose outcome is not known, in order: also those of a session that expired detached."""
        commands = self.session._outbound.asked
        return tuple([id for id, command in commands.items() if isinstance(command, tx.Commit | tx.Rollback)])

    def __repr__(self) -> str:
        return f"<Tx of {self.session.name!r}>"


class Dtx:
    """What a client says about branches.  `start` and `end` need dtx.select on the session, all others nothing.

    Every verb says its command and returns its id; the answer is an event: `BranchAnswered`, `BranchTimeout` or
    `BranchesRecovered`.  A command that the server refuses ends the session, as ever, and with it every association.
    """

    __slots__ = ("session",)

    def __init__(self, session: Session) -> None:
        self.session: Final = session

    def start(self, xid: Xid, *, join: bool = False, resume: bool = False) -> CommandId:
        """What is published and accepted from now on belongs to a branch (dtx.start).

        `join` one that was started elsewhere, `resume` one that this session suspended.  Until the answer is XA_OK it is not
        certain that it does: with any other status it does not, and the session is associated with no branch.
        """
        check_xid("dtx.start.xid", xid)
        return self._say(dtx.Start(xid, bool(join), bool(resume)))

    def end(self, xid: Xid, *, suspend: bool = False, fail: bool = False) -> CommandId:
        """What follows belongs to the branch no more (dtx.end).

        `suspend`: until it is resumed on this session.  `fail`: the work failed, and the branch can only be rolled back.
        """
        return self._about(dtx.End(xid, bool(fail), bool(suspend)), xid)

    def prepare(self, xid: Xid) -> CommandId:
        """The first phase: after XA_OK the branch survives everything until it is committed or rolled back (dtx.prepare)."""
        return self._about(dtx.Prepare(xid), xid)

    def commit(self, xid: Xid, *, one_phase: bool = False) -> CommandId:
        """Makes the work of a branch final (dtx.commit); `one_phase` when, and only when, it was not prepared."""
        return self._about(dtx.Commit(xid, bool(one_phase)), xid)

    def rollback(self, xid: Xid) -> CommandId:
        """Undoes the work of a branch, prepared or not (dtx.rollback)."""
        return self._about(dtx.Rollback(xid), xid)

    def forget(self, xid: Xid) -> CommandId:
        """The server may forget a branch about which it decided by itself (dtx.forget)."""
        return self._about(dtx.Forget(xid), xid)

    def recover(self) -> CommandId:
        """Asks for the branches that are prepared, or about which the server decided (dtx.recover)."""
        return self._say(dtx.Recover())

    def get_timeout(self, xid: Xid) -> CommandId:
        """Asks how many seconds a branch may take (dtx.get-timeout)."""
        return self._about(dtx.GetTimeout(xid), xid)

    def set_timeout(self, xid: Xid, seconds: int) -> CommandId:
        """Lets a branch take `seconds` seconds; 0 means the server's default (dtx.set-timeout)."""
        if not whole(seconds):
            raise EncodeError("dtx.set-timeout.timeout", f"0 to {TOP} seconds, not {seconds!r:.40}")
        return self._about(dtx.SetTimeout(xid, seconds), xid)

    @property
    def under_way(self) -> tuple[tuple[CommandId, str, Xid | None], ...]:
        """Commands without an answer, in order: id, verb and branch; also on a session that expired detached."""
        return tuple([
            (id, command.VERB, getattr(command, "xid", None))
            for id, command in self.session._outbound.asked.items()
            if command.VERB.startswith("dtx.")
        ])  # fmt: skip

    def _about(self, command: Command, xid: object) -> CommandId:
        """Not held to the lengths of XA: it may have come from a server's list."""
        if not isinstance(xid, Xid):
            raise EncodeError(f"{command.VERB}.xid", f"an Xid, not {type(xid).__name__}")
        return self._say(command)

    def _say(self, command: Command) -> CommandId:
        return self.session.send(command, sync=True)

    def __repr__(self) -> str:
        return f"<Dtx of {self.session.name!r}>"
