"""The outcome of a simulation: the invariants, the error for one that is broken, and the search for a smaller failure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from amqp_sansio.testing.simulation.plan import Plan, Step

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


class InvariantError(Exception):
    """An invariant that does not hold: `rule` is one of `RULES`, `text` says what happened."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule: Final = rule
        self.text: Final = text


def demand(holds: object, rule: str, text: str) -> None:
    """Raises InvariantError unless `holds`."""
    if not holds:
        raise InvariantError(rule, text)


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


MOST_RUNS: Final = 2000
"""The most runs of a search."""


@attrs.define(eq=False)
class Shrinking:
    """The search for the shortest plan that fails as the first outcome does; `run` runs a plan."""

    best: Outcome
    """The shortest failure so far."""
    _run: Callable[[Plan], Outcome]
    _most: int = MOST_RUNS
    runs: int = 0

    def shrink(self) -> Outcome:
        """Returns the smallest failure found, or the outcome itself when it is not a failure."""
        failure = self.best.failure
        if failure is None:
            return self.best
        if failure.at:
            self._try(self.best.plan.steps[: failure.at])
        before = -1
        while before != self._size and self.runs < self._most:
            before = self._size
            self._remove()
            self._zero()
        return self.best

    @property
    def _size(self) -> int:
        """The size to minimise: mostly steps, and a little the numbers that are not 0."""
        return sum([4 + bool(step.a) + bool(step.b) + bool(step.c) for step in self.best.plan.steps])

    def _try(self, steps: tuple[Step, ...]) -> None:
        """Runs these steps, and keeps them as the best so far where they fail in the same way."""
        if self.runs >= self._most or steps == self.best.plan.steps:
            return
        self.runs += 1
        outcome = self._run(self.best.plan.only(steps))
        failure, known = outcome.failure, self.best.failure
        if failure is None or known is None or failure.rule != known.rule:
            return
        if failure.at:  # steps after the failure have no part in it
            outcome = attrs.evolve(outcome, plan=outcome.plan.only(outcome.plan.steps[: failure.at]))
        self.best = outcome

    def _remove(self) -> None:
        """Removes ranges of steps, large ones first, from the end to the beginning."""
        size = max(1, len(self.best.plan.steps) // 2)
        while size:
            end = len(self.best.plan.steps)
            while end > 0:
                steps = self.best.plan.steps
                start = max(0, end - size)
                self._try(steps[:start] + steps[end:])
                end = min(start, len(self.best.plan.steps))
            size //= 2

    def _zero(self) -> None:
        """Sets the numbers of steps to 0."""
        at = 0
        while at < len(self.best.plan.steps):
            for field in range(2, 5):
                steps = self.best.plan.steps
                if at < len(steps) and steps[at][field]:
                    verb, who, *numbers = steps[at]
                    numbers[field - 2] = 0
                    self._try((*steps[:at], Step(verb, who, *numbers), *steps[at + 1 :]))
            at += 1
