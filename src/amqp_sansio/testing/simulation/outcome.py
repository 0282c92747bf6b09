"""The outcome of a simulation: the invariants, the error for one that is broken, and the counts."""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.testing.simulation.plan import Plan

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


COUNTED: Final = (
    "published", "delivered", "committed", "branches", "moved", "connections", "resumed", "cuts", "crashes", "stalls", "octets",
)  # fmt: skip


@attrs.frozen
class Failure:
    """A broken invariant.

    `rule` is one of `RULES`; `at` is the number of the step, from 1, or 0 at the end, after the network recovered.
    """

    rule: str
    text: str
    at: int


@attrs.frozen
class Outcome:
    """The result of a simulation.

    `counts`: messages published and delivered, transactions committed, branches, messages moved between brokers by the manager,
    connections, sessions resumed, cuts, crashes of brokers, stalls, octets.  `digest` is a checksum of all octets that both
    sides sent: equal seeds give equal digests.  `story`: what happened, line by line; empty unless requested.
    """

    plan: Plan
    failure: Failure | None
    counts: dict[str, int]
    digest: int
    story: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether every invariant held."""
        return self.failure is None

    @property
    def summary(self) -> str:
        """The result in one line."""
        count = self.counts
        many = {
            "messages": count["published"], "delivered": count["delivered"], "transactions": count["committed"],
            "moved": count["moved"], "resumed": count["resumed"], "cuts": count["cuts"], "crashes": count["crashes"],
        }  # fmt: skip
        words = ", ".join([f"{value} {name}" for name, value in many.items()])
        found = "good" if self.failure is None else f"FAILED: {self.failure.rule}"
        return f"seed {self.plan.seed}: {words}: {found}"
