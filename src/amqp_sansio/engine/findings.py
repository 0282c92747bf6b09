"""The findings of a witness: violations, which accuse, and notes, which accuse nobody."""

from __future__ import annotations

from collections import deque
from typing import Final

from amqp_sansio.events import Note, Violation
from amqp_sansio.limits import Limits

CREDIT_RULE: Final = "message.flow"
"""What a transfer beyond the credit of its destination breaks."""
DESTINATION_RULE: Final = "message.transfer.destination"
"""What a transfer to a destination without subscription breaks."""
UNITS: Final = ("message", "byte")
"""The units of credit by their numbers, as message.credit-unit calls them."""

_TOLD: Final = 4096
"""Divergences remembered as reported; beyond it they are reported again."""


class Findings:
    """Collects them; `speaker` ("C" or "S"), `channel` and `offset` are those of the unit under judgement.

    By default what deployed peers do everywhere is tolerated; `strict` reports the letter.
    """

    __slots__ = ("_count", "_told", "channel", "found", "limits", "offset", "speaker", "strict")

    def __init__(self, strict: bool, limits: Limits) -> None:
        self.strict: Final = strict
        self.limits: Final = limits
        self.found: deque[Violation | Note] = deque()
        self.speaker = "C"
        self.channel: int | None = None
        self.offset = 0
        self._told: dict[int | None, set[tuple[str, str, str]]] = {}
        self._count = 0

    def breach(
        self,
        rule: str,
        said: str,
        text: str,
        legal: tuple[str, ...] = (),
        code: int = 0,
        before: tuple[str, int] | None = None,
    ) -> None:
        """The speaker broke a rule.  `before`: it turns out now that this speaker did, at this offset of what it said."""
        speaker, offset = before or (self.speaker, self.offset)
        self.found.append(Violation(speaker, rule, said, legal, code, self.channel, offset, text))

    def note(self, rule: str, text: str) -> None:
        """Worth knowing; nobody is at fault."""
        self.found.append(Note(rule, text, self.channel))

    def divergence(self, rule: str, said: str, text: str, legal: tuple[str, ...] = (), code: int = 0, about: str = "") -> None:
        """Against the letter, but deployed peers do it: a note, a breach when strict.  Told once per channel and `about`."""
        if self._first(rule, about):
            if self.strict:
                self.breach(rule, said, text, legal, code)
            else:
                self.note(rule, text)

    def letter(self, rule: str, said: str, text: str, legal: tuple[str, ...] = (), code: int = 0, about: str = "") -> None:
        """Against the letter, but deployed peers do it everywhere: nothing, a breach when strict.  Told once likewise."""
        if self.strict and self._first(rule, about):
            self.breach(rule, said, text, legal, code)

    def bounded(self, excess: bool, limit: str, what: str) -> bool:
        """`excess`: there was more of something than this limit lets us remember.  A note, once per channel and speaker."""
        if excess and self._first(f"limits.{limit}", what):
            self.note(f"limits.{limit}", f"more {what} than we remember: the oldest are not followed any more")
        return excess

    def _first(self, rule: str, about: str) -> bool:
        told = self._told.setdefault(self.channel, set())
        key = (self.speaker, rule, about)
        if key in told:
            return False
        if self._count < _TOLD:
            self._count += 1
            told.add(key)
        return True

    def forget(self, channel: int) -> None:
        """What was reported about a channel may be reported again: another session is on it now."""
        self._count -= len(self._told.pop(channel, ()))
