"""A client's commands for the transactions of a session: local ones (tx), and branches of distributed ones (dtx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import TOP, whole
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.dtx import Xid
from amqp_sansio.spec.xids import check_xid

if TYPE_CHECKING:
    from amqp_sansio.engine.connection import CommandId
    from amqp_sansio.engine.session import Session


class Verbs:
    """Commands that a client sends on `session`."""

    __slots__ = ("session",)

    def __init__(self, session: Session) -> None:
        self.session: Final = session

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.session.name!r}>"


class Tx(Verbs):
    """A client's commands on a session with tx.select; on any other session they raise LocalProtocolError.

    Only messages published and accepted on this session belong to the open transaction.  Commit and rollback start the next one
    immediately, without waiting.  Each transaction ends with one `TransactionEnded`.
    """

    __slots__ = ()

    def commit(self, *, sync: bool = True) -> CommandId:
        """Commits what was published and accepted since the last commit or rollback (tx.commit).

        `sync` asks for prompt completion, which is the outcome.
        """
        return self.session.send(tx.Commit(), sync=sync)

    def rollback(self, *, sync: bool = True) -> CommandId:
        """Undoes what was published and accepted since the last commit or rollback (tx.rollback).

        Messages accepted in it remain acquired by the session: accept them again, or release them.
        """
        return self.session.send(tx.Rollback(), sync=sync)

    @property
    def under_way(self) -> tuple[CommandId, ...]:
        """Commits and rollbacks whose outcome is not known, in order; also on a session that expired while detached."""
        commands = self.session._outbound.asked
        return tuple([id for id, command in commands.items() if isinstance(command, tx.Commit | tx.Rollback)])


class Dtx(Verbs):
    """A client's commands for branches.  Only `start` and `end` need dtx.select on the session.

    Each method sends its command and returns its id; the answer is an event: `BranchAnswered`, `BranchTimeout` or
    `BranchesRecovered`.  When the server refuses a command, it ends the session, and with it every association.
    """

    __slots__ = ()

    def start(self, xid: Xid, *, join: bool = False, resume: bool = False) -> CommandId:
        """Associates the session with a branch: from now on, what it publishes and accepts belongs to it (dtx.start).

        `join` a branch started elsewhere; `resume` one that this session suspended.  The association holds only if the answer
        is XA_OK; with any other status the session is associated with no branch.
        """
        check_xid("dtx.start.xid", xid)
        return self._say(dtx.Start(xid, bool(join), bool(resume)))

    def end(self, xid: Xid, *, suspend: bool = False, fail: bool = False) -> CommandId:
        """Ends the session's association with a branch (dtx.end).

        `suspend`: until this session resumes it.  `fail`: the work failed, and the branch can only be rolled back.
        """
        return self._about(dtx.End(xid, bool(fail), bool(suspend)), xid)

    def prepare(self, xid: Xid) -> CommandId:
        """Prepares a branch: after XA_OK it survives any failure until it is committed or rolled back (dtx.prepare)."""
        return self._about(dtx.Prepare(xid), xid)

    def commit(self, xid: Xid, *, one_phase: bool = False) -> CommandId:
        """Commits the work of a branch (dtx.commit); set `one_phase` if and only if it was not prepared."""
        return self._about(dtx.Commit(xid, bool(one_phase)), xid)

    def rollback(self, xid: Xid) -> CommandId:
        """Undoes the work of a branch, prepared or not (dtx.rollback)."""
        return self._about(dtx.Rollback(xid), xid)

    def forget(self, xid: Xid) -> CommandId:
        """Lets the server forget a branch that it completed heuristically (dtx.forget)."""
        return self._about(dtx.Forget(xid), xid)

    def recover(self) -> CommandId:
        """Asks for the branches that are prepared or were completed heuristically (dtx.recover)."""
        return self._say(dtx.Recover())

    def get_timeout(self, xid: Xid) -> CommandId:
        """Asks for the timeout of a branch, in seconds (dtx.get-timeout)."""
        return self._about(dtx.GetTimeout(xid), xid)

    def set_timeout(self, xid: Xid, seconds: int) -> CommandId:
        """Sets the timeout of a branch to `seconds`; 0 is the server's default (dtx.set-timeout)."""
        if not whole(seconds):
            raise EncodeError("dtx.set-timeout.timeout", f"0 to {TOP} seconds, not {seconds!r:.40}")
        return self._about(dtx.SetTimeout(xid, seconds), xid)

    @property
    def under_way(self) -> tuple[tuple[CommandId, str, Xid | None], ...]:
        """Commands without an answer, in order: id, verb and branch; also on a session that expired while detached."""
        return tuple([
            (id, command.VERB, getattr(command, "xid", None))
            for id, command in self.session._outbound.asked.items()
            if command.VERB.startswith("dtx.")
        ])  # fmt: skip

    def _about(self, command: Command, xid: object) -> CommandId:
        """Sends a command about a branch.  Does not check the length of its xid, which may come from a server's list."""
        if not isinstance(xid, Xid):
            raise EncodeError(f"{command.VERB}.xid", f"an Xid, not {type(xid).__name__}")
        return self._say(command)

    def _say(self, command: Command) -> CommandId:
        return self.session.send(command, sync=True)
