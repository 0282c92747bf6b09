"""Real conversations to damage: from the captures that ship with the tests and, where present, those beside the checkout."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from struct import Struct
from typing import Final, TypeAlias

from amqp_sansio.captures.flows import Flow
from amqp_sansio.captures.layers import FRAGMENT, LINKS, tcp_in
from amqp_sansio.captures.reader import read_packets

ROOT: Final = Path(__file__).resolve().parents[1]
SHIPPED: Final = ROOT / "tests" / "data" / "captures"
BESIDE: Final = tuple(parent / "shared" / "captures" / "0-10" for parent in ROOT.parents)
SMALL: Final = 100_000
"""Larger files are left out: they are repetitive."""

Said: TypeAlias = tuple[tuple[str, bytes], ...]
"""A conversation, or any input of the fuzzer: pieces of octets with their speakers."""


TCP: Final = Struct(">HHIIBB").unpack_from
SYN: Final = 0x02


class Recorder:
    """The sink of a TCP connection: records each piece with its speaker; the side that sends first is the client."""

    def __init__(self) -> None:
        self.pieces: list[tuple[int, bytes]] = []
        self.flow: Final = Flow(self)

    def data(self, side: int, octets: bytes, packet: int, time: int) -> None:
        """Records octets of a side."""
        self.pieces.append((side, octets))

    def gap(self, side: int, octets: int, packet: int, time: int) -> None:
        """Ignores a gap."""

    def eof(self, side: int, packet: int, time: int) -> None:
        """Ignores the end."""

    def reset(self, side: int, packet: int, time: int) -> None:
        """Ignores a reset."""

    def differs(self, side: int, start: int, end: int, packet: int, time: int) -> None:
        """Ignores octets that come again."""

    def said(self) -> Said:
        """Returns the conversation; empty when it is not AMQP."""
        if not self.pieces or not self.pieces[0][1].startswith(b"AMQP"):
            return ()
        client = self.pieces[0][0]
        return tuple(("client" if side == client else "server", octets) for side, octets in self.pieces)


def listen(path: Path) -> list[Recorder]:
    """Returns the TCP connections of a file.  A reused port makes another conversation."""
    recorders: list[Recorder] = []
    talking: dict[frozenset[tuple[bytes, int]], Recorder] = {}
    for packet in read_packets(str(path), lambda text: None):
        at = LINKS[packet.link](packet.data)
        found = tcp_in(packet.data, at, packet.original) if at >= 0 else None
        if found is None or found is FRAGMENT:
            continue
        source_port, target_port, sequence, acknowledged, offset, flags = TCP(packet.data, found.start)
        here, there = (found.source, source_port), (found.target, target_port)
        key = frozenset((here, there))
        if key not in talking or (flags & SYN and talking[key].pieces):
            talking[key] = Recorder()
            recorders.append(talking[key])
        octets = packet.data[found.start + (offset >> 4) * 4 : found.end]
        side = 0 if here <= there else 1
        talking[key].flow.hear(side, sequence, acknowledged, flags, octets, 0, packet.number, packet.time)
    return recorders


@cache
def files() -> tuple[Path, ...]:
    """Returns the capture files, in order of name."""
    found = {path.name: path for folder in (*BESIDE, SHIPPED) for path in sorted(folder.glob("*.pcap*"))}
    return tuple(path for _, path in sorted(found.items()) if path.stat().st_size < SMALL)


@cache
def conversations() -> tuple[Said, ...]:
    """Returns every conversation of every file."""
    return tuple(said for path in files() for recorder in listen(path) if (said := recorder.said()))


def _frames(octets: bytes) -> Iterator[bytes]:
    at = 8 if octets.startswith(b"AMQP") else 0
    while at + 12 <= len(octets):
        size = int.from_bytes(octets[at + 2 : at + 4], "big")
        if size < 12 or at + size > len(octets):
            return
        yield octets[at : at + size]
        at += size


@cache
def frames(speaker: str) -> tuple[bytes, ...]:
    """Returns all distinct frames that `speaker` ("client" or "server") ever sent, up to 400 octets each."""
    seen: dict[bytes, None] = {}
    for said in conversations():
        stream = b"".join(octets for who, octets in said if who == speaker)
        for frame in _frames(stream):
            if len(frame) <= 400:
                seen[frame] = None
    return tuple(seen)
