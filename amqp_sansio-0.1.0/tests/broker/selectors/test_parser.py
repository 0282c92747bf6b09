"""The grammar of selectors, and what they select."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker.selectors.errors import SelectorError
from amqp_sansio.broker.selectors.expressions import Value
from amqp_sansio.broker.selectors.parser import Selector
from amqp_sansio.limits import BrokerLimits

MESSAGE: Mapping[str, Value] = {
    "JMSType": "car", "color": "blue", "weight": 2600, "age": 17, "Country": "UK", "ratio": 2.5, "yes": True, "no": False,
    "phone": "12993", "word": "lose", "underscored": "_foo", "Null_": 0,
}  # fmt: skip


def selects(text: str) -> bool:
    return Selector(text).selects(MESSAGE.get)


@pytest.mark.parametrize(
    "text",
    [
        "JMSType = 'car' AND color = 'blue' AND weight > 2500",
        "age BETWEEN 15 AND 19",
        "age NOT BETWEEN 20 AND 30",
        "Country IN ('UK', 'US', 'France')",
        "Country NOT IN ('DE')",
        "phone LIKE '12%3'",
        "word LIKE 'l_se'",
        "underscored LIKE '\\_%' ESCAPE '\\'",
        "phone NOT LIKE '11%3'",
        "prop_name IS NULL",
        "color IS NOT NULL",
        "yes",
        "yes = TRUE and not no",
        "NOT NOT yes",
        "ratio * 2 = 5",
        "-age + 20 = +3",
        "age - 2 - 3 = 12",
        "100 / age / 2 = 2",
        "2 + 3 * 4 = 14",
        "(2 + 3) * 4 = 20",
        "no OR yes AND yes",
        "yes OR no AND no",
        "weight = 2600.0",
        "- - 5 = 5",
        "-9223372036854775808 < 0",
        "weight+1=2601",
        "Null_ = 0",
        "amqp.jms_type = 'car'",
        "",
        " \t\r\n",
    ],
)
def test_what_selects_the_message(text: str) -> None:
    assert selects(text)


@pytest.mark.parametrize(
    "text",
    [
        "color = 'Blue'",
        "Color = 'blue'",
        "missing = 1",
        "missing <> 1",
        "NOT missing = 1",
        "missing IN ('a')",
        "missing NOT IN ('a')",
        "missing NOT LIKE 'a'",
        "missing BETWEEN 1 AND 2",
        "color BETWEEN 1 AND 2",
        "color NOT BETWEEN 1 AND 2",
        "missing + 1 IS NOT NULL",
        "weight = '2600'",
        "weight <> '2600'",
        "color",
        "NOT color",
        "NOT NOT color",
        "yes = 'true'",
        "weight / 0 = 1",
        "yes AND missing",
        "color > color",
    ],
)
def test_what_does_not_select_the_message(text: str) -> None:
    assert not selects(text)


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("color =", "expected identifier or string or number or 'TRUE' or 'FALSE' or '(', not the end at character 8"),
        ("color = 'a' 'b'", "expected the end or 'AND' or 'OR', not string 'b' at character 13"),
        ("(a = 1", "expected ')', not the end at character 7"),
        ("a = 1)", "expected the end or 'AND' or 'OR', not ')' at character 6"),
        ("a IN ()", "expected string, not ')' at character 7"),
        ("a IN (1)", "expected string, not number 1 at character 7"),
        ("a IN ('b' 'c')", "expected ',' or ')', not string 'c' at character 11"),
        ("a LIKE b", "expected string, not identifier 'b' at character 8"),
        ("a LIKE 'b' ESCAPE 'cd'", "the escape character is one character at character 19"),
        ("a NOT = 1", "expected BETWEEN, IN or LIKE, not '=' at character 7"),
        ("a IS 1", "expected 'NULL', not number 1 at character 6"),
        ("NULL = 1", "expected identifier or string or number or 'TRUE' or 'FALSE' or '(', not 'NULL' at character 1"),
        ("a > 'b'", "> compares numbers only at character 5"),
        ("TRUE <= a", "<= compares numbers only at character 1"),
        ("a = 1 = 2", "expected the end or 'AND' or 'OR', not '=' at character 7"),
        ("5", "expected a condition, not a value at character 1"),
        ("'a'", "expected a condition, not a value at character 1"),
        ("a + 1", "expected a condition, not a value at character 1"),
        ("a = 1 AND 5", "expected a condition, not a value at character 11"),
        ("NOT 5", "expected a condition, not a value at character 5"),
        ("a = 9223372036854775808", "an exact number beyond 64 bits at character 5"),
    ],
)
def test_a_syntax_error_names_what_was_expected_and_where(text: str, error: str) -> None:
    with pytest.raises(SelectorError) as refused:
        Selector(text)
    assert str(refused.value) == error


@pytest.mark.parametrize("octets", [9, 10, 11])
def test_the_length_is_bounded(octets: int) -> None:
    limits = BrokerLimits(selector_octets=10)
    text = "ä = " + "1" * (octets - 5)
    if octets <= 10:
        Selector(text, limits)
    else:
        with pytest.raises(SelectorError, match="limit selector_octets is 10, the selector has 11"):
            Selector(text, limits)


@pytest.mark.parametrize("depth", [63, 64, 65])
def test_the_depth_is_bounded(depth: int) -> None:
    text = "(" * depth + "yes" + ")" * depth
    if depth <= 64:
        assert selects(text)
    else:
        with pytest.raises(SelectorError, match="limit selector_depth is 64, the selector is deeper at character 65"):
            Selector(text)


def test_chains_are_not_deep() -> None:
    limits = BrokerLimits(selector_octets=10**6)
    for text in (
        " AND ".join(["yes"] * 5000),
        "NOT " * 5000 + "yes",
        "age" + " + 0" * 5000 + " = 17",
        "- " * 5000 + "age = 17",
    ):
        assert Selector(text, limits).selects(MESSAGE.get)


@given(st.text(st.sampled_from("a1'\"()<>=+-*/,. _%$\nANDORNTLIKESBWU"), max_size=40) | st.text(max_size=20))
def test_any_text_is_a_selector_or_a_selector_error(text: str) -> None:
    """Whatever a peer sends, reading it ends in a selector that evaluates, or in a SelectorError whose place is in the text."""
    place = 0
    try:
        assert Selector(text).selects(MESSAGE.get) in (True, False)
    except SelectorError as error:
        place = error.at
    assert 0 <= place <= len(text)


def test_selectors_of_one_text_are_equal() -> None:
    assert Selector("a = 1") == Selector("a = 1")
    assert len({Selector("a = 1"), Selector("a = 1"), Selector("a = 2")}) == 2
    assert repr(Selector("a = 1")) == "Selector('a = 1')"
