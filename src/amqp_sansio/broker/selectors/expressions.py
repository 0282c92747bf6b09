"""Expressions of a selector and their values (JMS 1.1, section 3.8.1), and patterns of LIKE.

A value is a string, a number (int: exact, 64 bits; float: approximate), a boolean, or None: NULL for values, *unknown* for
conditions, in SQL's three-valued logic.  Nothing here raises for any message: the result is None instead.  Expressions are only
deep where a selector has parentheses or signs; a chain of one operator is one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import ClassVar, Final, TypeAlias

import attrs


class SelectorError(ValueError):
    """An invalid selector: `reason` is the fault, `at` its position (an index into the text, from 0)."""

    def __init__(self, reason: str, at: int) -> None:
        super().__init__(f"{reason} at character {at + 1}")
        self.reason: Final = reason
        self.at: Final = at


class Pattern:
    """A pattern of LIKE: `_` is any one character, `%` any sequence of them; the escape character makes the next one literal.

    Matching costs at most the length of the text times the length of the pattern / 64.

    The pattern is split at each `%` into pieces.  The first must match at the start of the text, the last at its end, and each
    of the others at its first occurrence: if the pieces fit at all, they fit that way.
    """

    __slots__ = ("_first", "_last", "_least", "_middle", "by_character")

    def __init__(self, pattern: str, escape: str | None = None, at: int = 0) -> None:
        pieces: list[list[str | None]] = [[]]
        characters = iter(pattern)
        for character in characters:
            if character == escape:
                literal = next(characters, None)
                if literal not in ("%", "_", escape):
                    raise SelectorError("in a pattern only %, _ and the escape character can be escaped", at)
                pieces[-1].append(literal)
            elif character == "%":
                pieces.append([])
            else:
                pieces[-1].append(None if character == "_" else character)
        self._first: Final = _Piece(pieces[0])
        self._last: Final = _Piece(pieces[-1]) if len(pieces) > 1 else None
        """None without any `%`."""
        self._middle: Final = tuple([_Piece(piece) for piece in pieces[1:-1] if piece])
        self._least: Final = sum(map(len, pieces))
        self.by_character: Final = bool([piece for piece in pieces[1:-1] if None in piece])
        """Whether it must look at each character of a text: some `_` is between two `%`."""

    def matches(self, text: str) -> bool:
        """Returns whether the pattern matches the whole text."""
        size, last = len(text), self._last
        if last is None:
            return size == self._least and self._first.stands(text, 0)
        if size < self._least or not self._first.stands(text, 0) or not last.stands(text, size - last.size):
            return False
        at, stop = self._first.size, size - last.size
        for piece in self._middle:
            at = piece.end_of_next(text, at, stop)
            if at < 0:
                return False
        return True


class _Piece:
    """A piece between two `%`: characters, with None for any one."""

    __slots__ = ("_bits", "_fixed", "_holes", "_runs", "size")

    def __init__(self, characters: list[str | None]) -> None:
        self.size: Final = len(characters)
        self._fixed: Final = "".join([each for each in characters if each is not None]) if None not in characters else None
        self._runs: Final = tuple(_runs(characters))
        self._holes: Final = sum([1 << number for number, each in enumerate(characters) if each is None])
        bits: dict[str, int] = {}
        for number, each in enumerate(characters):
            if each is not None:
                bits[each] = bits.get(each, self._holes) | 1 << number
        self._bits: Final = bits

    def stands(self, text: str, at: int) -> bool:
        """Returns whether it matches at `at`; the text must be long enough."""
        return all(text.startswith(run, at + start) for start, run in self._runs)

    def end_of_next(self, text: str, at: int, stop: int) -> int:
        """Returns the end of its next occurrence; -1 when there is none."""
        if self._fixed is not None:
            found = text.find(self._fixed, at, stop)
            return found + self.size if found >= 0 else -1
        # Bit n of the state: the first n + 1 characters of the piece end here (Baeza-Yates and Gonnet's shift-and).
        state, whole, bits, holes = 0, 1 << (self.size - 1), self._bits, self._holes
        for place in range(at, stop):
            state = ((state << 1) | 1) & bits.get(text[place], holes)
            if state & whole:
                return place + 1
        return -1


def _runs(characters: list[str | None]) -> list[tuple[int, str]]:
    """Returns the fixed parts and their positions."""
    runs: list[tuple[int, str]] = []
    start = 0
    for number, each in enumerate([*characters, None]):
        if each is None:
            if number > start:
                runs.append((start, "".join([one for one in characters[start:number] if one is not None])))
            start = number + 1
    return runs


SelectorValue: TypeAlias = str | int | float | bool | None
Lookup: TypeAlias = Callable[[str], SelectorValue]
"""Returns the value of an identifier for a message; None when the message has none."""

_MASK: Final = 2**64 - 1
_SIGN: Final = 2**63


class Expression:
    """A node with a value."""

    __slots__ = ()

    def value(self, lookup: Lookup) -> SelectorValue:
        """Returns its value for the message whose properties `lookup` returns."""
        raise AssertionError  # overridden by each type


@attrs.frozen
class Constant(Expression):
    """A literal."""

    constant: SelectorValue

    def value(self, lookup: Lookup) -> SelectorValue:
        return self.constant


@attrs.frozen
class Identifier(Expression):
    """A header field or property of the message."""

    name: str

    def value(self, lookup: Lookup) -> SelectorValue:
        return lookup(self.name)


@attrs.frozen
class Not(Expression):
    """NOT: unknown stays unknown; a value that is not a boolean becomes unknown."""

    operand: Expression

    def value(self, lookup: Lookup) -> SelectorValue:
        truth = self.operand.value(lookup)
        return not truth if isinstance(truth, bool) else None


@attrs.frozen
class _Chain(Expression):
    """Conditions joined by one operator: a deciding one decides; otherwise unknown if one is unknown."""

    DECIDES: ClassVar[bool]
    """The value of a condition that decides, whatever the others."""
    operands: tuple[Expression, ...]

    def value(self, lookup: Lookup) -> SelectorValue:
        decides = self.DECIDES
        rest = not decides
        found: bool | None = rest
        for operand in self.operands:
            truth = operand.value(lookup)
            if truth is decides:
                return decides
            if truth is not rest:
                found = None
        return found


@attrs.frozen
class All(_Chain):
    """AND: false if one is false, else unknown if one is unknown, else true."""

    DECIDES = False


@attrs.frozen
class Any(_Chain):
    """OR: true if one is true, else unknown if one is unknown, else false."""

    DECIDES = True


def _number(value: SelectorValue) -> int | float | None:
    return None if isinstance(value, bool | str) else value


def _equal(a: SelectorValue, b: SelectorValue) -> bool | None:
    """Returns None when they are not of like type."""
    if isinstance(a, bool) or isinstance(b, bool) or isinstance(a, str) or isinstance(b, str):
        return a == b if type(a) is type(b) else None
    assert a is not None
    assert b is not None
    if isinstance(a, float) or isinstance(b, float):
        return float(a) == float(b)  # Java promotes the exact one
    return a == b


@attrs.frozen
class Comparison(Expression):
    """A comparison: unknown if one value is NULL, false if they are not of like type (section 3.8.1.2).

    Only numbers have an order; strings and booleans are equal or not.
    """

    operator: str
    left: Expression
    right: Expression

    def value(self, lookup: Lookup) -> SelectorValue:
        return compare(self.operator, self.left.value(lookup), self.right.value(lookup))


def compare(operator: str, a: SelectorValue, b: SelectorValue) -> bool | None:
    """Returns the value of `a operator b`; the operator is one of =, <>, <, <=, >, >=."""
    if a is None or b is None:
        return None
    if operator in ("=", "<>"):
        equal = _equal(a, b)
        return equal is (operator == "=")
    left, right = _number(a), _number(b)
    if left is None or right is None:
        return False
    if isinstance(left, float) or isinstance(right, float):
        left, right = float(left), float(right)
    return ORDERED[operator](left, right)


ORDERED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": lt,
    "<=": le,
    ">": gt,
    ">=": ge,
}
"""Operators that only apply to numbers."""


@attrs.frozen
class Between(Expression):
    """`x BETWEEN low AND high`, which means `x >= low AND x <= high` (section 3.8.1.1).

    `outside`: `x NOT BETWEEN low AND high`, which means `x < low OR x > high`.
    """

    operand: Expression
    low: Expression
    high: Expression
    outside: bool = False

    def value(self, lookup: Lookup) -> SelectorValue:
        value = self.operand.value(lookup)
        below, above = ("<", ">") if self.outside else (">=", "<=")
        decided = self.outside  # the value with which either one decides
        first = compare(below, value, self.low.value(lookup))
        if first is decided:
            return decided
        second = compare(above, value, self.high.value(lookup))
        return decided if second is decided else None if first is None or second is None else not decided


@attrs.frozen
class In(Expression):
    """`x IN ('a', 'b')`: unknown for NULL, false for anything but a string."""

    operand: Expression
    strings: frozenset[str]

    def value(self, lookup: Lookup) -> SelectorValue:
        value = self.operand.value(lookup)
        return None if value is None else isinstance(value, str) and value in self.strings


@attrs.frozen
class Like(Expression):
    """`x LIKE pattern`: unknown for NULL, false for anything but a string.

    Also unknown when the pattern would have to look at each character of a text longer than `most`.
    """

    operand: Expression
    pattern: Pattern
    most: int

    def value(self, lookup: Lookup) -> SelectorValue:
        value = self.operand.value(lookup)
        if value is None or not isinstance(value, str):
            return None if value is None else False
        return None if len(value) > self.most and self.pattern.by_character else self.pattern.matches(value)


@attrs.frozen
class IsNull(Expression):
    """`x IS NULL`: never unknown."""

    operand: Expression

    def value(self, lookup: Lookup) -> SelectorValue:
        return self.operand.value(lookup) is None


@attrs.frozen
class Negative(Expression):
    """`-x`."""

    operand: Expression

    def value(self, lookup: Lookup) -> SelectorValue:
        number = _number(self.operand.value(lookup))
        return None if number is None else -number if isinstance(number, float) else _long(-number)


@attrs.frozen
class Positive(Expression):
    """`+x`: the number itself."""

    operand: Expression

    def value(self, lookup: Lookup) -> SelectorValue:
        return _number(self.operand.value(lookup))


@attrs.frozen
class Arithmetic(Expression):
    """`x + y - z` or `x * y / z`, from left to right, as Java computes with long and double.

    NULL when an operand is NULL or not a number, and for an exact division by zero.
    """

    first: Expression
    others: tuple[tuple[str, Expression], ...]

    def value(self, lookup: Lookup) -> SelectorValue:
        found = _number(self.first.value(lookup))
        for operator, operand in self.others:
            number = _number(operand.value(lookup))
            if found is None or number is None:
                return None
            found = compute(operator, found, number)
        return found


def compute(operator: str, a: int | float, b: int | float) -> int | float | None:
    """Returns `a operator b` as in Java: exact numbers wrap at 64 bits and divide towards zero; None for division by zero."""
    if isinstance(a, float) or isinstance(b, float):
        a, b = float(a), float(b)
    if operator == "/":
        return _quotient(a, b)
    found = a + b if operator == "+" else a - b if operator == "-" else a * b
    return found if isinstance(found, float) else _long(found)


def _quotient(a: int | float, b: int | float) -> int | float | None:
    if isinstance(a, float) and b == 0:  # by IEEE 754; Python would raise
        negative = (str(a)[0] == "-") != (str(b)[0] == "-")
        return float("nan") if a == 0.0 or a != a else float("-inf") if negative else float("inf")
    if isinstance(a, float):
        return a / b
    if b == 0:
        return None
    quotient = abs(a) // abs(b)
    return _long(int(quotient if (a < 0) == (b < 0) else -quotient))


def _long(number: int) -> int:
    return ((number + _SIGN) & _MASK) - _SIGN
