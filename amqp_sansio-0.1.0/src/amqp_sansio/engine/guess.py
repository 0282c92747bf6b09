"""Which of several framings a stream is in that starts in its middle."""

from __future__ import annotations

from typing import Final

from amqp_sansio.wire.framing import Framing

SMALL: Final = 4096
"""Octets that may be looked at again with every one that comes."""


class Guess:
    """Keeps octets until one of the `framings` finds three frames in a row in them.

    What none of them will look at again is dropped, so each waits for three frames of its own at most.  Linear: it looks when
    what is kept has grown by an eighth, if that is much, and each framing goes on where it looked last.
    """

    __slots__ = ("_kept", "_places", "_wanted", "base", "begun", "framings", "passed", "size")

    def __init__(self, framings: tuple[Framing, ...]) -> None:
        self.framings: Final = framings
        self.begun = 0
        """Where in the speaker's stream it began."""
        self.base = 0
        """Where the octets begin that are kept."""
        self.passed = 0
        """Octets that were dropped."""
        self.size = 0
        """Octets kept."""
        self._kept: list[bytes] = []
        self._places: list[int] = [0 for _ in framings]
        self._wanted = 0

    def begin(self, start: int) -> None:
        """It begins there in the speaker's stream."""
        self.begun = self.base = start

    def receive(self, octets: bytes) -> None:
        """Stores octets of the stream."""
        self._kept.append(octets)
        self.size += len(octets)

    def look(self, ended: bool) -> tuple[int, Framing] | None:
        """Where three frames in a row begin, and in which framing; None as long as there are none."""
        if self.size < self._wanted and not ended:
            return None
        octets = self.take()
        found: list[tuple[int, int]] = []
        wanted = 0
        for number, framing in enumerate(self.framings):
            place, needed = framing.find(octets, self._places[number], ended)
            self._places[number] = place
            if not needed:
                found.append((place, number))
            elif not wanted or place + needed < wanted:
                wanted = place + needed
        least = min(self._places) if found or not ended else 0
        self._places = [place - least for place in self._places]
        self.base += least
        self.passed += least
        self.receive(octets[least:])
        self._wanted = max(wanted - least, self.size + (self.size // 8 if self.size > SMALL else 1))
        if not found:
            return None
        place, number = min(found)
        return self.base - least + place, self.framings[number]

    def take(self) -> bytes:
        """The octets that are kept; they are kept no longer."""
        octets = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        self._kept.clear()
        self.size = 0
        return octets

    def lost(self, octets: int) -> None:
        """So many octets are missing here: it begins anew behind them."""
        self.base += self.size + octets
        self.passed += self.size
        self.take()
        self._places = [0 for _ in self.framings]
        self._wanted = 0
