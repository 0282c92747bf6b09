"""How the page looks is in two files that are shipped."""

from __future__ import annotations

from amqp_sansio.report.style import CSS, SCRIPT


def test_nothing_is_fetched_and_nothing_ends_its_element() -> None:
    for words in (CSS, SCRIPT):
        assert words
        assert "</" not in words
        assert "http" not in words
    assert "url(" not in CSS
    assert "@import" not in CSS
    assert "prefers-color-scheme:dark" in CSS
    assert "@media print" in CSS
