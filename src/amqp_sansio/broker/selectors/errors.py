"""Errors in the text of a selector."""

from __future__ import annotations

from typing import Final


class SelectorError(ValueError):
    """An invalid selector: `reason` is the fault, `at` its position (an index into the text, from 0)."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"{reason} at character {at + 1}")
        self.reason: Final = reason
        self.at: Final = at
