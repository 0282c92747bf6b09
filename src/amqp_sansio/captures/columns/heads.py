"""Parses the headers of many records at once, and the first octets of each packet."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from amqp_sansio.captures.pcap import RECORD_OCTETS, PcapWalk
from amqp_sansio.captures.pcapng import ENHANCED_PACKET, FIXED, OLD_PACKET, SIMPLE_PACKET, UNDESCRIBED, Interface, PcapngWalk
from amqp_sansio.captures.walk import MAX_PACKET_OCTETS, NO_TIME, Octets, Walk

Ints: TypeAlias = NDArray[np.int64]
Bytes: TypeAlias = NDArray[np.uint8]

HEAD_OCTETS: Final = 96
"""Octets examined of a packet: link layer with eight VLAN tags, and the IP header without its options."""


class RecordHeads(NamedTuple):
    """The headers of records, one entry each: offsets of the record and its packet in the walked octets, octets captured and on
    the wire, time in ns, LINKTYPE or UNDESCRIBED.  `wrong` has the fault of each bad record, by index.  `latest` is the latest
    time in the file up to each record, those of bad ones left out.  Files are merged by it: packets of a file keep its order
    whatever their clock did, and a step back stays within its file."""

    at: Ints
    start: Ints
    captured: Ints
    original: Ints
    time: Ints
    link: Ints
    wrong: dict[int, str]
    latest: Ints


def gathered(octets: Octets, at: Ints, width: int) -> Bytes:
    """Returns `width` octets from each position on, as rows; zeros beyond the end."""
    size = len(octets)
    if len(at) and int(at[-1]) + width > size:  # positions are in order, so only the last ones may exceed it
        rows = np.zeros((len(at), width), np.uint8)
        whole = int(np.searchsorted(at, size - width, "right"))
        rows[:whole] = gathered(octets, at[:whole], width)
        for index in range(whole, len(at)):
            place = int(at[index])
            rest = bytes(octets[place : place + width])
            rows[index, : len(rest)] = np.frombuffer(rest, np.uint8)
        return rows
    if not len(at):
        return np.zeros((0, width), np.uint8)
    every = np.ndarray((size - width + 1,), f"V{width}", octets, 0, (1,))
    return every[at].view(np.uint8).reshape(len(at), width)


def words(rows: Bytes, column: int, kind: str) -> Ints:
    """Returns the unsigned integers of type `kind` ("<u4") that start at a column."""
    width = int(kind[-1])
    return np.ascontiguousarray(rows[:, column : column + width]).view(kind)[:, 0].astype(np.int64)


def sliced(octets: Octets, begins: Ints, ends: Ints) -> pa.Array:
    """Returns the octets between these places, copied once, as a column."""
    # A view of each, copied once by `join`, costs less than slices of octets or Arrow's `take` from a column.
    with memoryview(octets) as whole:
        joined = b"".join([whole[at:end] for at, end in zip(begins.tolist(), ends.tolist(), strict=True)])
    offsets = np.zeros(len(begins) + 1, np.int32)
    np.cumsum(ends - begins, out=offsets[1:])
    return pa.BinaryArray.from_buffers(pa.binary(), len(begins), [None, pa.py_buffer(offsets), pa.py_buffer(joined)])


def edges_of(keys: Ints) -> Ints:
    """Returns where each distinct value begins in sorted keys, followed by their number."""
    return np.concatenate(([0], np.flatnonzero(keys[1:] != keys[:-1]) + 1, [len(keys)])) if len(keys) else np.zeros(1, np.int64)


def records(octets: Octets, walk: Walk, positions: list[int], latest: int = NO_TIME) -> RecordHeads:
    """Parses the headers of the records at these positions; `latest` is the latest time in the file before them."""
    at = np.array(positions, np.int64)
    if isinstance(walk, PcapWalk):
        return _pcap(octets, walk, at, latest)
    assert isinstance(walk, PcapngWalk)
    return _pcapng(octets, walk, at, latest)


def _so_far(times: Ints, latest: int) -> Ints:
    found: Ints = np.maximum.accumulate(np.maximum(times, latest))
    return found


def _pcap(octets: Octets, walk: PcapWalk, at: Ints, latest: int) -> RecordHeads:
    fields = gathered(octets, at, RECORD_OCTETS).view(walk.order + "u4").astype(np.int64)
    time = fields[:, 0] * 1_000_000_000 + fields[:, 1] * walk.unit
    captured = fields[:, 2]
    original = np.maximum(fields[:, 3], captured)
    link = np.full(len(at), walk.link, np.int64)
    return RecordHeads(at, at + RECORD_OCTETS, captured, original, time, link, {}, _so_far(time, latest))


def _pcapng(octets: Octets, walk: PcapngWalk, at: Ints, latest: int) -> RecordHeads:
    rows = gathered(octets, at, 28)
    u2, u4 = walk.order + "u2", walk.order + "u4"
    kind, total = words(rows, 0, u4), words(rows, 4, u4)
    count = len(walk.interfaces)
    which = np.where(kind == ENHANCED_PACKET, words(rows, 8, u4), np.where(kind == OLD_PACKET, words(rows, 8, u2), 0))
    known = which < count
    named, listed = np.unique(which[known], return_inverse=True)
    high, low = words(rows, 12, u4), words(rows, 16, u4)
    captured, original = words(rows, 20, u4), words(rows, 24, u4)
    fixed = np.full(len(at), FIXED[ENHANCED_PACKET], np.int64)
    simple = kind == SIMPLE_PACKET
    if simple.any():
        fixed[simple] = FIXED[SIMPLE_PACKET]
        original = np.where(simple, words(rows, 8, u4), original)
        longest = np.array([walk.interfaces[0].snaplen or 0xFFFFFFFF if count else 0xFFFFFFFF], np.int64)
        captured = np.where(simple, np.minimum(original, longest), captured)
    room = total - 12 - fixed
    short = room < 0
    beyond = (captured > room) | (captured > MAX_PACKET_OCTETS)
    wrong: dict[int, str] = {}
    for index in np.nonzero(short | (known & beyond))[0].tolist():
        if short[index]:
            wrong[index] = f"a packet block of type {kind[index]} is too short for its fixed fields"
        else:
            wrong[index] = f"a packet claims {captured[index]} octets, its block holds {room[index]}"
        captured[index] = original[index] = 0  # a damaged packet is not one that was cut
    interfaces = [walk.interfaces[number] for number in named.tolist()]
    link = np.full(len(at), UNDESCRIBED, np.int64)
    link[known] = np.array([each.link for each in interfaces], np.int64)[listed]
    link[short] = 0
    time = np.zeros(len(at), np.int64)
    time[known] = _times(interfaces, listed, high[known], low[known])
    time[simple] = 0
    good = time.copy()
    good[list(wrong)] = NO_TIME
    return RecordHeads(at, at + 8 + fixed, captured, np.maximum(original, captured), time, link, wrong, _so_far(good, latest))


def _times(interfaces: Sequence[Interface], which: Ints, high: Ints, low: Ints) -> Ints:
    """Converts ticks of each packet's interface, by its index, to ns since 1970, as `Interface.nanoseconds` does."""
    time = np.zeros(len(which), np.int64)
    for number, interface in enumerate(interfaces):
        mine = which == number
        ticks = (high[mine] << 32) | low[mine]
        per_second = interface.per_second
        # 1_000_000_000 ns are a whole number of ticks, and few enough that no product overflows.
        if (
            1_000_000_000 % per_second == 0
            and not (high[mine] >> 29).any()
            and int(ticks.max()) < 2**62 // (10**9 // per_second)
        ):
            found = ticks * (1_000_000_000 // per_second) + _bounded(interface.start)
        else:
            exact = [interface.nanoseconds((h << 32) | n) for h, n in zip(high[mine].tolist(), low[mine].tolist(), strict=True)]
            found = np.array([_bounded(each) for each in exact], np.int64)
        time[mine] = found
    return time


def _bounded(time: int) -> int:
    """Clamps a time to what a column can hold; damaged files have arbitrary ones."""
    return max(-(2**62), min(time, 2**62))
