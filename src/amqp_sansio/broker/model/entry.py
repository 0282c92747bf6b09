"""Entries, the messages of one queue, in sorted lines; and cursors, by which subscribers browse."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.form import Form
    from amqp_sansio.broker.model.message import Message
    from amqp_sansio.broker.model.queue import Queue

HELD: Final = 0
"""Written to the journal and not journalled yet, or held back by a transaction.

Its place is kept: no later entry of its priority level overtakes it.
"""
AVAILABLE: Final = 1
ACQUIRED: Final = 2
GONE: Final = 3
"""No longer on the queue."""

STATES: Final = ("held", "available", "acquired", "gone")
"""The names of the states, for people."""


class Entry:
    """A message in one queue: its position within its priority level, and its state.

    Only its queue changes these.
    """

    __slots__ = ("message", "position", "queue", "redelivered", "released", "state")

    def __init__(self, queue: Queue, message: Message, position: int, state: int) -> None:
        self.queue: Final = queue
        self.message: Final = message
        self.position: Final = position
        """Grows with every message that arrives at the queue; a released message keeps it."""
        self.state = state
        self.released = 0
        """The number of its last release, if a `Cursor` asked for releases; 0: none."""
        self.redelivered = message.redelivered
        """Whether another subscriber may have had the message before."""

    @property
    def header(self) -> bytes:
        """The header as it must be delivered now, in the form of the publisher's family."""
        envelope = self.message.envelope
        return envelope.redelivered_header if self.redelivered else envelope.header

    def header_in(self, form: Form) -> bytes:
        """Returns that header in the form of a family; in the publisher's own, the octets unchanged."""
        envelope = self.message.envelope
        if envelope.form is form and not self.redelivered:
            return envelope.header
        return envelope.header_in(form, self.redelivered)

    def __repr__(self) -> str:
        again = ", redelivered" if self.redelivered else ""
        return f"<Entry: message {self.message.number} on {self.queue.name!r} at {self.position}, {STATES[self.state]}{again}>"


BLOCK: Final = 512
"""The entries of a block when it is appended to; one with insertions is halved at twice as many."""

_position: Final = attrgetter("position")


class Line:
    """Entries sorted by `key`, by default their position.  No block is empty."""

    __slots__ = ("_blocks", "_key")

    def __init__(self, key: Callable[[Entry], int] = _position) -> None:
        self._blocks: list[list[Entry]] = []
        self._key: Final = key

    def _first(self, block: list[Entry]) -> int:
        return self._key(block[0])

    @property
    def head(self) -> Entry | None:
        """The first entry."""
        return self._blocks[0][0] if self._blocks else None

    def append(self, entry: Entry) -> None:
        """Appends an entry with the highest key so far."""
        blocks = self._blocks
        if blocks and len(blocks[-1]) < BLOCK:
            blocks[-1].append(entry)
        else:
            blocks.append([entry])

    def insert(self, entry: Entry) -> None:
        """Inserts an entry by its key."""
        blocks = self._blocks
        if not blocks:
            blocks.append([entry])
            return
        key = self._key
        place = key(entry)
        at = max(bisect_right(blocks, place, key=self._first) - 1, 0)
        block = blocks[at]
        if key(block[-1]) < place:
            block.append(entry)
        else:
            block.insert(bisect_left(block, place, key=key), entry)
        if len(block) > 2 * BLOCK:
            blocks[at : at + 1] = [block[:BLOCK], block[BLOCK:]]

    def remove(self, entry: Entry) -> None:
        """Removes an entry, which must be present."""
        blocks = self._blocks
        block = blocks[0]
        if block[0] is entry:
            at = 0
            del block[0]
        else:
            place = self._key(entry)
            at = bisect_right(blocks, place, key=self._first) - 1
            block = blocks[at]
            del block[bisect_left(block, place, key=self._key)]
        if not block:
            del blocks[at]

    def after(self, place: int) -> Entry | None:
        """Returns the first entry with a higher key than `place`."""
        blocks = self._blocks
        key = self._key
        at = max(bisect_right(blocks, place, key=self._first) - 1, 0)
        if at < len(blocks):
            block = blocks[at]
            if key(block[-1]) > place:
                return block[bisect_right(block, place, key=key)]
            if at + 1 < len(blocks):
                return blocks[at + 1][0]
        return None

    def __iter__(self) -> Iterator[Entry]:
        for block in self._blocks:
            yield from block

    def __bool__(self) -> bool:
        return bool(self._blocks)


class Cursor:
    """Visits every available message once, higher levels first, including messages that arrive later.

    With `released` it sees a message again after each release, even one that was acquired when it came by; without, it does
    not.  Like subscribers that acquire, a cursor waits at held entries.

    `lines` are those of the queue by position, `released` those by number of release; `releases` is how many there were so far.
    """

    __slots__ = ("_lines", "_released", "_seen", "_seen_again", "_since")

    def __init__(self, lines: list[Line | None], released: list[Line | None] | None = None, releases: int = 0) -> None:
        self._lines: Final = lines
        self._released: Final = released
        self._since: Final = releases
        self._seen: Final = [-1] * len(lines)
        self._seen_again: Final = [releases] * len(lines)

    @property
    def sees_released(self) -> bool:
        """Whether it sees a message again after each release."""
        return self._released is not None

    def places(self) -> list[tuple[int, int]]:
        """The position of the last message seen on each level, without levels that never had one."""
        return [(level, seen) for level, seen in enumerate(self._seen) if self._lines[level] is not None]

    def peek(self) -> tuple[int, Entry] | None:
        """Returns the next unseen message, with its level; None when there is none now."""
        for level in range(len(self._lines) - 1, -1, -1):
            line = self._lines[level]
            if line is not None:
                entry = line.after(self._seen[level])
                if self._released is not None:
                    entry = self._first(level, line, entry)
                if entry is not None and entry.state == AVAILABLE:
                    return level, entry
        return None

    def _first(self, level: int, line: Line, entry: Entry | None) -> Entry | None:
        """Returns the next entry by position or the next released one, whichever has the lower position.

        An entry released since the cursor began is seen as released, so the search by position skips it, once.
        """
        assert self._released is not None
        again = self._released[level]
        released = again.after(self._seen_again[level]) if again is not None else None
        while entry is not None and entry.released > self._since and entry is not released:
            self._seen[level] = entry.position
            entry = line.after(entry.position)
        if released is not None and (entry is None or released.position < entry.position):
            return released
        return entry

    def next(self) -> Entry | None:
        """Returns the next message and marks it as seen; None when there is none now."""
        found = self.peek()
        if found is None:
            return None
        level, entry = found
        self.see(level, entry)
        return entry

    def see(self, level: int, entry: Entry) -> None:
        """Marks a message from `peek` as seen."""
        if self._released is not None and entry.released > self._since:
            self._seen_again[level] = entry.released
        else:
            self._seen[level] = entry.position
