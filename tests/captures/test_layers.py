"""The TCP segment inside an IP packet."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.captures import build
from tests.captures.build import Record, Segment
from tests.captures.packets import Row, gathered

from amqp_sansio.captures.columns.runner import records_of
from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.layers import (
    CUT,
    FRAGMENT,
    IN_FRAGMENTS,
    IN_TWO,
    LINKS,
    MAX_TAGS,
    MAX_TUNNELS,
    MAYBE_A_TUNNEL,
    UNREAD,
    TcpIn,
    innermost,
    packets_left_out,
    tcp_in,
)
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.captures.verdicts import verdicts

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


ALL = ReplayOptions(tables=tuple(TABLES))
MACS = b"\x02" * 12


def length(octets: int) -> int:
    """As a header tells it: 0 where it does not fit, as it stands in what a card is yet to cut into packets."""
    return octets if octets < 1 << 16 else 0


def v4(protocol: int, payload: bytes, fragment: int = 0) -> bytes:
    head = struct.pack(">BBHHHBBH", 0x45, 0, length(20 + len(payload)), 1, fragment, 64, protocol, 0)
    return head + bytes([1, 1, 1, 1, 2, 2, 2, 2]) + payload


def v6(protocol: int, payload: bytes) -> bytes:
    return struct.pack(">IHBB", 6 << 28, length(len(payload)), protocol, 64) + b"\1" * 32 + payload


def kind(packet: bytes) -> bytes:
    return b"\x08\x00" if packet[0] >> 4 == 4 else b"\x86\xdd"


def udp(port: int, payload: bytes) -> bytes:
    return struct.pack(">HHHH", 50000, port, length(8 + len(payload)), 0) + payload


def ether(packet: bytes, type_: bytes | None = None) -> bytes:
    return MACS + (type_ or kind(packet)) + packet


def vxlan(packet: bytes) -> bytes:
    return udp(4789, b"\x08\0\0\0\0\0\7\0" + ether(packet))


def labels(payload: bytes) -> bytes:
    return struct.pack(">II", 16 << 12 | 64, 17 << 12 | 1 << 8 | 64) + payload


def bridged(tag: bytes, packet: bytes) -> bytes:
    """Ethernet behind a header of its own, whose EtherType stands first."""
    return MACS + tag + ether(packet)


def pppoe(packet: bytes) -> bytes:
    protocol = b"\x00\x21" if packet[0] >> 4 == 4 else b"\x00\x57"
    return struct.pack(">BBHH", 0x11, 0, 1, length(len(packet) + 2)) + protocol + packet


def shortened(packet: bytes) -> bytes:
    """PPPoE whose two sides agreed to leave out the first octet of the protocol's number."""
    whole = pppoe(packet)
    return whole[:6] + whole[7:]


CARRIED: dict[str, Callable[[bytes], bytes]] = {
    "PPPoE": lambda packet: ether(pppoe(packet), b"\x88\x64"),
    "MPLS": lambda packet: ether(labels(packet), b"\x88\x47"),
    "Ethernet in MPLS": lambda packet: ether(labels(ether(packet)), b"\x88\x47"),
    "Ethernet in MPLS with a control word": lambda packet: ether(labels(bytes(4) + ether(packet)), b"\x88\x48"),
    "GRE": lambda packet: ether(v4(47, b"\0\0" + kind(packet) + packet)),
    "GRE with key, checksum and sequence": lambda packet: ether(v4(47, b"\xb0\0" + kind(packet) + bytes(12) + packet)),
    "Ethernet in GRE": lambda packet: ether(v4(47, b"\0\0\x65\x58" + ether(packet))),
    "ERSPAN": lambda packet: ether(v4(47, b"\x10\0\x88\xbe" + bytes(4) + bytes(8) + ether(packet))),
    "VXLAN": lambda packet: ether(v4(17, vxlan(packet))),
    "VXLAN over IPv6": lambda packet: ether(v6(17, vxlan(packet))),
    "GENEVE": lambda packet: ether(v4(17, udp(6081, b"\1\0\x65\x58" + bytes(4) + bytes(4) + ether(packet)))),
    "IP in GENEVE": lambda packet: ether(v4(17, udp(6081, b"\0\0" + kind(packet) + bytes(4) + packet))),
    "VXLAN behind extension headers": lambda packet: ether(v6(0, b"\x3c\0" + bytes(6) + b"\x11\0" + bytes(6) + vxlan(packet))),
    "VXLAN in an IPv6 packet of one fragment": lambda packet: ether(v6(44, b"\x11\0" + bytes(6) + vxlan(packet))),
    "VXLAN on a port of its own": lambda packet: ether(v4(17, udp(4444, b"\x08\0\0\0\0\0\7\0" + ether(packet)))),
    "the same, padded": lambda packet: ether(v4(17, udp(4444, b"\x08\0\0\0\0\0\7\0" + ether(packet).ljust(60, b"\0")))),
    "IP in GENEVE on a port of its own": lambda packet: ether(v6(17, udp(4444, b"\0\0" + kind(packet) + bytes(4) + packet))),
    "Ethernet in VXLAN-GPE": lambda packet: ether(v4(17, udp(4790, b"\x0c\0\0\3\0\0\7\0" + ether(packet)))),
    "IP in VXLAN-GPE": lambda packet: ether(
        v4(17, udp(4790, b"\x0c\0\0" + (b"\1" if packet[0] >> 4 == 4 else b"\2") + b"\0\0\7\0" + packet))
    ),
    "MPLS in VXLAN-GPE": lambda packet: ether(v4(17, udp(4790, b"\x0c\0\0\5\0\0\7\0" + labels(packet)))),
    "VXLAN on the port of VXLAN-GPE": lambda packet: ether(v4(17, udp(4790, b"\x08\0\0\0\0\0\7\0" + ether(packet)))),
    "MPLS in UDP": lambda packet: ether(v4(17, udp(6635, labels(packet)))),
    "GRE in UDP": lambda packet: ether(v4(17, udp(4754, b"\0\0" + kind(packet) + packet))),
    "MPLS in IP": lambda packet: ether(v4(137, labels(packet))),
    "PPPoE with a compressed protocol": lambda packet: ether(shortened(packet), b"\x88\x64"),
    "LLC and SNAP": lambda packet: ether(b"\xaa\xaa\3\0\0\0" + kind(packet) + packet, min(len(packet) + 8, 1500).to_bytes(2)),
    "a large LLC frame": lambda packet: ether(b"\xaa\xaa\3\0\0\xf8" + kind(packet) + packet, b"\x88\x70"),
    "HSR": lambda packet: ether(b"\0\x60\0\7" + kind(packet) + packet, b"\x89\x2f"),
    "VN-Tag in a VLAN": lambda packet: ether(b"\0\7\x89\x26" + bytes(4) + kind(packet) + packet, b"\x81\0"),
    "E-Tag": lambda packet: ether(bytes(6) + kind(packet) + packet, b"\x89\x3f"),
    "Cisco metadata": lambda packet: ether(b"\1\1\0\1\0\7" + kind(packet) + packet, b"\x89\x09"),
    "PBB": lambda packet: bridged(b"\x88\xa8\0\7\x88\xe7\0\0\0\7", packet),
    "FabricPath": lambda packet: bridged(b"\x89\x03\0\7", packet),
    "TRILL with options": lambda packet: bridged(b"\x22\xf3\0\x43" + bytes(8), packet),
    "ISL": lambda packet: (b"\1\0\x0c\0\0".ljust(14, b"\2") + b"\xaa\xaa\3").ljust(26, b"\0") + ether(packet),
    "MACsec that only signs": lambda packet: ether(b"\x20\0" + bytes(12) + kind(packet) + packet + bytes(16), b"\x88\xe5"),
    "IP in NSH": lambda packet: ether(
        b"\0\x06\1" + (b"\1" if packet[0] >> 4 == 4 else b"\2") + bytes(20) + packet, b"\x89\x4f"
    ),
    "Ethernet in NSH in VXLAN-GPE": lambda packet: ether(
        v4(17, udp(4790, b"\x0c\0\0\4\0\0\7\0" + b"\0\2\2\3" + bytes(4) + ether(packet)))
    ),
    "NSH in GENEVE": lambda packet: ether(
        v4(17, udp(6081, b"\0\0\x89\x4f" + bytes(4) + b"\0\2\2\5" + bytes(4) + labels(packet)))
    ),
    "MPLS in PPPoE": lambda packet: ether(b"\x11\0\0\1\0\0\2\x81" + labels(packet), b"\x88\x64"),
    "EtherIP": lambda packet: ether(v4(97, b"\x30\0" + ether(packet))),
    "Ethernet in IPv6": lambda packet: ether(v6(143, ether(packet))),
    "LISP": lambda packet: ether(v4(17, udp(4341, b"\x80" + bytes(7) + packet))),
    "Ethernet in LISP": lambda packet: ether(v4(17, udp(4341, b"\x84\0\0\3" + bytes(4) + ether(packet)))),
    "ERSPAN, type III": lambda packet: ether(
        v4(47, b"\x10\0\x22\xeb" + bytes(4) + bytes(11) + b"\1" + bytes(8) + ether(packet))
    ),
    "a tunnel behind AH": lambda packet: ether(build.authenticated(v4(47, b"\0\0" + kind(packet) + packet))),
    "AH": lambda packet: ether(build.authenticated(packet) if packet[0] >> 4 == 4 else packet),
    "IP in IP": lambda packet: ether(v4(4 if packet[0] >> 4 == 4 else 41, packet)),
    "VXLAN in GRE in MPLS": lambda packet: ether(labels(v4(47, b"\0\0\x08\0" + v4(17, vxlan(packet)))), b"\x88\x47"),
}


def rows(path: str) -> dict[str, list[str]]:
    """The tables, but for the places of packets in the file."""
    places = ("capture", "file_offset", "connection")

    def plain(row: Row) -> str:
        return repr({name: value for name, value in row.items() if name not in places})

    return {name: sorted(map(plain, each)) for name, each in gathered(records_of([path], ALL)).items()}


@pytest.mark.parametrize("client", [build.CLIENT, "2001:db8::1"])
@pytest.mark.parametrize("name", CARRIED)
def test_a_conversation_in_a_tunnel_gives_the_rows_of_one_without(name: str, client: str, tmp_path: Path) -> None:
    base = replace(Segment(True, 0), client=client, server="fe80::2" if ":" in client else build.SERVER)
    segments = build.conversation([b"one", b"x" * 2000], base).segments
    bare = build.write(tmp_path / "bare", build.pcap(build.records(segments)))
    inside = []
    for index, each in enumerate(segments):
        data = CARRIED[name](build.ip(each))
        inside.append(Record(1, data, len(data), build.START_NS + index * 1_000_000))
    path = build.write(tmp_path / "in", build.pcap(inside))
    assert rows(path) == rows(bare)
    warnings: list[str] = []
    (verdict,) = verdicts(path, observers(), (), warnings.append)
    assert (verdict.verdict, verdict.commands, warnings) == ("clean", 2, [])


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (ether(v4(47, b"\0\1\x88\x0b" + b"ppp in gre" * 3)), "GRE of version 1 or with a route is not read"),
        (ether(v4(47, b"\0\0\x12\x34" + bytes(20))), "GRE with protocol 0x1234 is not read"),
        (ether(v4(47, bytes(40), 0x2005)), "it is a later fragment of a tunnel's packet"),
        (ether(v6(44, b"\x2f\0\1\1" + bytes(40))), "it is a later fragment of a tunnel's packet"),
        (ether(v4(50, bytes(40))), "ESP (IPsec) is not read"),
        (ether(v4(17, udp(2152, bytes(40)))), "GTP-U is not read"),
        (ether(v4(17, udp(2152, bytes(40)))[::1].replace(b"\xc3\x50\x08\x68", b"\x08\x68\xc3\x50")), "GTP-U is not read"),
        (ether(v4(17, udp(4790, b"\x0c\0\0\6" + bytes(40)))), "VXLAN-GPE with protocol 6 is not read"),
        (ether(v4(17, udp(6081, b"\0\0\x89\x3e" + bytes(40)))), "GENEVE with protocol 0x893e is not read"),
        (ether(v4(17, udp(4790, b"\x0c\0\0\4" + bytes(40)))), "NSH with what is not IP, Ethernet or MPLS is not read"),
        (ether(v4(17, udp(51820, b"\4\0\0\0" + bytes(44)))), "WireGuard is encrypted"),
        (ether(v4(17, udp(4341, b"\x81" + bytes(40)))), "encrypted LISP is not read"),
        (ether(v4(132, bytes(40))), "SCTP is not read"),
        (ether(v4(132, bytes(40), 0x2005)), "SCTP is not read"),
        (ether(v4(17, bytes(40), 0x2005)), MAYBE_A_TUNNEL),
        (ether(v4(51, bytes(40), 0x0005)), MAYBE_A_TUNNEL),
        (ether(v6(44, b"\x11\0\1\1" + bytes(40))), MAYBE_A_TUNNEL),
        (ether(v4(6, bytes(40), 0x0005)), IN_TWO),
        (ether(b"\x0c\0" + bytes(40), b"\x88\xe5"), "MACsec is encrypted"),
        (ether(bytes(40), b"\xa0\xed"), "6LoWPAN is not read"),
        (
            ether(b"\0\x11\1\x40" + b"\x45\0\x99" * 20, b"\x88\x47").replace(b"\x45", b"\x25"),
            "MPLS with what is not IP or Ethernet is not read",
        ),
        (ether(b"\0\1\x81\0" * 12, b"\x81\0"), "it has more than 8 tags before the IP packet"),
        (ether(bytes(4) * 9 + v4(6, bytes(40)), b"\x88\x47"), "it has more than 8 MPLS labels"),
        (ether(v4(17, udp(6635, bytes(40)))), "it has more than 8 MPLS labels"),
        (
            ether(b"\x11\0\0\1\0\x20\0\xfd" + bytes(30), b"\x88\x64"),
            "PPP with what is not plain IP (compressed, encrypted, bridged) is not read",
        ),
    ],
)
def test_packets_that_cannot_be_read_are_counted(frame: bytes, why: str, tmp_path: Path) -> None:
    control = ether(b"\x11\0\0\1\0\x20\xc0\x21" + bytes(30), b"\x88\x64")  # which keeps a PPP link alive, and holds nothing
    packets = [Record(1, each, len(each), build.START_NS) for each in (frame, control, frame, frame)]
    path = build.write(tmp_path / "x", build.pcap([*packets, *build.records(build.conversation([b"one"]).segments)]))
    warnings: list[str] = []
    assert [each.verdict for each in verdicts(path, observers(), (), warnings.append)] == ["clean"]
    assert warnings == [packets_left_out(3, why)] == [f"3 packets are left out: {why}"]
    notes = [row for row in gathered(records_of([path], ALL))["violations"] if row["level"] == "damage"]
    assert [row["text"] for row in notes] == warnings


@pytest.mark.parametrize("six", [False, True])
def test_of_a_packet_in_fragments_the_first_is_read_and_the_others_are_noted(six: bool, tmp_path: Path) -> None:
    """The octets of the others count as missing, and nobody is accused of them."""
    segments = build.conversation([b"one", b"x" * 2000, b"two"]).segments
    made: list[Record] = []
    parted = 0
    for each in segments:
        inner = vxlan(build.ip(each))
        parts = [inner[:1000], inner[1000:]] if len(inner) > 1000 else [inner]
        parted += len(parts) - 1
        for at, part in enumerate(parts):
            more = len(parts) - 1 - at
            head = struct.pack(">BBHI", 17, 0, 1000 * at | more, 7)
            outer = v6(44, head + part) if six else v4(17, part, 125 * at | more << 13)
            made.append(Record(1, ether(outer), len(ether(outer)), build.START_NS + len(made) * 1_000_000))
    path = build.write(tmp_path / "x", build.pcap(made))
    said = [packets_left_out(parted, each) for each in (IN_FRAGMENTS, MAYBE_A_TUNNEL)]
    warnings: list[str] = []
    (verdict,) = verdicts(path, observers(), (), warnings.append)
    assert (parted, verdict.verdict, warnings) == (1, "clean", said)
    found = gathered(records_of([path], ALL))["violations"]
    assert {row["level"] for row in found} <= {"damage", "note", "gap"}
    assert [row["text"] for row in found if row["level"] == "damage"] == said


@pytest.mark.parametrize("name", ["VXLAN", "GENEVE"])
def test_on_other_ports_only_what_ends_where_the_packet_ends_is_taken_for_a_tunnel(name: str) -> None:
    """Whatever has octets that look so at its beginning stays what it is."""
    inner = build.ip(Segment(True, 1, b"octets" * 9))
    head = b"\x08\0\0\0\0\0\7\0" + MACS + b"\x08\0" if name == "VXLAN" else b"\0\0\x08\0\0\0\0\0"
    for longer, read in ((0, True), (1, False), (-1, False)):
        octets = head + (inner + b"\0" if longer > 0 else inner[: len(inner) + longer])
        assert (innermost(v4(17, udp(5353, octets)), 0).at > 0) == read, longer


@pytest.mark.parametrize("name", ["PPPoE", "MPLS", "PPPoE with a compressed protocol"])
def test_what_stands_behind_the_ethertype_is_read_in_both_cooked_forms(name: str, tmp_path: Path) -> None:
    segments = build.conversation([b"one", b"x" * 2000]).segments
    bare = build.write(tmp_path / "bare", build.pcap(build.records(segments)))
    frames = [CARRIED[name](build.ip(each)) for each in segments]
    for link, cooked in (
        (113, [b"\0\0\3\4\0\6" + bytes(8) + each[12:] for each in frames]),
        (276, [each[12:14] + bytes(18) + each[14:] for each in frames]),
    ):
        made = [Record(link, each, len(each), build.START_NS + at * 1_000_000) for at, each in enumerate(cooked)]
        assert rows(build.write(tmp_path / f"{link}", build.pcap(made))) == rows(bare), link


@pytest.mark.parametrize("name", CARRIED)
def test_a_packet_cut_anywhere_is_passed_over(name: str) -> None:
    frame = CARRIED[name](build.ip(Segment(True, 1, b"octets")))
    for cut in range(len(frame)):
        at = LINKS[1](frame[:cut])
        if at >= 0:
            innermost(frame[:cut], at)


@pytest.mark.parametrize(("depth", "read"), [(MAX_TUNNELS - 1, True), (MAX_TUNNELS, True), (MAX_TUNNELS + 1, False)])
def test_tunnels_inside_one_another_are_bounded(depth: int, read: bool) -> None:
    packet = build.ip(Segment(True, 1, b"octets"))
    for _ in range(depth):
        packet = v4(4, packet)
    at, left_out = innermost(packet, 0)
    assert (at == 20 * depth, not left_out) == (read, read)
