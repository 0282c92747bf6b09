"""Expressions of a selector and their values (JMS 1.1, section 3.8.1).

A value is a string, a number (int: exact, 64 bits; float: approximate), a boolean, or None: NULL for values, *unknown* for
conditions, in SQL's three-valued logic.  Nothing here raises for any message: the result is None instead.  Expressions are only
deep where a selector has parentheses or signs; a chain of one operator is one node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import ge, gt, le, lt
from typing import ClassVar, Final, TypeAlias

from amqp_sansio.broker.selectors.like import Pattern

Value: TypeAlias = str | int | float | bool | None
Lookup: TypeAlias = Callable[[str], Value]
"""Returns the value of an identifier for a message; None when the message has none."""

_MASK: Final = 2**64 - 1
_SIGN: Final = 2**63


class Expression:
    """A node with a value."""

    __slots__ = ()

    def value(self, lookup: Lookup) -> Value:
        """Returns its value for the message whose properties `lookup` returns."""
        raise AssertionError  # overridden by each type


class Constant(Expression):
    """A literal."""

    __slots__ = ("constant",)

    def __init__(self, constant: Value) -> None:
        self.constant: Final = constant

    def value(self, lookup: Lookup) -> Value:
        return self.constant


class Identifier(Expression):
    """A header field or property of the message."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name: Final = name

    def value(self, lookup: Lookup) -> Value:
        return lookup(self.name)


class Not(Expression):
    """NOT: unknown stays unknown; a value that is not a boolean becomes unknown."""

    __slots__ = ("operand",)

    def __init__(self, operand: Expression) -> None:
        self.operand: Final = operand

    def value(self, lookup: Lookup) -> Value:
        truth = self.operand.value(lookup)
        return not truth if isinstance(truth, bool) else None


class _Chain(Expression):
    """Conditions joined by one operator: a deciding one decides; otherwise unknown if one is unknown."""

    __slots__ = ("operands",)
    DECIDES: ClassVar[bool]
    """The value of a condition that decides, whatever the others."""

    def __init__(self, operands: tuple[Expression, ...]) -> None:
        self.operands: Final = operands

    def value(self, lookup: Lookup) -> Value:
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


class All(_Chain):
    """AND: false if one is false, else unknown if one is unknown, else true."""

    __slots__ = ()
    DECIDES = False


class Any(_Chain):
    """OR: true if one is true, else unknown if one is unknown, else false."""

    __slots__ = ()
    DECIDES = True


def _number(value: Value) -> int | float | None:
    return None if isinstance(value, bool | str) else value


def _equal(a: Value, b: Value) -> bool | None:
    """Returns None when they are not of like type."""
    if isinstance(a, bool) or isinstance(b, bool) or isinstance(a, str) or isinstance(b, str):
        return a == b if type(a) is type(b) else None
    assert a is not None
    assert b is not None
    if isinstance(a, float) or isinstance(b, float):
        return float(a) == float(b)  # Java promotes the exact one
    return a == b


class Comparison(Expression):
    """A comparison: unknown if one value is NULL, false if they are not of like type (section 3.8.1.2).

    Only numbers have an order; strings and booleans are equal or not.
    """

    __slots__ = ("left", "operator", "right")

    def __init__(self, operator: str, left: Expression, right: Expression) -> None:
        self.operator: Final = operator
        self.left: Final = left
        self.right: Final = right

    def value(self, lookup: Lookup) -> Value:
        return compare(self.operator, self.left.value(lookup), self.right.value(lookup))


def compare(operator: str, a: Value, b: Value) -> bool | None:
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


class Between(Expression):
    """`x BETWEEN low AND high`, which means `x >= low AND x <= high` (section 3.8.1.1).

    `outside`: `x NOT BETWEEN low AND high`, which means `x < low OR x > high`.
    """

    __slots__ = ("high", "low", "operand", "outside")

    def __init__(self, operand: Expression, low: Expression, high: Expression, outside: bool = False) -> None:
        self.operand: Final = operand
        self.low: Final = low
        self.high: Final = high
        self.outside: Final = outside

    def value(self, lookup: Lookup) -> Value:
        value = self.operand.value(lookup)
        below, above = ("<", ">") if self.outside else (">=", "<=")
        decided = self.outside  # the value with which either one decides
        first = compare(below, value, self.low.value(lookup))
        if first is decided:
            return decided
        second = compare(above, value, self.high.value(lookup))
        return decided if second is decided else None if first is None or second is None else not decided


class In(Expression):
    """`x IN ('a', 'b')`: unknown for NULL, false for anything but a string."""

    __slots__ = ("operand", "strings")

    def __init__(self, operand: Expression, strings: frozenset[str]) -> None:
        self.operand: Final = operand
        self.strings: Final = strings

    def value(self, lookup: Lookup) -> Value:
        value = self.operand.value(lookup)
        return None if value is None else isinstance(value, str) and value in self.strings


class Like(Expression):
    """`x LIKE pattern`: unknown for NULL, false for anything but a string.

    Also unknown when the pattern would have to look at each character of a text longer than `most`.
    """

    __slots__ = ("most", "operand", "pattern")

    def __init__(self, operand: Expression, pattern: Pattern, most: int) -> None:
        self.operand: Final = operand
        self.pattern: Final = pattern
        self.most: Final = most

    def value(self, lookup: Lookup) -> Value:
        value = self.operand.value(lookup)
        if value is None or not isinstance(value, str):
            return None if value is None else False
        return None if len(value) > self.most and self.pattern.by_character else self.pattern.matches(value)


class IsNull(Expression):
    """`x IS NULL`: never unknown."""

    __slots__ = ("operand",)

    def __init__(self, operand: Expression) -> None:
        self.operand: Final = operand

    def value(self, lookup: Lookup) -> Value:
        return self.operand.value(lookup) is None


class Negative(Expression):
    """`-x`."""

    __slots__ = ("operand",)

    def __init__(self, operand: Expression) -> None:
        self.operand: Final = operand

    def value(self, lookup: Lookup) -> Value:
        number = _number(self.operand.value(lookup))
        return None if number is None else -number if isinstance(number, float) else _long(-number)


class Positive(Expression):
    """`+x`: the number itself."""

    __slots__ = ("operand",)

    def __init__(self, operand: Expression) -> None:
        self.operand: Final = operand

    def value(self, lookup: Lookup) -> Value:
        return _number(self.operand.value(lookup))


class Arithmetic(Expression):
    """`x + y - z` or `x * y / z`, from left to right, as Java computes with long and double.

    NULL when an operand is NULL or not a number, and for an exact division by zero.
    """

    __slots__ = ("first", "others")

    def __init__(self, first: Expression, others: tuple[tuple[str, Expression], ...]) -> None:
        self.first: Final = first
        self.others: Final = others

    def value(self, lookup: Lookup) -> Value:
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
        return _approximate(operator, float(a), float(b))
    if operator == "+":
        return _long(a + b)
    if operator == "-":
        return _long(a - b)
    if operator == "*":
        return _long(a * b)
    if b == 0:
        return None
    quotient = abs(a) // abs(b)
    return _long(quotient if (a < 0) == (b < 0) else -quotient)


def _approximate(operator: str, a: float, b: float) -> float:
    if operator == "+":
        return a + b
    if operator == "-":
        return a - b
    if operator == "*":
        return a * b
    if b == 0.0:  # by IEEE 754; Python would raise
        negative = (str(a)[0] == "-") != (str(b)[0] == "-")
        return float("nan") if a == 0.0 or a != a else float("-inf") if negative else float("inf")
    return a / b


def _long(number: int) -> int:
    return ((number + _SIGN) & _MASK) - _SIGN
