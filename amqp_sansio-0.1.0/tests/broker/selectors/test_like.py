"""Patterns of LIKE."""

from __future__ import annotations

import re
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import assert_linear

from amqp_sansio.broker.selectors.errors import SelectorError
from amqp_sansio.broker.selectors.like import Pattern

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
