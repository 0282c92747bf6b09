"""Local transactions of a session: rows of `transactions`, and the messages that wait for them."""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.replay.rows import Half, Message, Rows, passed
from amqp_sansio.kernel.serials import ById, RangeSet

ENDING: Final = 8192
"""Commits and rollbacks that are not complete; beyond it the outcome of the oldest stays unknown."""


class Transaction:
    """One transaction.  `accepted` are deliveries that were provisionally accepted in it."""

    __slots__ = ("accepted", "accepts", "begin", "commits", "end", "number", "transfers")

    def __init__(self, number: int) -> None:
        self.number: Final = number
        self.begin: int | None = None
        self.end: int | None = None
        self.commits = False
        self.transfers = 0
        self.accepts = 0
        self.accepted: list[Message] = []


class Transactions:
    """The transactions of one session, from tx.select on."""

    __slots__ = ("_deliveries", "_ending", "_head", "_rows", "current")

    def __init__(self, rows: Rows, head: tuple[str | None, int], deliveries: Half) -> None:
        self._rows: Final = rows
        self._head: Final = head
        self._deliveries: Final = deliveries
        self.current = Transaction(1)
        self._ending: ById[Transaction] = ById()

    def touch(self, time: int) -> Transaction:
        """Notes a command in the present transaction, and returns that."""
        current = self.current
        if current.begin is None:
            current.begin = time
        return current

    def ends(self, time: int, id: int | None, commits: bool) -> None:
        """Notes tx.commit or tx.rollback."""
        ending = self.touch(time)
        ending.end = time
        ending.commits = commits
        self.current = Transaction(ending.number + 1)
        gone = ending if id is None else self._ending.push(id, ending, ENDING)
        if gone is not None:
            self._over(gone, "unknown")

    def completed(self, ids: RangeSet, time: int) -> None:
        """Notes commands that the broker has completed, perhaps commits and rollbacks."""
        for ending in self._ending.take(ids) if self._ending else ():
            self._over(ending, "committed" if ending.commits else "rolled-back", time)

    def refused(self, id: int) -> None:
        """Notes a command that the broker refused."""
        ending = self._ending.drop(id)
        if ending is not None:
            self._over(ending, "refused")

    def finish(self, how: str) -> None:
        """Ends it; `how`: abandoned (the session ended), open or unknown."""
        for ending in self._ending.values():
            doubt = "in-doubt" if ending.commits else "abandoned" if how == "abandoned" else "open"
            self._over(ending, "unknown" if how == "unknown" else doubt)
        self._ending.clear()
        current, self.current = self.current, Transaction(self.current.number + 1)
        if current.begin is not None:
            self._over(current, how)

    def _over(self, ending: Transaction, outcome: str, time: int | None = None) -> None:
        if outcome == "committed" and time is not None:
            self._deliveries.sealed(ending.accepted, time)
        else:
            self._deliveries.reopened(ending.accepted, outcome in ("rolled-back", "refused", "abandoned"))
        end = ending.end
        latency = None if time is None or end is None else passed(end, time)
        begin = end if ending.begin is None else ending.begin
        counts = ending.transfers, ending.accepts
        self._rows.by_table["transactions"].append((begin, *self._head, ending.number, end, time, latency, outcome, *counts))
