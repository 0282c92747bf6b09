"""Sequence-sets and byte-ranges."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.strategies import range_sets

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.wire.codec import DEFAULT_READING, Reading
from amqp_sansio.wire.encoding import encode_byte_ranges, encode_set
from amqp_sansio.wire.types import read_byte_ranges, read_set


def read(octets: bytes, reading: Reading = DEFAULT_READING) -> RangeSet:
    """The set that takes all octets."""
    ids, end = read_set(octets, 0, len(octets), reading, 0)
    assert end == len(octets)
    return ids


@given(range_sets())
def test_round_trip(ids: RangeSet) -> None:
    """A set that spans less than half the circle is read back from its octets, over the top too."""
    octets = encode_set(ids)
    assert read(octets) == ids
    assert encode_set(read(octets)) == octets


@pytest.mark.parametrize(
    ("octets", "ranges"),
    [
        ("0000", []),
        ("00080000000000000002", [(0, 2)]),
        ("0008ffffffff00000001", [(0xFFFFFFFF, 1)]),
        ("0008000000007fffffff", [(0, 0x7FFFFFFF)]),
        ("001000000005000000060000000100000002", [(1, 2), (5, 6)]),
        ("001000000005000000060000000700000008", [(5, 8)]),
        ("001000000005000000080000000600000009", [(5, 9)]),
    ],
)
def test_examples(octets: str, ranges: list[tuple[int, int]]) -> None:
    """Ranges in any order, touching or overlapping, are the set of their ids."""
    assert read(bytes.fromhex(octets)) == RangeSet(ranges)


@pytest.mark.parametrize(
    ("octets", "code"),
    [
        ("000100", 503),
        ("000700000000000000", 503),
        ("0009000000000000000000", 503),
        ("000800000000", 503),
        ("00080000000500000004", 531),
        ("00080000000080000000", 531),
        ("001000000000000000000000000500000004", 531),
        ("0010000000007000000060000000d0000000", 531),
    ],
)
def test_what_is_no_set(octets: str, code: int) -> None:
    """Sizes that are no multiple of 8 or go too far, and ranges that are turned round, are refused."""
    with pytest.raises(DecodeError) as caught:
        read(bytes.fromhex(octets))
    assert caught.value.code == code


def test_limit_of_ranges() -> None:
    """ranges: limit - 1 and limit pass, limit + 1 names the limit; a set holds 8191 at most."""
    for limit in (2, 8191):
        for count in (limit - 1, limit):
            ids = RangeSet([(n * 2, n * 2) for n in range(count)])
            assert read(encode_set(ids), Reading(ranges=limit)) == ids
    with pytest.raises(DecodeError, match="limit ranges is 2; 3 came"):
        read(encode_set(RangeSet.of(1, 3, 5)), Reading(ranges=2))
    with pytest.raises(EncodeError, match="half of all"):
        encode_set(RangeSet([(5, 4)]))
    with pytest.raises(EncodeError, match="8191"):
        encode_set(RangeSet([(n * 2, n * 2) for n in range(8192)]))


@given(st.lists(st.tuples(st.integers(2, 1 << 40), st.integers(0, 1 << 40)), max_size=5))
def test_byte_ranges_round_trip(steps: list[tuple[int, int]]) -> None:
    """Ranges of octets that stand apart are read back from their octets."""
    ranges = []
    at = -2
    for gap, width in steps:
        ranges.append((at + gap, at + gap + width))
        at = at + gap + width
    octets = encode_byte_ranges(tuple(ranges))
    assert read_byte_ranges(octets, 0, len(octets), DEFAULT_READING, 0) == (tuple(ranges), len(octets))


@pytest.mark.parametrize(
    "ranges", [((2, 1),), ((0, 1), (2, 3)), ((5, 6), (0, 1)), ((0, 1 << 64),), ((-1, 0),), ((0, 5), (3, 9))]
)
def test_byte_ranges_that_are_none(ranges: tuple[tuple[int, int], ...]) -> None:
    """Turned round, touching, out of order or beyond 64 bits: refused."""
    with pytest.raises(EncodeError):
        encode_byte_ranges(ranges)


def test_byte_ranges_from_the_wire() -> None:
    """The same rules hold for what is read, and the size is a multiple of 16."""
    turned = b"\0\x10" + (5).to_bytes(8, "big") + (4).to_bytes(8, "big")
    for octets, code in [(turned, 531), (b"\0\x08" + bytes(8), 503), (b"\0\x10" + bytes(8), 503)]:
        with pytest.raises(DecodeError) as caught:
            read_byte_ranges(octets, 0, len(octets), DEFAULT_READING, 0)
        assert caught.value.code == code
    with pytest.raises(EncodeError, match="4095"):
        encode_byte_ranges(tuple((4 * n, 4 * n) for n in range(4096)))


@pytest.mark.parametrize("pairs", [((5, 6), (0, 2)), ((0, 5), (4, 9)), ((0, 2), (3, 4)), ((1, 1), (1, 1))])
def test_ranges_that_descend_overlap_or_touch_are_joined_unless_the_letter_counts(pairs: tuple[tuple[int, int], ...]) -> None:
    octets = (8 * len(pairs)).to_bytes(2) + b"".join([low.to_bytes(4) + high.to_bytes(4) for low, high in pairs])
    assert read(octets) == RangeSet(pairs)
    with pytest.raises(DecodeError) as raised:
        read(octets, Reading(canonical=True))
    assert raised.value.code == 531


@given(range_sets())
def test_what_is_written_is_read_by_the_letter(ids: RangeSet) -> None:
    """Every set that is encoded is a set by the letter, over the top too."""
    assert read(encode_set(ids), Reading(canonical=True)) == ids
