"""Nothing of a table becomes markup."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.report.markup import (
    MOST,
    Markup,
    count,
    duration,
    explained,
    joined,
    moment,
    named,
    octets,
    table,
    tag,
    text,
    visible,
)


class Tags(HTMLParser):
    """The elements, their attributes and the text that a browser's reader finds."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, list[tuple[str, str | None]]]] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, attrs))

    def handle_data(self, data: str) -> None:
        self.text += data


# Whatever stands in an element or an attribute, the reader finds that one element, and the text as it is shown.
@given(st.text(max_size=100))
def test_text_stays_text(words: str) -> None:
    read = Tags(tag("p", words, title=words))
    assert read.found == [("p", [("title", visible(words, 4000))])]
    assert read.text == visible(words)


def test_markup_of_ours_is_not_escaped_twice() -> None:
    assert tag("p", tag("b", "<"), joined("a&", Markup("<i></i>")), None) == "<p><b>&lt;</b>a&amp;<i></i></p>"
    assert tag("a", "x", class_="c", href=None, text_anchor="end") == '<a class="c" text-anchor="end">x</a>'


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("a\x00b\n", "a\\x00b\\x0a"),
        ("\u202eevil", "\\u202eevil"),
        ("\u2066x\u200b", "\\u2066x\\u200b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("grüße 漢字", "grüße 漢字"),
    ],
)
def test_what_hides_is_shown(words: str, shown: str) -> None:
    assert visible(words) == shown


def test_long_text_is_cut_and_the_rest_counted() -> None:
    assert visible("x" * (MOST + 5)) == "x" * MOST + "… (+5)"
    assert text("<" * 5, most=2) == "&lt;&lt;… (+3)"


def test_a_table_without_rows_says_so() -> None:
    assert table(("a",), []) == '<p class="none">none</p>'
    assert '<td class="n">2</td>' in table(("a", "b"), [("1", "2")], 1)


def test_numbers_for_people() -> None:
    assert [duration(ns) for ns in (0, 999, 1500, 999_499, 999_600, 12_340_000, 59 * 10**9, 7200 * 10**9)] == [
        "0 ns", "999 ns", "1.5 µs", "999 µs", "1 ms", "12.3 ms", "59 s", "2 h",
    ]  # fmt: skip
    assert [octets(each) for each in (0, 999, 1000, 1_500_000)] == ["0 octets", "999 octets", "1 kB", "1.5 MB"]
    assert count(1234567) == "1,234,567"


def test_a_code_has_its_name_whichever_version_it_belongs_to() -> None:
    assert named(404) == "404 not-found"
    assert named(320) == "320 connection-forced"
    assert named(312) == "312 no-route"
    assert (named(999), named(0)) == ("999", "no code")


def test_what_begins_with_the_name_of_the_code_does_not_say_it_twice() -> None:
    assert explained(404, "not-found: no queue q") == "404 not-found: no queue q"
    assert explained(404, "no queue q") == "404 not-found: no queue q"
    assert explained(404, None) == "404 not-found"
    assert explained(320, "") == "320 connection-forced"


def test_a_moment_is_utc_to_the_microsecond() -> None:
    assert moment(1_700_000_000_123_456_789) == "2023-11-14\N{NO-BREAK SPACE}22:13:20.123456"
    assert moment(None) == ""


def test_a_time_beyond_the_calendar_is_its_number() -> None:
    assert moment(2**63 - 1).startswith("2262-")
    assert moment(2**90) == f"{2**90} ns"
