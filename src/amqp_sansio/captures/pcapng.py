"""pcapng files: sections of either byte order, interfaces with their own clocks, three kinds of packet block."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from amqp_sansio.captures.packet import MAX_PACKET_OCTETS, Packet, Warn
from amqp_sansio.captures.source import Source

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


class _Reader:
    """One pass over the blocks."""

    def __init__(self, source: Source, warn: Warn) -> None:
        self.source = source
        self.warn = warn
        self.order = "<"
        self.interfaces: list[Interface] = []
        self.number = 0

    def packets(self, magic: bytes) -> Iterator[Packet]:
        """Yields every packet.  `magic` are the octets of the first block that were read already."""
        head = magic
        while True:
            source = self.source
            start = source.offset - len(head)
            head += source.take(8 - len(head))
            if not head:
                return
            if len(head) < 8:
                return self._cut(start)
            if head[:4] == MAGIC:
                order = source.take(4)
                if len(order) < 4:
                    return self._cut(start)
                if order not in ORDERS:
                    raise source.error(f"byte-order magic {order.hex()} is neither 1a2b3c4d nor 4d3c2b1a", start + 8)
                self.order = ORDERS[order]
                taken = 12
            else:
                taken = 8
            kind, total = struct.unpack(self.order + "II", head)
            if kind in PACKETS:
                self.number += 1
                source.packet = self.number
            if total < taken + 4 or total % 4:
                raise source.error(f"a block claims {total} octets: not a multiple of 4 from {taken + 4} on", start + 4)
            if total > MAX_BLOCK_OCTETS:
                raise source.error(f"a block claims {total} octets, more than {MAX_BLOCK_OCTETS}", start + 4)
            rest = source.take(total - taken)
            if len(rest) < total - taken:
                from amqp_sansio.captures.walk_pcapng import PcapngWalk  # here, for it imports this module

                if PcapngWalk(self.order).find(rest, 0, len(rest), True) is not None:
                    raise source.error(f"a block claims {total} octets, and other blocks begin within them", start)
                return self._cut(start)
            again = struct.unpack_from(self.order + "I", rest, len(rest) - 4)[0]
            if again != total:
                raise source.error(f"a block of {total} octets ends with the length {again}", start + total - 4)
            body = rest[:-4]
            if kind in PACKETS:
                yield self._packet(kind, body, start)
            elif kind == SECTION:
                self._section(body, start)
            elif kind == INTERFACE:
                self._interface(body, start)
            head = b""

    def _cut(self, start: int) -> None:
        if not start:
            raise self.source.error("the file ends inside its first section header")
        number = max(self.number, self.source.packet)
        self.warn(f"after packet {number}, octet {start}: the file ends inside its last block")

    def _section(self, body: bytes, start: int) -> None:
        if len(body) < 12:
            raise self.source.error("a section header block takes 28 octets at least", start)
        major, minor = struct.unpack_from(self.order + "HH", body)
        if major != 1:
            raise self.source.error(f"pcapng version {major}.{minor} is not known, only 1.x", start + 12)
        self.interfaces = []

    def _interface(self, body: bytes, start: int) -> None:
        if len(body) < 8:
            raise self.source.error("an interface description block takes 20 octets at least", start)
        if len(self.interfaces) == MAX_INTERFACES:
            raise self.source.error(TOO_MANY, start)
        self.interfaces.append(described(body, self.order))

    def _packet(self, kind: int, body: bytes, start: int) -> Packet:
        room = FIXED[kind]
        if len(body) < room:
            raise self.source.error(f"a packet block of type {kind} is too short for its fixed fields", start)
        if kind == SIMPLE_PACKET:
            original: int = struct.unpack_from(self.order + "I", body)[0]
            which = 0
            interface = self._of(which, start)
            captured = min(original, interface.snaplen or original)
            time = 0  # a simple packet block has no time
        else:
            pattern = "IIIII" if kind == ENHANCED_PACKET else "HxxIIII"
            which, high, low, captured, original = struct.unpack_from(self.order + pattern, body)
            interface = self._of(which, start)
            time = interface.nanoseconds(high << 32 | low)
        if captured > len(body) - room or captured > MAX_PACKET_OCTETS:
            raise self.source.error(f"a packet claims {captured} octets, its block holds {len(body) - room}", start)
        data = body[room : room + captured]
        return Packet(self.number, time, interface.link, data, max(original, captured), start)

    def _of(self, which: int, start: int) -> Interface:
        if which >= len(self.interfaces):
            known = len(self.interfaces)
            raise self.source.error(f"a packet names interface {which}; the section has described {known}", start)
        return self.interfaces[which]


def read_pcapng(source: Source, magic: bytes, warn: Warn) -> Iterator[Packet]:
    """Yields the packets of the file whose first four octets were `magic`; skips blocks of other types.

    A truncated last block is left out with a warning.  Raises CaptureError for an incomplete first section header, blocks whose
    lengths are inconsistent or exceed MAX_BLOCK_OCTETS, a packet longer than its block, an unknown interface, too many of
    them in one section, or a major version other than 1.
    """
    return _Reader(source, warn).packets(magic)
