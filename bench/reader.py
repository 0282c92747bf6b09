"""Captures alone: the index and the vectorised reader against the plain one, in one run.

`python -m bench.reader [--megabytes 150] [--rounds 3]` writes a capture into a temporary folder and prints megabytes per CPU
second, also as a ratio to the plain reader.
"""

from __future__ import annotations

import argparse
import gzip
import random
import struct
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.layers import FRAGMENT, LINKS, tcp_in
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.splits import splits
from amqp_sansio.captures.tables import PACKETS, picked

_TCP: Final = struct.Struct(">HHIIBB").unpack_from
_LEAST, _MOST = 0, 1460


def write_capture(path: Path, octets: int, ng: bool = False, connections: int = 64, seed: int = 1) -> int:
    """Writes about this number of octets of Ethernet, IPv4, TCP packets of 54 to 1514 octets; returns the number of packets."""
    chance = random.Random(seed)
    noise = chance.randbytes(_MOST)
    sequence = [chance.getrandbits(32) for _ in range(2 * connections)]
    written = count = 0
    with path.open("wb") as out:
        if ng:
            out.write(struct.pack("<IIIHHqI", 0x0A0D0D0A, 28, 0x1A2B3C4D, 1, 0, -1, 28))
            out.write(struct.pack("<IIHHII", 1, 20, 1, 0, 262144, 20))
        else:
            out.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 262144, 1))
        while written < octets:
            side = chance.randrange(2 * connections)
            number, back = divmod(side, 2)
            length = chance.choice((0, 60, 300, 1200, _MOST, _MOST))
            ends = [(0x0A000001 + number, 40000 + number), (0x0A00FF01, 5672)]
            (source, source_port), (target, target_port) = ends[::-1] if back else ends
            ip = struct.pack(">BBHHHBBHII", 0x45, 0, 40 + length, 1, 0, 64, 6, 0, source, target)
            tcp = struct.pack(
                ">HHIIBBHHH", source_port, target_port, sequence[side], sequence[side ^ 1], 0x50, 0x18, 65535, 0, 0
            )
            sequence[side] = (sequence[side] + length) & 0xFFFFFFFF
            data = b"\2" * 12 + b"\x08\0" + ip + tcp + noise[:length]
            micro = 1_700_000_000_000_000 + count * 100
            if ng:
                total = 32 + (len(data) + 3) // 4 * 4
                head = struct.pack("<IIIIIII", 6, total, 0, micro >> 32, micro & 0xFFFFFFFF, len(data), len(data))
                record = head + data + b"\0" * (total - 32 - len(data)) + struct.pack("<I", total)
            else:
                record = struct.pack("<IIII", micro // 1_000_000, micro % 1_000_000, len(data), len(data)) + data
            out.write(record)
            written += len(record)
            count += 1
    return count


def plain(path: str) -> int:
    """Does what the plain reader does up to the TCP segment: the baseline."""
    count = 0
    for packet in read_packets(path, lambda text: None):
        at = LINKS[packet.link](packet.data)
        found = tcp_in(packet.data, at, packet.original) if at >= 0 else None
        if found is not None and found is not FRAGMENT:
            offset = _TCP(packet.data, found.start)[4]
            count += len(packet.data[found.start + (offset >> 4) * 4 : found.end]) >= 0
    return count


def rows(path: str, columns: str | None = None) -> int:
    """Runs the vectorised reader over one whole file."""
    return sum(batch.num_rows for batch in read_file(path, 0, picked(columns), 1 << 40))


def measured(work: Callable[[], int], rounds: int) -> tuple[float, int]:
    """Returns the least CPU seconds of some rounds, and the result of the work."""
    best, answer = float("inf"), 0
    for _ in range(rounds):
        start = time.process_time()
        answer = work()
        best = min(best, time.process_time() - start)
    return best, answer


def main(arguments: list[str]) -> int:
    """Prints the table; returns 1 when the readers do not find the same number of packets."""
    parser = argparse.ArgumentParser(prog="bench.reader", description=__doc__)
    parser.add_argument("--megabytes", type=int, default=150)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        path, ng, packed = Path(folder) / "x.pcap", Path(folder) / "x.pcapng", Path(folder) / "x.pcap.gz"
        count = write_capture(path, chosen.megabytes * 1_000_000)
        write_capture(ng, chosen.megabytes * 1_000_000, ng=True)
        packed.write_bytes(gzip.compress(path.read_bytes(), 1))
        size = path.stat().st_size / 1e6
        print(f"{size:.0f} MB, {count} packets, the best of {chosen.rounds}; MB are those of the file, decompressed")
        yardstick, found = measured(lambda: plain(str(path)), chosen.rounds)
        wrong = found != count
        light = ",".join(column.name for column in PACKETS if column.name != "payload")
        steps: tuple[tuple[str, Callable[[], int]], ...] = (
            ("pcap: plain reader to TCP", lambda: plain(str(path))),
            ("pcap: exact index", lambda: len(splits(str(path), 0, 1 << 24)) and count),
            ("pcap: resynchronised splits", lambda: len(splits(str(path), 0, 1 << 24, True)) and count),
            ("pcap: batches, all columns", lambda: rows(str(path))),
            ("pcap: batches without payload", lambda: rows(str(path), light)),
            ("pcap: connection and time alone", lambda: rows(str(path), "connection,ts_ns")),
            ("pcapng: exact index", lambda: len(splits(str(ng), 0, 1 << 24)) and count),
            ("pcapng: batches, all columns", lambda: rows(str(ng))),
            ("gzip of pcap: batches, all columns", lambda: rows(str(packed))),
        )
        for name, work in steps:
            seconds, found = measured(work, chosen.rounds)
            wrong = wrong or (found != count and "ng" not in name)
            speed = f"{size / seconds:9.0f} MB/s {count / seconds / 1e6:7.2f} M packets/s"
            print(f"{name:36} {speed} {yardstick / seconds:8.1f} x plain")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
