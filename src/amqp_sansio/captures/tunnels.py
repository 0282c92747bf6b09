"""Tunnels: packets inside packets.  GRE (with ERSPAN), VXLAN, GENEVE and IP in IP behind an IP header."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from amqp_sansio.captures.ip import payload_of
from amqp_sansio.captures.link import after_type

MAX_TUNNELS: Final = 4
"""Tunnels inside one another that are followed."""
IP_IN_IP: Final = (4, 41)
GRE: Final = 47
UDP: Final = 17
VXLAN_PORTS: Final = (4789, 8472)
GENEVE_PORT: Final = 6081

_WORD: Final = struct.Struct(">H").unpack_from
_TUNNELLED: Final = frozenset([*IP_IN_IP, GRE, UDP])  # for mypyc, which takes no star in a test
_IP: Final = frozenset([0x0800, 0x86DD])
_ETHERNET: Final = 0x6558
_ERSPAN: Final = 0x88BE
_ETHERNET_HEAD: Final = 12


class Inside(NamedTuple):
    """Where the innermost IP packet starts (-1: there is none), and why one is left out ("": none is)."""

    at: int
    left_out: str


def innermost(data: bytes, at: int) -> Inside:
    """Follows tunnels from the IP packet at `at`."""
    for depth in range(MAX_TUNNELS + 1):
        found = payload_of(data, at)
        if found is None:
            return Inside(at, "")
        protocol, start, later = found
        if protocol not in _TUNNELLED or (later and protocol == UDP):
            return Inside(at, "")
        if later:
            return Inside(-1, "it is a later fragment of a tunnel's packet")
        inside = Inside(start, "")
        if protocol not in IP_IN_IP:
            inside = _in_gre(data, start) if protocol == GRE else _in_udp(data, start, at)
        if inside.left_out or inside.at < 0 or inside.at == at:
            return inside
        if depth < MAX_TUNNELS:
            at = inside.at
    return Inside(-1, f"there are more than {MAX_TUNNELS} tunnels inside one another")


def _in_gre(data: bytes, start: int) -> Inside:
    if len(data) < start + 4:
        return Inside(-1, "")
    flags, kind = data[start], _WORD(data, start + 2)[0]
    if data[start + 1] & 7 or flags & 0x40:
        return Inside(-1, f"GRE of version {data[start + 1] & 7} or with a route is not read")
    behind = start + 4 + 4 * (bool(flags & 0x80) + bool(flags & 0x20) + bool(flags & 0x10))
    if kind == _ETHERNET:
        return Inside(after_type(data, behind + _ETHERNET_HEAD), "")
    if kind == _ERSPAN:
        return Inside(after_type(data, behind + 8 * bool(flags & 0x10) + _ETHERNET_HEAD), "")
    at = after_type(data[:behind] + data[start + 2 : start + 4] + data[behind:], behind)
    return Inside(at - 2, "") if at >= 0 else Inside(-1, f"GRE with protocol {kind:#06x} is not read")


def _in_udp(data: bytes, start: int, at: int) -> Inside:
    """What is no tunnel stays where it is."""
    if len(data) < start + 16:
        return Inside(at, "")
    port = _WORD(data, start + 2)[0]
    if port in VXLAN_PORTS and data[start + 8] & 0x08:
        return Inside(after_type(data, start + 16 + _ETHERNET_HEAD), "")
    if port == GENEVE_PORT and data[start + 8] >> 6 == 0:
        kind, behind = _WORD(data, start + 10)[0], start + 16 + 4 * (data[start + 8] & 63)
        if kind in _IP:
            return Inside(behind, "")
        if kind == _ETHERNET:
            return Inside(after_type(data, behind + _ETHERNET_HEAD), "")
    return Inside(at, "")


def packets_left_out(count: int, why: str) -> str:
    """One sentence about packets in tunnels that are not read."""
    return f"{count} packet{' is' if count == 1 else 's are'} left out: {why}"
