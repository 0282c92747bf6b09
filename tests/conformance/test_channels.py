"""The endings that `channels.txt` tells are those of the recordings, and each accusation by a broker has its reason."""

from __future__ import annotations

import json
import re
from collections import Counter

import pytest
from tests.conformance.channels import CAPTURES, CASES, Case, cases, files
from tests.conformance.test_observer_on_captures import Turn, turns

from amqp_sansio.dialects import READABLE
from amqp_sansio.engine.observer import Observed, Observer, Speaker
from amqp_sansio.events import HeaderSeen, Violation
from amqp_sansio.events.observed import FrameSeen
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.method_frames import METHODS

ACCUSING = {"501", "502", "503", "504", "505", "530", "541"}
"""Codes with which a broker says that the client broke a rule."""


def test_every_recording_is_there() -> None:
    """Connections by dialect's folder, as the issue counts them."""
    counted = Counter(case.file.partition("/")[0] for case in CASES)
    assert counted == {"0-8": 109, "0-9": 107, "0-9-1": 111}
    assert len({case.file for case in CASES}) == 80
    for file in {case.file for case in CASES}:
        assert [case.number for case in cases(file)] == list(range(len(cases(file))))


@pytest.mark.parametrize(
    "case", [case for case in CASES if ACCUSING & set(re.findall(r"S:close\((\d+)", case.ending))], ids=str
)
def test_an_accusing_broker_has_a_reason(case: Case) -> None:
    """What a broker accuses a client of is a violation of that client, or a line says why not."""
    assert case.why or any(who == "C" for who, _, _ in case.broken)


def ending(said: list[Turn], close: int) -> str:
    """Its closing words.  `close` is the number of connection.close."""
    words: list[str] = []
    readers = {who: METHODS.overhearing(DEFAULT_LIMITS, lambda *_: False, 8) for who in "CS"}
    begun = {"C": b"", "S": b""}
    for who, octets in said:
        if isinstance(octets, str):
            return " ".join([*words, f"{who}:{octets}"])
        if readers[who].received == 8:
            begun[who] += octets
            if b"AMQP".startswith(begun[who][:4]) or begun[who][:1] == b"G":
                if len(begun[who]) < 8:
                    continue
                if who == "S":
                    words.append(f"S:header({begun[who][4:8].hex()})")
                octets = begun[who][8:]
        readers[who].receive(octets)
        while (unit := readers[who].next()) is not None:
            if isinstance(unit, Assembly) and unit.payload[:2] == b"\0\x0a":
                method, place = int.from_bytes(unit.payload[2:4], "big"), 7 + unit.payload[6:7][0] if unit.payload[6:7] else 0
                if method == close:
                    code, about = int.from_bytes(unit.payload[4:6], "big"), unit.payload[place:]
                    words.append(f"{who}:close({code},{int.from_bytes(about[:2], 'big')}.{int.from_bytes(about[2:4], 'big')})")
                elif method == close + 1:
                    words.append(f"{who}:close-ok")
    return " ".join(words)


@pytest.mark.skipif(not files(), reason="NOT RUN: there are no recordings beside the checkout")
@pytest.mark.parametrize("file", files())
def test_endings(file: str) -> None:
    """Each connection ends with these words."""
    told = cases(file)
    said = turns(told[0].path, 5672)
    assert [ending(each, 60 if case.dialect == "0-8" else 50) for case, each in zip(told, said, strict=True)] == [
        case.ending for case in told
    ]


SPEAKERS: tuple[Speaker, Speaker] = ("C", "S")
SMALL = 5000
"""Octets of a turn that is fed in single ones."""


def observe(said: list[Turn], piece: int = 0, again: bool = False, frames: bool = False) -> list[Observed]:
    """What an observer of all dialects makes of it; `again`: one that is restored from a snapshot behind every turn."""
    watch = Observer(dialects=READABLE, frames=frames)
    found: list[Observed] = []
    for who, octets in said:
        if isinstance(octets, str):
            watch.receive_eof(who)
        else:
            size = (piece if len(octets) < SMALL else 997) if piece else len(octets)
            for at in range(0, len(octets), size):
                watch.receive_data(who, octets[at : at + size])
                found += watch.events()
        found += watch.events()
        if again:
            watch = Observer.restore(watch.snapshot(), dialects=READABLE)
    watch.finish()
    return [*found, *watch.events()]


def broken(found: list[Observed]) -> tuple[tuple[str, int, str], ...]:
    """Speaker, octet and rule of each violation."""
    return tuple([(event.speaker, event.offset, event.rule) for _, _, _, event in found if isinstance(event, Violation)])


@pytest.mark.skipif(not files(), reason="NOT RUN: there are no recordings beside the checkout")
@pytest.mark.parametrize("file", files())
def test_violations(file: str) -> None:
    """Each connection has these and no others; the same octet by octet, and restored from a snapshot behind every packet."""
    told = cases(file)
    for case, said in zip(told, turns(told[0].path, 5672), strict=True):
        whole = observe(said)
        assert (case.number, broken(whole)) == (case.number, case.broken)
        if len(said) < 200:
            assert observe(said, again=True) == whole
        if sum(len(octets) for _, octets in said) < 50_000:
            # What came whole with one packet is told in another order than octet by octet: each speaker's is the same.
            parts = observe(said, 1)
            assert [[each for each in parts if each.speaker == who] for who in "CS"] == [
                [each for each in whole if each.speaker == who] for who in "CS"
            ]


UNDECODABLE = {
    ("raw-conn_err", 0): "a frame that does not end with 206, and what follows it",
    ("raw-conn_err", 3): "a frame larger than agreed, which nobody waits for",
    ("raw-conn_err", 8): "a method frame without class and method",
    ("raw-conn_err", 32): "octets at random, which begin no frame",
    ("raw-conn_err", 33): "a second protocol header where a frame belongs",
    ("raw-cut", 0): "a body frame that the end of the connection cuts",
    ("raw-handshake_err", 14): "start-ok in a frame that does not end with 206",
    ("raw-handshake_err", 16): "a protocol header of four octets",
    ("raw-headers_", 9): "an HTTP request",
}
"""What is not decodable in each dialect: file and number of the connection, and why."""


@pytest.mark.skipif(not files(), reason="NOT RUN: there are no recordings beside the checkout")
@pytest.mark.parametrize("file", files())
def test_totals(file: str) -> None:
    """As many frames of each type, and connections, as the walker counts; every octet is in a frame or a header, or unread."""
    expected = json.loads((CAPTURES / "expected.json").read_text())[f"{file}.pcap"]
    counted: Counter[int] = Counter()
    undecodable: list[tuple[str, int]] = []
    connections = turns(CAPTURES / f"{file}.pcap", 5672)
    for number, said in enumerate(connections):
        watch = Observer(dialects=READABLE, frames=True)
        for who, octets in said:
            if isinstance(octets, bytes):
                watch.receive_data(who, octets)
        watch.finish()
        read = {"C": 0, "S": 0}
        sound = True
        for speaker, start, end, event in watch.events():
            if isinstance(event, FrameSeen):
                counted[event.kind] += event.kind != 1 or event.verb != "?"
                sound = sound and (event.kind != 1 or event.verb != "?")
            if isinstance(event, FrameSeen | HeaderSeen):
                read[speaker] += end - start
                sound = sound and not (isinstance(event, HeaderSeen) and end - start < 8)
        for one in SPEAKERS:
            unread = watch.unread(one)
            assert read[one] + unread == sum([len(each) for who, each in said if who == one and isinstance(each, bytes)])
            sound = sound and not unread
        if not sound:
            undecodable.append((file.partition("/")[2], number))
    assert [counted[kind] for kind in (1, 2, 3, 8)] == [
        int(expected[name]) for name in ("method_frames", "header_frames", "body_frames", "heartbeats")
    ]
    assert len(connections) == int(expected["connections"])
    assert undecodable == [each for each in UNDECODABLE if each[0] == file.partition("/")[2]]
    assert len(undecodable) == int(expected["undecodable"])
