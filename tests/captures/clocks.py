"""Captures of clocks that are wrong: the same packets with other times; and in files that overlap."""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import TypeAlias

Clock: TypeAlias = Callable[[int, int], int]
"""From the number of a packet and its time to the time that is recorded."""

CLOCKS: dict[str, Clock] = {
    "a step of 5 s back": lambda number, time: time - 5_000_000_000 * (number > 400),
    "a step forward and back": lambda number, time: time + 7_000_000_000 * (100 < number < 300),
    "jitter of 0.3 ms": lambda number, time: time + Random(number).randrange(-300_000, 300_000),
    "no clock": lambda number, time: 0,
}


def clocked(path: Path, out: Path, clock: Clock) -> str:
    """The same packets with other times."""
    octets = bytearray(path.read_bytes())
    at, number = 24, 0
    while at < len(octets):
        seconds, fraction, size = struct.unpack_from("<III", octets, at)
        unit = 1 if octets[:4] == b"\x4d\x3c\xb2\xa1" else 1000
        struct.pack_into("<II", octets, at, *divmod(clock(number, seconds * 10**9 + fraction * unit), 10**9))
        number += 1
        at += 16 + size
    octets[:4] = b"\x4d\x3c\xb2\xa1"
    out.write_bytes(octets)
    return str(out)


def dealt(path: Path, folder: Path, count: int) -> list[str]:
    """The records of a capture dealt out to files, one after the other."""
    octets = path.read_bytes()
    head, at = octets[:24], 24
    found = [bytearray(head) for _ in range(count)]
    number = 0
    while at < len(octets):
        size = 16 + struct.unpack_from("<I", octets, at + 8)[0]
        found[number % count] += octets[at : at + size]
        at += size
        number += 1
    names = []
    for index, each in enumerate(found):
        names.append(str(folder / f"{index}.pcap"))
        Path(names[-1]).write_bytes(each)
    return names
