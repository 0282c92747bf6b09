"""How octets are read."""

from __future__ import annotations

from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.wire.reading import DEFAULT_READING, Reading


def test_of_limits() -> None:
    """A reading has the limits of the connection; the default one those of the default limits."""
    limits = Limits(nesting=3, zero_width_elements=5, ranges=7)
    assert Reading.of(limits) == Reading(3, 5, 7)
    assert Reading.of(limits, lossy=True, distinct_keys=True) == Reading(3, 5, 7, "surrogateescape", True)
    assert Reading.of(DEFAULT_LIMITS) == DEFAULT_READING
