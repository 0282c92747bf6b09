"""Selectors a second time, from the text of JMS 1.1 (section 3.8.1): each sentence is made together with what it means.

A phrase is its text, how tightly it binds, and its meaning: a function of the message.  Nothing here reads a selector or knows
the expressions of the broker; LIKE is a regular expression, and numbers of 64 bits are ctypes' own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from ctypes import c_int64
from random import Random
from typing import Any, Final, NamedTuple

Message = Mapping[str, Any]

OR, AND, NOT, COMPARISON, SUM, PRODUCT, SIGN, PRIMARY = range(8)
STRINGS: Final = ("", "a", "A", "red", "it's", "''", "a_b", "a%b", "100%", "a\nb", "grün", "\\", "!", "7")
PATTERNS: Final = (
    "",
    "%",
    "_",
    "%%",
    "a%",
    "%a",
    "a_b",
    "a!_b",
    "a!%b",
    "%!%%",
    "!!",
    "__",
    "_%_",
    "%_%",
    "r_d",
    "%e%d%",
    "a%b",
    "\\",
)
NUMBERS: Final[Mapping[str, int | float]] = {
    "0": 0, "1": 1, "2": 2, "7": 7, "7L": 7, "010": 8, "0x1F": 31, "0X1fl": 31, "7d": 7.0, "0.1f": 0.10000000149011612,
    "7.": 7.0, ".5": 0.5, "2.5E0": 2.5, "1e3": 1000.0, "1E-2": 0.01, "9223372036854775807": 2**63 - 1,
    "9007199254740993": 2**53 + 1, "8": 8, "31": 31, "4611686018427387904": 2**62,
    "0.0": 0.0, "1e308": 1e308,
}  # fmt: skip
NAMES: Final = ("s", "t", "n", "m", "x", "b", "c", "$v", "_w", "gr\u0308o", "JMSType", "NULLs", "Ins")


class Phrase(NamedTuple):
    """One piece of a selector."""

    text: str
    binds: int
    means: Callable[[Message], Any]


def numeric(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def compared(operator: str, a: Any, b: Any) -> Any:
    """3.8.1.2: unknown with NULL; like types only, else false; order for numbers only."""
    if a is None or b is None:
        return None
    if numeric(a) and numeric(b):
        if isinstance(a, float) or isinstance(b, float):
            a, b = float(a), float(b)
        return {"=": a == b, "<>": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
    if type(a) is not type(b) or operator not in ("=", "<>"):
        return False
    return (a == b) if operator == "=" else (a != b)


def computed(operator: str, a: Any, b: Any) -> Any:
    """Java's arithmetic: long where both are exact, else double; NULL with what is no number, and for an exact x / 0."""
    if not numeric(a) or not numeric(b):
        return None
    exact = isinstance(a, int) and isinstance(b, int)
    if operator == "/":
        if exact:
            if b == 0:
                return None
            return c_int64((abs(a) // abs(b)) * (1 if (a < 0) == (b < 0) else -1)).value
        a, b = float(a), float(b)
        if b != 0:
            return a / b
        return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
    if not exact:
        a, b = float(a), float(b)
    found = a + b if operator == "+" else a - b if operator == "-" else a * b
    return c_int64(found).value if exact else found


def all_of(truths: list[Any]) -> bool | None:
    """Table 3-4."""
    return False if any(each is False for each in truths) else True if all(each is True for each in truths) else None


def any_of(truths: list[Any]) -> bool | None:
    """Table 3-5."""
    return True if any(each is True for each in truths) else False if all(each is False for each in truths) else None


def denied(truth: Any) -> bool | None:
    """Table 3-6."""
    return (not truth) if isinstance(truth, bool) else None


def like(value: Any, pattern: str, escape: str | None) -> bool | None:
    if value is None:
        return None
    found, literal = "", False
    for character in pattern:
        if literal or character not in ("%", "_", escape):
            found, literal = found + re.escape(character), False
        elif character == escape:
            literal = True
        else:
            found += ".*" if character == "%" else "."
    return isinstance(value, str) and re.fullmatch(found, value, re.DOTALL) is not None


class Speaker:
    """Makes phrases and messages from a seed."""

    def __init__(self, seed: int) -> None:
        self.random: Final = Random(seed)

    def message(self) -> Message:
        """Some of the names, with values of any type."""
        values = (
            *STRINGS, True, False, 0, 1, 7, -1, 8, 31, 2**63 - 1, -(2**63), 2**53 + 1, 0.5, 7.0, -0.0, 0.1, 1e308, math.inf,
            math.nan,
        )  # fmt: skip
        return {name: self.random.choice(values) for name in NAMES if self.random.random() < 0.75}

    def selector(self, depth: int = 4) -> Phrase:
        """A whole one."""
        return self.condition(depth)

    def condition(self, depth: int) -> Phrase:
        kind = self.random.choice(("or", "and", "not", "predicate")) if depth else "predicate"
        if kind in ("or", "and"):
            binds, word, rule = (OR, "OR", any_of) if kind == "or" else (AND, "AND", all_of)
            parts = [self.at(self.condition(depth - 1), binds + 1) for _ in range(self.random.randint(2, 3))]
            return Phrase(
                self.spaced(f" {self.word(word)} ".join([each.text for each in parts])),
                binds,
                lambda message: rule([each.means(message) for each in parts]),
            )
        if kind == "not":
            part = self.at(self.condition(depth - 1), NOT)
            return Phrase(f"{self.word('NOT')} {part.text}", NOT, lambda message: denied(part.means(message)))
        return self.predicate(depth)

    def predicate(self, depth: int) -> Phrase:
        no = self.random.random() < 0.4
        word = f"{self.word('NOT')} " if no else ""
        kind = self.random.randrange(7)
        if kind == 0:
            text, truth = self.random.choice((("TRUE", True), ("FALSE", False)))
            return Phrase(self.word(text), PRIMARY, lambda message: truth)
        name = self.name()
        if kind == 1:
            return name
        if kind == 2:
            text = f"{name.text} {self.word('IS')} {word}{self.word('NULL')}"
            return Phrase(text, COMPARISON, lambda message: (name.means(message) is None) is not no)
        if kind == 3:
            strings = [self.random.choice(STRINGS) for _ in range(self.random.randint(1, 3))]
            text = f"{name.text} {word}{self.word('IN')} ({', '.join(map(quoted, strings))})"

            def within(message: Message) -> bool | None:
                value = name.means(message)
                return None if value is None else isinstance(value, str) and value in strings

            return Phrase(text, COMPARISON, lambda message: denied(within(message)) if no else within(message))
        if kind == 4:
            pattern, escape = self.random.choice(PATTERNS), self.random.choice((None, "!", "!", "\\"))
            if escape == "\\":
                pattern = pattern.replace("\\", "\\\\").replace("!", "\\_")
            elif escape is None:
                pattern = pattern.replace("!", "")
            text = f"{name.text} {word}{self.word('LIKE')} {quoted(pattern)}"
            text += "" if escape is None else f" {self.word('ESCAPE')} {quoted(escape)}"

            def alike(message: Message) -> bool | None:
                return like(name.means(message), pattern, escape)

            return Phrase(text, COMPARISON, lambda message: denied(alike(message)) if no else alike(message))
        left, right = self.sum(depth), self.sum(depth)
        if kind == 5:
            high = self.sum(depth)
            text = f"{left.text} {word}{self.word('BETWEEN')} {right.text} {self.word('AND')} {high.text}"

            def inside(message: Message) -> bool | None:
                value, ends = left.means(message), (right.means(message), high.means(message))
                if no:
                    return any_of([compared("<", value, ends[0]), compared(">", value, ends[1])])
                return all_of([compared(">=", value, ends[0]), compared("<=", value, ends[1])])

            return Phrase(text, COMPARISON, inside)
        operator = self.random.choice(("=", "<>", "<", "<=", ">", ">="))
        if operator in ("=", "<>") and self.random.random() < 0.4:
            string = self.random.choice(STRINGS)
            right = Phrase(quoted(string), PRIMARY, lambda message: string)
        gap = self.random.choice(("", " "))
        return Phrase(
            f"{left.text}{gap}{operator}{gap}{right.text}",
            COMPARISON,
            lambda message: compared(operator, left.means(message), right.means(message)),
        )

    def sum(self, depth: int) -> Phrase:
        """A value: a number or an identifier, or arithmetic with them."""
        kind = self.random.choice(("name", "number", "+", "*", "sign")) if depth > 0 else self.random.choice(("name", "number"))
        if kind == "name":
            return self.name()
        if kind == "number":
            text, number = self.random.choice(list(NUMBERS.items()))
            return Phrase(text, PRIMARY, lambda message: number)
        if kind == "sign":
            sign, part = self.random.choice("+-"), self.at(self.sum(depth - 1), SIGN)

            def signed(message: Message) -> int | float | None:
                value = part.means(message)
                if not numeric(value):
                    return None
                number: int | float = value if sign == "+" else -value
                return number if isinstance(number, float) else c_int64(number).value

            return Phrase(f"{sign} {part.text}", SIGN, signed)
        binds, operators = (SUM, "+-") if kind == "+" else (PRODUCT, "*/")
        first, others = self.at(self.sum(depth - 1), binds), list[tuple[str, Phrase]]()
        if first.binds == binds:
            first = Phrase(f"({first.text})", PRIMARY, first.means)
        for _ in range(self.random.randint(1, 2)):
            others.append((self.random.choice(operators), self.at(self.sum(depth - 1), binds + 1)))

        def total(message: Message) -> int | float | None:
            found: Any = first.means(message)
            for operator, part in others:
                found = computed(operator, found, part.means(message))
            return found if numeric(found) else None

        text = first.text + "".join([f" {operator} {part.text}" for operator, part in others])
        return Phrase(text, binds, total)

    def name(self) -> Phrase:
        name = self.random.choice(NAMES)
        return Phrase(name, PRIMARY, lambda message: message.get(name))

    def at(self, phrase: Phrase, least: int) -> Phrase:
        """The phrase where one must bind so tightly: in parentheses if it does not, and sometimes if it does."""
        if phrase.binds >= least and self.random.random() < 0.8:
            return phrase
        return Phrase(f"({phrase.text})", PRIMARY, phrase.means)

    def word(self, word: str) -> str:
        return self.random.choice((word, word, word.lower(), word.title()))

    def spaced(self, text: str) -> str:
        return self.random.choice(("", "", " ", "\t")) + text + self.random.choice(("", "", "\r\n"))


def quoted(string: str) -> str:
    return "'" + string.replace("'", "''") + "'"
