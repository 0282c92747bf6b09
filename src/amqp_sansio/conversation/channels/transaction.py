"""The transactions of a channel, one after the other (class tx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import LocalProtocolError, TransactionFailed
from amqp_sansio.spec.methods import tx

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore


class Transaction:
    """What is published and accepted between `begin` and `commit` counts together or not at all."""

    __slots__ = ("_core", "_had", "_lost", "open")

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self.open = False
        """Whether one has begun and not ended."""
        self._had = False  # one, ever
        self._lost = False

    def begin(self) -> None:
        """One begins.  LocalProtocolError inside of another one, and on a channel in confirm mode."""
        if self.open:
            raise LocalProtocolError("a transaction", "inside of another one", ("behind its end",))
        self._core.select_tx()
        self.open = self._had = True
        self._lost = False

    def must_count(self, what: str) -> None:
        """Raises where what is published or accepted now would count with another block, or never.

        LocalProtocolError behind a block: the channel is transactional for good.  TransactionFailed in a block whose channel
        was lost.
        """
        if self.open and self._lost:
            raise TransactionFailed("rolled back", "the channel was lost")
        if self._had and not self.open:
            raise LocalProtocolError(
                what, "the channel has had a transaction", ("inside of transaction()", "on another channel")
            )

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
            error = TransactionFailed("rolled back" if self._core.refused else "unknown", str(answered.error))
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
