"""How somebody looks through a queue without taking anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.entry import AVAILABLE

if TYPE_CHECKING:
    from amqp_sansio.broker.model.entry import Entry
    from amqp_sansio.broker.model.line import Line


class Cursor:
    """Sees every message that is available when it comes by, once, the urgent ones first; what comes later too.

    A message that was acquired when the cursor came by and is released afterwards is not seen any more.  What is held is waited
    for, as those do who take messages.
    """

    __slots__ = ("_lines", "_seen")

    def __init__(self, lines: list[Line | None]) -> None:
        self._lines: Final = lines
        self._seen: Final = [-1] * len(lines)

    def peek(self) -> tuple[int, Entry] | None:
        """The next message that was not seen, with its level; None when there is none now."""
        for level in range(len(self._lines) - 1, -1, -1):
            line = self._lines[level]
            entry = line.after(self._seen[level]) if line is not None else None
            if entry is not None and entry.state == AVAILABLE:
                return level, entry
        return None

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
        self._seen[level] = entry.position
