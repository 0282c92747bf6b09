"""Every capture of the project's shared material, where it is at hand: counts by an independent walker, and known faults."""

from __future__ import annotations

import csv
import json
import random
import struct
from collections import Counter
from pathlib import Path

import pytest

from amqp_sansio.captures.conversation import VIOLATION, Finding, observers
from amqp_sansio.captures.rows import transcript
from amqp_sansio.captures.verdicts import verdicts
from amqp_sansio.cli.main import main


def entries(shared: Path) -> list[dict[str, str]]:
    with (shared / "captures" / "MANIFEST.tsv").open() as stream:
        return [row for row in csv.DictReader(stream, delimiter="\t") if row["dialect"] == "0-10"]


def findings(path: Path, port: int) -> list[Finding]:
    found = verdicts(str(path), observers(), (port,), print)
    return [each for verdict in found for each in verdict.findings]


def test_counts_per_speaker_and_verb(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = json.loads((shared / "captures" / "expected.json").read_text())
    for entry in entries(shared):
        name = entry["file"]
        assert main(["decode", "--json", str(shared / "captures" / name)]) == 0
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        for speaker in "CS":
            said = Counter(row["verb"] for row in rows if row["speaker"] == speaker and row["kind"] in ("control", "command"))
            assert said == expected[name]["operations"][speaker], name
        packets = [row["packet"] for row in rows]
        assert packets == sorted(packets)
        assert packets[-1] <= int(entry["packets"])


def test_a_connection_without_violations_is_clean(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for entry in entries(shared):
        if entry["faults"] == "none":
            arguments = ["check", "--json", "--port", entry["port"], str(shared / "captures" / entry["file"])]
            assert main(arguments) == 0
            verdicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
            assert len(verdicts) == int(entry["connections"])
            assert all(verdict["verdict"] == "clean" for verdict in verdicts)


SHOWN = {
    "headers": {"note S assembly.unended"},
    "sessions": {"note S session.detached"},
    "heartbeat_dead": {"note C connection.silence"},
    "errors": {"note S execution.exception"},
    "badframes": {
        "violation C frame.size", "violation C frame.version", "violation C frame.reserved", "violation C frame.segment-type",
        "violation C assembly.first-frame", "violation C assembly.first-segment", "violation C control.undecodable",
        "violation C command.undecodable",
    },
    "badheader": {"violation C connection.start.protocol-name", "note C connection.protocol-header"},
    "badopen": {"violation C connection.tune-ok.channel-max.upper-limit"},
    "split_header": {"note S tcp.reset"},
    "sasl_python": {"note S connection.close"},
}  # fmt: skip


def test_every_known_fault_shows(shared: Path) -> None:
    for entry in entries(shared):
        if entry["faults"] != "none":
            path = shared / "captures" / entry["file"]
            found = {f"{each.level} {each.speaker} {each.rule}" for each in findings(path, int(entry["port"]))}
            assert found >= SHOWN[path.stem], path.stem


def payload(record: bytes) -> int:
    """Octets of TCP payload in a record of these captures: Ethernet, IPv4 without options."""
    return int.from_bytes(record[32:34], "big") - 20 - (record[62] >> 4) * 4


def damaged(octets: bytes, dice: random.Random) -> list[tuple[str, bytes]]:
    """The capture without one packet that holds data, from a packet on, with packets cut, and with neighbours swapped."""
    records, at = [], 24
    while at < len(octets):
        size = 16 + struct.unpack_from("<I", octets, at + 8)[0]
        records.append(octets[at : at + size])
        at += size
    holding = [index for index, each in enumerate(records[:-6]) if payload(each) > 1]
    lost = dice.choice(holding)
    start = dice.randrange(3, len(records) - 6)
    short = [each[:8] + struct.pack("<I", min(len(each) - 16, 100)) + each[12:116] for each in records]
    swapped = list(records)
    for index in range(3, len(records) - 5):
        if dice.random() < 0.3:
            swapped[index : index + 2] = swapped[index : index + 2][::-1]
    made = {"lost": records[:lost] + records[lost + 1 :], "middle": records[start:], "cut": short, "swapped": swapped}
    return [(name, octets[:24] + b"".join(each)) for name, each in made.items()]


@pytest.mark.parametrize("seed", range(4))
def test_a_bad_recording_accuses_nobody(shared: Path, tmp_path: Path, seed: int) -> None:
    # What is wrong with a recording (loss, cuts, order, a late start) is never held against those who were recorded.
    for entry in entries(shared):
        if entry["faults"] != "none" or int(entry["packets"]) > 1000:
            continue
        octets = (shared / "captures" / entry["file"]).read_bytes()
        for name, changed in damaged(octets, random.Random(f"{seed}{entry['file']}")):
            path = tmp_path / "x.pcap"
            path.write_bytes(changed)
            found = findings(path, int(entry["port"]))
            assert not [each for each in found if each.level == VIOLATION], (entry["file"], name)
            gaps = sum(each.rule == "gap" for each in found)
            assert name not in ("lost", "swapped") or gaps == (name == "lost"), (entry["file"], name)


def test_secrets_stay_secret(shared: Path) -> None:
    for entry in entries(shared):
        for _, row in transcript(str(shared / "captures" / entry["file"]), observers(), (), print):
            assert not {type(row["fields"].get(name)) for name in ("response", "challenge")} - {int, type(None)}
