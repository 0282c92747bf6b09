"""Header segments: the walk that checks sizes and codes, and the decoding behind it."""

from __future__ import annotations

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.strategies import scalars, structs

from amqp_sansio.errors import DecodeError, HeaderError
from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties
from amqp_sansio.spec.values import NullStruct, UnknownStruct
from amqp_sansio.wire.headers import decode_headers, encode_headers, walk_headers
from amqp_sansio.wire.reading import Reading


@given(st.lists(structs(scalars()), max_size=4))
def test_round_trip(headers: list[Struct]) -> None:
    """Any structs in any order, unknown and double ones too, pass the walk and are read back."""
    octets = b"--" + encode_headers(headers) + b"--"
    walk_headers(octets, 2, len(octets) - 2, DEFAULT_LIMITS)
    assert decode_headers(octets, 2, len(octets) - 2) == tuple(headers)


@given(st.binary(max_size=80))
def test_what_the_walk_passes_is_a_row_of_structs(octets: bytes) -> None:
    """Only DecodeError comes out of the walk, only HeaderError out of decoding; what the walk refuses, decoding refuses."""
    try:
        walk_headers(octets, 0, len(octets), DEFAULT_LIMITS)
        walked = 0
    except DecodeError as why:
        walked = why.code
    assert walked in (0, 503)
    try:
        decode_headers(octets, 0, len(octets))
        read = 0
    except HeaderError as why:
        read = why.code
    assert read in (walked, 503)


@given(st.lists(structs(scalars()), min_size=1, max_size=2), st.data())
def test_a_segment_cut_short(headers: list[Struct], data: st.DataObject) -> None:
    """A segment that ends inside a struct is refused by the walk, with and without octets behind the end."""
    octets = encode_headers(headers)
    starts = {0}
    p = 0
    while p < len(octets):
        p += 4 + struct.unpack_from(">I", octets, p)[0]
        starts.add(p)
    end = data.draw(st.integers(0, len(octets)).filter(lambda n: n not in starts))
    for sample in (octets, octets[:end]):
        with pytest.raises(DecodeError, match="header struct"):
            walk_headers(sample, 0, end, DEFAULT_LIMITS)
        with pytest.raises(HeaderError):
            decode_headers(sample, 0, end)


def test_limits() -> None:
    """header_structs and header_octets: one less and just as many pass, one more names the limit."""
    one = encode_headers([DeliveryProperties()])
    limits = Limits(header_structs=3, header_octets=4 * len(one))
    for count in (0, 2, 3):
        walk_headers(one * count, 0, len(one) * count, limits)
    with pytest.raises(DecodeError, match="limit header_structs is 3; 4 came"):
        walk_headers(one * 4, 0, len(one) * 4, limits)
    for octets in (31, 32):
        walk_headers(_long(octets), 0, octets, Limits(header_octets=32))
    with pytest.raises(DecodeError, match="limit header_octets is 32; 33 came"):
        walk_headers(_long(33), 0, 33, Limits(header_octets=32))


def _long(octets: int) -> bytes:
    return encode_headers([UnknownStruct(0x7F, 1, bytes(octets - 6))])


def test_header_error_names_struct_and_field() -> None:
    """What the walk could not see is a HeaderError with struct, field and octet."""
    good = encode_headers([DeliveryProperties(delivery_mode=2), MessageProperties(content_type="text/plain")])
    bad = good.replace(b"\x0atext", b"\xfatext")
    walk_headers(bad, 0, len(bad), DEFAULT_LIMITS)
    with pytest.raises(HeaderError) as caught:
        decode_headers(bad, 0, len(bad))
    assert caught.value.what == "message.message-properties.content_type"
    assert bad[caught.value.octet] == 0xFA
    with pytest.raises(HeaderError, match="content_type"):
        decode_headers(good.replace(b"text/", b"\xffext/"), 0, len(good))


def test_lossy_reading() -> None:
    """The lossy reading gives back a struct whose text is no UTF-8."""
    octets = encode_headers([MessageProperties(content_type="text/plain")]).replace(b"text/", b"\xffext/")
    (got,) = decode_headers(octets, 0, len(octets), Reading(text="surrogateescape"))
    assert got == MessageProperties(content_type="\udcffext/plain")


def test_odd_structs() -> None:
    """Size 0 is a NullStruct; a known struct without flags is refused; unknown ones keep their octets."""
    octets = bytes(4) + encode_headers([UnknownStruct(1, 2, b""), FragmentProperties(True, True, 9)])
    assert decode_headers(octets, 0, len(octets)) == (NullStruct(), UnknownStruct(1, 2, b""), FragmentProperties(True, True, 9))
    for short in ("000000020401", "00000003040100"):
        b = bytes.fromhex(short)
        walk_headers(b, 0, len(b), DEFAULT_LIMITS)
        with pytest.raises(HeaderError, match="no room for its flags"):
            decode_headers(b, 0, len(b))
    with pytest.raises(DecodeError, match="class and code"):
        walk_headers(b"\0\0\0\1\4", 0, 5, DEFAULT_LIMITS)
