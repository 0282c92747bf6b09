"""pcapng files: sections of either byte order, interfaces with their own clocks, three kinds of packet block."""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

MAGIC: Final = b"\x0a\x0d\x0d\x0a"
MAX_BLOCK_OCTETS: Final = 16 * 1024 * 1024
"""The most octets of one block.  Larger is damage."""
MAX_INTERFACES: Final = 4096
"""The most interfaces of one section; packets of further ones cannot be read."""
TOO_MANY: Final = f"a section describes more than {MAX_INTERFACES} interfaces"

SECTION: Final = 0x0A0D0D0A
INTERFACE: Final = 1
OLD_PACKET: Final = 2
SIMPLE_PACKET: Final = 3
ENHANCED_PACKET: Final = 6
PACKETS: Final = frozenset((OLD_PACKET, SIMPLE_PACKET, ENHANCED_PACKET))
"""The block types with a packet."""
FIXED: Final = {ENHANCED_PACKET: 20, OLD_PACKET: 20, SIMPLE_PACKET: 4}
"""Octets of their fixed fields."""
UNDESCRIBED: Final = -1
"""In place of a LINKTYPE: the section has not described the interface, or it is beyond `MAX_INTERFACES`."""
ORDERS: Final = {b"\x1a\x2b\x3c\x4d": ">", b"\x4d\x3c\x2b\x1a": "<"}
"""Byte-order magic of a section -> byte order."""
_IF_TSRESOL: Final = 9
_IF_TSOFFSET: Final = 14


class Interface(NamedTuple):
    """A section's description of an interface: `per_second` ticks make a second, counted from `start` (ns since 1970)."""

    link: int
    snaplen: int
    per_second: int
    start: int

    def nanoseconds(self, ticks: int) -> int:
        """Converts ticks to nanoseconds since 1970, rounded down."""
        return self.start + ticks * 1_000_000_000 // self.per_second


def described(body: bytes, order: str) -> Interface:
    """Parses the body of an interface description block (at least 8 octets)."""
    link, _, snaplen = struct.unpack_from(order + "HHI", body)
    per_second, seconds, at = 1_000_000, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(order + "HH", body, at)
        value = body[at + 4 : at + 4 + length]
        if code == 0 or len(value) < length:
            break
        if code == _IF_TSRESOL and length == 1:
            per_second = 1 << (value[0] & 0x7F) if value[0] & 0x80 else 10 ** value[0]
        elif code == _IF_TSOFFSET and length == 8:
            seconds = struct.unpack(order + "q", value)[0]
        at += 4 + (length + 3) // 4 * 4
    return Interface(link, snaplen, per_second, seconds * 1_000_000_000)
