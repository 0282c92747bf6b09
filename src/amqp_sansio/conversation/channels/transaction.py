"""The transactions of a channel, one after the other (class tx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import ChannelClosed, LocalProtocolError, TransactionFailed
from amqp_sansio.spec.methods import tx

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore


class Transaction:
    """What is published and accepted between `begin` and `commit` counts together or not at all."""

    __slots__ = ("_core", "_lost", "open")

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self.open = False
        """Whether one has begun and not ended."""
        self._lost = False

    def begin(self) -> None:
        """One begins.  LocalProtocolError inside of another one, and on a channel in confirm mode."""
        if self.open:
            raise LocalProtocolError("a transaction", "inside of another one", ("behind its end",))
        self._core.select_tx()
        self.open, self._lost = True, False

    def lost(self) -> None:
        """The channel is gone: the server has rolled back what was open."""
        self._lost = self.open

    def commit(self) -> Ticket[None]:
        """It ends well, if the server says so; else it fails with TransactionFailed."""
        self.open = False
        done: Ticket[None] = Ticket()
        if self._lost:
            done.fail(TransactionFailed("rolled back", "the channel was lost"))
            return done
        answered = self._core.execute(tx.Commit())

        def settle() -> None:
            if answered.error is None:
                done.settle(None)
                return
            refused = isinstance(answered.error, ChannelClosed) and answered.error.code is not None
            error = TransactionFailed("rolled back" if refused else "unknown", str(answered.error))
            error.__cause__ = answered.error
            done.fail(error)

        answered.on_done(settle)
        return done

    def roll_back(self) -> None:
        """It is abandoned: the server has back what was accepted, and drops what was published."""
        self.open = False
        self._core.drop_accepted()
        if self._core.is_open and not self._lost:
            self._core.execute(tx.Rollback())
