"""What all ways through the pipeline are held against: the plain replay, one packet after the other; and captures for it."""

from __future__ import annotations

import json
import shutil
import struct
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path

import pyarrow.dataset as ds
from tests.captures.packets import Row, by_connection, gathered, packet_rows, replayed
from tests.captures.rowwise import end_to_end

from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import END_TO_END, TABLES
from amqp_sansio.captures.walk import Packet
from amqp_sansio.spark.envelope import arrow_schema
from bench.traffic import make

DATA = Path(__file__).resolve().parents[1] / "data" / "captures"
PORTS = (15672, 15673, 15674)
"""The ports of the recorded brokers."""
OPTIONS = ReplayOptions(ports=PORTS, tables=tuple(TABLES), body_head=8)

Rows = dict[str, Counter[str]]


def recordings() -> list[Path]:
    """Recordings of real clients and brokers that lie in the checkout."""
    return sorted(DATA.glob("*.pcap"))


def _plain(row: Row) -> str:
    def value(each: object) -> object:
        if isinstance(each, bytes):
            return each.hex()
        if isinstance(each, dict):  # a range, which Arrow gives as a struct
            return list(each.values())
        if isinstance(each, list | tuple):
            return [value(one) for one in each]
        if isinstance(each, datetime):  # Spark gives moments without their zone, which is that of this machine
            return each.astimezone(UTC).isoformat()
        return each

    return json.dumps({name: value(each) for name, each in sorted(row.items())}, default=str)


def counted(rows: Iterable[Row]) -> Counter[str]:
    """Rows as a bag, whatever their order."""
    return Counter(map(_plain, rows))


def truth(paths: Sequence[Path], options: ReplayOptions = OPTIONS) -> Rows:
    """All tables of these files, numbered in their order, by the plain replay."""
    return _truth(tuple((path, path.stat().st_mtime_ns, path.stat().st_size) for path in paths), options)


@lru_cache(32)
def _truth(known: tuple[tuple[Path, int, int], ...], options: ReplayOptions) -> Rows:
    """The same files, as they are, are asked for by many tests."""
    paths = [path for path, _, _ in known]
    packets = [row for number, path in enumerate(paths) for row in packet_rows(str(path), number)]
    found = gathered([record for rows in by_connection(packets).values() for record in replayed(rows, options)])
    rows = {table: counted(found.get(table, [])) for table in options.tables}
    if "messages" in options.tables:
        rows[END_TO_END.name] = counted(end_to_end(found.get("messages", [])))
    return rows


def published(out: Path, options: ReplayOptions = OPTIONS) -> Rows:
    """All tables in a folder, as another program reads them: every Parquet file below the table's folder."""
    found = {}
    for table in options.tables:
        schema = arrow_schema(table)
        hive = ds.partitioning(flavor="hive", schema=schema.empty_table().select(["capture_date", "broker"]).schema)
        files = ds.dataset(out / table, schema=schema, format="parquet", partitioning=hive)
        found[table] = counted(files.to_table().to_pylist())
    if "messages" in options.tables:
        found[END_TO_END.name] = counted(ds.dataset(out / END_TO_END.name, format="parquet").to_table().to_pylist())
    return found


def differing(one: Rows, other: Rows) -> dict[str, int]:
    """How many rows of each table are in one of the two only; nothing when they are equal."""
    count = {table: sum(((one[table] - other[table]) + (other[table] - one[table])).values()) for table in {*one, *other}}
    return {table: number for table, number in count.items() if number}


def generated(path: Path, octets: int = 400_000, connections: int = 12, seed: int = 1) -> Path:
    """A capture of many connections, some of them open at its end, faults among them."""
    make(path, octets, connections=connections, faults=0.05, repeats=0.01, seed=seed)
    return path


def rotated(path: Path, folder: Path, count: int) -> list[Path]:
    """The packets of a capture in so many files, as a capture program that rotates its file leaves them."""
    packets = list(read_packets(str(path), lambda text: None))
    folder.mkdir(parents=True, exist_ok=True)
    size = -(-len(packets) // count)
    return [write(folder / f"cut-{n:03}.pcap", packets[n * size : (n + 1) * size]) for n in range(count)]


def write(path: Path, packets: Sequence[Packet]) -> Path:
    """A pcap file with nanoseconds; it comes into its folder whole."""
    octets = bytearray(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262144, packets[0].link if packets else 1))
    for packet in packets:
        assert packet.link == packets[0].link
        seconds, fraction = divmod(packet.time, 1_000_000_000)
        octets += struct.pack("<IIII", seconds, fraction, len(packet.data), packet.original) + packet.data
    new = path.with_suffix(".new")
    new.write_bytes(octets)
    shutil.move(new, path)
    return path
