"""Targets: the required value, at the size that it applies to, and the measured one."""

from __future__ import annotations

from typing import Final, NamedTuple

MEGA: Final = 1_000_000


class Target(NamedTuple):
    """One target; `reached` is None when it could not be measured.

    It applies to captures of `least` octets or more: with fewer `octets` it is printed without a verdict, and so is one with a
    reason in `told`.
    """

    label: str
    target: float
    at_most: bool
    reached: float | None
    octets: int = 0
    least: int = 0
    told: str = ""
    """Why it is not judged; empty: it is."""

    @property
    def met(self) -> bool | None:
        """Whether it was met; None: not measured, or not judged."""
        if self.reached is None or self.told or self.octets < self.least:
            return None
        return self.reached <= self.target if self.at_most else self.reached >= self.target

    @property
    def verdict(self) -> str:
        """The verdict, or why there is none."""
        if self.reached is None:
            return f"not measured{f': {self.told}' if self.told else ''}"
        if self.told:
            return f"told, not judged: {self.told}"
        if self.octets < self.least:
            return f"told, not judged: meant for {self.least / MEGA:.0f} MB and more"
        return "met" if self.met else "MISSED"

    @property
    def line(self) -> str:
        """The target as a line of the table."""
        value = "" if self.reached is None else f"{self.reached:8.2f}"
        return f"{self.label:72} {'<=' if self.at_most else '>='} {self.target:5.1f} {value:>8} {self.verdict}"
