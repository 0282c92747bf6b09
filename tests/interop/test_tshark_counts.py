"""tshark as a witness: how often each side said each control and command, counted by it and by our tables.

What tshark 4.0 is known to get wrong is listed in KNOWN; everything else agrees to the last one.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from tests.captures.packets import Row, tables_of

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.session_checker import verb_of

TSHARK = shutil.which("tshark")
pytestmark = pytest.mark.skipif(TSHARK is None, reason="no tshark here: apt-get install tshark")

DATA = Path(__file__).resolve().parents[1] / "data" / "captures"
RECORDINGS = sorted([*DATA.glob("*.pcap"), *DATA.glob("jms/*.pcap"), *DATA.glob("more/*.pcap.gz")])
PORTS = (5672, 15671, 15672, 15673, 15674)
CLASSES = ("connection", "session", "execution", "message", "tx", "dtx", "exchange", "queue", "file", "stream")
CONTROLS = 2

KNOWN = {
    "tx": "every method of class tx is shown as select (its field takes the first one): only their sum is compared",
    "exception": "the command that execution.exception is about is shown under the same field as one that is said",
    "unknown class": "controls and commands of classes that there are not are not shown",
    "refused frame": "a frame with a reserved octet or the wrong track is shown; to us it is not one that says anything",
}
"""The gaps of tshark, as they show in these counts."""
WRONG_FRAMES = {("badframes.pcap", "C", "connection.heartbeat"): 1}

Said = dict[str, Counter[str]]


def by_tables(found: dict[str, list[Row]]) -> Said:
    said: Said = {"C": Counter(), "S": Counter()}
    for row in found["connections"]:
        said["C"].update(dict(row["verbs_by_client"]))  # type: ignore[call-overload]
        said["S"].update(dict(row["verbs_by_server"]))  # type: ignore[call-overload]
    return said


def named_in_exceptions(found: dict[str, list[Row]]) -> Said:
    """The commands that exceptions are about."""
    named: Said = {"C": Counter(), "S": Counter()}
    for row in found.get("commands", []):
        if row["verb"] == "execution.exception":
            fields = json.loads(str(row["arguments"]))
            if fields.get("class_code"):
                codes = bytes([fields["class_code"], fields.get("command_code") or 0])
                named[str(row["direction"])][verb_of(AMQP_0_10.codec, "command", codes)] += 1
    return named


def by_tshark(path: Path, ports: set[str]) -> Said:
    assert TSHARK is not None
    command = [TSHARK, "-r", str(path), "-T", "fields", "-E", "occurrence=a", "-e", "tcp.srcport"]
    command += [word for name in CLASSES for word in ("-e", f"amqp.{name}.method")]
    command += [word for port in sorted(ports) for word in ("-d", f"tcp.port=={port},amqp")]
    said: Said = {"C": Counter(), "S": Counter()}
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        source, *cells = line.split("\t")
        for code, cell in enumerate(cells, 1):
            for method in cell.split(",") if cell else ():
                verb = verb_of(AMQP_0_10.codec, "control" if code <= CONTROLS else "command", bytes([code, int(method)]))
                said["S" if source in ports else "C"][verb] += 1
    return said


def comparable(said: Counter[str]) -> Counter[str]:
    """With the sum of class tx, and without what has no name."""
    counts: Counter[str] = Counter()
    for verb, count in said.items():
        if not verb[0].isdigit():
            counts["tx.*" if verb.startswith("tx.") else verb] += count
    return counts


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_tshark_counts_as_many_of_each(path: Path) -> None:
    found = tables_of(str(path), ReplayOptions(ports=PORTS))
    ports = {str(row["server"]).rpartition(":")[2] for row in found["connections"]}
    ours, theirs, named = by_tables(found), by_tshark(path, ports), named_in_exceptions(found)
    for speaker in ("C", "S"):
        more = Counter(
            {verb: count for (name, who, verb), count in WRONG_FRAMES.items() if (name, who) == (path.name, speaker)}
        )
        expected = comparable(ours[speaker]) + comparable(named[speaker]) + more
        assert comparable(theirs[speaker]) == expected, (speaker, KNOWN)
