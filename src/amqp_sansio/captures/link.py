"""Link layers: where in a captured packet the IP packet starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

_IP: Final = frozenset((b"\x08\x00", b"\x86\xdd"))
_TAGS: Final = frozenset((b"\x81\x00", b"\x88\xa8", b"\x91\x00", b"\x92\x00"))
MAX_TAGS: Final = 8
"""VLAN tags of one packet that are stepped over; MPLS labels likewise."""
_PPPOE: Final = b"\x88\x64"
_PPP: Final = frozenset((b"\x00\x21", b"\x00\x57"))
_PPP_SHORT: Final = frozenset((b"\x21", b"\x57"))
_PPPOE_UNREAD: Final = -2
_MORE_LABELS: Final = -3
UNREAD: Final = {
    _PPPOE_UNREAD: "PPPoE with what is not plain IP (compressed, encrypted, bridged) is not read",
    _MORE_LABELS: f"it has more than {MAX_TAGS} MPLS labels",
}
"""In the place of a start: packets that may hold IP and are not read, and what is said of them."""
_MPLS: Final = frozenset((b"\x88\x47", b"\x88\x48"))
FAMILIES: Final = (2, 10, 23, 24, 28, 30)
"""AF_INET, and AF_INET6 as Linux, Windows, NetBSD, FreeBSD and Darwin number it."""


def after_type(data: bytes, at: int) -> int:
    """Where IP starts when the two octets at `at` are an EtherType, behind VLAN tags, PPPoE and MPLS; -1 when it is not IP, or
    one of UNREAD."""
    return _behind(data, data[at : at + 2], at + 2)


def _behind(data: bytes, kind: bytes, at: int) -> int:
    """The same where what is of the EtherType `kind` starts at `at`."""
    for _ in range(MAX_TAGS):
        if kind in _IP:
            return at
        if kind == _PPPOE:
            return _in_pppoe(data, at + 6)
        if kind in _MPLS:
            return after_labels(data, at)
        if kind not in _TAGS:
            return -1
        kind = data[at + 2 : at + 4]
        at += 4
    return -1


def _in_pppoe(data: bytes, at: int) -> int:
    """Where IP starts when the number of a PPP protocol is at `at`: of two octets, or, compressed, of one."""
    if data[at : at + 2] in _PPP:
        return at + 2
    if data[at : at + 1] in _PPP_SHORT:
        return at + 1
    # What only rules the link, and never carries packets, has a number from 0x4000 on.
    return _PPPOE_UNREAD if len(data) > at and data[at] < 0x40 else -1


def after_labels(data: bytes, at: int) -> int:
    """Where IP starts behind MPLS labels: IP itself, or Ethernet, with a control word before it or without."""
    for _ in range(MAX_TAGS):
        if len(data) < at + 5:
            return -1
        last = data[at + 2] & 1
        at += 4
        if last:
            first = data[at] >> 4
            if first in (4, 6):
                return at
            found = after_type(data, at + 16) if first == 0 else -1
            return after_type(data, at + 12) if found < 0 else found
    return _MORE_LABELS


def _ethernet(data: bytes) -> int:
    return after_type(data, 12)


def _loopback(data: bytes) -> int:
    # The address family stands in the byte order of the machine that captured, or (LOOP) the network's: one end is zero.
    family = data[:4]
    return 4 if len(family) == 4 and (family[0] | family[3]) in FAMILIES and not family[1] | family[2] else -1


def _cooked(data: bytes) -> int:
    return after_type(data, 14)


def _cooked_2(data: bytes) -> int:
    # The protocol stands first and the payload after 20 octets; VLAN tags stand in the payload.
    return _behind(data, data[:2], 20)


def _raw(data: bytes) -> int:
    return 0


LINKS: Final[dict[int, Callable[[bytes], int]]] = {
    0: _loopback,
    1: _ethernet,
    12: _raw,
    14: _raw,
    101: _raw,
    108: _loopback,
    113: _cooked,
    228: _raw,
    229: _raw,
    276: _cooked_2,
}
"""LINKTYPE_ number -> function that finds the start of the IP packet: NULL, Ethernet, RAW (as BSDs number it too), LOOP, Linux
cooked 1 and 2, IPv4, IPv6.  The function answers -1 when there is no IP packet, or one of UNREAD."""


def unknown_link(link: int) -> str:
    """What is said of a LINKTYPE that is not among LINKS."""
    return f"link type {link} is not known; its packets are left out"
