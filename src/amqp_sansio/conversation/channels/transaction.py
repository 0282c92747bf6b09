"""The transactions of a channel, one after the other (class tx)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.conversation.ticket import Ticket
from amqp_sansio.errors import LocalProtocolError, TransactionFailed
from amqp_sansio.kernel.serials import MutableRangeSet
from amqp_sansio.spec.methods import tx

if TYPE_CHECKING:
    from amqp_sansio.conversation.channels.core import ChannelCore


class Transaction:
    """A transaction: what is published and accepted between `begin` and `commit` takes effect as a whole or not at all."""

    __slots__ = ("_core", "_had", "_lost", "open", "untaken")

    def __init__(self, core: ChannelCore) -> None:
        self._core: Final = core
        self.open = False
        """Whether a transaction has begun and not ended."""
        self._had = False  # there was one before
        self._lost = False
        self.untaken: Final = MutableRangeSet()
        """Deliveries that were returned in the open one because nobody had taken them."""

    @property
    def apart(self) -> bool:
        """Whether what is settled now belongs to no transaction although the channel is transactional."""
        return self._had and (self._lost or not self.open)

    def begin(self) -> None:
        """Begins a transaction.  Raises LocalProtocolError inside another one, and on a channel in confirm mode."""
        if self.open:
            raise LocalProtocolError("a transaction", "inside of another one", ("after its end",))
        self._core.select_tx()
        self.open = self._had = True
        self._lost = False

    def must_count(self, what: str) -> None:
        """Raises an error where what is published or accepted now would belong to a later block, or to none.

        LocalProtocolError after a block: the channel is transactional for good.  TransactionFailed in a block whose channel was
        lost.
        """
        if self.open and self._lost:
            raise TransactionFailed("rolled back", "the channel was lost")
        if self._had and not self.open:
            raise LocalProtocolError(
                what, "the channel has had a transaction", ("inside of transaction()", "on another channel")
            )

    def lost(self) -> None:
        """Notes that the channel is gone, so that the server has rolled back an open transaction."""
        self._lost = self.open
        self.untaken.clear()

    def commit(self) -> Ticket[None]:
        """Commits; fails with TransactionFailed unless the server confirms it."""
        done: Ticket[None] = Ticket()
        if self._lost:
            self.open = False
            done.fail(TransactionFailed("rolled back", "the channel was lost"))
            return done
        try:
            answered = self._core.execute(tx.Commit())
        finally:
            self._end()

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
        """Rolls back: the server takes back what was accepted, and drops what was published."""
        self._core.drop_accepted()
        try:
            if self._core.is_open and not self._lost:
                self._core.execute(tx.Rollback())
        finally:
            self._end()

    def _end(self) -> None:
        self.open = False
        untaken = self.untaken.freeze()
        self.untaken.clear()
        if untaken and self._core.is_open:
            self._core.put_back(self._core.channel, untaken)
