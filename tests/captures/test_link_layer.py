from __future__ import annotations

import struct
from dataclasses import replace

import pytest
from tests.captures import build
from tests.captures.build import Segment

from amqp_sansio.captures.ip import FRAGMENT, TcpIn, tcp_in
from amqp_sansio.captures.link_layer import CUT, LINKS, MAX_TAGS, UNREAD

V4 = Segment(True, 1, b"octets")
V6 = replace(V4, client="2001:db8::1", server="fe80::2")


def found(kind: int, frame: bytes) -> TcpIn | None:
    at = LINKS[kind](frame)
    return tcp_in(frame, at, len(frame)) if at >= 0 else None


@pytest.mark.parametrize("segment", [V4, V6], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("name", build.LINKS)
def test_every_link_layer(name: str, segment: Segment) -> None:
    kind, frame = build.link(name, build.ip(segment))
    segment_in = found(kind, frame)
    assert segment_in is not None
    assert frame[segment_in.start : segment_in.end] == build.tcp(segment)  # without Ethernet's padding
    assert len(segment_in.source) == (4 if segment is V4 else 16)


def test_every_link_layer_cut_anywhere() -> None:
    for segment in (V4, V6):
        for name in build.LINKS:
            kind, frame = build.link(name, build.ip(segment))
            for cut in range(len(frame)):
                at = LINKS[kind](frame[:cut])
                part = tcp_in(frame[:cut], at, len(frame)) if at >= 0 else None
                assert part is None or part.source


@pytest.mark.parametrize(
    "frame",
    [
        b"\x02" * 12 + b"\x08\x06" + b"arp" * 20,
        b"\x02" * 12 + b"\x00\x40" + b"llc" * 20,
    ],
)
def test_what_is_not_ip(frame: bytes) -> None:
    assert LINKS[1](frame) == -1


@pytest.mark.parametrize(("tags", "read"), [(MAX_TAGS - 1, True), (MAX_TAGS, True), (MAX_TAGS + 1, False)])
def test_tags_have_a_limit(tags: int, read: bool) -> None:
    frame = b"\x02" * 12 + b"\x81\x00\x00\x01" * tags + b"\x08\x00" + build.ip(V4)
    assert (LINKS[1](frame) == 14 + 4 * tags) == read
    assert (LINKS[1](frame) in UNREAD) == (not read)


@pytest.mark.parametrize("head", [bytes(3) + b"\1\x40" + bytes(11), bytes(2) + b"\1\x40" + bytes(12)])
def test_headers_in_headers_cost_no_depth(head: bytes) -> None:
    """MPLS in Ethernet in MPLS, as often as a packet has room."""
    assert LINKS[1](b"\x02" * 12 + b"\x88\x47" + (head + b"\x88\x47") * 14_000) in UNREAD


@pytest.mark.parametrize("head", [b"\0\0\0\7", b"\7\0\0\0"])
def test_loopback_that_was_not_captured(head: bytes) -> None:
    assert UNREAD[LINKS[0](head[:3])] == CUT
    assert LINKS[0](head) == -1


@pytest.mark.parametrize(
    ("link", "head"), [(9, b"\0\x21"), (9, b"\x21"), (50, b"\xff\3\0\x21"), (104, b"\x0f\0\x08\0"), (51, bytes(6) + b"\0\x21")]
)
def test_serial_lines_and_pktap(link: int, head: bytes) -> None:
    frame = head + build.ip(V4)
    assert LINKS[link](frame) == len(head)
    tap = struct.pack("<III", 20, 1, link) + bytes(8)
    assert LINKS[258](tap + frame) == len(tap + head)
    assert UNREAD[LINKS[258](struct.pack("<III", 20, 1, 258) + bytes(8) + frame)] == "its link type inside PKTAP is not known"


def test_loopback_of_another_family() -> None:
    assert LINKS[0](b"\x07\0\0\0" + build.ip(V4)) == -1
    assert LINKS[0](b"\x02\x01\0\0" + build.ip(V4)) == -1
    for family in (2, 10, 23, 24, 28, 30):
        assert LINKS[0](bytes([family, 0, 0, 0])) == 4
        assert LINKS[108](bytes([0, 0, 0, family])) == 4


def test_options_of_ipv4() -> None:
    frame = build.ip(V4, options=b"\x01" * 8)
    segment_in = tcp_in(frame, 0, len(frame))
    assert segment_in is not None
    assert frame[segment_in.start : segment_in.end] == build.tcp(V4)


def test_extension_headers_of_ipv6() -> None:
    chain = [(0, b"\0" * 7), (60, b"\1" + b"\0" * 14), (43, b"\0" * 7), (51, b"\4" + b"\0" * 22), (44, b"\0" * 7)]
    frame = build.ip(V6, extensions=chain)
    segment_in = tcp_in(frame, 0, len(frame))
    assert segment_in is not None
    assert frame[segment_in.start : segment_in.end] == build.tcp(V6)
    for cut in range(len(frame)):
        tcp_in(frame[:cut], 0, len(frame))
    assert tcp_in(build.ip(V6, extensions=[(50, b"\0" * 7)]), 0, 1000) is None


def test_fragments() -> None:
    first = build.ip(V4, fragment=0x2000)
    assert tcp_in(first, 0, len(first)) not in (None, FRAGMENT)
    assert tcp_in(build.ip(V4, fragment=0x0010), 0, 1000) is FRAGMENT
    assert tcp_in(build.ip(V6, extensions=[(44, b"\0\0\x10\0\0\0\0")]), 0, 1000) is FRAGMENT


def test_length_left_to_the_network_card() -> None:
    frame = bytearray(build.ip(V4))
    frame[2:4] = b"\0\0"
    assert tcp_in(bytes(frame), 0, len(frame)) == tcp_in(build.ip(V4), 0, len(frame))


def test_other_protocols() -> None:
    udp = bytearray(build.ip(V4))
    udp[9] = 17
    assert tcp_in(bytes(udp), 0, 100) is None
    assert tcp_in(b"\x50" * 40, 0, 40) is None
    assert tcp_in(b"\x42" + build.ip(V4)[1:], 0, 100) is None  # a header of 8 octets
