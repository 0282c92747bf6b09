"""Values that are drawn."""

from __future__ import annotations

from hypothesis import find, given, settings

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import values as v
from amqp_sansio.spec.connection import Start
from amqp_sansio.testing.strategies import maps, range_sets, signed, unsigned, values

LAYOUT = AMQP_0_10.codec


# What is drawn can be written, and comes back as it was.
@given(maps(values()))
def test_values_come_back(drawn: v.Map) -> None:
    octets = LAYOUT.encode_control(Start(drawn))
    again = LAYOUT.decode_control(octets, 0, len(octets))
    assert LAYOUT.encode_control(again) == octets


def test_many_types_comes() -> None:
    seen: set[type] = set()

    @settings(max_examples=600)
    @given(values())
    def look(value: v.Value) -> None:
        seen.add(type(value))

    look()
    assert len(seen) >= 15, sorted(kind.__name__ for kind in seen)
    assert {v.Map, v.Array} <= seen


def test_the_edges_come() -> None:
    for edge in (0, 1, 127, 128, 254, 255):
        assert find(unsigned(8), lambda number, edge=edge: number == edge) == edge  # type: ignore[misc]
    for edge in (-(1 << 63), (1 << 63) - 1):
        assert find(signed(64), lambda number, edge=edge: number == edge) == edge  # type: ignore[misc]


@given(range_sets())
def test_ranges_are_sets(drawn: RangeSet) -> None:
    assert RangeSet(drawn.ranges) == drawn
