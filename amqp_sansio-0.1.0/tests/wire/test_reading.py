"""How octets are read follows the limits of the same names."""

from __future__ import annotations

import attrs
import pytest

from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.wire.reading import DEFAULT_READING, Reading


def test_the_default_is_that_of_the_default_limits() -> None:
    assert Reading.of(DEFAULT_LIMITS) == DEFAULT_READING


@pytest.mark.parametrize("name", ["nesting", "zero_width_elements", "ranges"])
def test_a_limit_is_taken_over(name: str) -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, **{name: 7})
    assert getattr(Reading.of(limits), name) == 7


def test_text_that_is_no_text_is_an_error_or_kept() -> None:
    assert Reading.of(Limits()).text == "strict"
    assert Reading.of(Limits(), lossy=True).text == "surrogateescape"
    with pytest.raises(UnicodeDecodeError):
        b"\xff".decode("utf-8", Reading().text)
