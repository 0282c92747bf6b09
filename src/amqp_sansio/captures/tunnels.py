"""Tunnels, that is packets in packets: GRE (with ERSPAN), VXLAN, GENEVE, LISP, MPLS, Ethernet and IP in IP after an IP header.

VXLAN and GENEVE are recognised by their ports, and on other ports by their content: an IP packet that fits the length in the
UDP header.  Tunnels that are recognised by number but not supported are counted by reason.
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from amqp_sansio.captures.ip import STEPPED, payload_of
from amqp_sansio.captures.link_layer import CUT, NSH, UNREAD, after_labels, after_type, behind_type

MAX_TUNNELS: Final = 4
"""The most nested tunnels that are followed."""
IP_IN_IP: Final = (4, 41, 94)
GRE: Final = 47
UDP: Final = 17
MPLS_IN_IP: Final = 137
ETHERNET_IN_IP: Final = {97: 2, 143: 0}
"""EtherIP, and Ethernet in SRv6: octets before the Ethernet header."""
UNREAD_PROTOCOLS: Final = {50: "ESP (IPsec)", 55: "minimal encapsulation", 108: "IPComp", 115: "L2TP", 132: "SCTP"}
"""IP protocols that carry packets and are not supported."""
VXLAN_PORTS: Final = (4789, 8472)
GPE_PORT: Final = 4790
GENEVE_PORT: Final = 6081
GRE_PORT: Final = 4754
MPLS_PORT: Final = 6635
LISP_PORT: Final = 4341
UNREAD_PORTS: Final = {
    1194: "OpenVPN",
    1701: "L2TP",
    2152: "GTP-U",
    3544: "Teredo",
    4500: "ESP (IPsec) in UDP",
    4755: "GRE in DTLS",
    5072: "AYIYA",
    5247: "CAPWAP",
    6080: "GUE",
    6636: "MPLS in DTLS",
    37008: "TZSP",
}
"""UDP ports that carry packets and are not supported, in either direction."""
WELL_KNOWN: Final = 1024
"""A packet from one of those ports to a port below this one is a client's request, whose own port happens to be that number."""
KNOWN_PORTS: Final = (*VXLAN_PORTS, GPE_PORT, GENEVE_PORT, GRE_PORT, MPLS_PORT, LISP_PORT, *UNREAD_PORTS)
WIREGUARD: Final = b"\4\0\0\0"
"""The beginning of a WireGuard data packet, on any port; it is at least 32 octets longer than its content, and its length is a
multiple of 16."""
IN_FRAGMENTS: Final = "what later fragments of a tunnel's packets hold counts as missing"
"""Why a packet is read in part: its later fragments have no header that identifies the tunnel."""

MAYBE_A_TUNNEL: Final = "it is a later fragment of a packet of UDP or AH, which may be a tunnel's"
DAMAGED: Final = "the lengths in the block are damaged"
IN_TWO: Final = "it is a later fragment of an IP packet; its octets count as missing"
"""Why a segment is not read."""

_WORD: Final = struct.Struct(">H").unpack_from
_TUNNELLED: Final = frozenset(
    [*IP_IN_IP, GRE, UDP, MPLS_IN_IP, *ETHERNET_IN_IP, *UNREAD_PROTOCOLS]
)  # for mypyc, which has no star in a membership test
_ETHERNET: Final = 0x6558
_IN_GENEVE: Final = frozenset([0x0800, 0x86DD, _ETHERNET])
_ERSPAN: Final = 0x88BE
_ERSPAN_3: Final = 0x22EB
_ETHERNET_HEAD: Final = 12
_GPE_IP: Final = frozenset([1, 2])
_GPE_ETHERNET: Final = 3
_GPE_NSH: Final = 4
_GPE_MPLS: Final = 5
_VXLAN_FLAGS: Final = b"\x08\0\0\0"


class Inside(NamedTuple):
    """Where the innermost IP packet starts (-1: none is read), and why it or a part of it is left out ("": nothing is)."""

    at: int
    left_out: str


def innermost(data: bytes, at: int) -> Inside:
    """Follows tunnels from the IP packet at `at`.  Anything that ends too early is CUT."""
    in_part = ""
    for depth in range(MAX_TUNNELS + 1):
        found = payload_of(data, at)
        if found is None:
            return Inside(-1, CUT) if len(data) < at + 20 else Inside(at, in_part)
        protocol = found.protocol
        if found.later and (protocol == UDP or protocol in STEPPED):
            return Inside(-1, MAYBE_A_TUNNEL)
        if protocol in STEPPED:
            return Inside(-1, CUT)
        if protocol not in _TUNNELLED:
            return Inside(at, in_part)
        if found.later and protocol not in UNREAD_PROTOCOLS:
            return Inside(-1, "it is a later fragment of a tunnel's packet")
        inside = _in(protocol, data, found.start, at)
        if inside.at < 0:
            return Inside(-1, inside.left_out or UNREAD.get(inside.at, in_part))
        if inside.at == at:
            return Inside(at, in_part)
        if found.more:
            in_part = IN_FRAGMENTS
        if depth < MAX_TUNNELS:
            at = inside.at
    return Inside(-1, f"there are more than {MAX_TUNNELS} tunnels inside one another")


def _in(protocol: int, data: bytes, start: int, at: int) -> Inside:
    """Follows one tunnel: `at` is where its IP packet starts, `start` where the payload of that starts."""
    if protocol in UNREAD_PROTOCOLS:
        return Inside(-1, f"{UNREAD_PROTOCOLS[protocol]} is not read")
    if protocol in IP_IN_IP:
        return Inside(start, "")
    if protocol == GRE:
        return _in_gre(data, start)
    if protocol == MPLS_IN_IP:
        return Inside(after_labels(data, start), "")
    if protocol == UDP:
        return _in_udp(data, start, at)
    return Inside(_in_ethernet(data, start + ETHERNET_IN_IP[protocol]), "")


def _in_ethernet(data: bytes, at: int) -> int:
    return after_type(data, at + _ETHERNET_HEAD)


def _in_gre(data: bytes, start: int) -> Inside:
    if len(data) < start + 4:
        return Inside(-1, CUT)
    flags, kind = data[start], _WORD(data, start + 2)[0]
    if data[start + 1] & 7 or flags & 0x40:
        return Inside(-1, f"GRE of version {data[start + 1] & 7} or with a route is not read")
    behind = start + 4 + 4 * (bool(flags & 0x80) + bool(flags & 0x20) + bool(flags & 0x10))
    if kind == _ERSPAN:
        return Inside(_in_ethernet(data, behind + 8 * bool(flags & 0x10)), "")
    if kind == _ERSPAN_3:
        if len(data) < behind + 12:
            return Inside(-1, CUT)
        return Inside(_in_ethernet(data, behind + 12 + 8 * (data[behind + 11] & 1)), "")
    return _of_type(data, kind, behind, "GRE")


def _of_type(data: bytes, kind: int, at: int, tunnel: str) -> Inside:
    """Follows the payload of a tunnel, named by an EtherType."""
    found = behind_type(data, kind, at)
    if found == -1 and kind != _ETHERNET:
        return Inside(-1, f"{tunnel} with protocol {kind:#06x} is not read")
    return Inside(found, "")


def _in_udp(data: bytes, start: int, at: int) -> Inside:
    """Follows a tunnel in UDP; returns `at` for anything else."""
    if len(data) < start + 4:
        return Inside(-1, CUT)
    source, port, behind = _WORD(data, start)[0], _WORD(data, start + 2)[0], start + 8
    if source in UNREAD_PORTS and port >= WELL_KNOWN and port not in KNOWN_PORTS:
        port = source
    if port in UNREAD_PORTS:
        return Inside(-1, f"{UNREAD_PORTS[port]} is not read")
    if len(data) < start + 16:
        return Inside(-1, CUT) if port in KNOWN_PORTS else Inside(at, "")
    if port == GENEVE_PORT and data[behind] >> 6 == 0:
        return _in_geneve(data, behind)
    if port in (GPE_PORT, LISP_PORT) and data[behind] & 0x04:
        return _in_gpe(data, behind)
    if port == GRE_PORT:
        return _in_gre(data, behind)
    if port == MPLS_PORT:
        return Inside(after_labels(data, behind), "")
    if port == LISP_PORT:
        return Inside(-1, "encrypted LISP is not read") if data[behind] & 3 else Inside(behind + 8, "")
    if port in VXLAN_PORTS or port == GPE_PORT:
        return Inside(_in_ethernet(data, behind + 8), "") if data[behind] & 0x08 else Inside(at, "")
    end = start + _WORD(data, start + 4)[0]
    if data[behind : behind + 4] == WIREGUARD and end - behind > 32 and (end - behind) % 16 == 0:
        return Inside(-1, "WireGuard is encrypted")
    return Inside(_on_any_port(data, behind, end, at), "")


def _in_geneve(data: bytes, behind: int) -> Inside:
    return _of_type(data, _WORD(data, behind + 2)[0], behind + 8 + 4 * (data[behind] & 63), "GENEVE")


def _in_gpe(data: bytes, behind: int) -> Inside:
    """Follows VXLAN-GPE or LISP, which name their payload."""
    kind, inside = data[behind + 3], behind + 8
    if kind in _GPE_IP:
        return Inside(inside, "")
    if kind == _GPE_ETHERNET:
        return Inside(_in_ethernet(data, inside), "")
    if kind == _GPE_MPLS:
        return Inside(after_labels(data, inside), "")
    if kind == _GPE_NSH:
        return Inside(behind_type(data, NSH, inside), "")
    return Inside(-1, f"VXLAN-GPE with protocol {kind} is not read")


def _on_any_port(data: bytes, behind: int, end: int, at: int) -> int:
    """Returns the start of the IP packet in what looks like VXLAN or GENEVE, if that packet ends, up to padding, where the UDP
    packet does, at `end`; else `at`."""
    inside = -1
    if data[behind + 7] == 0:
        if data[behind : behind + 4] == _VXLAN_FLAGS:
            inside = _in_ethernet(data, behind + 8)
        elif data[behind] >> 6 == 0 and data[behind + 1] & 0x3F == 0 and _WORD(data, behind + 2)[0] in _IN_GENEVE:
            inside = _in_geneve(data, behind).at
    if inside < 0 or len(data) < inside + 20:
        return at
    length = _WORD(data, inside + 2)[0] if data[inside] >> 4 == 4 else _WORD(data, inside + 4)[0] + 40
    sound = data[inside] == 0x45 or data[inside] >> 4 == 6
    return inside if sound and length >= 20 and (inside + length == end or inside + length < end <= behind + 8 + 60) else at


def packets_left_out(count: int, why: str) -> str:
    """Describes in one sentence packets in tunnels that are not read, or not all of them."""
    how = "read in part" if why == IN_FRAGMENTS else "left out"
    return f"{count} packet{' is' if count == 1 else 's are'} {how}: {why}"


NAMED: Final = 8
"""The most damaged packets, of those counted together, that get a row each."""


class LeftOut:
    """Counts packets that are not read, or not all of them, by reason."""

    def __init__(self) -> None:
        self.counts: Final[dict[str, int]] = {}
        self._named = 0

    def damaged(self, count: int) -> int:
        """Returns how many of `count` more packets whose block is damaged get a row each: the first NAMED.  Counts the rest."""
        named = min(count, NAMED - self._named)
        self._named += named
        self.add(DAMAGED, 0, 0, count - named)
        return named

    def add(self, why: str, captured: int, original: int, count: int = 1) -> None:
        """Adds `count` packets with `original` octets on the wire, of which `captured` were captured.

        CUT does not apply to packets that were captured whole.
        """
        if why and count and (why != CUT or captured < original):
            self.counts[why] = self.counts.get(why, 0) + count

    def sentences(self) -> list[str]:
        """Returns one sentence for each reason."""
        return [packets_left_out(count, why) for why, count in self.counts.items()]
