"""A message, and a transaction of messages, as an observer knows them from what clients send and receive alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import attrs

from amqp_sansio.testing.simulation.outcome import ATOMICITY, demand

if TYPE_CHECKING:
    from amqp_sansio.testing.simulation.session_model import Tenure

Belief = Literal["no", "maybe", "yes"]


@attrs.define(eq=False)
class Group:
    """A transaction, whose messages share one fate.

    `outcome` is open before its commit is requested, asked once commit was sent or decided, and unknown when the answer is
    lost.
    """

    name: str
    outcome: Literal["open", "asked", "unknown", "committed", "rolled back"] = "open"
    publishes: list[Item] = attrs.field(factory=list)
    accepts: list[Item] = attrs.field(factory=list)
    promised: set[str] = attrs.field(factory=set)
    """The brokers that have reported their part as prepared."""
    due: float | None = None
    """The moment after which a broker may abandon it, unless that broker has prepared it; None: never."""
    owner: Tenure | None = None
    """The session that accepts messages in it."""
    decided: bool = False
    """Whether a manager has stored the decision to commit."""

    def committed(self) -> None:
        """Records that it is known to be committed."""
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
        """Records that it is known to be rolled back; `holder` holds again what was accepted in it, None: no session does."""
        demand(self.outcome != "committed", ATOMICITY, f"{self.name} is rolled back, but it was committed")
        demand(not self.decided, ATOMICITY, f"{self.name} is rolled back, but its manager had decided to commit it")
        if self.outcome != "rolled back":
            self.outcome = "rolled back"
            for item in self.accepts:
                if item.accept is self:
                    item.accept, item.holder = None, holder
                    item.gone = "no"

    def lost(self) -> None:
        """Records the end of the session: without a request for commit it is rolled back, with an unanswered one it is
        unknown."""
        if self.outcome == "open":
            self.rolled_back()
        elif self.outcome == "asked" and not self.decided:
            self.outcome = "unknown"


@attrs.define(eq=False)
class Item:
    """One message.

    `born`: whether it is or was on a queue; `gone`: whether it was taken off for good.
    """

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
    """Whether it may arrive without the redelivered mark: no session had it, or the one that did released it unmarked."""
    marked: bool = False
    """Whether a session released it with the redelivered mark, which stays."""

    @property
    def certain(self) -> bool:
        """Whether it must be on a queue."""
        return self.born == "yes" and self.gone == "no" and not self.brittle

    @property
    def words(self) -> str:
        """Its name in a story."""
        return f"#{self.number}"
