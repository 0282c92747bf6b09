"""Recordings with times finer than a microsecond: those in tests/data are of microseconds."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

DATA = Path(__file__).parents[1] / "data"
RECORDINGS = DATA / "captures"
TABLES_1 = DATA / "tables-1"
"""Tables as schema version 1 had them, of `NAMES`; its README says how they were made."""
NAMES = ("badheader.pcap", "credit.pcap", "jms/err.pcap", "jms/topic.pcap", "jms/tx.pcap", "jms/xa.pcap")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GLOBAL = 24
_RECORD = 16


def finer(octets: bytes) -> bytes:
    """A pcap file of microseconds as one of nanoseconds: each packet gets some, later ones of one microsecond more of them."""
    assert octets[:4] == b"\xd4\xc3\xb2\xa1"
    made, at, before, spare = [b"\x4d\x3c\xb2\xa1", octets[4:_GLOBAL]], _GLOBAL, 0, 0
    while at < len(octets):
        seconds, micros, captured, whole = struct.unpack_from("<IIII", octets, at)
        now = seconds * 1_000_000 + micros
        spare = (spare + 1) % 1000 if now <= before else (7 * at) % 600
        before = now
        made.append(struct.pack("<IIII", seconds, 1000 * micros + spare, captured, whole))
        made.append(octets[at + _RECORD : at + _RECORD + captured])
        at += _RECORD + captured
    return b"".join(made)


def moment(ns: object) -> datetime:
    """Nanoseconds since 1970 as tables have them."""
    return EPOCH + timedelta(microseconds=int(str(ns)) // 1000)


def timed(row: Mapping[str, object]) -> dict[str, object]:
    """A row of messages with the times that its nanoseconds are."""
    return {**row, "ts": moment(row["ts_ns"]), "last_octet_at": moment(row["last_octet_ns"])}


def finer_captures(folder: Path) -> list[str]:
    """The recordings `NAMES` in nanoseconds, written below `folder`, and one that is cut off: their paths."""
    paths = []
    for name in NAMES:
        path = folder / name.replace("/", "-")
        octets = (RECORDINGS / name).read_bytes()
        path.write_bytes(finer(gzip.decompress(octets) if name.endswith(".gz") else octets))
        paths.append(str(path))
    cut = folder / "cut.pcap"
    cut.write_bytes(finer((RECORDINGS / "hello.pcap").read_bytes())[:-9])
    return [*paths, str(cut)]
