"""Targets: what was to be reached, at the size that it is meant for, and what was reached."""

from __future__ import annotations

from typing import Final, NamedTuple

MEGA: Final = 1_000_000


class Target(NamedTuple):
    """What was to be reached; `reached` is None where it could not be measured.

    It is meant for captures of `least` octets or more: with fewer `octets` it is printed without a verdict, as is one without a
    judge.
    """

    label: str
    target: float
    at_most: bool
    reached: float | None
    octets: int = 0
    least: int = 0
    told: str = ""
    """Why nobody judges it; empty: it is judged."""

    @property
    def met(self) -> bool | None:
        """Whether it was; None: not measured, or not judged."""
        if self.reached is None or self.told or self.octets < self.least:
            return None
        return self.reached <= self.target if self.at_most else self.reached >= self.target

    @property
    def verdict(self) -> str:
        """Whether it was met, or why nobody says so."""
        if self.reached is None:
            return f"not measured{f': {self.told}' if self.told else ''}"
        if self.told:
            return f"told, not judged: {self.told}"
        if self.octets < self.least:
            return f"told, not judged: meant for {self.least / MEGA:.0f} MB and more"
        return "met" if self.met else "MISSED"

    @property
    def line(self) -> str:
        """It as a line of the table."""
        value = "" if self.reached is None else f"{self.reached:8.2f}"
        return f"{self.label:72} {'<=' if self.at_most else '>='} {self.target:5.1f} {value:>8} {self.verdict}"
