"""tshark as a witness of 0-9 and 0-9-1: how many methods, headers, bodies and heartbeats each side of each recording sent.

It reads no 0-8.  What tshark 4.0 gets wrong, and where it reads on behind a frame that ends a connection, is in GAPS; all else
agrees to the last one.
"""

from __future__ import annotations

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.conformance.channels import CAPTURES, files
from tests.conformance.test_older_words_on_captures import frames

from amqp_sansio.wire.method_frames import METHOD

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="no tshark here: apt-get install tshark")

PORT = 5672
UNKNOWN = (99, 1)
"""A class that there is not, said on purpose: tshark shows its number and no method."""
KINDS = {2: "header", 3: "body", 4: "4", 7: "7", 8: "heartbeat"}

Sent = Counter[str]

BEHIND_THE_END = "tshark shows frames with a wrong end octet, and what stands behind them; we read nothing there"
SAME_SEGMENT = "tshark drops frames that share a TCP segment with the protocol header"
GAPS: dict[str, tuple[str, dict[str, int]]] = {
    "raw-conn_err": (BEHIND_THE_END + "; it does not show a method frame of 0 octets", {"10.51": 2, "50.10": 1, "empty": -1}),
    "raw-handshake_err": (BEHIND_THE_END, {"10.11": 1}),
    "0-9-1/raw-pipeline": (SAME_SEGMENT, {"10.11": -1, "10.31": -1, "10.40": -1, "20.10": -1, "50.10": -1}),
}
"""By recording: why, and how many more of each of the client's frames tshark counts than we."""


def by_us(path: Path) -> dict[str, Sent]:
    sent = {"C": Counter[str](), "S": Counter[str]()}
    for speaker, kind, payload in frames(path):
        codes = int.from_bytes(payload[:2], "big"), int.from_bytes(payload[2:4], "big")
        if kind != METHOD:
            sent[speaker][KINDS[kind]] += 1
        elif codes != UNKNOWN:
            sent[speaker][f"{codes[0]}.{codes[1]}" if len(payload) >= 4 else "empty"] += 1
    return sent


def by_tshark(path: Path) -> dict[str, Sent]:
    assert TSHARK is not None
    fields = ("tcp.srcport", "amqp.type", "amqp.method.class", "amqp.method.method")
    command = [TSHARK, "-r", str(path), "-T", "fields", "-E", "occurrence=a", "-d", f"tcp.port=={PORT},amqp"]
    command += [word for name in fields for word in ("-e", name)]
    sent = {"C": Counter[str](), "S": Counter[str]()}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        source, *cells = line.split("\t")
        kinds, classes, methods = [cell.split(",") if cell else [] for cell in cells]
        counts = sent["S" if source == str(PORT) else "C"]
        counts.update([KINDS[int(kind)] for kind in kinds if int(kind) != METHOD])
        known = [each for each in classes if int(each) != UNKNOWN[0]]
        counts.update([f"{of}.{method}" for of, method in zip(known, methods, strict=True)])
    return sent


@pytest.mark.parametrize("file", [file for file in files() if not file.startswith("0-8/")])
def test_tshark_counts_as_many_frames_of_each_kind(file: str) -> None:
    path = CAPTURES / f"{file}.pcap"
    ours, theirs = by_us(path), by_tshark(path)
    _, more = GAPS.get(file, GAPS.get(path.stem, ("", {})))
    for kind, count in more.items():
        ours["C"][kind] += count
    assert {who: +counts for who, counts in theirs.items()} == {who: +counts for who, counts in ours.items()}
