"""What must be true of messages, kept by somebody who sees only what clients say and hear.

Every message has a body of its own.  The ledger knows for each where it may be, and objects when a client is handed one that
cannot be there, or that comes a second time without a mark.
"""

from __future__ import annotations

from typing import Literal

import attrs

Where = Literal["sent", "held back", "deciding", "queued", "held", "accepting", "accepted back", "gone", "maybe", "never"]
"""sent: published, not completed.  held back: published in a transaction that nobody has asked to be committed.
deciding: its commit was said.  queued: on its queue for certain.  held: somebody has it.  accepting: its accept was said.
accepted back: accepted in a transaction that nobody has asked to be committed.  gone: dequeued for certain.
maybe: what became of it was lost with a connection.  never: rolled back, it must not appear."""


@attrs.define(eq=False)
class Group:
    """A transaction: its messages share one fate."""

    outcome: Literal["open", "asked", "committed", "rolled back", "unknown"] = "open"
    publishes: list[Item] = attrs.field(factory=list)
    accepts: list[Item] = attrs.field(factory=list)

    def committed(self) -> None:
        """It is known to be committed."""
        assert self.outcome in ("asked", "unknown", "committed"), f"committed, but it is {self.outcome}"
        self.outcome = "committed"
        for item in self.publishes:
            if item.where in ("deciding", "held back", "maybe"):
                item.where = "queued"
        for item in self.accepts:
            item.where = "gone"

    def rolled_back(self, held_by: object = None) -> None:
        """It is known to be rolled back: what was accepted is held again by `held_by`, or back on its queue, marked."""
        assert self.outcome != "committed", "rolled back, but it was committed"
        self.outcome = "rolled back"
        for item in self.publishes:
            item.where = "never"
        for item in self.accepts:
            if item.where in ("accepted back", "accepting", "maybe", "deciding"):
                item.where = "held" if held_by is not None else "queued"
                item.holder = held_by

    def unknown(self) -> None:
        """Commit was said, and the answer was lost."""
        self.outcome = "unknown"
        for item in [*self.publishes, *self.accepts]:
            item.where = "maybe"
            item.holder = None


@attrs.define(eq=False)
class Item:
    """One message."""

    body: bytes
    queue: str
    priority: int
    publisher: str
    number: int
    where: Where = "sent"
    holder: object = None
    receipts: int = 0
    unmarked: bool = True
    """Whether it may come without a mark: nobody had it, or who had it gave it back saying so."""
    marked: bool = False
    """Whether somebody gave it back with a mark, which stays."""
    publish: Group | None = None
    accept: Group | None = None


class Ledger:
    """All messages there ever were."""

    def __init__(self) -> None:
        self.items: dict[bytes, Item] = {}
        self.last: dict[tuple[object, str, str, int], int] = {}

    def published(self, publisher: str, queue: str, priority: int, group: Group | None) -> Item:
        """A new message; the caller sends its body."""
        number = len(self.items)
        body = f"{queue} {priority} {publisher} #{number}".encode()
        item = Item(body, queue, priority, publisher, number, "sent" if group is None else "held back", publish=group)
        if group is not None:
            group.publishes.append(item)
        self.items[body] = item
        return item

    def received(self, holder: object, body: bytes, queue: str, redelivered: bool) -> Item:
        """Somebody was handed a message, to keep until it is settled."""
        item = self.items.get(body)
        assert item is not None, f"nobody ever sent {body!r}"
        assert item.queue == queue, f"{body!r} came from {queue}"
        if item.where == "maybe":
            if item.publish is not None and item.publish.outcome == "unknown":
                item.publish.committed()
            if item.accept is not None and item.accept.outcome == "unknown":
                item.accept.rolled_back()
        assert item.where in ("sent", "deciding", "queued", "maybe"), f"{body!r} came, but it is {item.where} ({item.holder})"
        assert redelivered or item.unmarked, f"{body!r} came again without a mark"
        if item.publish is None and not redelivered and not item.receipts:  # what nobody had comes in order
            key = (holder, queue, item.publisher, item.priority)
            before = self.last.get(key, -1)
            assert before < item.number, f"{body!r} came behind #{before}"
            self.last[key] = item.number
        item.receipts += 1
        item.unmarked = False
        item.where, item.holder = "held", holder
        return item

    def lost(self, items: list[Item]) -> None:
        """The session that held these is over: they are back on their queues, marked."""
        for item in items:
            item.where, item.holder = "queued", None

    def drained(self, bodies: set[bytes]) -> None:
        """Everything that is left was taken out: what is queued for certain was among it, and nothing that cannot be."""
        for item in self.items.values():
            if item.publish is not None and item.publish.outcome == "unknown":
                group = item.publish
                here = {each.body in bodies or each.where == "gone" for each in group.publishes}
                assert len(here) <= 1, f"half of a transaction: {[each.body for each in group.publishes]}"
        for item in self.items.values():
            if item.where in ("queued", "deciding", "sent"):
                assert item.body in bodies, f"{item.body!r} is lost: it was {item.where}"
