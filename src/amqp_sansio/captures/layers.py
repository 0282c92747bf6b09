"""The layers of a captured packet: finds the TCP segment behind link layers, IPv4 or IPv6, and tunnels.

Tunnels are packets in packets: GRE (with ERSPAN), VXLAN, GENEVE, LISP, MPLS, Ethernet and IP in IP after an IP header.  VXLAN
and GENEVE are recognised by their ports, and on other ports by their content: an IP packet that fits the length in the UDP
header.  Tunnels that are recognised by number but not supported are counted by reason.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from ipaddress import IPv6Address
from typing import Final, NamedTuple

IPS: Final = (0x0800, 0x86DD)
"""EtherTypes of IPv4 and IPv6."""
MAX_TAGS: Final = 8
"""The most headers between the link layer and IP that are skipped in one packet, mostly VLAN tags; also the most MPLS
labels."""
STEPS: Final = {
    0x8100: 2, 0x88A8: 2, 0x9100: 2, 0x9200: 2, 0x9300: 2,  # VLAN
    0x892F: 4,  # HSR
    0x8926: 4,  # VN-Tag
    0x893F: 6,  # E-Tag (802.1BR)
    0x8909: 6,  # Cisco metadata
    0x6558: 12,  # Ethernet
    0x8903: 14,  # FabricPath
    0x88E7: 16,  # PBB (802.1ah)
}  # fmt: skip
"""EtherType -> octets from its end to the next EtherType; the last three headers contain Ethernet addresses."""
_PPP_HEADS: Final = {0x8864: 6, 0x880B: 0}
"""PPP in Ethernet or GRE: octets before its protocol number."""
_MPLS: Final = frozenset((0x8847, 0x8848))
_TRILL: Final = 0x22F3
NSH: Final = 0x894F
_MACSEC: Final = 0x88E5
_JUMBO_LLC: Final = 0x8870
_NOT_READ: Final = {0xA0ED: -8, 0x4305: -9}
SHIMS: Final = (*_PPP_HEADS, *sorted(_MPLS), _TRILL, NSH, _MACSEC, _JUMBO_LLC, *_NOT_READ)
"""Other EtherTypes that may stand in place of IP's and carry IP."""
ETHERTYPES: Final = 0x0600
"""Smaller numbers are lengths, and LLC follows."""
_SNAP: Final = (b"\xaa\xaa\x03\0\0\0", b"\xaa\xaa\x03\0\0\xf8")
_IP_IN_LLC: Final = b"\x06\x06\x03"
LLC_STARTS: Final = (_SNAP[0][:2], _IP_IN_LLC[:2])
_ISL: Final = (b"\x01\0\x0c\0\0", b"\x03\0\x0c\0\0")
_ISL_OCTETS: Final = 26
_ETHERNET_IN_MPLS: Final = frozenset((*IPS, *STEPS, *SHIMS, 0x0806, 0x88CC))
"""EtherTypes by which an Ethernet header after MPLS labels is recognised; ARP and LLDP too."""

CUT: Final = "too little of it was captured to find a TCP header"
"""The reason for a packet of which only the beginning was captured."""
NONE: Final = -1
_CUT: Final = -2
_MORE_LABELS: Final = -3
_PPP_UNREAD: Final = -4
_MORE_TAGS: Final = -5
_MACSEC_UNREAD: Final = -6
_NSH_UNREAD: Final = -7
_MPLS_UNREAD: Final = -10
_UNKNOWN_LINK: Final = -11
UNREAD: Final = {
    _CUT: CUT,
    _MORE_LABELS: f"it has more than {MAX_TAGS} MPLS labels",
    _PPP_UNREAD: "PPP with what is not plain IP (compressed, encrypted, bridged) is not read",
    _MORE_TAGS: f"it has more than {MAX_TAGS} tags before the IP packet",
    _MACSEC_UNREAD: "MACsec is encrypted",
    _NSH_UNREAD: "NSH with what is not IP, Ethernet or MPLS is not read",
    -8: "6LoWPAN is not read",
    -9: "batman-adv is not read",
    _MPLS_UNREAD: "MPLS with what is not IP or Ethernet is not read",
    _UNKNOWN_LINK: "its link type inside PKTAP is not known",
}
"""Results in place of an offset: packets that may hold IP and are not read, with the note about them.  CUT only applies to
packets of which less was captured than was on the wire."""
FAMILIES: Final = (2, 10, 23, 24, 28, 30)
"""AF_INET, and AF_INET6 by its numbers on Linux, Windows, NetBSD, FreeBSD and Darwin."""


def after_type(data: bytes, at: int) -> int:
    """Returns where IP starts if the two octets at `at` are an EtherType, after all known headers; -1 when it is not IP, or one
    of UNREAD."""
    return behind_type(data, _word(data, at), at + 2) if len(data) >= at + 2 else _CUT


def _word(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 2])


def behind_type(data: bytes, kind: int, at: int) -> int:
    """Returns what `after_type` does for a payload of EtherType `kind` that starts at `at`."""
    for _ in range(MAX_TAGS + 1):  # iterative, so that nested headers need no recursion
        if kind in IPS:
            return at
        if kind in STEPS:
            at += STEPS[kind]
        elif kind < ETHERTYPES or kind == _JUMBO_LLC:
            if data[at : at + 3] == _IP_IN_LLC:
                return at + 3
            if data[at : at + 6] not in _SNAP:
                return NONE
            at += 6
        elif kind == _TRILL:
            at += 6 + 4 * (_word(data, at) >> 6 & 31) + 12
        elif kind == _MACSEC:
            if not data[at : at + 1]:
                return _CUT
            if data[at] & 0x0C:
                return _MACSEC_UNREAD
            at += 14 if data[at] & 0x20 else 6
        elif kind == NSH:
            kind, at = _in_nsh(data, at)
            if kind <= 0:
                return kind or at
            if kind != _INNER:
                continue
        elif kind in _PPP_HEADS:
            kind, at = _in_ppp(data, at + _PPP_HEADS[kind])
            if kind <= 0:
                return kind or at
            continue
        elif kind in _MPLS:
            kind, at = _behind_labels(data, at)
            if kind <= 0:
                return kind or at
        else:
            return _NOT_READ.get(kind, NONE)
        if len(data) < at + 2:
            return _CUT
        kind = _word(data, at)
        at += 2
    return _MORE_TAGS


_IP_HERE: Final = 0
_INNER: Final = 1
"""Results in place of an EtherType: IP starts here; another EtherType is here.  A negative one ends the search."""


def _in_nsh(data: bytes, at: int) -> tuple[int, int]:
    """Returns what follows the network service header at `at`, and where."""
    if len(data) < at + 4:
        return _CUT, 0
    following, behind = data[at + 3], at + 4 * (data[at + 1] & 63)
    if following in (1, 2):
        return _IP_HERE, behind
    if following == 3:
        return _INNER, behind + 12
    return {4: NSH, 5: 0x8847}.get(following, _NSH_UNREAD), behind


def _in_ppp(data: bytes, at: int) -> tuple[int, int]:
    """Returns what follows the PPP protocol number at `at`, and where; the number has two octets or, compressed, one."""
    if len(data) <= at:
        return _CUT, 0
    size = 1 if data[at] & 1 else 2
    number = int.from_bytes(data[at : at + size])
    if number in (0x21, 0x57):
        return _IP_HERE, at + size
    if number in (0x281, 0x283):
        return 0x8847, at + size
    # Numbers from 0x4000 on are link control and never carry packets.
    return _PPP_UNREAD if number < 0x4000 else NONE, 0


def _behind_labels(data: bytes, at: int) -> tuple[int, int]:
    """Returns what follows MPLS labels, and where: IP itself, or Ethernet, with or without a control word before it."""
    for _ in range(MAX_TAGS):
        if len(data) < at + 5:
            return _CUT, 0
        last = data[at + 2] & 1
        at += 4
        if last:
            break
    else:
        return _MORE_LABELS, 0
    first = data[at] >> 4
    if first in (4, 6):
        return _IP_HERE, at
    if first == 0 and _word(data, at + 16) in _ETHERNET_IN_MPLS:
        return _INNER, at + 16
    if _word(data, at + 12) in _ETHERNET_IN_MPLS or _word(data, at + 12) < ETHERTYPES:
        return _INNER, at + 12
    # After labels, 1 stands for the path's own control channel.
    return NONE if first == 1 else _MPLS_UNREAD, 0


def after_labels(data: bytes, at: int) -> int:
    """Returns where IP starts after MPLS labels."""
    return behind_type(data, 0x8847, at)


def _ethernet(data: bytes) -> int:
    return after_type(data, _ISL_OCTETS + 12 if data[:5] in _ISL else 12)


def _loopback(data: bytes) -> int:
    # The address family is in the byte order of the capturing machine, or (LOOP) the network's: one end is zero.
    family = data[:4]
    if len(family) < 4:
        return _CUT
    return 4 if (family[0] | family[3]) in FAMILIES and not family[1] | family[2] else NONE


def _cooked(data: bytes) -> int:
    return after_type(data, 14)


def _cooked_2(data: bytes) -> int:
    # The protocol comes first, the payload after 20 octets; VLAN tags are in the payload.
    return behind_type(data, _word(data, 0), 20) if len(data) >= 2 else _CUT


def _raw(data: bytes) -> int:
    return 0


def _ppp(data: bytes) -> int:
    """Finds IP in PPP, with or without HDLC framing; Cisco's HDLC has an EtherType."""
    if data[:1] in (b"\x0f", b"\x8f"):
        return after_type(data, 2)
    return _in_link_of_ppp(data, 2 if data[:2] == b"\xff\x03" else 0)


def _ppp_over_ethernet(data: bytes) -> int:
    return _in_link_of_ppp(data, 6)


def _in_link_of_ppp(data: bytes, at: int) -> int:
    kind, at = _in_ppp(data, at)
    return behind_type(data, kind, at) if kind > 0 else kind or at


def _pktap(data: bytes) -> int:
    """Finds IP after Darwin's header: its length, and at 8 the link type of the packet, in the machine's byte order."""
    if len(data) < 12:
        return _CUT
    length, link = int.from_bytes(data[:4], "little"), int.from_bytes(data[8:12], "little")
    if link not in LINKS or LINKS[link] is _pktap:
        return _UNKNOWN_LINK
    found = LINKS[link](data[length:])
    return found + length if found >= 0 else found


LINKS: Final[dict[int, Callable[[bytes], int]]] = {
    0: _loopback,
    1: _ethernet,
    9: _ppp,
    12: _raw,
    14: _raw,
    50: _ppp,
    51: _ppp_over_ethernet,
    101: _raw,
    104: _ppp,
    108: _loopback,
    113: _cooked,
    228: _raw,
    229: _raw,
    258: _pktap,
    276: _cooked_2,
}
"""LINKTYPE_ number -> function that finds the IP packet: NULL, Ethernet, PPP (plain, in HDLC, in PPPoE), RAW (with the BSDs'
numbers), Cisco HDLC, LOOP, Linux cooked 1 and 2, IPv4, IPv6, PKTAP.  The function returns -1 when there is no IP packet, or one
of UNREAD."""


def unknown_link(link: int) -> str:
    """Returns why packets of a LINKTYPE that is not in LINKS are left out."""
    return f"link type {link} is not known"


TCP: Final = 6
_OPTIONS: Final = frozenset((0, 43, 60, 135, 139, 140))
"""IPv6 extension headers with a length in units of 8 octets: hop-by-hop, routing, destination, mobility, HIP, shim6."""
_FRAGMENT: Final = 44
AUTHENTICATION: Final = 51
"""The authentication header, which may follow IPv4 too."""
EXTENSIONS: Final = (*sorted(_OPTIONS), _FRAGMENT, AUTHENTICATION)
"""All headers that are skipped."""
STEPPED: Final = frozenset(EXTENSIONS)
_BEHIND_4: Final = frozenset((AUTHENTICATION,))
_LENGTH: Final = struct.Struct(">H").unpack_from


class Carried(NamedTuple):
    """The payload of an IP packet: its protocol and start, whether the packet is a later fragment, and whether more follow."""

    protocol: int
    start: int
    later: bool
    more: bool


def payload_of(data: bytes, at: int) -> Carried | None:
    """Returns the payload of the IP packet at `at`; None when its header was not captured, or is not valid."""
    if len(data) < at + 20:
        return None
    version = data[at] >> 4
    later = more = False
    if version == 4:
        header = (data[at] & 15) * 4
        if header < 20:
            return None
        kind, start, steps = data[at + 9], at + header, _BEHIND_4
        if data[at + 6] or data[at + 7]:
            fragment: int = _LENGTH(data, at + 6)[0]
            later, more = fragment & 0x1FFF != 0, fragment & 0x2000 != 0
    elif version == 6:
        kind, start, steps = data[at + 6], at + 40, STEPPED
    else:
        return None
    # In a later fragment, what looks like a header is payload.
    while kind in steps and not later and start + 8 <= len(data):
        size = 8 + data[start + 1] * 8
        if kind == AUTHENTICATION:
            size = 8 + data[start + 1] * 4
        elif kind == _FRAGMENT:
            size = 8
            fragment = _LENGTH(data, start + 2)[0]
            later, more = fragment & 0xFFF8 != 0, fragment & 1 != 0
        kind = data[start]
        start += size
    return Carried(kind, start, later, more)


def host(octets: bytes) -> str:
    """Formats an address of 4 or 16 octets."""
    return f"{octets[0]}.{octets[1]}.{octets[2]}.{octets[3]}" if len(octets) == 4 else IPv6Address(octets).compressed


FIN: Final = 0x01
SYN: Final = 0x02
RST: Final = 0x04
ACK: Final = 0x10
"""Flags of a TCP segment."""


class TcpIn(NamedTuple):
    """A TCP segment in a packet: from `start` to `end` of the data; `end` may lie beyond the captured octets."""

    source: bytes
    target: bytes
    start: int
    end: int


FRAGMENT: Final = TcpIn(b"", b"", 0, 0)
"""Stands for a later fragment of an IP packet: it has no TCP header, its octets are missing from the stream."""


def tcp_in(data: bytes, at: int, original: int) -> TcpIn | None:
    """Returns the TCP segment in the IP packet at `at`; None for any other packet, or when the header was not captured.

    `original` is the length on the wire, used where the IP header says 0 (segmentation offload).  The first fragment of a
    packet counts as a segment of its own length; the others are FRAGMENT.
    """
    carried = payload_of(data, at)
    if carried is None or carried.protocol != TCP:
        return None
    if carried.later:
        return FRAGMENT
    if data[at] >> 4 == 4:
        total: int = _LENGTH(data, at + 2)[0]
        source, target = data[at + 12 : at + 16], data[at + 16 : at + 20]
    else:
        length: int = _LENGTH(data, at + 4)[0]
        total = length and 40 + length
        source, target = data[at + 8 : at + 24], data[at + 24 : at + 40]
    return TcpIn(source, target, carried.start, at + total if total else original)


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

_TUNNELLED: Final = frozenset(
    [*IP_IN_IP, GRE, UDP, MPLS_IN_IP, *ETHERNET_IN_IP, *UNREAD_PROTOCOLS]
)  # for mypyc, which has no star in a membership test
_ETHERNET_TYPE: Final = 0x6558
IN_GENEVE: Final = (*IPS, _ETHERNET_TYPE)
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
    left_out: str = ""


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
        return Inside(start)
    if protocol == GRE:
        return _in_gre(data, start)
    if protocol == MPLS_IN_IP:
        return Inside(after_labels(data, start))
    if protocol == UDP:
        return _in_udp(data, start, at)
    return Inside(_in_ethernet(data, start + ETHERNET_IN_IP[protocol]))


def _in_ethernet(data: bytes, at: int) -> int:
    return after_type(data, at + _ETHERNET_HEAD)


def _in_gre(data: bytes, start: int) -> Inside:
    if len(data) < start + 4:
        return Inside(-1, CUT)
    flags, kind = data[start], _LENGTH(data, start + 2)[0]
    if data[start + 1] & 7 or flags & 0x40:
        return Inside(-1, f"GRE of version {data[start + 1] & 7} or with a route is not read")
    behind = start + 4 + 4 * (bool(flags & 0x80) + bool(flags & 0x20) + bool(flags & 0x10))
    if kind == _ERSPAN:
        return Inside(_in_ethernet(data, behind + 8 * bool(flags & 0x10)))
    if kind == _ERSPAN_3:
        if len(data) < behind + 12:
            return Inside(-1, CUT)
        return Inside(_in_ethernet(data, behind + 12 + 8 * (data[behind + 11] & 1)))
    return _of_type(data, kind, behind, "GRE")


def _of_type(data: bytes, kind: int, at: int, tunnel: str) -> Inside:
    """Follows the payload of a tunnel, named by an EtherType."""
    found = behind_type(data, kind, at)
    if found == -1 and kind != _ETHERNET_TYPE:
        return Inside(-1, f"{tunnel} with protocol {kind:#06x} is not read")
    return Inside(found)


def _in_udp(data: bytes, start: int, at: int) -> Inside:
    """Follows a tunnel in UDP; returns `at` for anything else."""
    if len(data) < start + 4:
        return Inside(-1, CUT)
    source, port, behind = _LENGTH(data, start)[0], _LENGTH(data, start + 2)[0], start + 8
    if source in UNREAD_PORTS and port >= WELL_KNOWN and port not in KNOWN_PORTS:
        port = source
    if port in UNREAD_PORTS:
        return Inside(-1, f"{UNREAD_PORTS[port]} is not read")
    if len(data) < start + 16:
        return Inside(-1, CUT) if port in KNOWN_PORTS else Inside(at)
    if port == GENEVE_PORT and data[behind] >> 6 == 0:
        return _in_geneve(data, behind)
    if port in (GPE_PORT, LISP_PORT) and data[behind] & 0x04:
        return _in_gpe(data, behind)
    if port == GRE_PORT:
        return _in_gre(data, behind)
    if port == MPLS_PORT:
        return Inside(after_labels(data, behind))
    if port == LISP_PORT:
        return Inside(-1, "encrypted LISP is not read") if data[behind] & 3 else Inside(behind + 8)
    if port in VXLAN_PORTS or port == GPE_PORT:
        return Inside(_in_ethernet(data, behind + 8)) if data[behind] & 0x08 else Inside(at)
    end = start + _LENGTH(data, start + 4)[0]
    if data[behind : behind + 4] == WIREGUARD and end - behind > 32 and (end - behind) % 16 == 0:
        return Inside(-1, "WireGuard is encrypted")
    return Inside(_on_any_port(data, behind, end, at))


def _in_geneve(data: bytes, behind: int) -> Inside:
    return _of_type(data, _LENGTH(data, behind + 2)[0], behind + 8 + 4 * (data[behind] & 63), "GENEVE")


def _in_gpe(data: bytes, behind: int) -> Inside:
    """Follows VXLAN-GPE or LISP, which name their payload."""
    kind, inside = data[behind + 3], behind + 8
    if kind in _GPE_IP:
        return Inside(inside)
    if kind == _GPE_ETHERNET:
        return Inside(_in_ethernet(data, inside))
    if kind == _GPE_MPLS:
        return Inside(after_labels(data, inside))
    if kind == _GPE_NSH:
        return Inside(behind_type(data, NSH, inside))
    return Inside(-1, f"VXLAN-GPE with protocol {kind} is not read")


def _on_any_port(data: bytes, behind: int, end: int, at: int) -> int:
    """Returns the start of the IP packet in what looks like VXLAN or GENEVE, if that packet ends, up to padding, where the UDP
    packet does, at `end`; else `at`."""
    inside = -1
    if data[behind + 7] == 0:
        if data[behind : behind + 4] == _VXLAN_FLAGS:
            inside = _in_ethernet(data, behind + 8)
        elif data[behind] >> 6 == 0 and data[behind + 1] & 0x3F == 0 and _LENGTH(data, behind + 2)[0] in IN_GENEVE:
            inside = _in_geneve(data, behind).at
    if inside < 0 or len(data) < inside + 20:
        return at
    length = _LENGTH(data, inside + 2)[0] if data[inside] >> 4 == 4 else _LENGTH(data, inside + 4)[0] + 40
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
