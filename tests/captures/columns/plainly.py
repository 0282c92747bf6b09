"""The table of packets made by the plain reader, one packet at a time: what the vectorised one is compared with."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.layers import FRAGMENT, LINKS, host, tcp_in
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.walk import NO_TIME, Packet

Row = dict[str, Any]
SIX = 0x9E3779B97F4A7C15
MASK = (1 << 64) - 1


def row_of(packet: Packet, path: str, file_id: int) -> Row | None:
    """What `flows.Listener` hears of a packet; None when it hears nothing."""
    find = LINKS.get(packet.link)
    at = find(packet.data) if find is not None else -1
    found = tcp_in(packet.data, at, packet.original) if at >= 0 else None
    if found is None or found is FRAGMENT or found.start + 14 > len(packet.data):
        return None
    source, target, sequence, acknowledged, offset, flags = struct.unpack_from(">HHIIBB", packet.data, found.start)
    start = found.start + (offset >> 4) * 4
    if start < found.start + 20 or start > found.end:
        return None
    end = min(found.end, len(packet.data))
    return {
        "capture": path,
        "file_id": file_id,
        "offset": packet.offset,
        "ts_ns": packet.time,
        "connection": connection_of(found.source, source, found.target, target),
        "src": host(found.source),
        "dst": host(found.target),
        "sport": source,
        "dport": target,
        "seq": sequence,
        "ack": acknowledged,
        "flags": flags,
        "payload": packet.data[start:end],
        "cut": found.end - max(end, start),
        "note": None,
    }


def plain_rows(path: str, file_id: int = 0) -> tuple[list[Row], CaptureError | None]:
    """Every row, and the error that ended the reading."""
    rows: list[Row] = []
    latest = NO_TIME
    try:
        for packet in read_packets(path, lambda text: None):
            latest = max(latest, packet.time)
            row = row_of(packet, path, file_id)
            if row is not None:
                rows.append(row | {"latest_ns": latest})
    except CaptureError as error:
        return rows, error
    return rows, None


def rows_of(batches: Iterable[pa.RecordBatch]) -> tuple[list[Row], list[Row]]:
    """The rows in batches: packets, and notes."""
    every = [row for batch in batches for row in batch.to_pylist()]
    return [row for row in every if row.get("note") is None], [row for row in every if row.get("note") is not None]


def connection_of(source: bytes, source_port: int, target: bytes, target_port: int) -> int:
    """The number of the connection of a packet, addresses as octets, in plain arithmetic."""
    here, there = _plain_end(source, source_port), _plain_end(target, target_port)
    found = _plain(_plain(here + there & MASK) ^ here ^ there)
    return (found - (1 << 64) if found >> 63 else found) or 1


def _plain(word: int) -> int:
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & MASK
    word = (word ^ word >> 27) * 0x94D049BB133111EB & MASK
    return word ^ word >> 31


def _plain_end(address: bytes, port: int) -> int:
    if len(address) == 4:
        return _plain(int.from_bytes(address) << 16 | port)
    high, low = int.from_bytes(address[:8]), int.from_bytes(address[8:])
    return _plain(_plain(high + SIX & MASK) + _plain(low) * 3 + port & MASK)
