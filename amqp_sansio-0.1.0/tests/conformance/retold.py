"""Real captures told again in other ways, and a frame walker that knows nothing of the code under test."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

FIN, SYN, RST, ACK = 1, 2, 4, 16
MASK = 0xFFFFFFFF


@dataclass(frozen=True)
class Segment:
    """A TCP segment over IPv4; `number` is that of its packet, `time` in ns."""

    number: int
    time: int
    source: tuple[bytes, int]
    target: tuple[bytes, int]
    sequence: int
    acknowledged: int
    flags: int
    options: bytes
    payload: bytes


Way = Callable[[list[Segment]], list[Segment]]


def segments(path: Path) -> list[Segment]:
    """Those of a capture as tcpdump wrote ours: little endian, microseconds, Ethernet, IPv4."""
    octets = path.read_bytes()
    found: list[Segment] = []
    at = 24
    while at < len(octets):
        seconds, micros, size, _ = struct.unpack_from("<IIII", octets, at)
        ip = octets[at + 30 : at + 16 + size]
        at += 16 + size
        tcp = ip[(ip[0] & 15) * 4 : struct.unpack_from(">H", ip, 2)[0]]
        source, target, sequence, acknowledged, offset, flags = struct.unpack_from(">HHIIBB", tcp)
        ends = (ip[12:16], source), (ip[16:20], target)
        data = (offset >> 4) * 4
        time = seconds * 10**9 + micros * 1000
        found.append(Segment(len(found) + 1, time, *ends, sequence, acknowledged, flags, tcp[20:data], tcp[data:]))
    return found


def tcp(segment: Segment) -> bytes:
    offset = (20 + len(segment.options)) << 2
    head = (segment.source[1], segment.target[1], segment.sequence & MASK, segment.acknowledged & MASK, offset, segment.flags)
    return struct.pack(">HHIIBBHHH", *head, 65535, 0, 0) + segment.options + segment.payload


def ipv4(segment: Segment, options: bytes = b"") -> bytes:
    inner = tcp(segment)
    head = struct.pack(">BBHHHBBH", 0x45 + len(options) // 4, 0, 20 + len(options) + len(inner), 0, 0, 64, 6, 0)
    return head + segment.source[0] + segment.target[0] + options + inner


def ethernet(inner: bytes, kind: str = "0800") -> bytes:
    return bytes(12) + bytes.fromhex(kind) + inner


def pcap(packets: Iterable[tuple[int, bytes]], link: int = 1, order: str = "<", nano: bool = True) -> bytes:
    told = [struct.pack(order + "IHHiIII", 0xA1B23C4D if nano else 0xA1B2C3D4, 2, 4, 0, 0, 262144, link)]
    for time, octets in packets:
        fraction = time % 10**9 if nano else time % 10**9 // 1000
        told.append(struct.pack(order + "IIII", time // 10**9, fraction, len(octets), len(octets)) + octets)
    return b"".join(told)


def plainly(told: Iterable[Segment]) -> bytes:
    return pcap((each.time, ethernet(ipv4(each))) for each in told)


def block(order: str, kind: int, body: bytes) -> bytes:
    body += bytes(-len(body) % 4)
    return struct.pack(order + "II", kind, len(body) + 12) + body + struct.pack(order + "I", len(body) + 12)


def pcapng(told: Iterable[Segment], order: str, resolution: int, kind: int) -> bytes:
    """A section with an unknown block in it; `resolution` as in if_tsresol, `kind` 6 (enhanced) or 2 (obsolete)."""
    made = [block(order, 0x0A0D0D0A, struct.pack(order + "IHHq", 0x1A2B3C4D, 1, 0, -1)), block(order, 0xBAD, b"what?")]
    made.append(block(order, 1, struct.pack(order + "HHIHHBxxxHH", 1, 0, 0, 9, 1, resolution, 0, 0)))
    for each in told:
        ticks = each.time * 10**resolution // 10**9
        if resolution & 0x80:
            ticks = -(-(each.time << (resolution & 0x7F)) // 10**9)
        octets = ethernet(ipv4(each))
        head = struct.pack(order + ("I" if kind == 6 else "HH"), *([0] if kind == 6 else [0, 0]))
        head += struct.pack(order + "IIII", ticks >> 32, ticks & MASK, len(octets), len(octets))
        made.append(block(order, kind, head + octets))
    return b"".join(made)


# Other ways in which the same octets might have travelled.


def numbered(told: Iterable[Segment]) -> list[Segment]:
    return [replace(each, number=number) for number, each in enumerate(told, 1)]


def split(told: list[Segment], size: int) -> list[Segment]:
    found = []
    for each in told:
        parts = range(0, len(each.payload), size) or range(1)
        for at in parts:
            flags = each.flags if at == parts[-1] else each.flags & ~FIN
            payload = each.payload[at : at + size]
            found.append(replace(each, sequence=each.sequence + at, payload=payload, flags=flags))
    return found


def swapped(told: list[Segment], dice: Random) -> list[Segment]:
    found = list(told)
    for at in range(len(found) - 1):
        if dice.random() < 0.2:
            first, second = found[at : at + 2]
            found[at : at + 2] = replace(second, time=first.time), replace(first, time=second.time)
    return found


def again(told: list[Segment], dice: Random, same: bool) -> list[Segment]:
    """Some segments come again later; unless `same`, with other octets, which the receiver never saw."""
    found: list[Segment] = []
    for each in told:
        found.append(each)
        if found and dice.random() < 0.4:
            old = found[-dice.randrange(1, min(6, len(found)) + 1)]
            payload = old.payload if same else bytes(255 - octet for octet in old.payload)
            if not old.flags & (SYN | FIN | RST):
                found.append(replace(old, time=each.time, payload=payload))
    return found


def late(told: list[Segment], dice: Random) -> list[Segment]:
    """Some segments come up to four packets later, behind the acknowledgement of their octets."""
    place = {each.number: each.number + (dice.randrange(1, 5) if each.payload and dice.random() < 0.1 else 0) for each in told}
    end = {frozenset((each.source, each.target)): each.number for each in told if each.flags & (FIN | RST)}
    moved = sorted(told, key=lambda each: min(place[each.number], end.get(frozenset((each.source, each.target)), 1 << 30)))
    return [replace(each, time=by.time) for each, by in zip(moved, told, strict=True)]


def numbers_from(told: list[Segment], first: int) -> list[Segment]:
    """The sequence numbers of both sides start at `first`."""
    base: dict[tuple[tuple[bytes, int], tuple[bytes, int]], int] = {}
    found = []
    for each in told:
        if each.flags & SYN:
            base[each.source, each.target] = each.sequence - first
        mine, other = base[each.source, each.target], base.get((each.target, each.source), each.acknowledged)
        found.append(replace(each, sequence=each.sequence - mine, acknowledged=each.acknowledged - other))
    return found


# The frame walker.


def streams(told: list[Segment]) -> dict[tuple[tuple[bytes, int], tuple[bytes, int]], bytes]:
    """What each side of each connection said, by (source, target); segments are in order, octets may come twice."""
    found: dict[tuple[tuple[bytes, int], tuple[bytes, int]], bytes] = {}
    first: dict[tuple[tuple[bytes, int], tuple[bytes, int]], int] = {}
    for each in told:
        key = each.source, each.target
        if each.flags & SYN:
            first[key], found[key] = each.sequence + 1, b""
        elif each.payload:
            known = (first[key] + len(found[key]) - each.sequence) & MASK
            found[key] += each.payload[known:]
    return found


def walk(octets: bytes) -> tuple[int, int, int, int]:
    """Controls, commands, octets of bodies and octets that no frame can be cut from, in what one side said."""
    controls = commands = bodies = opaque = 0
    at = 8
    under_way: dict[tuple[int, int], int] = {}
    while len(octets) - at >= 12:
        flags, kind, size, _, track, channel = struct.unpack_from(">BBHBBH", octets, at)
        if size < 12 or flags & 0xC0:
            opaque = len(octets) - at
            break
        if at + size > len(octets):
            break
        key = channel, track & 15
        if kind < 2 and (flags & 2 or under_way.get(key) != kind):
            controls, commands = controls + (kind == 0), commands + (kind == 1)
        bodies += size - 12 if kind == 3 and key in under_way else 0
        if flags & 5 == 5:
            under_way.pop(key, None)
        elif kind < 2:
            under_way[key] = kind
        at += size
    return controls, commands, bodies, opaque
