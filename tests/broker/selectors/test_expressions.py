"""Values of expressions, patterns of LIKE, and errors in a selector."""

from __future__ import annotations

import math
import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear

from amqp_sansio.broker.selectors.expressions import (
    All,
    Any,
    Between,
    Constant,
    Expression,
    IsNull,
    Not,
    Pattern,
    SelectorError,
    SelectorValue,
    compare,
    compute,
)


def test_the_error_counts_characters_from_one_and_its_place_from_zero() -> None:
    error = SelectorError("unexpected character '#'", 0)
    assert str(error) == "unexpected character '#' at character 1"
    assert (error.reason, error.at) == ("unexpected character '#'", 0)


PIECES = st.lists(st.sampled_from(["a", "b", "_", "%", "ab", "!_", "!%", "!!"]), max_size=12).map("".join)
TEXTS = st.text("ab_%!", max_size=24)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("12%3", ["123", "12993"], ["1234", "12", "1 23"]),
        ("l_se", ["lose"], ["loose", "lse"]),
        ("", [""], ["a"]),
        ("%", ["", "a", "\n"], []),
        ("a%a", ["aa", "aba"], ["a"]),
        ("%a_c%a_c", ["abcadc", "xabcabxaec"], ["abc", "abadc"]),
    ],
)
def test_the_examples(pattern: str, yes: list[str], no: list[str]) -> None:
    assert [text for text in (*yes, *no) if Pattern(pattern).matches(text)] == yes


@given(PIECES, TEXTS)
def test_a_pattern_matches_what_a_regular_expression_of_the_same_meaning_matches(pattern: str, text: str) -> None:
    """`%` is `.*`, `_` is `.`, and what follows the escape character stands for itself."""
    words = {"%": ".*", "_": ".", "!_": "_", "!%": "%", "!!": "!"}
    meaning = "".join([words.get(each, each) for each in re.findall("!.|.", pattern)])
    assert Pattern(pattern, "!").matches(text) == (re.fullmatch(meaning, text, re.DOTALL) is not None)


@pytest.mark.parametrize("pattern", ["a!", "!a", "%!"])
def test_only_wildcards_and_the_escape_character_can_be_escaped(pattern: str) -> None:
    with pytest.raises(SelectorError, match=r"can be escaped at character 8"):
        Pattern(pattern, "!", 7)


@pytest.mark.parametrize("pattern", ["%a_a" * 20 + "%b_%", "%b_b%", "%" + "a" * 50 + "_b%"])
def test_twice_the_text_takes_at_most_twice_the_steps(pattern: str) -> None:
    found = Pattern(pattern)
    assert_linear(lambda size: partial(found.matches, "a" * size), 2000)


TRUTHS = (True, False, None)
VALUES = st.one_of(
    st.none(), st.booleans(), st.text("ab", max_size=2), st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1), st.floats()
)
LONGS = st.integers(-(2**63), 2**63 - 1)


def nothing(name: str) -> SelectorValue:
    return None


def value_of(expression: Expression) -> SelectorValue:
    return expression.value(nothing)


def both(kind: type[All] | type[Any], *values: SelectorValue) -> SelectorValue:
    return value_of(kind(tuple([Constant(value) for value in values])))


@pytest.mark.parametrize("a", TRUTHS)
@pytest.mark.parametrize("b", TRUTHS)
def test_the_tables_of_and_and_or(a: bool | None, b: bool | None) -> None:
    """JMS 1.1, tables 3-4 to 3-6: AND is the least and OR the greatest of false < unknown < true."""
    order = {False: 0, None: 1, True: 2}
    assert both(All, a, b) is min(a, b, key=order.__getitem__)
    assert both(Any, a, b) is max(a, b, key=order.__getitem__)


@given(st.lists(VALUES, min_size=1, max_size=5))
def test_denied_alternatives_are_the_alternatives_denied(values: list[SelectorValue]) -> None:
    """NOT (a OR b) is NOT a AND NOT b, whatever the values are."""
    parts = [Constant(value) for value in values]
    assert value_of(Not(Any(tuple(parts)))) is value_of(All(tuple([Not(part) for part in parts])))
    assert value_of(Not(All(tuple(parts)))) is value_of(Any(tuple([Not(part) for part in parts])))


@given(VALUES, VALUES)
def test_null_makes_a_comparison_unknown_and_types_that_are_not_alike_make_it_false(a: SelectorValue, b: SelectorValue) -> None:
    for operator in ("=", "<>", "<", "<=", ">", ">="):
        found = compare(operator, a, b)
        assert (found is None) == (a is None or b is None)
        if found is not None and (isinstance(a, str) != isinstance(b, str) or isinstance(a, bool) != isinstance(b, bool)):
            assert found is False


@given(VALUES, VALUES)
def test_values_of_like_type_are_equal_or_not(a: SelectorValue, b: SelectorValue) -> None:
    equal, different = compare("=", a, b), compare("<>", a, b)
    if a is not None and b is not None:
        alike = {type(a), type(b)} <= {int, float} or type(a) is type(b)
        assert (equal, different) == ((not different, not equal) if alike else (False, False))


@given(VALUES, VALUES, VALUES)
def test_between_is_two_comparisons(value: SelectorValue, low: SelectorValue, high: SelectorValue) -> None:
    parts = Constant(value), Constant(low), Constant(high)
    assert value_of(Between(*parts)) is both(All, compare(">=", value, low), compare("<=", value, high))
    assert value_of(Between(*parts, outside=True)) is both(Any, compare("<", value, low), compare(">", value, high))


@given(VALUES)
def test_is_null_is_never_unknown(value: SelectorValue) -> None:
    assert value_of(IsNull(Constant(value))) is (value is None)


def test_an_exact_number_beside_an_approximate_one_becomes_approximate_as_in_java() -> None:
    assert compare("=", 2**53 + 1, float(2**53))
    assert not compare("=", 2**53 + 1, 2**53)


@given(LONGS, LONGS)
def test_exact_numbers_wrap_at_64_bits(a: int, b: int) -> None:
    for operator, exact in (("+", a + b), ("-", a - b), ("*", a * b)):
        found = compute(operator, a, b)
        assert isinstance(found, int)
        assert -(2**63) <= found < 2**63
        assert (found - exact) % 2**64 == 0


@given(LONGS, LONGS.filter(bool))
def test_exact_division_goes_towards_zero(a: int, b: int) -> None:
    found = compute("/", a, b)
    exact = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    assert found == (exact if exact < 2**63 else -(2**63))


def test_division_by_zero() -> None:
    assert compute("/", 1, 0) is None
    assert compute("/", 1.0, 0) == math.inf
    assert compute("/", -1, 0.0) == -math.inf
    assert compute("/", 1, -0.0) == -math.inf
    assert math.isnan(compute("/", 0, 0.0) or 0)


@given(st.floats(), st.floats(), st.sampled_from("+-*/"))
def test_arithmetic_of_approximate_numbers_never_raises(a: float, b: float, operator: str) -> None:
    assert isinstance(compute(operator, a, b), float)
