"""Whole files through the real observer: what ships with the project, and what other tests do with a fake."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.captures import build
from tests.captures.build import Record, Segment

from amqp_sansio.captures.conversation import VIOLATION, observers
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.rows import DecodedLine, transcript
from amqp_sansio.captures.verdicts import Verdict, verdicts

DATA = Path(__file__).parents[1] / "data" / "captures"
EXPECTED = json.loads((DATA / "expected.json").read_text())
FAULTLESS = ("hello", "tx", "credit", "dtx", "maps", "syncflush", "cpp_hello")


def rows(path: str | Path, ports: Sequence[int] = ()) -> list[DecodedLine]:
    return [row for _, row in transcript(str(path), observers(), ports, lambda text: None)]


def judged(path: str | Path, ports: Sequence[int] = (), strict: bool = False) -> list[Verdict]:
    return list(verdicts(str(path), observers(strict), ports, lambda text: None))


def file(path: Path, segments: Sequence[Segment]) -> Path:
    return Path(build.write(path / "x", build.pcap(build.records(segments))))


def bare(found: Sequence[DecodedLine]) -> list[dict[str, object]]:
    """Rows without what depends on the packets."""
    return [{key: value for key, value in row.items() if key not in ("packet", "time", "file")} for row in found]


def by_speaker(found: Sequence[DecodedLine]) -> list[list[dict[str, object]]]:
    return [[row for row in bare(found) if row["speaker"] == speaker] for speaker in "CS"]


def rules(found: Sequence[Verdict]) -> list[str]:
    return sorted(f"{each.level} {each.speaker} {each.rule}" for verdict in found for each in verdict.findings)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_counts_per_speaker_and_verb(name: str) -> None:
    found = rows(DATA / name)
    for speaker in "CS":
        verbs = Counter(row["verb"] for row in found if row["speaker"] == speaker and row["kind"] in ("control", "command"))
        assert verbs == EXPECTED[name]["operations"][speaker]
    assert [row["packet"] for row in found] == sorted(row["packet"] for row in found)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_connections_are_the_same_in_decode_and_check(name: str) -> None:
    ports = [EXPECTED[name]["port"]]
    found = judged(DATA / name, ports)
    assert len(found) == EXPECTED[name]["connections"]
    assert {row["connection"] for row in rows(DATA / name, ports)} <= {verdict.connection for verdict in found}


@pytest.mark.parametrize("name", FAULTLESS)
def test_nobody_is_accused_where_nothing_is_wrong(name: str) -> None:
    assert rules(judged(DATA / f"{name}.pcap")) == []


def test_faults_show() -> None:
    def found(name: str) -> Counter[str]:
        return Counter(rules(judged(DATA / f"{name}.pcap")))

    assert found("errors")["note S execution.exception"] == 19
    twice = "message.subscribe.destination.unique-subscriber-destination"
    # and refused
    provoked = {f"violation C {rule}": 1 for rule in ("tx.commit.select-required", "dtx.start.illegal-state", twice)}
    assert {rule: count for rule, count in found("errors").items() if VIOLATION in rule} == provoked
    assert found("heartbeat_dead")["note C connection.silence"] == 1
    assert found("sasl_python")["note S connection.close"] == 2  # authentication failed
    assert found("sasl_python")["note S tcp.reset"] == 2
    header = found("badheader")
    assert header["violation C connection.start.protocol-name"] == 1  # HTTP
    assert header["note C connection.protocol-header"] == 8
    frames = [verdict for verdict in judged(DATA / "badframes.pcap") if verdict.verdict == "violations"]
    assert all(each.speaker == "C" for verdict in frames for each in verdict.findings if each.level == VIOLATION)
    assert len(frames) > 12


def greetings(path: Path, client: bytes, server: bytes) -> Verdict:
    """The verdict about a connection on which both only greet."""
    (verdict,) = judged(file(path, build.Talk().open().say(True, client).say(False, server).close().segments), [5672])
    return verdict


@pytest.mark.parametrize(
    ("client", "server", "name"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 Bad\r\n\r\n", "HTTP"),
        (b"SSH-2.0-client\r\n", b"SSH-2.0-server\r\n", "SSH"),
        (b"CONNECT\n\n\0", b"CONNECTED\n\n\0", "STOMP"),
        (b"GET / HTTP/1.1\r\n\r\n", b"", "HTTP"),
    ],
)
def test_where_nobody_speaks_amqp_nobody_is_accused_and_nothing_is_clean(
    client: bytes, server: bytes, name: str, tmp_path: Path
) -> None:
    verdict = greetings(tmp_path, client, server)
    assert (verdict.verdict, verdict.not_judged) == ("not judged", f"{name} is not read here")


def test_a_client_of_another_protocol_is_accused_by_the_header_of_its_server(tmp_path: Path) -> None:
    verdict = greetings(tmp_path, b"GET / HTTP/1.1\r\n\r\n", build.HEADER)
    accused = [(each.speaker, each.rule, each.octet) for each in verdict.findings if each.level == VIOLATION]
    assert accused == [("C", "connection.start.protocol-name", 0)]


def test_secrets_are_lengths_unless_asked_for() -> None:
    for secrets in (False, True):
        found = [row for _, row in transcript(str(DATA / "sasl_python.pcap"), observers(), (), print, secrets)]
        responses = [row["fields"]["response"] for row in found if "response" in row["fields"]]
        assert responses
        assert all(isinstance(each, str if secrets else int) for each in responses)
        assert (b"\0guest\0guest".hex() in json.dumps(found)) == secrets


@pytest.mark.parametrize("other", ["0-9-1", "0-9", "0-8"])
def test_other_versions_are_opaque_and_nobody_is_accused(tmp_path: Path, other: str) -> None:
    header = {"0-9-1": b"AMQP\0\0\x09\x01", "0-9": b"AMQP\1\1\0\x09", "0-8": b"AMQP\1\1\x08\0"}[other]
    talk = build.Talk().open().say(True, header).say(False, b"\1\0\0\0\0\0\4\0\x0a\0\x0a\xce").say(True, b"\1" * 20).close()
    path = file(tmp_path, talk.segments)
    assert [(row["speaker"], row["kind"]) for row in rows(path)] == [("C", "header"), ("S", "opaque"), ("C", "opaque")]
    (verdict,) = judged(path)
    assert (verdict.verdict, verdict.dialect, verdict.not_judged) == ("not judged", other, f"AMQP {other} is not read here")
    assert verdict.unread == (20, 12)


def test_notes_about_an_end_stand_at_its_packet(tmp_path: Path) -> None:
    talk = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER + build.START).close()
    at = next(index for index, each in enumerate(talk.segments, 1) if each.flags & build.FIN)
    (verdict,) = judged(file(tmp_path, talk.segments))
    assert [(each.level, each.packet, each.rule) for each in verdict.findings] == [("note", at, "connection.eof")]


MESSAGES = [bytes([number]) * (number * 37 % 300) for number in range(8)]
WHOLE = build.conversation(MESSAGES)


@given(st.integers(1, 400), st.integers(0, 2**32))
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_resegmented_repeated_reordered(tmp_path: Path, chunk: int, seed: int) -> None:
    # However the same streams are cut, repeated and swapped: the same rows, but for packet and time, and the same verdict.
    expected = file(tmp_path, WHOLE.segments)
    whole, verdict = rows(expected), rules(judged(expected))
    dice = random.Random(seed)
    segments = []
    for each in build.conversation(MESSAGES, chunk=chunk).segments:
        segments += [each] * dice.choice((1, 1, 1, 2))
    for at in range(3, len(segments) - 6):
        if dice.random() < 0.3:
            to = min(at + dice.randrange(1, 4), len(segments) - 4)
            segments[at], segments[to] = segments[to], segments[at]
    path = file(tmp_path, segments)
    found = rows(path)
    assert by_speaker(found) == by_speaker(whole)
    assert rules(judged(path)) == verdict == []
    assert [row["packet"] for row in found] == sorted(row["packet"] for row in found)


@pytest.mark.parametrize("lost", [index for index, each in enumerate(WHOLE.segments) if each.octets])
def test_one_lost_packet(tmp_path: Path, lost: int) -> None:
    # Without any one packet that holds data there is exactly one gap, nobody is accused, and what was said before it stands.
    whole = rows(file(tmp_path, WHOLE.segments))
    path = file(tmp_path, [*WHOLE.segments[:lost], *WHOLE.segments[lost + 1 :]])
    found = rules(judged(path))
    assert [rule for rule in found if rule.endswith(" gap")] == [f"note {'SC'[WHOLE.segments[lost].from_client]} gap"]
    assert not any(VIOLATION in rule for rule in found)
    before = [row for row in whole if row["packet"] <= lost]
    assert bare(rows(path)[: len(before)]) == bare(before)


@pytest.mark.parametrize("start", range(4, len(WHOLE.segments), 3))
def test_from_the_middle_nobody_is_accused(tmp_path: Path, start: int) -> None:
    path = file(tmp_path, WHOLE.segments[start:])
    assert not any(VIOLATION in rule for rule in rules(judged(path, [5672])))
    whole = [row for row in bare(rows(file(tmp_path, WHOLE.segments))) if row["kind"] != "header"]
    found = rows(file(tmp_path, WHOLE.segments[start:]), [5672])
    left = sum(row["packet"] > start for row in rows(file(tmp_path, WHOLE.segments)) if row["kind"] != "header")
    verbs = [row["verb"] for row in found if row["kind"] in ("control", "command")]
    assert verbs == [row["verb"] for row in whole][len(whole) - left :]


CUTS = 20_000 if os.environ.get("AMQP_PROFILE") == "soak" else 100
"""How many cuts of one capture, about; where it is short every 13th octet will do, or every one (`make soak`)."""


@pytest.mark.parametrize("name", ["hello", "heartbeat_dead", "badheader", "badframes"])
def test_cut_at_every_octet(tmp_path: Path, name: str) -> None:
    # A capture cut at any octet prints everything that was whole before the cut as the whole one does.
    octets = (DATA / f"{name}.pcap").read_bytes()
    whole = [{**row, "file": ""} for row in rows(DATA / f"{name}.pcap", [15673])]
    ends, at = [], 24
    while at < len(octets):
        at += 16 + int.from_bytes(octets[at + 8 : at + 12], "little")
        ends.append(at)
    for cut in range(24, len(octets), max(1 if CUTS > 100 else 13, len(octets) // CUTS | 1)):
        path = build.write(tmp_path / "x", octets[:cut])
        good = sum(end <= cut for end in ends)
        found = [{**row, "file": ""} for row in rows(path, [15673])]
        before = [row for row in whole if int(str(row["packet"])) <= good]
        assert found[: len(before)] == before


@given(st.integers(0, 2**32), st.sampled_from(sorted(EXPECTED)), st.integers(1, 40))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_is_in_a_file_only_capture_errors_come_out(tmp_path: Path, seed: int, name: str, count: int) -> None:
    dice = random.Random(seed)
    octets = bytearray((DATA / name).read_bytes()[:30_000])
    for _ in range(count):
        octets[dice.randrange(len(octets))] = dice.randrange(256)
    path = build.write(tmp_path / "x", bytes(octets))
    for read in (rows, judged):
        with suppress(CaptureError):
            json.dumps(read(path, [15673]), allow_nan=False)


@pytest.mark.parametrize("kind", build.LINKS)
def test_a_real_capture_over_every_link_layer(tmp_path: Path, kind: str) -> None:
    octets = (DATA / "hello.pcap").read_bytes()
    records, at = [], 24
    while at < len(octets):
        seconds, micro, captured, original = (
            int.from_bytes(octets[at + step : at + step + 4], "little") for step in (0, 4, 8, 12)
        )
        packet = octets[at + 16 + 14 : at + 16 + captured]
        number, data = build.link(kind, packet)
        records.append(Record(number, data, len(data), seconds * 10**9 + micro * 1000))
        at += 16 + captured
        assert captured == original
    found = {}
    for flavour, written in (
        ("pcap", build.pcap(records, ">")),
        ("nano", build.pcap(records, "<", True)),
        ("pcapng", build.pcapng(records, ">")),
    ):
        found[flavour] = [{**row, "file": ""} for row in rows(build.write(tmp_path / flavour, written))]
    expected = [{**row, "file": ""} for row in rows(DATA / "hello.pcap")]
    assert found["pcap"] == found["nano"] == found["pcapng"] == expected


def test_two_connections_at_once(tmp_path: Path) -> None:
    one = build.conversation(MESSAGES).segments
    two = build.conversation(MESSAGES, replace(Segment(True, 0), client_port=40001, client_isn=7)).segments
    found = rows(file(tmp_path, [each for pair in zip(one, two, strict=True) for each in pair]))
    names = [f"10.0.0.1:{port}>10.0.0.2:5672#1" for port in (40000, 40001)]
    halves = [[{**row, "connection": ""} for row in bare(found) if row["connection"] == name] for name in names]
    assert halves[0] == halves[1]
    assert len(halves[0]) > 10
