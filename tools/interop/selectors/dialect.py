"""The differences of Broker-J's selectors from JMS 1.1 and from ours: a list, and an evaluator that implements them.

Found with Broker-J 9.2; `DIFFERENCES` describes each in a sentence.  The scope of NOT is grammar, which the evaluator lacks.  A
result that both accept and that neither our selectors nor this evaluator explain is a defect of one of them.
"""

from __future__ import annotations

from math import copysign
from typing import Final

from amqp_sansio.broker.selectors.expressions import (
    ORDERED,
    All,
    Any,
    Arithmetic,
    Between,
    Comparison,
    Constant,
    Expression,
    Identifier,
    In,
    IsNull,
    Like,
    Lookup,
    Negative,
    Not,
    Positive,
    SelectorValue,
    compute,
)

DIFFERENCES: Final = {
    "reach of NOT": "NOT denies all that follows: NOT TRUE OR TRUE is false.  JMS 1.1, 3.8.1.1: NOT comes before AND and OR.",
    "equality of NULL": "= and <> have two values: NULL = NULL is true, NULL = 1 false.  JMS 1.1, 3.8.1.2: unknown.",
    "inequality of types": "<> is true for values of unlike types.  JMS 1.1, 3.8.1.2: false.",
    "order of strings": "two strings or two booleans from properties have an order.  JMS 1.1, 3.8.1.2: = and <> only.",
    "AND of unknown": "unknown AND FALSE is unknown, FALSE AND unknown false.  JMS 1.1, table 3-4: false.",
    "OR of unknown": "unknown OR FALSE is false, FALSE OR unknown unknown.  JMS 1.1, table 3-5: unknown.",
    "truth of values": "a string or number where a condition stands is false, and NOT of it true.  Ours: unknown.",
    "IN of numbers": "IN is unknown for a value that is no string.  Ours: false, as LIKE has it at both.",
    "quotients": "/ always divides as doubles do: 5 / 2 = 2.5, 1 / 0 infinite.  JMS 1.1, 3.8.1.1: Java's arithmetic.",
    "integers of 32 bits": "exact numbers of 32 bits wrap at 32 bits.  Ours wrap at 64.",
    "sums of strings": "'a' + 1 is 'a1'.  JMS 1.1, 3.8.1.1: arithmetic is for numbers.",
    "arithmetic of other types": "other arithmetic with a string or boolean raises for each message.  Ours: NULL.",
    "NaN and -0.0": "NaN equals itself and is above all numbers, -0.0 is below 0.0.  JMS 1.1: Java's operators, IEEE 754.",
}


class Raised(Exception):
    """Broker-J raises an exception for this message."""


class Integer(int):
    """A number of Java's type Integer; 32-bit results are Integers again."""


def _typed(value: SelectorValue) -> SelectorValue:
    small = type(value) is int and -(2**31) <= value < 2**31
    return Integer(value) if small and value is not None else value


def _wrapped(found: SelectorValue, *operands: SelectorValue) -> SelectorValue:
    if type(found) is int and all(type(each) is Integer for each in operands):
        return Integer((found + 2**31) % 2**32 - 2**31)
    return found


def _like(a: SelectorValue, b: SelectorValue) -> bool:
    numbers = [isinstance(each, int | float) and not isinstance(each, bool) for each in (a, b)]
    return all(numbers) or (not any(numbers) and type(a) is type(b))


def _double(value: int | float | str) -> tuple[bool, float, float]:
    """Returns a key with the order of Java's Double.compareTo."""
    number = float(value)
    return (True, 0.0, 0.0) if number != number else (False, number, copysign(1.0, number) if number == 0.0 else 0.0)


def _equal(a: SelectorValue, b: SelectorValue) -> bool:
    if a is None or b is None:
        return a is b
    if not _like(a, b):
        return False
    return _double(a) == _double(b) if isinstance(a, float) or isinstance(b, float) else a == b


def _compared(operator: str, a: SelectorValue, b: SelectorValue) -> bool | None:
    if operator in ("=", "<>"):
        return _equal(a, b) is (operator == "=")
    if a is None or b is None:
        return None
    if not _like(a, b):
        return False
    if isinstance(a, float) or isinstance(b, float):
        left, right = _double(a), _double(b)
        return {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[operator]
    if isinstance(a, str) and isinstance(b, str):
        return {"<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}[operator]
    assert not isinstance(a, str)
    assert not isinstance(b, str)
    return ORDERED[operator](a, b)


def _arithmetic(operator: str, a: SelectorValue, b: SelectorValue) -> SelectorValue:
    if a is None or b is None:
        return None
    if operator == "+" and isinstance(a, str):
        return a + (str(b).lower() if isinstance(b, bool) else str(b))
    if isinstance(a, str | bool) or isinstance(b, str | bool):
        raise Raised
    if operator == "/":
        return compute("/", float(a), float(b))
    return _wrapped(compute(operator, a, b), a, b)


def _truth(value: SelectorValue) -> bool | None:
    return value if isinstance(value, bool) or value is None else False


def evaluate(expression: Expression, lookup: Lookup) -> SelectorValue:
    """Returns the value that Broker-J finds.  Raises Raised when it finds none."""
    if isinstance(expression, Constant):
        return _typed(expression.constant)
    if isinstance(expression, Identifier):
        return _typed(lookup(expression.name))
    if isinstance(expression, Not):
        truth = _truth(evaluate(expression.operand, lookup))
        return None if truth is None else not truth
    if isinstance(expression, All):
        found: bool | None = True
        for operand in expression.operands:
            if found:
                found = _truth(evaluate(operand, lookup))
        return found
    if isinstance(expression, Any):
        found = False
        for operand in expression.operands:
            if not found:
                found = _truth(evaluate(operand, lookup))
        return found
    if isinstance(expression, Comparison):
        return _compared(expression.operator, evaluate(expression.left, lookup), evaluate(expression.right, lookup))
    if isinstance(expression, Between):
        value = evaluate(expression.operand, lookup)
        low, high = evaluate(expression.low, lookup), evaluate(expression.high, lookup)
        if expression.outside:
            return _compared("<", value, low) or _compared(">", value, high)
        above = _compared(">=", value, low)
        return _compared("<=", value, high) if above else above
    if isinstance(expression, In):
        value = evaluate(expression.operand, lookup)
        return value in expression.strings if isinstance(value, str) else None
    if isinstance(expression, Like):
        value = evaluate(expression.operand, lookup)
        return None if value is None else isinstance(value, str) and expression.pattern.matches(value)
    if isinstance(expression, IsNull):
        return evaluate(expression.operand, lookup) is None
    if isinstance(expression, Negative):
        value = evaluate(expression.operand, lookup)
        number = None if isinstance(value, str | bool) else value
        return None if number is None else _wrapped(compute("-", 0, number) if isinstance(number, int) else -number, number)
    if isinstance(expression, Positive):
        return evaluate(expression.operand, lookup)
    assert isinstance(expression, Arithmetic)
    value = evaluate(expression.first, lookup)
    for operator, operand in expression.others:
        value = _arithmetic(operator, value, evaluate(operand, lookup))
    return value
