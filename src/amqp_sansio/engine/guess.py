"""Determines the framing of a stream whose beginning is missing."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.wire.framing import Framing

SMALL: Final = 4096
"""Octets that may be looked at again with every one that comes."""


class Found(NamedTuple):
    """Where in the speaker's stream three frames in a row begin, in which framing, and the octets behind those that tell it."""

    place: int
    framing: Framing
    rest: bytes


class Guess:
    """Keeps octets until one of the `framings` finds three frames in a row in them.

    What none of them will look at again is dropped, so each waits for three frames of its own at most.  Linear: it looks when
    what is kept has grown by a sixteenth to an eighth, if that is much, and each framing goes on where it looked last.
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

    def look(self, ended: bool) -> Found | None:
        """The framing in which three frames in a row are found; None as long as there are none.

        That does not depend on the pieces in which the octets came: what counts is the first octet with which they are there,
        or, where much is kept, the next one of those at which it looks in any case.  What is kept then ends there.
        """
        if self.size < self._wanted and not ended:
            return None
        octets = self.take()
        found, looks = self._find(octets, False)
        end = len(octets)
        if found is not None:
            found, looks, end = self._first(octets)
            if end > len(octets) and not ended:
                self.receive(octets)
                self._wanted = end
                return None
        elif ended:
            found, looks = self._find(octets, True)
        least = 0 if found is None and ended else min([place for place, _ in looks])
        self._places = [place - least for place, _ in looks]
        start = self.base
        self.base += least
        self.passed += least
        self.receive(octets[least:end])
        if found is not None:
            return Found(start + found[0], self.framings[found[1]], octets[end:])
        if not ended:
            self._wanted = self._next([place - least + needed for place, needed in looks])
        return None

    def _find(self, octets: bytes, ended: bool) -> tuple[tuple[int, int] | None, list[tuple[int, int]]]:
        """Where three frames begin, and the number of their framing; and what each of them says (see `Framing.find`)."""
        looks = [framing.find(octets, self._places[number], ended) for number, framing in enumerate(self.framings)]
        found = [(place, number) for number, (place, needed) in enumerate(looks) if not needed]
        return min(found, default=None), looks

    def _first(self, octets: bytes) -> tuple[tuple[int, int] | None, list[tuple[int, int]], int]:
        """What `_find` gives with as few of the octets as it takes, and behind how many of them that counts."""
        few, enough = 0, len(octets)
        while enough - few > 1:
            middle = (few + enough) // 2
            if self._find(octets[:middle], False)[0] is None:
                few = middle
            else:
                enough = middle
        kept = enough - min([place for place, _ in self._find(octets[:few], False)[1]])
        return *self._find(octets[:enough], False), self._grid(enough, kept)

    def _next(self, wanted: list[int]) -> int:
        """How many octets must be kept for the next look; `wanted`: for each framing to say something else."""
        later = self._grid(self.size + 1, self.size)
        first_stuck = min([each for each, place in zip(wanted, self._places, strict=True) if not place])
        return max(min(wanted), min(later, first_stuck))

    def _grid(self, octets: int, kept: int) -> int:
        """The first place, not before `octets`, at which it looks in any case while it keeps `kept` octets."""
        step = 1 if kept <= SMALL else 1 << (kept // 8).bit_length() - 1
        return -(-(self.base + octets) // step) * step - self.base

    def take(self) -> bytes:
        """The octets that are kept; they are kept no longer."""
        octets = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        self._kept.clear()
        self.size = 0
        return octets

    def lost(self, octets: int) -> None:
        """`octets` octets are missing here: it begins anew behind them."""
        self.base += self.size + octets
        self.passed += self.size
        self.take()
        self._places = [0 for _ in self.framings]
        self._wanted = 0
