"""How a subscriber looks through a queue without taking anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.entry import AVAILABLE

if TYPE_CHECKING:
    from amqp_sansio.broker.model.block_list import Line
    from amqp_sansio.broker.model.entry import Entry


class Cursor:
    """Sees every message that is available when it comes by, once, the urgent ones first; what comes later too.

    With `released` it sees a message again after each release, also one that was acquired when it came by; without, it does
    not.  A cursor waits for what is held, as subscribers that acquire do.

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
        """By level, the position of the last message that was seen; levels on which there never was one apart."""
        return [(level, seen) for level, seen in enumerate(self._seen) if self._lines[level] is not None]

    def peek(self) -> tuple[int, Entry] | None:
        """The next message that was not seen, with its level; None when there is none now."""
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
        """Of the next one by position and the next one that was released: the one with the lower position.

        What was released since the cursor began is seen as such, so that it is passed over by position: once for each.
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
        """The next message, which counts as seen now; None when there is none now."""
        found = self.peek()
        if found is None:
            return None
        level, entry = found
        self.see(level, entry)
        return entry

    def see(self, level: int, entry: Entry) -> None:
        """This message, which `peek` gave, counts as seen."""
        if self._released is not None and entry.released > self._since:
            self._seen_again[level] = entry.released
        else:
            self._seen[level] = entry.position
