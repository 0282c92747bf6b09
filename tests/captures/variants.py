"""Forty ways in which the same traffic may have been captured, made of a recording by a seed.

Each says what is to be expected of it: the same rows, the same but for times, or less, which then is told somewhere.
"""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum
from pathlib import Path
from random import Random
from typing import NamedTuple, TypeAlias

from tests.captures import build
from tests.captures.build import Record
from tests.captures.test_layers import CARRIED

from amqp_sansio.captures.layers import LINKS
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.tables import TABLES, Type

Records: TypeAlias = list[Record]
Clock: TypeAlias = Callable[[int, int], int]
"""From the number of a packet and its time to the time that is recorded."""

SECOND = 1_000_000_000

CAPTURE_COLUMNS = frozenset(
    {"capture", "file_id", "file_offset", "packets", "repeated_octets", "capture_date"}
    | {column.name for table in TABLES.values() for column in table.columns if column.type is Type.TIME}
    | {name for table in TABLES.values() for name in table.names if name.endswith("_ns")}
)
"""Columns about the capture, not the conversation: packets, places in files and times."""


class Claim(Enum):
    """What tables and verdicts say of a variant, beside the recording."""

    SAME = "the same rows"
    TIMES = "the same rows but for times, and a note where they go back"
    LESS = "the same rows, or a word on what is missing"


class Variant(NamedTuple):
    """The capture as files, by the ends of their names, in the order of their names."""

    kind: str
    claim: Claim
    made: Callable[[Records, Random], dict[str, bytes]]


def records(path: Path) -> Records:
    """The packets of a recording: as IP packets, without the link layer and what pads its frames."""
    found = []
    for packet in read_packets(str(path), lambda text: None):
        at = LINKS[packet.link](packet.data)
        if at < 0:
            continue
        data = packet.data[at:]
        length = struct.unpack_from(">H", data, 2)[0] if data[0] >> 4 == 4 else 40 + struct.unpack_from(">H", data, 4)[0]
        padding = max(0, packet.original - at - length) if length else 0
        found.append(Record(101, data[:length] if padding else data, packet.original - at - padding, packet.time))
    return found


def in_link(packets: Records, kind: str) -> Records:
    """With the link layer of that name (see `build.LINKS`)."""
    made = []
    for each in packets:
        number, data = build.link(kind, each.data)
        made.append(Record(number, data, max(len(data), each.original + len(data) - len(each.data)), each.time))
    return made


def file(packets: Records, order: str = "<") -> bytes:
    """A pcap with nanoseconds."""
    return build.pcap(in_link(packets, "ethernet"), order, nano=True)


def one(change: Callable[[Records, Random], Records]) -> Callable[[Records, Random], dict[str, bytes]]:
    """One file of changed packets."""
    return lambda packets, chance: {"x.pcap": file(change(packets, chance))}


# Clocks.


def clocked(packets: Records, clock: Clock) -> Records:
    return [replace(each, time=clock(at, each.time)) for at, each in enumerate(packets)]


def step(by: int) -> Callable[[Records, Random], Records]:
    def change(packets: Records, chance: Random) -> Records:
        first = chance.randrange(len(packets))
        return clocked(packets, lambda at, time: time + by * (at >= first))

    return change


def there_and_back(packets: Records, chance: Random) -> Records:
    first, second = sorted(chance.choices(range(len(packets)), k=2))
    return clocked(packets, lambda at, time: time + 7 * SECOND * (first <= at < second))


def jitter(most: int) -> Callable[[Records, Random], Records]:
    return lambda packets, chance: clocked(packets, lambda at, time: time + chance.randrange(-most, most))


def coarse(packets: Records, chance: Random) -> Records:
    return clocked(packets, lambda at, time: time - time % SECOND)


# Both ends, or the same end twice.


def twice(packets: Records, chance: Random) -> Records:
    return [each for packet in packets for each in (packet, packet)]


def again_later(packets: Records, chance: Random) -> Records:
    """Every packet once more some packets later, as a bridge and its port have it."""
    waiting: Records = []
    found: Records = []
    for each in packets:
        found.append(each)
        waiting.append(each)
        while len(waiting) > chance.randrange(1, 4):
            found.append(replace(waiting.pop(0), time=each.time))
    return found + [replace(each, time=packets[-1].time) for each in waiting]


def two_files(by: int) -> Callable[[Records, Random], dict[str, bytes]]:
    def made(packets: Records, chance: Random) -> dict[str, bytes]:
        return {"a.pcap": file(packets), "b.pcap": file(clocked(packets, lambda at, time: time + by))}

    return made


# Tunnels.


def carried(name: str) -> Callable[[Records, Random], dict[str, bytes]]:
    def made(packets: Records, chance: Random) -> dict[str, bytes]:
        found = []
        for each in packets:
            data = CARRIED[name](each.data)
            found.append(Record(1, data, len(data) + each.original - len(each.data), each.time))
        return {"x.pcap": build.pcap(found, nano=True)}

    return made


# Cut.


def snapped(octets: int) -> Callable[[Records, Random], Records]:
    def change(packets: Records, chance: Random) -> Records:
        return [replace(each, data=each.data[: chance.randrange(octets, 3 * octets)]) for each in packets]

    return change


def lost(share: float) -> Callable[[Records, Random], Records]:
    def change(packets: Records, chance: Random) -> Records:
        gone = set(chance.sample(range(len(packets)), max(1, int(len(packets) * share))))
        return [each for at, each in enumerate(packets) if at not in gone]

    return change


def part(packets: Records, chance: Random) -> Records:
    first, last = sorted(chance.sample(range(len(packets) + 1), 2))
    return packets[first:last]


def one_direction(packets: Records, chance: Random) -> Records:
    """A mirror that copies what one side says."""
    first = packets[0].data
    at = 12 if first[0] >> 4 == 4 else 8
    size = 4 if at == 12 else 16
    ports = (first[0] & 15) * 4 if at == 12 else 40
    side = first[at : at + size], first[ports : ports + 2]
    return [each for each in packets if (each.data[at : at + size], each.data[ports : ports + 2]) == side]


def torn(packets: Records, chance: Random) -> dict[str, bytes]:
    octets = file(packets)
    return {"x.pcap": octets[: chance.randrange(40, len(octets))]}


def torn_archive(packets: Records, chance: Random) -> dict[str, bytes]:
    octets = gzip.compress(file(packets), 1, mtime=0)
    return {"x.pcap.gz": octets[: chance.randrange(30, len(octets))]}


# Rotated.


def rotated(count: int) -> Callable[[Records, Random], dict[str, bytes]]:
    def made(packets: Records, chance: Random) -> dict[str, bytes]:
        edges = [0, *sorted(chance.choices(range(len(packets)), k=count - 1)), len(packets)]
        return {f"x{at:03}.pcap": file(packets[edges[at] : edges[at + 1]]) for at in range(count)}

    return made


def dealt(count: int) -> Callable[[Records, Random], dict[str, bytes]]:
    """A file for each queue of the network card."""

    def made(packets: Records, chance: Random) -> dict[str, bytes]:
        queues: list[Records] = [[] for _ in range(count)]
        for each in packets:
            chance.choice(queues).append(each)
        return {f"x{at}.pcap": file(each) for at, each in enumerate(queues)}

    return made


def mixed_formats(packets: Records, chance: Random) -> dict[str, bytes]:
    middle = chance.randrange(len(packets))
    first, second = file(packets[:middle], ">"), file(packets[middle:])
    return {"x1.pcap": first, "x2.pcap.gz": gzip.compress(second, 1, mtime=0)}


# Link types and formats.


def linked(kind: str) -> Callable[[Records, Random], dict[str, bytes]]:
    return lambda packets, chance: {"x.pcap": build.pcap(in_link(packets, kind), nano=True)}


def interfaces(packets: Records, chance: Random) -> dict[str, bytes]:
    """A pcapng of several link types, as `any` of several machines gives it."""
    kinds = ("ethernet", "sll", "raw", "qinq")
    blocks = [build.section(), *[build.interface(build.link(kind, packets[0].data)[0], resolution=9) for kind in kinds]]
    for each in packets:
        which = chance.randrange(len(kinds))
        (packet,) = in_link([each], kinds[which])
        blocks.append(build.enhanced(packet, which=which, ticks=packet.time))
    return {"x.pcapng": b"".join(blocks)}


VARIANTS: dict[str, Variant] = {
    "a step of 5 s back": Variant("clock steps", Claim.TIMES, one(step(-5 * SECOND))),
    "a step of an hour back": Variant("clock steps", Claim.TIMES, one(step(-3600 * SECOND))),
    "a step of 3 s forward": Variant("clock steps", Claim.TIMES, one(step(3 * SECOND))),
    "a step forward and back": Variant("clock steps", Claim.TIMES, one(there_and_back)),
    "jitter of 0.3 ms": Variant("jitter", Claim.TIMES, one(jitter(300_000))),
    "jitter of 50 ms": Variant("jitter", Claim.TIMES, one(jitter(50_000_000))),
    "whole seconds": Variant("jitter", Claim.TIMES, one(coarse)),
    "no clock": Variant("jitter", Claim.TIMES, one(lambda packets, chance: clocked(packets, lambda at, time: 0))),
    "every packet twice": Variant("both ends", Claim.SAME, one(twice)),
    "every packet again later": Variant("both ends", Claim.SAME, one(again_later)),
    "two files": Variant("both ends", Claim.SAME, two_files(0)),
    "two files, 0.2 ms apart": Variant("both ends", Claim.SAME, two_files(200_000)),
    "two files, clocks 5 s apart": Variant("both ends", Claim.SAME, two_files(5 * SECOND)),
    **{f"in {name}": Variant("tunnels", Claim.SAME, carried(name)) for name in (
        "PPPoE", "MPLS", "GRE", "ERSPAN", "VXLAN", "VXLAN over IPv6", "GENEVE", "IP in IP", "VXLAN in GRE in MPLS",
    )},
    "cut behind the headers": Variant("cut", Claim.LESS, one(snapped(60))),
    "cut at some hundred octets": Variant("cut", Claim.LESS, one(snapped(150))),
    "one packet lost": Variant("cut", Claim.LESS, one(lost(0))),
    "a part": Variant("cut", Claim.LESS, one(part)),
    "one in twenty lost": Variant("cut", Claim.LESS, one(lost(0.05))),
    "one direction": Variant("cut", Claim.LESS, one(one_direction)),
    "torn": Variant("cut", Claim.LESS, torn),
    "a torn archive": Variant("cut", Claim.LESS, torn_archive),
    "in two files": Variant("rotated", Claim.SAME, rotated(2)),
    "in nine files": Variant("rotated", Claim.SAME, rotated(9)),
    "in files of two formats": Variant("rotated", Claim.SAME, mixed_formats),
    "dealt to four queues": Variant("rotated", Claim.SAME, dealt(4)),
    "QinQ": Variant("link types", Claim.SAME, linked("qinq")),
    "loopback": Variant("link types", Claim.SAME, linked("null-big")),
    "Linux cooked": Variant("link types", Claim.SAME, linked("sll-vlan")),
    "Linux cooked, version 2": Variant("link types", Claim.SAME, linked("sll2")),
    "raw IP": Variant("link types", Claim.SAME, linked("raw")),
    "pcapng of several interfaces": Variant("link types", Claim.SAME, interfaces),
}  # fmt: skip
"""By name."""


def write(name: str, packets: Sequence[Record], folder: Path, seed: int) -> list[str]:
    """The files of a variant, the same ones for the same seed."""
    made = VARIANTS[name].made(list(packets), Random(f"{name} {seed}"))
    return [build.write(folder / end, octets) for end, octets in sorted(made.items())]
