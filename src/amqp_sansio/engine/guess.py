"""The framing of a stream that starts in its middle, where several dialects are possible, told by three frames in a row."""

from __future__ import annotations

from typing import Final, NamedTuple

from amqp_sansio.wire.framing import Framing

SMALL: Final = 4096
"""How many octets may be searched again whenever more arrive."""


class Found(NamedTuple):
    """Where three consecutive frames begin in the speaker's stream, their framing, and the octets after those that prove it."""

    place: int
    framing: Framing
    rest: bytes


class Guess:
    """Keeps octets until one of the `framings` finds three consecutive frames in them.

    Drops what no framing needs, so each keeps at most three frames.  Linear: with much in store it searches only after growth
    by a sixteenth to an eighth, and each framing continues where it stopped.
    """

    __slots__ = ("_kept", "_places", "_wanted", "base", "begun", "framings", "passed", "size")

    def __init__(self, framings: tuple[Framing, ...]) -> None:
        self.framings: Final = framings
        self.begun = 0
        """Where in the speaker's stream the search began."""
        self.base = 0
        """Where the kept octets begin."""
        self.passed = 0
        """The number of dropped octets."""
        self.size = 0
        """The number of kept octets."""
        self._kept: list[bytes] = []
        self._places: list[int] = [0 for _ in framings]
        self._wanted = 0

    def begin(self, start: int) -> None:
        """Begins at this offset of the speaker's stream."""
        self.begun = self.base = start

    def receive(self, octets: bytes) -> None:
        """Stores octets of the stream."""
        self._kept.append(octets)
        self.size += len(octets)

    def look(self, ended: bool) -> Found | None:
        """Returns the framing in which three consecutive frames are found; None until then.

        The result does not depend on how the octets were split: it counts from the first octet that completes the frames or,
        with much in store, from the next fixed point of search.  What is kept ends there.
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
            wanted = [place - least + needed for place, needed in looks]  # by framing, before its result can change
            later = self._grid(self.size + 1, self.size)
            first_stuck = min([each for each, place in zip(wanted, self._places, strict=True) if not place])
            self._wanted = max(min(wanted), min(later, first_stuck))
        return None

    def _find(self, octets: bytes, ended: bool) -> tuple[tuple[int, int] | None, list[tuple[int, int]]]:
        """Returns where three frames begin and the index of their framing, and what each `Framing.find` returned."""
        looks = [framing.find(octets, self._places[number], ended) for number, framing in enumerate(self.framings)]
        return min([(place, number) for number, (place, needed) in enumerate(looks) if not needed], default=None), looks

    def _first(self, octets: bytes) -> tuple[tuple[int, int] | None, list[tuple[int, int]], int]:
        """Returns the result of `_find` with the fewest octets that suffice, and how many those are."""
        few, enough = 0, len(octets)
        while enough - few > 1:
            middle = (few + enough) // 2
            if self._find(octets[:middle], False)[0] is None:
                few = middle
            else:
                enough = middle
        kept = enough - min([place for place, _ in self._find(octets[:few], False)[1]])
        return *self._find(octets[:enough], False), self._grid(enough, kept)

    def _grid(self, octets: int, kept: int) -> int:
        """Returns the first fixed point of search at or after `octets`, while `kept` octets are kept."""
        step = 1 if kept <= SMALL else 1 << (kept // 8).bit_length() - 1
        return -(-(self.base + octets) // step) * step - self.base

    def take(self) -> bytes:
        """Returns the kept octets and drops them."""
        octets = self._kept[0] if len(self._kept) == 1 else b"".join(self._kept)
        self._kept.clear()
        self.size = 0
        return octets

    def lost(self, octets: int) -> None:
        """Starts anew after `octets` missing octets."""
        self.base += self.size + octets
        self.passed += self.size
        self.take()
        self._places = [0 for _ in self.framings]
        self._wanted = 0
