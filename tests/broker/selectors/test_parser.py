"""The tokens and the grammar of selectors, and what they select."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker.selectors.expressions import SelectorError, SelectorValue
from amqp_sansio.broker.selectors.parser import Literal, Selector, Token, tokens_of
from amqp_sansio.limits import BrokerLimits


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("57", 57), ("0", 0), ("0L", 0), ("5L", 5), ("0" * 80, 0), ("9223372036854775808", 2**63),
        ("007", 7), ("010", 8), ("0777L", 511),
        ("0x1F", 31), ("0XabcL", 2748), ("0x1f", 31), ("0x" + "0" * 80 + "7fffffffffffffff", 2**63 - 1),
        ("0x8000000000000000", 2**63),
        ("7E3", 7000.0), ("57.9E2", 5790.0), ("7.", 7.0), (".5", 0.5), ("5d", 5.0), ("09.5", 9.5), ("09e0", 9.0), ("08d", 8.0),
        ("0.1f", 0.10000000149011612), ("0.1d", 0.1), ("3.4028235e38f", 3.4028234663852886e38),
        ("'it''s'", "it's"), ("''", ""), ("'a\nb'", "a\nb"),
        ("$a_1", "$a_1"), ("größe", "größe"), ("gro\u0308ße", "gro\u0308ße"), ("हिन्दी", "हिन्दी"), ("€", "€"), ("a£", "a£"),
        ("\u203f", "\u203f"), ("\u2167", "\u2167"), ("a\u0663", "a\u0663"), ("amqp.priority", "amqp.priority"),
    ],
)  # fmt: skip
def test_literals_and_identifiers(text: str, value: Literal) -> None:
    found, end = tokens_of(text)
    assert (found.value, type(found.value), found.at, end.kind, end.at) == (value, type(value), 0, "end", len(text))


def test_keywords_are_words_in_any_case() -> None:
    assert [token.kind for token in tokens_of("not Null bEtWeEn Nulls")] == ["NOT", "NULL", "BETWEEN", "identifier", "end"]


def test_keywords_have_letters_of_ascii_alone() -> None:
    assert [token.kind for token in tokens_of("\u0131s \u0131n I\u017f oR")] == [
        "identifier",
        "identifier",
        "identifier",
        "OR",
        "end",
    ]


def test_symbols_need_no_spaces() -> None:
    kinds = [token.kind for token in tokens_of("a<>-1+(b>=2)\t*3\r\n/c<=4,=")]
    assert " ".join(kinds) == "identifier <> - number + ( identifier >= number ) * number / identifier <= number , = end"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("a = 'b", "a string without a closing quote at character 5"),
        ("a # b", "unexpected character '#' at character 3"),
        ('a = "b"', "unexpected character '\"' at character 5"),
        ("a = 12abc", "unexpected character 'a' in a number at character 7"),
        ("a = 1.2.3", "unexpected character '.' in a number at character 8"),
        ("99999999999999999999", "an exact number beyond 64 bits at character 1"),
        ("9" * 4000, "an exact number beyond 64 bits at character 1"),
        ("1E999", "an approximate number beyond the range of a double at character 1"),
        ("08", "not a number in base 8 at character 1"),
        ("a = 019L", "not a number in base 8 at character 5"),
        ("0x", "unexpected character 'x' in a number at character 2"),
        ("0xg", "unexpected character 'x' in a number at character 2"),
        ("0x1.8", "unexpected character '.' in a number at character 4"),
        ("0b1", "unexpected character 'b' in a number at character 2"),
        ("1_0", "unexpected character '_' in a number at character 2"),
        ("1e\u0301", "unexpected character 'e' in a number at character 2"),
        ("0x8000000000000001", "an exact number beyond 64 bits at character 1"),
        ("0x" + "f" * 4000, "an exact number beyond 64 bits at character 1"),
        ("01000000000000000000001", "an exact number beyond 64 bits at character 1"),
        ("3.5e38f", "an approximate number beyond the range of a float at character 1"),
        ("\u0308a", "unexpected character '\u0308' at character 1"),
        ("a\u00b2", "unexpected character '\u00b2' at character 2"),
        ("1.5L", "an exact number with a point or an exponent at character 1"),
    ],
)
def test_what_is_no_word_is_refused_with_its_place(text: str, error: str) -> None:
    with pytest.raises(SelectorError) as refused:
        tokens_of(text)
    assert str(refused.value) == error


def test_tokens_are_shown_as_people_name_them() -> None:
    assert [token.shown for token in tokens_of("a 'b' 1 AND <>")] == [
        "identifier 'a'",
        "string 'b'",
        "number 1",
        "'AND'",
        "'<>'",
        "the end",
    ]
    assert Token("end", None, 0).shown == "the end"


MESSAGE: Mapping[str, SelectorValue] = {
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
