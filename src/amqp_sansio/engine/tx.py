"""Local transactions: the verbs of a session with tx.select."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.spec import tx

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
        commands = self.session._results.asked
        return tuple([id for id, command in commands.items() if isinstance(command, tx.Commit | tx.Rollback)])

    def __repr__(self) -> str:
        return f"<Tx of {self.session.name!r}>"
