"""What is wrong with the text of a selector."""

from __future__ import annotations

from amqp_sansio.broker.selectors.errors import SelectorError


def test_the_error_counts_characters_from_one_and_its_place_from_zero() -> None:
    error = SelectorError("unexpected character '#'", 0)
    assert str(error) == "unexpected character '#' at character 1"
    assert (error.reason, error.at) == ("unexpected character '#'", 0)
