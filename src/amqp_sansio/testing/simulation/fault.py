"""Failures of a simulation: the invariants, and the error for one that is broken."""

from __future__ import annotations

from typing import Final

LOST: Final = "nothing is lost"
DOUBLED: Final = "nothing is doubled unmarked"
CREDIT: Final = "credit is never exceeded"
ORDER: Final = "order holds"
ATOMICITY: Final = "a transaction is whole or nothing"
DOUBT: Final = "in-doubt branches are resolved"
DEADLOCK: Final = "everything drains"
LEGALITY: Final = "nobody breaks the protocol"
RAISED: Final = "nobody raises"

RULES: Final = (LOST, DOUBLED, CREDIT, ORDER, ATOMICITY, DOUBT, DEADLOCK, LEGALITY, RAISED)
"""The invariants, as failures name them."""


class Fault(Exception):
    """An invariant that does not hold: `rule` is one of `RULES`, `text` says what happened."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule: Final = rule
        self.text: Final = text


def demand(holds: object, rule: str, text: str) -> None:
    """Raises Fault unless `holds`."""
    if not holds:
        raise Fault(rule, text)
