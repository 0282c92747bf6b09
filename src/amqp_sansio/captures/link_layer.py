"""Link layers: finds the IP packet in a captured packet."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

IPS: Final = frozenset((0x0800, 0x86DD))
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
_ETHERTYPES: Final = 0x0600
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
        elif kind < _ETHERTYPES or kind == _JUMBO_LLC:
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
    if _word(data, at + 12) in _ETHERNET_IN_MPLS or _word(data, at + 12) < _ETHERTYPES:
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
