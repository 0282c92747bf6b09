"""Messages and transactions, and their invariants, as an observer knows them from what clients send and receive alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import attrs

from amqp_sansio.testing.simulation.outcome import ATOMICITY, DOUBLED, LOST, ORDER, InvariantError, demand

if TYPE_CHECKING:
    from amqp_sansio.testing.simulation.session_model import Tenure


Belief = Literal["no", "maybe", "yes"]


@attrs.define(eq=False)
class MessageGroup:
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
    publish: MessageGroup | None = None
    accept: MessageGroup | None = None
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


class PublishedMessages:
    """All messages ever published; each has a unique body."""

    def __init__(self) -> None:
        self.items: Final[dict[bytes, Item]] = {}
        self.groups: Final[list[MessageGroup]] = []
        self.leaks: Final[set[tuple[str, str]]] = set()
        """Brokers and queues with a client that takes messages without accepting: what is sent to it is gone, whether it
        arrives or not."""

    def group(self, name: str) -> MessageGroup:
        """Creates a transaction."""
        self.groups.append(MessageGroup(name))
        return self.groups[-1]

    def publish(
        self,
        site: str,
        queue: str,
        priority: int,
        publisher: str,
        lasts: bool,
        group: MessageGroup | None,
        brittle: bool,
        size: int,
    ) -> Item:
        """Creates a message of at least `size` octets; the caller sends its body."""
        number = len(self.items) + 1
        body = b"#%d " % number
        brittle = brittle or (site, queue) in self.leaks
        item = Item(body.ljust(size, b"."), number, site, queue, priority, publisher, lasts, brittle, publish=group)
        if group is not None:
            item.born = "no"
            group.publishes.append(item)
        self.items[item.body] = item
        return item

    def find(self, body: bytes, site: str, queue: str) -> Item:
        """Returns the message with this body, which arrived from that queue."""
        item = self.items.get(body)
        demand(item is not None, LOST, f"{site} delivers {body[:40]!r}, which nobody ever sent")
        assert item is not None
        demand(
            item.site == site and item.queue == queue, LOST, f"{item.words} came from {queue} of {site}, not from {item.queue}"
        )
        return item

    def shown(self, item: Item) -> None:
        """Records that a client sees a message: it is or was on its queue."""
        group = item.publish
        if group is not None and item.born != "yes":
            demand(group.outcome != "rolled back", ATOMICITY, f"{item.words} came, but {group.name} was rolled back")
            demand(
                group.outcome != "open", ATOMICITY, f"{item.words} came, but nobody has asked for the commit of {group.name}"
            )
            group.committed()
        item.born = "yes"

    def received(self, tenure: Tenure, item: Item, redelivered: bool, now: float, destination: str | None) -> None:
        """Records that a client receives a message, to keep until it is settled.

        `destination` is None when the message did not arrive in the order of its queue.
        """
        self.shown(item)
        try:
            self._free(tenure, item, now)
            demand(redelivered or item.unmarked, DOUBLED, f"{item.words} came again without a mark")
        except InvariantError:
            if tenure.loose(now):
                return  # it was in flight while the broker ended the session and gave the message to another
            raise
        fresh = not redelivered and not item.receipts and item.publish is None
        if destination is not None and fresh:  # messages that nobody had before arrive in order
            key = destination, item.publisher, item.priority
            before = tenure.last.get(key, 0)
            demand(before < item.number, ORDER, f"{item.words} came to {tenure.client} after #{before}")
            tenure.last[key] = item.number
        item.receipts += 1
        item.unmarked = False
        item.gone = "no"
        item.holder = tenure

    def _free(self, tenure: Tenure, item: Item, now: float) -> None:
        """Checks that no other session has the message, or may still have it."""
        demand(item.gone != "yes", DOUBLED, f"{item.words} came, but it was taken off {item.queue} for good")
        group = item.accept
        if group is not None:
            self._undone(item, group, now)
        holder = item.holder
        if holder is not None:
            demand(holder.loose(now), DOUBLED, f"{item.words} came to {tenure.client}, but {holder.client} has it")

    def _undone(self, item: Item, group: MessageGroup, now: float) -> None:
        """Records that a message accepted in a transaction arrives again.

        That shows that the transaction is rolled back, if it may be.
        """
        demand(
            group.outcome != "committed", DOUBLED, f"{item.words} came, but it was accepted in {group.name}, which is committed"
        )
        if group.outcome != "rolled back":
            demand(
                item.site not in group.promised,
                ATOMICITY,
                f"{item.words} came, but {item.site} had prepared {group.name} with it",
            )
            gives_up = group.due is not None and now >= group.due
            loose = group.outcome == "unknown" or (group.owner is not None and group.owner.loose(now))
            demand(gives_up or loose, DOUBLED, f"{item.words} came, but it is accepted in {group.name}, which is open")
        group.rolled_back()
        item.accept = None

    def leak(self, site: str, queue: str) -> None:
        """Records that a client takes messages of this queue without accepting them."""
        self.leaks.add((site, queue))
        for item in self.items.values():
            if item.site == site and item.queue == queue:
                item.brittle = True

    def released(self, item: Item, mark: bool) -> None:
        """Records that its holder releases the message."""
        item.holder = None
        item.unmarked = not mark and not item.marked
        item.marked = item.marked or mark

    def crashed(self, site: str, now: float) -> None:
        """Records a crash of a broker, which may lose what is not durable, and loses branches that were not prepared."""
        for group in self.groups:
            if group.due is not None:
                group.due = min(group.due, now)
        for item in self.items.values():
            if item.site == site and not item.lasts:
                item.brittle = True

    def drained(self, present: set[bytes]) -> None:
        """Checks the messages left at the end: none that must be present is missing, and no transaction is there by half."""
        for group in self.groups:
            if group.outcome in ("asked", "unknown"):
                self._settle(group, present)
        for item in self.items.values():
            if item.certain:
                demand(item.body in present, LOST, f"{item.words} is lost: it was published to {item.queue} of {item.site}")

    def _settle(self, group: MessageGroup, present: set[bytes]) -> None:
        """Infers the outcome of a transaction, which no answer gave, from the messages that are present."""
        here = {item.body in present or item.receipts > 0 for item in group.publishes if not item.brittle}
        demand(len(here) <= 1, ATOMICITY, f"half of what was published in {group.name} is there")
        kept = {item.body in present for item in group.accepts if item.accept is group and not item.brittle}
        demand(len(kept) <= 1, ATOMICITY, f"half of what was accepted in {group.name} is still there")
        demand(not (here and here == kept), ATOMICITY, f"{group.name} has published and not taken, or taken and not published")
        if (here or {not each for each in kept}) == {True}:
            group.committed()
        else:
            demand(not group.decided, ATOMICITY, f"its manager decided to commit {group.name}, and nothing of it is there")
            demand(
                not (group.promised and (here or kept)), ATOMICITY, f"{group.name} was prepared, and is gone"
            )  # fmt: skip
            group.rolled_back()
