"""The same conversation, captured in another way, is the same conversation."""

from __future__ import annotations

import json
import struct
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.conformance import retold
from tests.conformance.retold import FIN, RST, SYN, Segment, Way, ethernet, ipv4, numbered, pcap, pcapng, plainly, segments

from amqp_sansio.cli.main import main

DATA = Path(__file__).parents[1] / "data" / "captures"
FILES = ["badframes", "cpp_hello", "credit", "heartbeat_dead", "hello", "sasl_python", "tx"]
LONG = ["badframes", "credit", "sasl_python", "tx"]
KEYS = [
    "file", "packet", "time", "connection", "speaker", "channel", "kind", "verb", "command_id", "sync", "complete", "fields",
    "headers", "body_octets",
]  # fmt: skip
Row = dict[str, Any]
"""An object of JSON."""


@pytest.fixture
def ask(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, list[Row], str]]:
    def run(verb: str, *arguments: object) -> tuple[int, list[Row], str]:
        status = main([verb, "--json", *map(str, arguments)])
        said = capsys.readouterr()
        return status, [json.loads(line) for line in said.out.splitlines()], said.err

    return run


Ask = Callable[..., tuple[int, list[Row], str]]
_RECORDED: dict[tuple[str, str], list[Row]] = {}


def recorded(ask: Ask, verb: str, name: str) -> list[Row]:
    """What is said of a recording as it is: asked once, compared with many."""
    if (verb, name) not in _RECORDED:
        _RECORDED[verb, name] = ask(verb, DATA / f"{name}.pcap")[1]
    return _RECORDED[verb, name]


LINKS: dict[str, Callable[[list[Segment]], bytes]] = {
    "big endian": lambda told: pcap([(each.time, ethernet(ipv4(each))) for each in told], order=">", nano=False),
    "VLAN": lambda told: pcap([(each.time, ethernet(b"\0\5\x08\0" + ipv4(each), "8100")) for each in told]),
    "QinQ": lambda told: pcap([(each.time, ethernet(b"\0\5\x81\0\0\6\x08\0" + ipv4(each), "88a8")) for each in told]),
    "cooked": lambda told: pcap([(each.time, bytes(14) + b"\x08\0" + ipv4(each)) for each in told], 113),
    "cooked 2": lambda told: pcap([(each.time, b"\x08\0" + bytes(18) + ipv4(each)) for each in told], 276),
    "NULL": lambda told: pcap([(each.time, b"\2\0\0\0" + ipv4(each)) for each in told], 0),
    "LOOP": lambda told: pcap([(each.time, b"\0\0\0\2" + ipv4(each)) for each in told], 108),
    "raw": lambda told: pcap([(each.time, ipv4(each)) for each in told], 101),
    "options": lambda told: pcap([(each.time, ethernet(ipv4(each, b"\x94\4\0\0\1\1\1\0"))) for each in told]),
    "padding": lambda told: pcap([(each.time, ethernet(ipv4(each)) + b"\xee" * 9) for each in told]),
    "pcapng": lambda told: pcapng(told, "<", 9, 6),
    "two sections": lambda told: pcapng(told[: len(told) // 2], ">", 6, 6) + pcapng(told[len(told) // 2 :], "<", 0x80 | 30, 2),
}


@pytest.mark.parametrize("name", ["hello", "sasl_python"])
@pytest.mark.parametrize("link", LINKS)
def test_every_container_and_link_tells_the_same(ask: Ask, tmp_path: Path, name: str, link: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(LINKS[link](segments(DATA / f"{name}.pcap")))
    for verb in "decode", "check":
        expected = [{**row, "file": str(path)} for row in recorded(ask, verb, name)]
        assert ask(verb, path)[1:] == (expected, "")


WAYS: dict[str, Way] = {
    "in single octets": lambda told: retold.split(told, 1),
    "in sevens": lambda told: retold.split(told, 7),
    "neighbours swapped": lambda told: retold.swapped(told, Random(6)),
    "sent again": lambda told: retold.again(told, Random(2), True),
    "sent again, otherwise": lambda told: retold.again(told, Random(3), False),
    "each packet twice": lambda told: [each for each in told for _ in range(2)],
    "late": lambda told: retold.late(told, Random(4)),
    "late, in single octets": lambda told: retold.late(numbered(retold.split(told, 1)), Random(5)),
    "sequence numbers wrap": lambda told: retold.numbers_from(told, 0xFFFFFF80),
    "reset instead of FIN": lambda told: [
        replace(each, flags=each.flags & ~FIN | RST * bool(each.flags & FIN)) for each in told
    ],
    "no FIN": lambda told: [replace(each, flags=each.flags & ~FIN) for each in told],
    "no acknowledgements": lambda told: [each for each in told if each.payload or each.flags & (SYN | FIN | RST)],
}


def lines(rows: list[Row]) -> dict[tuple[str, str], list[Row]]:
    """By connection and speaker, without what the way changes."""
    found = defaultdict(list)
    for row in rows:
        assert list(row) == KEYS
        said = {key: value for key, value in row.items() if key not in ("file", "packet", "time")}
        found[row["connection"], row["speaker"]].append(said)
    return found


@pytest.mark.parametrize(
    ("way", "name"),
    [
        pytest.param(way, name, marks=[pytest.mark.soak] if "single octets" in way and name in LONG else [])
        for way in WAYS
        for name in FILES
    ],
)
def test_every_way_of_travelling_tells_the_same(ask: Ask, tmp_path: Path, name: str, way: str) -> None:
    told = numbered(WAYS[way](segments(DATA / f"{name}.pcap")))
    path = tmp_path / "x.pcap"
    path.write_bytes(plainly(told))
    status, rows, complaints = ask("decode", path)
    assert (status, complaints) == (0, "")
    assert lines(rows) == lines(recorded(ask, "decode", name))
    times = {each.number: each.time for each in told}
    assert all(row["time"] == times[row["packet"]] for row in rows)
    assert [row["packet"] for row in rows] == sorted(row["packet"] for row in rows)
    _, verdicts, _ = ask("check", path)
    expected = recorded(ask, "check", name)
    for found, wanted in zip(sorted(verdicts, key=str), sorted(expected, key=str), strict=True):
        assert found["connection"] == wanted["connection"]
        assert found["verdict"] == wanted["verdict"]
        packets = [finding["packet"] for finding in found["findings"]]
        assert packets == sorted(packets)


@pytest.mark.parametrize("name", FILES)
def test_every_octet_is_on_one_line(ask: Ask, name: str) -> None:
    rows = ask("decode", DATA / f"{name}.pcap")[1]
    found: Counter[tuple[str, int]] = Counter()
    for row in rows:
        port = int(row["connection"].partition(">")[row["speaker"] == "S" and 2].partition("#")[0].rpartition(":")[2])
        client = int(row["connection"].partition(">")[0].rpartition(":")[2])
        key = f"{client} {port}"
        found[key, ("control", "command", "header", "opaque").index(row["kind"])] += 1
        found[key, 4 + (row["kind"] == "opaque")] += row["body_octets"]
    servers = {int(row["connection"].partition(">")[2].partition("#")[0].rpartition(":")[2]) for row in rows}
    for (source, target), octets in retold.streams(segments(DATA / f"{name}.pcap")).items():
        client = target[1] if source[1] in servers else source[1]
        key = f"{client} {source[1]}"
        controls, commands, bodies, opaque = retold.walk(octets)
        assert [found[key, index] for index in (0, 1, 4, 3)] == [controls, commands, bodies, opaque > 0], key


def test_ports_used_again_and_connections_interleaved(ask: Ask, tmp_path: Path) -> None:
    told = segments(DATA / "hello.pcap")
    client = told[0].source

    def elsewhere(end: tuple[bytes, int]) -> tuple[bytes, int]:
        return (end[0], 40000) if end == client else end

    beside = [replace(each, source=elsewhere(each.source), target=elsewhere(each.target)) for each in told]
    path = tmp_path / "x.pcap"
    together = [each for pair in zip(told, beside, strict=True) for each in pair]
    path.write_bytes(plainly([*told, *retold.numbers_from(told, 7), *together]))
    (name,) = {row["connection"] for row in ask("decode", DATA / "hello.pcap")[1]}
    names = {name, name[:-1] + "2", name[:-1] + "3", name.replace(f":{client[1]}>", ":40000>")}
    rows = ask("decode", path)[1]
    assert {row["connection"] for row in rows} == names == {row["connection"] for row in ask("check", path)[1]}
    expected = [{**row, "connection": ""} for row in lines(ask("decode", DATA / "hello.pcap")[1])[name, "S"]]
    for each in names:
        assert [{**row, "connection": ""} for row in lines(rows)[each, "S"]] == expected


def test_what_is_sent_before_a_reset_arrives_counts(ask: Ask, tmp_path: Path) -> None:
    told = segments(DATA / "hello.pcap")
    reset = replace(told[1], flags=RST)
    at = next(index for index, each in enumerate(told) if each.number > 20 and each.payload and each.source == told[0].source)
    reset = replace(reset, sequence=told[at].acknowledged, time=told[at].time)
    path = tmp_path / "x.pcap"
    path.write_bytes(plainly([*told[:at], reset, told[at]]))
    rows = ask("decode", path)[1]
    assert (rows[-1]["packet"], rows[-1]["verb"]) == (at + 2, "exchange.bind")
    (verdict,) = ask("check", path)[1]
    assert [(each["rule"], each["packet"]) for each in verdict["findings"]] == [
        ("tcp.reset", at + 1),
        ("connection.eof", at + 1),
    ]


def test_order_holds_for_a_header_of_an_unknown_sender(ask: Ask, tmp_path: Path) -> None:
    told = segments(DATA / "hello.pcap")
    alone = replace(told[3], source=(told[3].source[0], 40000))
    path = tmp_path / "x.pcap"
    path.write_bytes(plainly([alone, *told]))
    rows = ask("decode", path)[1]
    assert [row["packet"] for row in rows] == sorted(row["packet"] for row in rows)
    assert len(rows) == 1 + len(ask("decode", DATA / "hello.pcap")[1])


def test_a_command_under_way_before_a_frame_that_cannot_be_cut(ask: Ask, tmp_path: Path) -> None:
    told = segments(DATA / "hello.pcap")
    last = next(index for index, each in enumerate(told) if each.payload and each.number > 20)
    begun = struct.pack(">BBHBBHI", 8 | 2 | 1, 1, 21, 0, 1, 1, 0) + b"\4\1\1\0\7\0\0\1\0"
    cut = replace(told[last], payload=begun + struct.pack(">BBHBBHI", 15, 0, 11, 0, 0, 0, 0) + b"rest")
    path = tmp_path / "x.pcap"
    path.write_bytes(plainly([*told[:last], cut]))
    *_, transfer, opaque = ask("decode", path)[1]
    assert (transfer["verb"], transfer["complete"]) == ("message.transfer", False)
    assert (opaque["kind"], opaque["fields"]) == ("opaque", {"reason": "behind a frame that cannot be cut"})


def test_damage_in_a_capture_touches_nothing_before_it(ask: Ask, tmp_path: Path) -> None:
    octets = (DATA / "hello.pcap").read_bytes()
    whole = ask("decode", DATA / "hello.pcap")[1]
    path = tmp_path / "x.pcap"
    at, number = 24, 0
    while at < len(octets):
        before = [{**row, "file": str(path)} for row in whole if row["packet"] <= number]
        for spoiled, status in (
            (octets[: at + 7], 0),
            (octets[: at + 16], 0),
            (octets[: at + 8] + b"\xff\xff\xff\x7f" + octets[at + 12 :], 2),
            (octets[:at] + bytes(16) + b"\xff" * 500, 2),
        ):
            path.write_bytes(spoiled)
            found, rows, complaint = ask("decode", path)
            assert (found, rows) == (status, before)
            assert complaint.startswith(f"amqp-sansio: {path}: ")
            assert complaint.count("\n") == 1
        at += 16 + int(struct.unpack_from("<I", octets, at + 8)[0])
        number += 1
