"""The TCP segment inside an IP packet."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from tests.captures import build
from tests.captures.build import Segment

from amqp_sansio.captures.ip import FRAGMENT, tcp_in

SEGMENT = Segment(True, 0, b"hello")
SIX = replace(SEGMENT, client="fe80::1", server="fe80::2")
TCP = len(build.tcp(SEGMENT))


@pytest.mark.parametrize("at", [0, 14])
@pytest.mark.parametrize("padding", [b"", b"\xee" * 20])
@pytest.mark.parametrize("options", [b"", b"\1" * 8, b"\1" * 40])
def test_ipv4_with_options_and_without_the_padding_behind(at: int, padding: bytes, options: bytes) -> None:
    packet = build.ip(SEGMENT, options=options)
    data = b"x" * at + packet + padding
    found = tcp_in(data, at, len(data))
    assert found is not None
    assert (found.source, found.target) == (bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2]))
    assert data[found.start : found.end] == build.tcp(SEGMENT)


@pytest.mark.parametrize(
    "extensions",
    [
        [],
        [(0, b"\0" * 7)],
        [(60, b"\1" + b"\0" * 14), (43, b"\0" * 7)],
        [(51, b"\1" + b"\0" * 10)],
        [(44, b"\0\0\1\0\0\0\7")],
    ],
)
def test_ipv6_behind_its_extension_headers(extensions: list[tuple[int, bytes]]) -> None:
    data = build.ip(SIX, extensions=extensions) + b"\xee" * 6
    found = tcp_in(data, 0, len(data))
    assert found is not None
    assert data[found.start : found.end] == build.tcp(SIX)
    assert found.source[-1:] == b"\1"
    assert found.target[-1:] == b"\2"


def test_a_length_of_0_stands_for_what_was_on_the_wire() -> None:
    four = bytearray(build.ip(SEGMENT))
    four[2:4] = b"\0\0"
    six = bytearray(build.ip(SIX))
    six[4:6] = b"\0\0"
    for packet in (bytes(four), bytes(six)):
        found = tcp_in(packet, 0, len(packet))
        assert found is not None
        assert found.end - found.start == TCP


def test_a_packet_cut_short_says_where_it_would_end() -> None:
    packet = build.ip(SEGMENT)
    found = tcp_in(packet[:45], 0, len(packet))
    assert found is not None
    assert found.end == len(packet)


def test_ipv4_behind_authentication_headers() -> None:
    data = build.authenticated(build.authenticated(build.ip(SEGMENT)))
    found = tcp_in(data + b"\xee" * 6, 0, len(data) + 6)
    assert found is not None
    assert data[found.start : found.end] == build.tcp(SEGMENT)
    assert tcp_in(build.authenticated(build.ip(SEGMENT), 17), 0, len(data)) is None
    for cut in range(len(data)):
        tcp_in(data[:cut], 0, len(data))


def test_later_fragments_have_no_header_of_their_own() -> None:
    assert tcp_in(build.ip(SEGMENT, fragment=0x2001), 0, 99) == FRAGMENT
    first = tcp_in(build.ip(SEGMENT, fragment=0x2000), 0, 99)
    assert first not in (None, FRAGMENT)
    assert tcp_in(build.ip(SIX, extensions=[(44, b"\0\0\x09\0\0\0\7")]), 0, 99) == FRAGMENT


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x45" + b"\0" * 18,  # too short
        b"\x45" + b"\0" * 8 + b"\x11" + b"\0" * 20,  # UDP
        b"\x44" + b"\0" * 8 + b"\x06" + b"\0" * 20,  # a header of 16 octets
        b"\x55" + b"\0" * 30,  # version 5
        struct.pack(">IHBB", 0x60000000, 8, 17, 64) + b"\0" * 40,  # UDP
        struct.pack(">IHBB", 0x60000000, 8, 0, 64) + b"\0" * 32,  # the extension header is not there
        struct.pack(">IHBB", 0x60000000, 8, 44, 64) + b"\0" * 32 + b"\x11\0\0\x08\0\0\0\0",  # a fragment of UDP
    ],
)
def test_what_is_no_tcp(data: bytes) -> None:
    assert tcp_in(data, 0, len(data)) is None
