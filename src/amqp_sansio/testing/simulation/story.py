"""A run in words: what each client and broker did, followed by the methods that they exchanged."""

from __future__ import annotations

from typing import Final, Literal

from amqp_sansio.testing.simulation.pipes import Wire
from amqp_sansio.testing.transcript import Ear

_HIDDEN: Final = ("protocol header", "connection.")
"""What the handshake says is always the same."""


class Story:
    """The lines, when they are wanted: telling costs as much as all the rest."""

    def __init__(self, wanted: bool) -> None:
        self.wanted: Final = wanted
        self.lines: Final[list[str]] = []
        self.at = 0
        self._ears: Final[dict[tuple[Wire, str], Ear]] = {}
        self._held: list[str] = []

    def step(self, at: int) -> None:
        """The next step begins."""
        self.at = at

    def tell(self, text: str) -> None:
        """Somebody did something, or something befell him."""
        if self.wanted:
            self.lines.append(f"{self.at or '':>4} {text}")

    def said(self, wire: Wire, speaker: str, listener: str, way: Literal["up", "down"], octets: bytes) -> None:
        """Octets begin to fly."""
        if not self.wanted or not octets:
            return
        ear = self._ears.get((wire, way))
        if ear is None:
            ear = self._ears[wire, way] = Ear()
        for words in ear.hear(octets):
            if not words.partition("] ")[2].startswith(_HIDDEN) and not words.startswith(_HIDDEN):
                self.lines.append(f"     {'>' if way == 'up' else '<'} {speaker} to {listener}: {words}")
