"""pcapng files, with sections of either byte order and interfaces with their own clocks: walks over their blocks."""

from __future__ import annotations

import re
import struct
from functools import partial
from typing import Final, NamedTuple

from amqp_sansio.captures.walk import ENDS, MAX_PACKET_OCTETS, Octets, Packet, Run, first_chain

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


BEYOND: Final = Interface(UNDESCRIBED, 0, 1, 0)
"""In place of the first interface beyond `MAX_INTERFACES`."""

_HEAD: Final = {order: struct.Struct(order + "II").unpack_from for order in "<>"}
_JOINT: Final = {order: struct.Struct(order + "III").unpack_from for order in "<>"}
_WORD: Final = {order: struct.Struct(order + "I").unpack_from for order in "<>"}
_STARTS: Final = (*sorted(PACKETS), INTERFACE)


class PcapngWalk(NamedTuple):
    """The section of a block: its byte order, and the interfaces described in it so far."""

    order: str = "<"
    interfaces: tuple[Interface, ...] = ()

    def run(self, octets: Octets, at: int, stop: int, end: int, final: bool) -> Run:
        """See `Walk`.  Positions are those of packet blocks, whose content is not examined."""
        joint, head = _JOINT[self.order], _HEAD[self.order]
        positions: list[int] = []
        add = positions.append
        inside = min(stop, end - 8)
        while at < stop:
            # One read covers the length at the end of a block and the head of the next one.
            kind, total = head(octets, at) if at < inside else (0, 0)
            while at < inside and kind == ENHANCED_PACKET and 12 <= total <= MAX_BLOCK_OCTETS and not total & 3:
                following = at + total
                if following + 8 > end:
                    break
                again, next_kind, next_total = joint(octets, following - 4)
                if again != total:
                    break
                add(at)
                at, kind, total = following, next_kind, next_total
            if at >= stop or at >= end:
                break
            run = self._one(octets, at, end, final, positions)
            if run.problem is not None or run.changed is not None or run.more:
                return run
            at = run.next
        return Run(positions, at)

    def _one(self, octets: Octets, at: int, end: int, final: bool, positions: list[int]) -> Run:
        """Visits one block of any type; returns its fault if it has one."""
        cut = Run(positions, at, f"{ENDS} its last block") if final else Run(positions, at, more=True)
        order = self.order
        section = bytes(octets[at : at + 4]) == MAGIC
        if at + (12 if section else 8) > end:
            return cut
        if section:
            magic = bytes(octets[at + 8 : at + 12])
            if magic not in ORDERS:
                return Run(positions, at, f"byte-order magic {magic.hex()} is neither 1a2b3c4d nor 4d3c2b1a")
            order = ORDERS[magic]
        kind, total = _HEAD[order](octets, at)
        least = 16 if section else 12
        if total < least or total % 4:
            return Run(positions, at, f"a block claims {total} octets: not a multiple of 4 from {least} on")
        if total > MAX_BLOCK_OCTETS:
            return Run(positions, at, f"a block claims {total} octets, more than {MAX_BLOCK_OCTETS}")
        following = at + total
        if following > end:
            return cut
        (again,) = _WORD[order](octets, following - 4)
        if again != total:
            return Run(positions, at, f"a block of {total} octets ends with the length {again}")
        if kind in PACKETS:
            positions.append(at)
            return Run(positions, following)
        if kind == SECTION:
            return self._section(octets, at, following, end, order, positions)
        if kind == INTERFACE:
            if total < 20:
                return Run(positions, at, "an interface description block takes 20 octets at least", following)
            beyond = len(self.interfaces) - MAX_INTERFACES
            if beyond > 0:  # said once
                return Run(positions, following)
            if beyond == 0:
                changed = PcapngWalk(order, (*self.interfaces, BEYOND))
                return Run(positions, at, TOO_MANY, following, changed=changed)
            found = described(bytes(octets[at + 8 : following - 4]), order)
            return Run(positions, following, changed=PcapngWalk(order, (*self.interfaces, found)))
        return Run(positions, following)

    def _section(self, octets: Octets, at: int, following: int, end: int, order: str, positions: list[int]) -> Run:
        if following - at < 28:
            return Run(positions, at, "a section header block takes 28 octets at least", following)
        major, minor = struct.unpack_from(order + "HH", octets, at + 12)
        if major != 1:
            return Run(positions, at, f"pcapng version {major}.{minor} is not known, only 1.x", end)
        return Run(positions, following, changed=PcapngWalk(order))

    def packet(self, octets: Octets, at: int, number: int, offset: int) -> Packet:
        """See `Walk`."""
        kind, total = _HEAD[self.order](octets, at)
        at += 8
        room = FIXED[kind]
        held = total - 12 - room
        if held < 0:
            raise ValueError(f"a packet block of type {kind} is too short for its fixed fields")
        if kind == SIMPLE_PACKET:
            (original,) = _WORD[self.order](octets, at)
            interface = self._interface(0)
            captured = min(original, interface.snaplen or original)
            time = 0  # a simple packet block has no time
        else:
            pattern = "IIIII" if kind == ENHANCED_PACKET else "HxxIIII"
            which, high, low, captured, original = struct.unpack_from(self.order + pattern, octets, at)
            interface = self._interface(which)
            time = interface.nanoseconds(high << 32 | low)
        if captured > held or captured > MAX_PACKET_OCTETS:
            raise ValueError(f"a packet claims {captured} octets, its block holds {held}")
        data = bytes(octets[at + room : at + room + captured])
        return Packet(number, time, interface.link, data, max(original, captured), offset)

    def _interface(self, which: int) -> Interface:
        if which >= len(self.interfaces):
            raise ValueError(f"a packet names interface {which}; the section has described {len(self.interfaces)}")
        return self.interfaces[which]

    def find(self, octets: Octets, at: int, end: int, final: bool) -> int | None:
        """See `Walk`.  Searches for a section, an interface or a packet."""
        places = (match.start() for match in self._candidates().finditer(octets, at, end))
        return first_chain(places, self.order, 12, end, final, partial(self._follow, octets, end))

    def _candidates(self) -> re.Pattern[bytes]:
        """Returns a pattern of possible heads of such blocks, tried at every octet."""
        kinds = b"[" + bytes(_STARTS) + b"]"
        four = b"[" + b"".join(re.escape(bytes([each])) for each in range(0, 256, 4)) + b"]"
        none = rb"\x00\x00\x00"
        known = kinds + none + four + rb"..\x00" if self.order == "<" else none + kinds + rb"\x00.." + four
        return re.compile(b"(?=" + known + b"|" + re.escape(MAGIC) + b")", re.DOTALL)

    def _follow(self, octets: Octets, end: int, at: int, order: str) -> tuple[int, str]:
        """See `Follow`."""
        if bytes(octets[at : at + 4]) == MAGIC:
            order = ORDERS.get(bytes(octets[at + 8 : at + 12]), "")
            if not order:
                return -1, order
        _, total = _HEAD[order](octets, at)
        following = at + total
        sound = total >= 12 and not total & 3 and total <= MAX_BLOCK_OCTETS
        if sound and following <= end:
            sound = _WORD[order](octets, following - 4)[0] == total
        return following if sound else -1, order
