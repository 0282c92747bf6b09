"""The observer on recordings of real brokers and clients, counted by an independent frame walker (../shared/captures)."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from struct import unpack_from
from typing import Literal

import pytest

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.observer import Observed, Observer, Speaker
from amqp_sansio.events import CommandSeen, ControlSeen, HeaderSeen, Note, OpaqueSeen, Violation
from amqp_sansio.spec.connection import TuneOk
from amqp_sansio.wire.segments import frame_command, frame_control

_NAMES = (
    "acquire badframes badheader badopen cpp_hello cpp_tx credit dtx dtxtimeout errors headers heartbeat heartbeat_dead hello "
    "maps query sasl_cpp_SCRAM-SHA-256 sasl_python sessions smallframe split_header suite_example syncflush topics tx window"
)
FILES = _NAMES.split()

SEEDS = 12 if os.environ.get("AMQP_PROFILE") == "soak" else 4
"""Ways to lose parts of each recording."""

Turn = tuple[Speaker, bytes | Literal["fin", "rst"]]
LAYOUT = AMQP_0_10.codec


def turns(path: Path, port: int) -> list[list[Turn]]:
    """The conversations of a recording: what either side said, in order.  For these recordings only."""
    octets = path.read_bytes()
    link = unpack_from("<I", octets, 20)[0]
    skip = {0: 4, 1: 14, 101: 0, 113: 16, 276: 20}[link]
    found: list[list[Turn]] = []
    current: dict[int, list[Turn]] = {}
    expected: dict[tuple[int, Speaker], int] = {}
    at = 24
    while at + 16 <= len(octets):
        size = unpack_from("<I", octets, at + 8)[0]
        packet = octets[at + 16 : at + 16 + size]
        at += 16 + size
        tcp = skip + (packet[skip] & 15) * 4
        end = skip + unpack_from(">H", packet, skip + 2)[0]
        source, target, sequence, _, offset, flags = unpack_from(">HHIIBB", packet, tcp)
        if port not in (source, target):
            continue
        speaker: Speaker = "C" if target == port else "S"
        client = source if speaker == "C" else target
        if flags & 2:
            if speaker == "C":
                current[client] = []
                found.append(current[client])
            expected[client, speaker] = sequence + 1 & 0xFFFFFFFF
            continue
        payload = packet[tcp + (offset >> 4) * 4 : end]
        payload = payload[(expected[client, speaker] - sequence) & 0xFFFFFFFF :] if payload else b""
        if payload:
            current[client].append((speaker, payload))
            expected[client, speaker] = sequence + (len(packet[tcp + (offset >> 4) * 4 : end])) & 0xFFFFFFFF
        if flags & 5 and client in current:
            current[client].append((speaker, "fin" if flags & 1 else "rst"))
    return found


def observe(said: list[Turn], strict: bool = False, piece: int = 0) -> list[Observed]:
    watch = Observer(strict=strict)
    found: list[Observed] = []
    for speaker, octets in said:
        if isinstance(octets, str):
            watch.receive_eof(speaker)
        else:
            for at in range(0, len(octets), piece or len(octets)):
                watch.receive_data(speaker, octets[at : at + (piece or len(octets))])
                if piece:
                    found += watch.events()
    watch.finish()
    found += watch.events()
    return found


def conversations(shared: Path, name: str) -> list[list[Turn]]:
    expected = json.loads((shared / "captures" / "expected.json").read_text())
    return turns(shared / "captures" / "0-10" / f"{name}.pcap", int(expected[f"0-10/{name}.pcap"]["port"]))


def findings(found: list[Observed]) -> Iterator[tuple[str, str, str]]:
    for speaker, _, _, event in found:
        if isinstance(event, Violation | Note):
            who = event.speaker if isinstance(event, Violation) else speaker  # it may have turned out by the other
            yield type(event).__name__.lower(), who, event.rule


@pytest.mark.parametrize("name", FILES)
def test_counts_per_speaker_and_verb(shared: Path, name: str) -> None:
    expected = json.loads((shared / "captures" / "expected.json").read_text())[f"0-10/{name}.pcap"]
    counts: dict[str, Counter[str]] = {"C": Counter(), "S": Counter()}
    said = conversations(shared, name)
    for conversation in said:
        for speaker, _, _, event in observe(conversation):
            if isinstance(event, ControlSeen | CommandSeen):
                counts[speaker][event.verb] += 1
    assert counts == expected["operations"]
    assert len(said) == expected["connections"]


@pytest.mark.parametrize("name", FILES)
def test_every_frame_is_written_again_as_it_was(shared: Path, name: str) -> None:
    """Whatever was decoded gives, encoded again from the values alone, the octets that were there."""
    for conversation in conversations(shared, name):
        streams: dict[str, bytes] = {
            speaker: b"".join([octets for who, octets in conversation if who == speaker and isinstance(octets, bytes)])
            for speaker in ("C", "S")
        }
        agreed = 65535
        spans: dict[str, list[tuple[int, int]]] = {"C": [], "S": []}
        for speaker, start, end, event in observe(conversation):
            if isinstance(event, Violation | Note):
                continue
            spans[speaker].append((start, end))
            if isinstance(event, ControlSeen):
                if isinstance(event.control, TuneOk):
                    agreed = event.control.max_frame_size or 65535
                if event.control is None:
                    continue
                again = frame_control(event.channel, LAYOUT.encode_control(event.control))
            elif isinstance(event, CommandSeen):
                if event.command is None or not event.complete:
                    continue
                header = event.header
                if header is not None:
                    structs = LAYOUT.decode_headers(header, 0, len(header))
                    header = b"".join([LAYOUT.encode_struct32(struct) for struct in structs])
                payload = LAYOUT.encode_command(event.command, event.sync)
                again = b"".join(frame_command(event.channel, payload, header, event.body, agreed))
                if header is not None and event.body is None and streams[speaker][start:end] != again:
                    # qpidd never marks the end of a delivery that has no header and body of its own
                    assert name == "headers"
                    marked = bytearray(again)
                    marked[len(payload) + 12] &= 0xFB
                    again = bytes(marked)
            elif isinstance(event, HeaderSeen):
                again = event.octets
            else:
                assert isinstance(event, OpaqueSeen)
                continue
            original = streams[speaker][start:end]
            if (
                original != again
            ):  # the one exception: four octets behind the last field of a command, in the recording of faults
                assert (name, original) == ("badframes", again[:3] + b"\x16" + again[4:] + b"junk")
        for parts in spans.values():
            at = 0
            for start, end in sorted(parts):
                assert start == at or name in ("badframes", "headers"), "no octet is left out"
                at = end


@pytest.mark.parametrize("name", FILES)
def test_the_same_events_in_pieces(shared: Path, name: str) -> None:
    for conversation in conversations(shared, name):
        size = sum([len(octets) for _, octets in conversation if isinstance(octets, bytes)])
        whole = observe(conversation)
        for piece in (1, 7, 4096) if size < 100_000 else (4096,):
            assert observe(conversation, piece=piece) == whole


# Recorded to see what the broker answers (it refuses both): the client really says them without the select before it.
TWICE = "message.subscribe.destination.unique-subscriber-destination"
PROVOKED = {"errors": (("C", "tx.commit.select-required"), ("C", "dtx.start.illegal-state"), ("C", TWICE))}


@pytest.mark.parametrize("name", ["hello", "acquire", "errors", "sessions", "headers", "cpp_hello", "sasl_python", "syncflush"])
@pytest.mark.parametrize("known", [False, True])
def test_whatever_is_missing_of_a_recording_nobody_is_accused_of_it(shared: Path, name: str, known: bool) -> None:
    """Pieces of what either side said are lost, or the beginning is: no violation comes of it, however it is cut."""
    recorded = conversations(shared, name)[:30]
    for seed in range(SEEDS):
        chance = Random(seed)
        for conversation in recorded:
            watch, pieces = Observer(AMQP_0_10 if known else None), Observer(AMQP_0_10 if known else None)
            steps: list[tuple[Speaker, bytes | int]] = []
            begin = chance.randrange(len(conversation)) if known and seed % 2 else 0
            cut: set[str] = set()
            for speaker, octets in conversation[begin:]:
                if isinstance(octets, str):
                    continue
                low, high = sorted((chance.randrange(len(octets) + 1), chance.randrange(len(octets) + 1)))
                if begin and speaker not in cut:
                    steps.append((speaker, octets[low:]))
                elif not begin and chance.random() < 0.1:
                    steps += [(speaker, octets[:low]), (speaker, high - low), (speaker, octets[high:])]
                else:
                    steps.append((speaker, octets))
                cut.add(speaker)
            found: list[Observed] = []
            for speaker, step in steps:
                if isinstance(step, int):
                    watch.receive_gap(speaker, step)
                    pieces.receive_gap(speaker, step)
                    continue
                watch.receive_data(speaker, step)
                for at in range(0, len(step), 7):
                    pieces.receive_data(speaker, step[at : at + 7])
                    found += pieces.events()
            watch.finish()
            pieces.finish()
            whole = list(watch.events())
            assert {each[1:] for each in findings(whole) if each[0] == "violation"} <= set(PROVOKED.get(name, ()))
            assert whole == found + list(pieces.events())


CLEAN = [name for name in FILES if name not in ("badframes", "badheader", "badopen")]


@pytest.mark.parametrize("name", CLEAN)
def test_real_traffic_shows_no_violation_but_what_was_provoked(shared: Path, name: str) -> None:
    found: list[tuple[str, str]] = []
    for conversation in conversations(shared, name):
        said = [(each.speaker, each.event) for each in observe(conversation)]
        found += [(speaker, event.rule) for speaker, event in said if isinstance(event, Violation)]
    assert sorted(found) == sorted(PROVOKED.get(name, ()))


FAULTS = {
    0: "C !frame.size",
    1: "C !frame.reserved",
    2: "C !frame.version",
    3: "C !assembly.first-frame",
    # 4: a heartbeat as it should be
    5: "C !control.undecodable",
    6: "C !control.undecodable",
    7: "C !session.attachment",
    8: "C !frame.segment-type",
    9: "C !session.attachment",
    10: "C ?session.attach.idempotence",
    11: "S ?session.detached",
    12: "S ?session.attach.one-transport-per-session",
    13: "S ?session.detached",
    14: "C !session.command-point.newly-attached-transports",
    # 15: a sync as it should be
    16: "C !command.undecodable",
    17: "C ?encoding",
    18: "C !command.undecodable",
    19: "C !assembly.first-segment",
    20: "C !connection.sequence",
    21: "C !connection.sequence",
    22: "C !connection.sequence",
    23: "C ?connection.close",
    24: "C !connection.tune-ok.channel-max.available-channels",
    25: "C !command.undecodable",
    26: "C !command.undecodable",
}


def test_every_malformed_frame_is_found(shared: Path) -> None:
    for number, conversation in enumerate(conversations(shared, "badframes")):
        found = [f"{who} {'!' if kind == 'violation' else '?'}{rule}" for kind, who, rule in findings(observe(conversation))]
        if number in FAULTS:
            assert FAULTS[number] in found
        else:
            assert found == ["C ?connection.eof"]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("headers", "note S assembly.unended"),
        ("sessions", "note S session.detached"),
        ("heartbeat_dead", "note S connection.eof"),
        ("errors", "note S execution.exception"),
        ("badheader", "note C connection.protocol-header"),
        ("badheader", "violation C connection.start.protocol-name"),
        ("badopen", "violation C connection.start-ok.mechanism.validity"),
        ("badopen", "violation C connection.tune-ok.channel-max.upper-limit"),
        ("split_header", "note S connection.eof"),
        ("sasl_python", "note S connection.close"),
    ],
)
def test_every_fault_of_the_manifest_is_found(shared: Path, name: str, expected: str) -> None:
    found = [" ".join(each) for conversation in conversations(shared, name) for each in findings(observe(conversation))]
    assert expected in found


def test_the_page_of_real_traffic_lists_every_rule_that_is_found_and_no_other_as_seen(shared: Path) -> None:
    """A row names rules and speakers, and the level by default and when strict; a rule may have several rows."""
    text = (Path(__file__).parents[2] / "docs" / "reference" / "real-traffic.md").read_text(encoding="utf-8")
    listed: set[tuple[bool, str, str, str]] = set()
    unseen: set[str] = set()
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        rules = re.findall(r"`([\w.*-]+)`", cells[0])
        if not line.startswith("| `") or cells[-1].startswith("`watch` only"):
            continue
        levels = cells[2:4] if len(cells) == 5 else ["note", "note"]
        if cells[-1].endswith("Not seen."):
            unseen.update(rules)
        else:
            listed |= {
                (strict, level, speaker, rule)
                for strict, level in zip((False, True), levels, strict=True)
                for speaker in cells[1].split(", ")
                for rule in rules
            }
    found = {
        (strict, kind, speaker, rule)
        for strict in (False, True)
        for name in FILES
        for conversation in conversations(shared, name)
        for kind, speaker, rule in findings(observe(conversation, strict))
    }

    def row(strict: bool, kind: str, speaker: str, rule: str) -> bool:
        wild = f"{rule.partition('.')[0]}.*"
        return not {(strict, kind, speaker, rule), (strict, kind, speaker, wild)}.isdisjoint(listed)

    assert [each for each in sorted(found) if not row(*each)] == []
    assert unseen.isdisjoint({rule for *_, rule in found})
    seen = {rule.partition(".")[0] + ".*" for *_, rule in found} | {rule for *_, rule in found}
    assert {rule for *_, rule in listed} - seen == {"opaque", "connection.silence", "tcp.reset"}, "notes of what reads the file"


def test_no_exception_that_the_broker_made_is_missed(shared: Path) -> None:
    for conversation in conversations(shared, "errors"):
        found = observe(conversation)
        made = [each for each in found if isinstance(each.event, CommandSeen) and each.event.verb == "execution.exception"]
        told = [each for each in findings(found) if each[2] == "execution.exception"]
        assert len(made) == len(told)
