"""A run in words: what each client and broker did, with the methods that they exchanged."""

from __future__ import annotations

from typing import Final, Literal

from amqp_sansio.testing.simulation.pipes import Wire
from amqp_sansio.testing.transcript import Ear

_HIDDEN: Final = ("protocol header", "connection.")
"""Verbs left out: handshakes are all alike."""


class Story:
    """The lines of a story, if wanted: composing them costs as much as all the rest."""

    def __init__(self, wanted: bool) -> None:
        self.wanted: Final = wanted
        self.lines: Final[list[str]] = []
        self._ears: Final[dict[tuple[Wire, str], Ear]] = {}

    def tell(self, at: int, text: str) -> None:
        """Adds a line about an actor in step `at`, 0 for none."""
        if self.wanted:
            self.lines.append(f"{at or '':>4} {text}")

    def said(self, wire: Wire, speaker: str, listener: str, way: Literal["up", "down"], octets: bytes) -> None:
        """Adds the methods in octets that are sent."""
        if not self.wanted:
            return
        ear = self._ears.get((wire, way))
        if ear is None:
            ear = self._ears[wire, way] = Ear()
        for words in ear.hear(octets):
            if not words.partition("] ")[2].startswith(_HIDDEN) and not words.startswith(_HIDDEN):
                self.lines.append(f"     {'>' if way == 'up' else '<'} {speaker} to {listener}: {words}")
