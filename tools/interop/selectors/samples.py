"""Generates selectors and messages from a seed, by JMS 1.1: mostly well typed, with NULLs and type mismatches."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from typing import Final

from amqp_sansio.broker.selectors.expressions import SelectorValue

NAMES: Final = {
    "color": "string",
    "name": "string",
    "age": "number",
    "weight": "number",
    "ratio": "number",
    "ok": "truth",
    "no": "truth",
}
"""The identifiers, and the expected type of each."""
STRINGS: Final = ("red", "blue", "", "it's", "a_b", "100%", "x", "grün")
NUMBERS: Final = (
    "0",
    "1",
    "-1",
    "2",
    "7",
    "17",
    "2.5",
    "-0.5",
    "1E3",
    "7.",
    "0x11",
    "021",
    "2147483647",
    "4294967296",
    "9007199254740993",
)
PATTERNS: Final = ("r%", "%e", "_ed", "%", "", "a!_b", "100!%", "%l%", "b__e")


class Samples:
    """One source of selectors and messages."""

    def __init__(self, seed: int) -> None:
        self._random: Final = Random(seed)

    def message(self) -> Mapping[str, SelectorValue]:
        """Returns properties: some missing, a few of an unexpected type."""
        random, found = self._random, dict[str, SelectorValue]()
        for name, kind in NAMES.items():
            kind = random.choice(("string", "number", "truth")) if random.random() < 0.05 else kind
            if random.random() < 0.2:
                continue
            if kind == "string":
                found[name] = random.choice(STRINGS)
            elif kind == "number":
                found[name] = random.choice((0, 1, -1, 2, 17, 2**31 - 1, 2**32, 2.5, -0.5, 1000.0, 2**53 + 1, float(2**53)))
            else:
                found[name] = random.random() < 0.5
        return found

    def selector(self, depth: int = 4) -> str:
        """Returns one selector."""
        return self._condition(self._random.randint(1, depth))

    def _name(self, kind: str) -> str:
        return self._random.choice([name for name, each in NAMES.items() if each == kind])

    def _string(self) -> str:
        return "'" + self._random.choice(STRINGS).replace("'", "''") + "'"

    def _condition(self, depth: int) -> str:
        random = self._random
        if depth > 0 and random.random() < 0.7:
            kind = random.choice(("AND", "OR", "NOT", "()"))
            if kind == "NOT":
                operand = self._predicate(depth) if random.random() < 0.5 else f"({self._condition(depth - 1)})"
                return f"(NOT {operand})"  # in parentheses: Broker-J's NOT applies to all that follows
            if kind == "()":
                return f"({self._condition(depth - 1)})"
            return f" {kind} ".join([self._inside(depth) for _ in range(random.randint(2, 3))])
        return self._predicate(depth)

    def _inside(self, depth: int) -> str:
        found = self._condition(depth - 1)
        return found if self._random.random() < 0.3 else f"({found})"

    def _predicate(self, depth: int) -> str:
        random = self._random
        denied = "NOT " if random.random() < 0.3 else ""
        kind = random.randrange(9)
        if kind == 0:
            return self._name("truth")
        if kind == 1:
            return f"{self._name(random.choice(('string', 'number', 'truth')))} IS {denied}NULL"
        if kind == 2:
            return f"{self._name('string')} {denied}IN ({', '.join([self._string() for _ in range(random.randint(1, 3))])})"
        if kind == 3:
            return f"{self._name('string')} {denied}LIKE '{random.choice(PATTERNS)}' ESCAPE '!'"
        if kind == 4:
            return f"{self._sum(depth)} {denied}BETWEEN {self._sum(0)} AND {self._sum(0)}"
        if kind == 5:
            return f"{self._name('string')} {random.choice(('=', '<>'))} {self._string()}"
        if kind == 6:
            return f"{self._name('truth')} {random.choice(('=', '<>'))} {random.choice(('TRUE', 'FALSE'))}"
        if kind == 7 and random.random() < 0.2:
            other = random.choice((self._string(), "TRUE", self._name("string")))
            return f"{self._name('number')} {random.choice(('=', '<>'))} {other}"
        return f"{self._sum(depth)} {random.choice(('=', '<>', '<', '<=', '>', '>='))} {self._sum(depth)}"

    def _sum(self, depth: int) -> str:
        random = self._random
        if depth > 0 and random.random() < 0.4:
            parts = [self._sum(depth - 2) for _ in range(random.randint(2, 3))]
            found = random.choice((" + ", " - ", " * ", " / ", "+", "*")).join(parts)
            return f"({found})" if random.random() < 0.6 else found
        if random.random() < 0.15:
            return f"{random.choice('+-')} {self._name('number')}"
        return random.choice(NUMBERS) if random.random() < 0.5 else self._name("number")
