"""The words of a selector."""

from __future__ import annotations

import pytest

from amqp_sansio.broker.selectors.errors import SelectorError
from amqp_sansio.broker.selectors.tokens import Literal, Token, tokens_of


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
