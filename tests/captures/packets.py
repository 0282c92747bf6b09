"""Packets of capture files as batches, made one by one with the reader that `check` uses: independent of the quick one."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from operator import itemgetter

import pyarrow as pa

from amqp_sansio.captures.columns.replay import ConnectionReplay, TableRecords
from amqp_sansio.captures.columns.tables import PACKETS_ARROW
from amqp_sansio.captures.flows import address
from amqp_sansio.captures.layers import FRAGMENT, LINKS, tcp_in
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.walk import NO_TIME

Row = dict[str, object]


def packet_rows(path: str, file_id: int = 0) -> list[Row]:
    """The TCP segments of a file, in its order."""
    found = []
    latest = NO_TIME
    for packet in read_packets(path, lambda text: None):
        latest = max(latest, packet.time)
        at = LINKS[packet.link](packet.data)
        tcp = tcp_in(packet.data, at, packet.original) if at >= 0 else None
        if tcp is None or tcp is FRAGMENT:
            continue
        sport, dport, seq, ack, offset, flags = struct.unpack_from(">HHIIBB", packet.data, tcp.start)
        start = tcp.start + (offset >> 4) * 4
        end = min(tcp.end, len(packet.data))
        ends = sorted([(tcp.source, sport), (tcp.target, dport)])
        key = int.from_bytes(blake2b(repr(ends).encode(), digest_size=8).digest(), "big", signed=True)
        found.append(
            {
                "capture": path, "file_id": file_id, "offset": packet.offset, "ts_ns": packet.time,
                "latest_ns": latest, "connection": key,
                "src": address(tcp.source, 0)[:-2].strip("[]"), "dst": address(tcp.target, 0)[:-2].strip("[]"),
                "sport": sport, "dport": dport, "seq": seq, "ack": ack, "flags": flags, "payload": packet.data[start:end],
                "cut": tcp.end - max(end, start), "note": None,
            }
        )  # fmt: skip
    return found


def by_connection(rows: Iterable[Row]) -> dict[object, list[Row]]:
    """Rows of each key as they are heard: those of a file in its order, files merged by the latest time seen in each."""
    found: dict[object, list[Row]] = {}
    for row in sorted(rows, key=itemgetter("latest_ns", "file_id")):
        found.setdefault(row["connection"], []).append(row)
    return found


def batch(rows: Sequence[Row]) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(list(rows), schema=PACKETS_ARROW)


def gathered(records: Iterable[TableRecords]) -> dict[str, list[Row]]:
    """The rows of each table."""
    found: dict[str, list[Row]] = {}
    for name, made in records:
        found.setdefault(name, []).extend(made.to_pylist())
    return found


def replayed(rows: Sequence[Row], options: ReplayOptions | None = None, step: int = 1 << 30) -> list[TableRecords]:
    """All tables of the packets of one key, fed in batches of `step`."""
    replay = ConnectionReplay(options or ReplayOptions())
    records: list[TableRecords] = []
    for start in range(0, len(rows), step):
        records += replay.feed(batch(rows[start : start + step]))
    return records + replay.finish()


def tables_of(path: str, options: ReplayOptions | None = None) -> dict[str, list[Row]]:
    """All tables of a file."""
    return gathered([each for rows in by_connection(packet_rows(path)).values() for each in replayed(rows, options)])
