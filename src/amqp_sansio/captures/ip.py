"""IPv4 and IPv6: finds the TCP segment in a packet, without its padding."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

_TCP: Final = 6
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
    if carried is None or carried.protocol != _TCP:
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
