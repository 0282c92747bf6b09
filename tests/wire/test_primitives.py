"""The primitives are big-endian, read at an offset and refuse what is too short or too large."""

from __future__ import annotations

import struct
from collections.abc import Callable
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.wire import primitives as o

Pair = tuple[Callable[[int], bytes], Callable[[bytes, int], tuple[int]], int, bool]
INTEGERS: list[Pair] = [
    (o.put_u8, o.u8, 1, False),
    (o.put_u16, o.u16, 2, False),
    (o.put_u32, o.u32, 4, False),
    (o.put_u64, o.u64, 8, False),
    (o.put_i8, o.i8, 1, True),
    (o.put_i16, o.i16, 2, True),
    (o.put_i32, o.i32, 4, True),
    (o.put_i64, o.i64, 8, True),
]


@pytest.mark.parametrize(("put", "get", "width", "signed"), INTEGERS)
def test_an_integer_is_big_endian_and_has_its_bounds(
    put: Callable[[int], bytes], get: Callable[[bytes, int], tuple[int]], width: int, signed: bool
) -> None:
    low = -(2 ** (8 * width - 1)) if signed else 0
    high = 2 ** (8 * width - (1 if signed else 0)) - 1
    for value in (low, 0, 1, high):
        octets = put(value)
        assert octets == value.to_bytes(width, "big", signed=signed)
        assert get(b"\xee\xee" + octets + b"\xee", 2) == (value,)
    for value in (low - 1, high + 1):
        with pytest.raises(struct.error):
            put(value)
    with pytest.raises(struct.error):
        get(put(0), 1)


def test_floats() -> None:
    assert o.put_f32(1.5).hex() == "3fc00000"
    assert o.put_f64(-2.0).hex() == "c000000000000000"
    assert o.f32(b"\0" + o.put_f32(1.5), 1) == (1.5,)
    assert o.f64(o.put_f64(-2.0), 0) == (-2.0,)


def test_a_frame_header_is_twelve_octets() -> None:
    header = o.put_frame_header(0x0F, 1, 18, 0, 1, 7, 0)
    assert header.hex() == "0f0100120001000700000000"
    assert o.frame_header(header, 0) == (0x0F, 1, 18, 0, 1, 7, 0)
    assert o.frame_begin(header, 0) == (0x0F01, 18, 0x0001_0007)


def test_octets_of_lengths() -> None:
    assert o.OCTET[255] == o.OCTET_OF[255] == b"\xff"
    assert o.LENGTH16[200] == b"\0\xc8"
    assert o.STR16[5] == b"\x95\0\x05"
    with pytest.raises(IndexError):
        o.OCTET[256]
    with pytest.raises(KeyError):
        o.OCTET_OF[-1]


@given(st.binary(min_size=16, max_size=16))
def test_a_uuid_is_that_of_its_sixteen_octets(octets: bytes) -> None:
    """Made without checks, it equals, hashes and shows as the one that was made with them."""
    made, right = o.uuid_of(octets), UUID(bytes=octets)
    assert made == right
    assert hash(made) == hash(right)
    assert str(made) == str(right)
    assert made.is_safe == right.is_safe


@given(st.integers(0, 2**64 - 1), st.binary(min_size=16, max_size=16))
def test_a_size_and_a_uuid_are_read_as_each_alone(size: int, octets: bytes) -> None:
    both = b"x" + size.to_bytes(8, "big") + octets
    assert o.size_and_uuid(both, 1) == (size, UUID(bytes=octets))
    with pytest.raises(struct.error):
        o.size_and_uuid(both, 2)


def test_two_octets_and_a_moment() -> None:
    octets = b"x\4\2" + o.put_i64(-5)
    assert o.octets_and_moment(octets, 1) == (4, 2, -5)
    with pytest.raises(struct.error):
        o.octets_and_moment(octets, 2)
