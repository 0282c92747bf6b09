"""A message, and a transaction of messages, as somebody knows them who sees only what clients say and hear."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from amqp_sansio.testing.simulation.fault import ATOMICITY, demand

if TYPE_CHECKING:
    from amqp_sansio.testing.simulation.session_model import Tenure

Belief = Literal["no", "maybe", "yes"]


@attrs.define(eq=False)
class Group:
    """A transaction: its messages share one fate.

    open: nobody has asked for its commit.  asked: commit was sent, or decided.  unknown: and the answer was lost.
    """

    name: str
    outcome: Literal["open", "asked", "unknown", "committed", "rolled back"] = "open"
    publishes: list[Item] = attrs.field(factory=list)
    accepts: list[Item] = attrs.field(factory=list)
    promised: set[str] = attrs.field(factory=set)
    """The brokers that have answered that their part is prepared."""
    due: float | None = None
    """The moment from which on a broker may give it up, unless it was promised; None: never."""
    owner: Tenure | None = None
    """The session that accepts in it."""
    decided: bool = False
    """Whether a manager has stored that it is to be committed."""

    def committed(self) -> None:
        """It is known to be committed."""
        demand(
            self.outcome in ("asked", "unknown", "committed"), ATOMICITY, f"{self.name} is committed, but it was {self.outcome}"
        )
        if self.outcome != "committed":
            self.outcome = "committed"
            for item in self.accepts:
                item.gone, item.holder = "yes", None
            for item in self.publishes:
                item.born = "yes"

    def rolled_back(self, holder: Tenure | None = None) -> None:
        """It is known to be rolled back; `holder` holds what was accepted in it again, nobody when None."""
        demand(self.outcome != "committed", ATOMICITY, f"{self.name} is rolled back, but it was committed")
        demand(not self.decided, ATOMICITY, f"{self.name} is rolled back, but its manager had decided to commit it")
        if self.outcome != "rolled back":
            self.outcome = "rolled back"
            for item in self.accepts:
                if item.accept is self:
                    item.accept, item.holder = None, holder
                    item.gone = "no"

    def lost(self) -> None:
        """The session is over: what was not asked is rolled back, what was and is not answered is unknown."""
        if self.outcome == "open":
            self.rolled_back()
        elif self.outcome == "asked" and not self.decided:
            self.outcome = "unknown"


@attrs.define(eq=False)
class Item:
    """One message.  `born`: whether it is on a queue, or was; `gone`: whether it was taken off for good."""

    body: bytes
    number: int
    site: str
    queue: str
    priority: int
    publisher: str
    lasts: bool
    """Whether it outlives the broker: persistent, on a durable queue."""
    brittle: bool = False
    """Whether it may disappear at any time, as its queue may."""
    born: Belief = "maybe"
    gone: Belief = "no"
    publish: Group | None = None
    accept: Group | None = None
    holder: Tenure | None = None
    receipts: int = 0
    unmarked: bool = True
    """Whether it may come without a mark: nobody had it, or who had it gave it back saying so."""
    marked: bool = False
    """Whether somebody gave it back with a mark, which stays."""

    @property
    def certain(self) -> bool:
        """Whether it must be there."""
        return self.born == "yes" and self.gone == "no" and not self.brittle

    @property
    def words(self) -> str:
        """How it is called."""
        return f"#{self.number}"
