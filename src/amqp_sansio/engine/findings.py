"""The findings of a witness: violations, which accuse a side, and notes, which do not; and objections to a command."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import islice
from typing import Final, NamedTuple

from amqp_sansio.engine.connection import legal_of, rule_of
from amqp_sansio.errors import DecodeError
from amqp_sansio.events import Note, Violation
from amqp_sansio.limits import Limits

CREDIT_RULE: Final = "message.flow"
"""The rule that a transfer beyond its destination's credit breaks."""
DESTINATION_RULE: Final = "message.transfer.destination"
"""The rule that a transfer to a destination without a subscription breaks."""
UNITS: Final = ("message", "byte")
"""The units of credit by number, as message.credit-unit names them."""

_TOLD: Final = 4096
"""How many divergences are remembered as reported; beyond it they are reported again."""


class Objection(NamedTuple):
    """Why a command is illegal.

    `legal`: what would have been legal; `code`: an error code; `sure`: False when only this side's view of the conversation
    speaks against it.  When one of our limits is exceeded, `rule` is "limits." and its name, and `legal` what it allows.
    """

    rule: str
    said: str
    legal: tuple[str, ...]
    code: int
    text: str
    sure: bool = True


def some(things: Iterable[object]) -> list[str]:
    """Returns the first eight, for an error text."""
    return [f"{thing!r:.80}" for thing in islice(things, 8)]


class Findings:
    """Collects findings; `speaker` ("C" or "S"), `channel` and `offset` are those of the unit under judgement.

    By default it tolerates what deployed peers commonly do; `strict` reports every deviation from the letter.
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
        """Reports a violation by the speaker, or in a unit at `before` (side and offset) that only now proves illegal."""
        speaker, offset = before or (self.speaker, self.offset)
        self.found.append(Violation(speaker, rule, said, legal, code, self.channel, offset, text))

    def undecodable(self, what: str, said: str, error: DecodeError) -> None:
        """Reports that a `what` (such as a control) cannot be decoded."""
        self.breach(rule_of(what, error), said, str(error), legal_of(error), error.code)

    def note(self, rule: str, text: str) -> None:
        """Reports something worth knowing without accusing a side."""
        self.found.append(Note(rule, text, self.channel))

    def divergence(self, rule: str, said: str, text: str, legal: tuple[str, ...] = (), code: int = 0, about: str = "") -> None:
        """Reports a deviation of deployed peers: a note, or a violation when strict.  Once per channel and `about`."""
        if self._first(rule, about):
            if self.strict:
                self.breach(rule, said, text, legal, code)
            else:
                self.note(rule, text)

    def letter(self, rule: str, said: str, text: str, legal: tuple[str, ...] = (), code: int = 0, about: str = "") -> None:
        """Reports a deviation that is common among deployed peers, and only when strict.  Once per channel and `about`."""
        if self.strict and self._first(rule, about):
            self.breach(rule, said, text, legal, code)

    def bounded(self, excess: bool, limit: str, what: str) -> bool:
        """Notes, if `excess`, that there is more of `what` than this limit lets us remember: once per channel and speaker."""
        if excess and self._first(f"limits.{limit}", what):
            self.note(f"limits.{limit}", f"more {what} than we remember: we no longer track the oldest")
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
        """Allows the findings of a channel to be reported again: another session uses it now."""
        self._count -= len(self._told.pop(channel, ()))
