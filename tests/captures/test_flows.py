"""Conversations: which connections count, who is the client, and when they are over.  The witness is a fake."""

from __future__ import annotations

import gc
import os
import random
import tracemalloc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.captures import build
from tests.captures.build import RST, Record, Segment
from tests.captures.fake import FakeWitness

from amqp_sansio.captures import flows
from amqp_sansio.captures.conversation import Conversation, LocatedEvent, PacketIndex, observers
from amqp_sansio.captures.flows import AmqpFlow, Listener
from amqp_sansio.captures.layers import IN_TWO
from amqp_sansio.captures.rows import DecodedLine, transcript
from amqp_sansio.captures.verdicts import verdicts
from amqp_sansio.captures.walk import Packet
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.events.observed import Note
from amqp_sansio.kernel.build import COMPILED


def packets(records: Iterable[Record]) -> list[Packet]:
    return [Packet(number, each.time, each.link, each.data, each.original, 0) for number, each in enumerate(records, 1)]


class Log:
    def __init__(self, segments: Iterable[Segment], ports: Sequence[int] = (), kind: str = "ethernet") -> None:
        self.heard: list[tuple[str, LocatedEvent]] = []
        self.ended: list[str] = []
        self.warnings: list[str] = []
        listener = Listener(FakeWitness, self._tell, self._end, ports, self.warnings.append)
        for packet in packets(build.records(segments, kind)):
            listener.hear(packet)
        listener.finish()

    def _tell(self, talk: AmqpFlow, heard: LocatedEvent) -> None:
        self.heard.append((talk.name, heard))

    def _end(self, talk: AmqpFlow) -> None:
        self.ended.append(talk.name)

    @property
    def said(self) -> list[tuple[str, str, str]]:
        return [
            (name, heard.speaker, str(getattr(heard.said, "verb", None) or getattr(heard.said, "rule", "header")))
            for name, heard in sorted(self.heard, key=lambda each: each[1].packet)
        ]

    def notes(self) -> list[Note]:
        return [heard.said for _, heard in self.heard if isinstance(heard.said, Note)]


OTHER_HEADER = b"AMQP\0\0\x09\x01"
NAME = "10.0.0.1:40000>10.0.0.2:5672#1"
VERBS = ["header", "header", "1.1", "1.2", "1.5", "1.6", "1.7", "1.8", "2.1", "2.2", "2.7", "4.1", "2.10", "1.11", "1.12"]
SPEAKERS = "CSSCSCCSCSCCSCS"


@pytest.mark.parametrize("kind", build.LINKS)
def test_a_conversation_over_every_link_layer(kind: str) -> None:
    log = Log(build.conversation([b"body"]).segments, kind=kind)
    assert log.said == [(NAME, speaker, verb) for speaker, verb in zip(SPEAKERS, VERBS, strict=True)]
    assert log.ended == [NAME]


def test_ipv6_addresses_stand_in_brackets() -> None:
    log = Log(build.conversation([], replace(Segment(True, 0), client="2001:db8::1", server="::1")).segments)
    assert log.ended == ["[2001:db8::1]:40000>[::1]:5672#1"]


def test_packet_and_time_of_the_last_octet() -> None:
    talk = build.Talk(chunk=5).open().say(True, build.HEADER)
    log = Log(talk.segments)
    ((_, heard),) = log.heard[:1]
    assert (heard.packet, heard.time) == (5, build.START_NS + 4_000_000)


@pytest.mark.parametrize("missing", [0, 1, 2, 3])
def test_without_the_first_packets_of_the_connection(missing: int) -> None:
    # Without SYN, or without both: who sent the header first is the client.
    assert {name for name, _, _ in Log(build.conversation().segments[missing:]).said} == {NAME}


def test_a_side_that_goes_on_as_a_server_does_is_the_server() -> None:
    segments = build.conversation().segments
    first = next(index for index, each in enumerate(segments) if not each.from_client and each.octets)
    assert {name for name, _, _ in Log(segments[first:]).said} == {NAME}


def test_from_the_middle_only_with_its_port() -> None:
    segments = build.conversation([b"body"]).segments
    start = next(index for index, each in enumerate(segments) if each.octets == build.ATTACH)
    assert Log(segments[start:]).said == []
    log = Log(segments[start:], [5672])
    assert [verb for _, _, verb in log.said] == VERBS[VERBS.index("2.1") :]
    assert {name for name, _, _ in log.said} == {NAME}
    assert Log(segments[start:], [5673]).said == []


def test_the_port_must_be_the_servers() -> None:
    talk = build.Talk().open().say(True, b"something else").close()
    assert Log(talk.segments, [40000]).ended == []
    assert Log(talk.segments, [5672]).ended == [NAME]
    assert Log(talk.segments).ended == []


def test_connections_without_amqp_are_left_alone() -> None:
    talk = build.Talk().open().say(True, b"GET / HTTP/1.0\r\n\r\n").say(False, b"HTTP/1.0 200 OK\r\n" + build.HEADER).close()
    assert Log(talk.segments).said == []
    # The beginning of a later segment is not the beginning of the stream.
    talk = build.Talk().open().say(True, b"hello").say(False, b"hello").say(True, build.HEADER).say(False, build.HEADER).close()
    assert Log(talk.segments).said == []


def test_a_broker_that_answers_a_stranger_with_its_header() -> None:
    talk = build.Talk().open().say(True, b"GET / HTTP/1.0\r\n\r\n").say(False, build.HEADER).close()
    log = Log(talk.segments)
    assert log.said[:2] == [(NAME, "C", "header"), (NAME, "S", "header")]


def test_a_header_cut_off_after_three_octets() -> None:
    assert Log(build.Talk().open().say(True, b"AMQ").close().segments).ended == [NAME]
    assert Log(build.Talk().open().close().segments).ended == []
    assert Log(build.Talk().open().close().segments, [5672]).ended == [NAME]


def test_ports_used_again() -> None:
    segments: list[Segment] = []
    for number in range(3):
        base = replace(Segment(True, 0), client_isn=number * 1_000_000_007 & 0xFFFFFFFF, server_isn=number * 77_777_777)
        talk = build.conversation([b"x"], base)
        segments += talk.segments[: -3 if number == 1 else None]  # the second one never says goodbye
    assert Log(segments).ended == [f"10.0.0.1:40000>10.0.0.2:5672#{number}" for number in (1, 2, 3)]


def test_what_still_comes_of_an_ended_connection_is_left_alone() -> None:
    talk = build.conversation()
    late = [each for each in talk.segments if each.octets][-4:]
    assert Log([*talk.segments, *late], [5672]).ended == [NAME]
    assert Log([*talk.segments, *talk.segments], [5672]).ended == [NAME]


@pytest.mark.parametrize("over", [False, True])
@pytest.mark.parametrize("ports", [[], [5672]])
def test_the_same_sequence_numbers_with_another_header_are_another_connection(over: bool, ports: Sequence[int]) -> None:
    """Captures that a tool has made begin every connection with the same ones."""
    first, second = build.Talk().open().say(True, build.HEADER), build.Talk().open().say(True, OTHER_HEADER)
    segments = (first.close() if over else first).segments + second.say(False, build.HEADER).segments
    log = Log(segments, ports)
    assert log.ended == [NAME, NAME.replace("#1", "#2")]
    assert [(name[-2:], speaker) for name, speaker, _ in log.said if _ == "header"] == [("#1", "C"), ("#2", "C"), ("#2", "S")]


def test_the_same_octets_behind_the_same_syn_are_the_same_connection_again() -> None:
    talk = build.conversation()
    late = [talk.segments[0], *talk.segments[3:9]]
    log = Log([*talk.segments[:12], *late, *talk.segments[12:], *talk.segments], [5672])
    assert log.ended == [NAME]
    assert log.said == Log(talk.segments, [5672]).said
    wrong = replace(talk.segments[3], octets=bytes(len(talk.segments[3].octets)))
    assert Log([*talk.segments[:12], wrong, *talk.segments[12:], wrong], [5672]).ended == [NAME]  # without a SYN


ENDS = ("open", "closed", "FIN", "RST")


def ended(messages: Sequence[bytes], end: str) -> list[Segment]:
    """A conversation that ends so."""
    segments = build.conversation(messages).segments
    if end == "open":
        return segments[:-7]
    return segments[:-3] if end != "FIN" else segments


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("ports", [[], [5672]])
def test_other_octets_behind_the_same_syn_are_another_connection(end: str, ports: Sequence[int]) -> None:
    """Whatever the first connection came to: each is heard whole."""
    first, second = ended([b"one", b"two"], end), ended([b"one", b"other", b"more"], end)
    if end == "RST":
        first = [*first, Segment(False, 400, flags=RST)]
    log = Log([*first, *second], ports)
    other = NAME.replace("#1", "#2")
    assert log.ended == [NAME, other]
    for name, alone in ((NAME, first), (other, second)):
        said = [(speaker, verb) for which, speaker, verb in log.said if which == name]
        assert said == [(speaker, verb) for _, speaker, verb in Log(alone, ports).said]


def test_reset() -> None:
    talk = build.conversation()
    cut = talk.segments[:20]
    cut.append(Segment(False, 5000, flags=RST))
    log = Log(cut)
    assert [note.rule for note in log.notes()] == ["tcp.reset"]
    assert log.ended == [NAME]


def test_a_reset_in_two_lines_of_the_table_is_one_connection() -> None:
    segments = build.conversation().segments[:12]
    log = Log([*segments, Segment(True, 400, flags=RST), Segment(True, 400, flags=RST)])
    assert log.ended == [NAME]


def test_fragments_and_packets_of_unknown_links_are_counted() -> None:
    warnings: list[str] = []
    listener = Listener(FakeWitness, lambda *_: None, lambda *_: None, (), warnings.append)
    fragment = build.ethernet(build.ip(Segment(True, 0, b"x"), fragment=8))
    for number in range(1, 4):
        listener.hear(Packet(number, 0, 1, fragment, len(fragment), 0))
        listener.hear(Packet(number, 0, 147, b"", 0, 0))
    listener.finish()
    assert warnings == [f"3 packets are left out: {why}" for why in (IN_TWO, "link type 147 is not known")]


def beating(pause_ns: int, interval: int = 1, after: Sequence[Segment] = ()) -> list[Note]:
    tune_ok = build.frame(bytes.fromhex("01060700fffeffff") + interval.to_bytes(2, "big"))
    talk = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER + build.START).say(True, build.START_OK)
    talk.say(False, build.TUNE).say(True, tune_ok)
    records = build.records(talk.segments, step=0)
    found: list[Note] = []
    listener = Listener(
        FakeWitness,
        lambda _, heard: found.append(heard.said) if isinstance(heard.said, Note) else None,
        lambda _: None,
    )
    talk.say(False, build.HEARTBEAT)
    late = [replace(each, time=each.time + pause_ns) for each in build.records(talk.segments, step=0)[len(records) :]]
    for packet in packets([*records, *late]):
        listener.hear(packet)
    return found


@pytest.mark.parametrize(("pause", "silent"), [(1_999_999_999, 0), (2_000_000_000, 0), (2_000_000_001, 2)])
def test_silence_is_more_than_two_intervals(pause: int, silent: int) -> None:
    notes = beating(pause)
    assert [note.rule for note in notes] == ["connection.silence"] * silent
    assert beating(3 * pause, 3) == [] or silent


def test_no_heartbeats_no_silence() -> None:
    assert beating(10**12, 0) == []


# --- properties over whole files --------------------------------------------------------------------------


def rows(path: Path, records: Sequence[Record], ports: Sequence[int] = ()) -> list[DecodedLine]:
    return [row for _, row in transcript(build.write(path / "x", build.pcap(records)), FakeWitness, ports, print)]


def bare(found: Iterable[DecodedLine]) -> list[dict[str, object]]:
    """Rows without what depends on the packets."""
    return [{key: value for key, value in row.items() if key not in ("packet", "time", "file")} for row in found]


MESSAGES = [bytes([number]) * (number * 37 % 300) for number in range(12)]
WHOLE = build.conversation(MESSAGES)


@given(st.integers(1, 400), st.integers(0, 2**32), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_resegmented_repeated_overlapping_reordered(tmp_path: Path, chunk: int, seed: int, overlap: bool) -> None:
    # However the same streams are cut into segments, repeated, overlapping and swapped with neighbours: the same rows, but for
    # packet and time.
    expected = bare(rows(tmp_path, build.records(WHOLE.segments)))
    dice = random.Random(seed)
    segments = []
    streams = {True: b"".join(each.octets for each in WHOLE.segments if each.from_client), False: b""}
    streams[False] = b"".join(each.octets for each in WHOLE.segments if not each.from_client)
    for each in build.conversation(MESSAGES, chunk=chunk).segments:
        if overlap and each.octets and each.sequence > 20:
            back = dice.randrange(20)
            start = each.sequence - 1 - back
            octets = streams[each.from_client][start : each.sequence - 1 + len(each.octets)]
            each = replace(each, sequence=each.sequence - back, octets=octets)
        segments.append(each)
        if dice.random() < 0.2:
            segments.append(each)
    for at in range(3, len(segments) - 6):
        if dice.random() < 0.3:
            to = min(at + dice.randrange(1, 4), len(segments) - 4)
            segments[at], segments[to] = segments[to], segments[at]
    found = rows(tmp_path, build.records(segments))
    assert by_speaker(bare(found)) == by_speaker(expected)
    assert [row["packet"] for row in found] == sorted(row["packet"] for row in found)


def by_speaker(found: Iterable[dict[str, object]]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    found = list(found)
    return [row for row in found if row["speaker"] == "C"], [row for row in found if row["speaker"] == "S"]


@pytest.mark.parametrize("seed", range(30))
def test_one_lost_packet_is_one_gap_and_nothing_before_it_changes(tmp_path: Path, seed: int) -> None:
    # Without one packet that holds data there is exactly one gap, and every row before it is as in the whole capture.
    records = build.records(WHOLE.segments)
    holding = [index for index, each in enumerate(WHOLE.segments) if each.octets and len(each.octets) > 1]
    lost = holding[seed * 7919 % len(holding)]
    whole = rows(tmp_path, records, [5672])
    path = build.write(tmp_path / "y", build.pcap(records[:lost] + records[lost + 1 :]))
    gaps = [each for verdict in verdicts(path, FakeWitness, [5672], print) for each in verdict.findings if each.rule == "gap"]
    assert len(gaps) == 1
    assert str(len(WHOLE.segments[lost].octets)) in gaps[0].said
    found = [row for _, row in transcript(path, FakeWitness, [5672], print)]
    before = [row for row in whole if row["packet"] <= lost]
    assert bare(found[: len(before)]) == bare(before)


def test_cut_at_every_octet(tmp_path: Path) -> None:
    # A capture cut anywhere prints everything that was whole before the cut as the whole one does.
    records = build.records(build.conversation([b"body"], chunk=100).segments)
    octets = build.pcap(records)
    whole = rows(tmp_path, records)
    ends = [24]
    for each in records:
        ends.append(ends[-1] + 16 + len(each.data))
    for cut in range(24, len(octets), 7):
        path = build.write(tmp_path / "x", octets[:cut])
        found = [row for _, row in transcript(path, FakeWitness, (), lambda text: None)]
        good = sum(end <= cut for end in ends) - 1
        before = [row for row in whole if row["packet"] <= good]
        assert found[: len(before)] == before
        assert all(not row["complete"] for row in found[len(before) :])


def test_snaplen_cuts_are_gaps(tmp_path: Path) -> None:
    segments = [replace(each, keep=60) if len(each.octets) > 60 else each for each in WHOLE.segments]
    path = build.write(tmp_path / "x", build.pcap(build.records(segments)))
    (verdict,) = verdicts(path, FakeWitness, (), print)
    assert sum(each.rule == "gap" for each in verdict.findings) == sum(each.keep is not None for each in segments)


# --- memory -----------------------------------------------------------------------------------------------


def peak_of(path: str) -> tuple[int, int]:
    tracemalloc.start()
    count = sum(1 for _ in transcript(path, FakeWitness, (), print))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, count


def peak_of_check(path: str) -> tuple[int, int]:
    tracemalloc.start()
    count = peak = 0
    for _ in verdicts(path, observers(), (), print):  # it hears completions, which let messages go
        count += 1
        if count % 60 == 0:
            gc.collect()  # it empties the interpreter's lists of tuples to be used again, too
            peak = max(peak, tracemalloc.get_traced_memory()[0])
    peak = peak or tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak, count


GROWN = 8 if os.environ.get("AMQP_PROFILE") == "soak" else 4
"""How many times as much there is of what must not cost memory."""


@pytest.mark.parametrize("measure", [peak_of, peak_of_check])
def test_memory_does_not_grow_with_a_long_connection(tmp_path: Path, measure: Callable[[str], tuple[int, int]]) -> None:
    peaks = []
    for factor in (1, GROWN):
        talk = build.conversation([b"x" * 500] * (400 * factor))
        path = build.write(tmp_path / "x", build.pcap(build.records(talk.segments)))
        peaks.append(measure(path)[0])
    assert peaks[1] < peaks[0] * 1.3


@pytest.mark.parametrize("measure", [peak_of, peak_of_check])
def test_memory_does_not_grow_with_the_number_of_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, measure: Callable[[str], tuple[int, int]]
) -> None:
    monkeypatch.setattr(flows, "ENDED", 16)
    monkeypatch.setattr(flows, "USED", 16)
    peaks = []
    for factor in (1, GROWN):
        segments: list[Segment] = []
        for number in range(60 * factor):
            segments += build.conversation([b"x" * 50], replace(Segment(True, 0), client_port=1024 + number)).segments
        peak, count = measure(build.write(tmp_path / "x", build.pcap(build.records(segments))))
        assert count in (60 * factor, 60 * factor * 15)
        peaks.append(peak)
    assert peaks[1] < peaks[0] * 1.3


@pytest.mark.parametrize(("name", "each"), [("STRANGERS", b"hello, world"), ("CONVERSATIONS", build.HEADER)])
def test_limits_of_connections_that_never_end(monkeypatch: pytest.MonkeyPatch, name: str, each: bytes) -> None:
    monkeypatch.setattr(flows, name, 10)
    for count, ended in ((9, 0), (10, 0), (11, 1)):
        gone: list[AmqpFlow] = []
        listener = Listener(FakeWitness, lambda *_: None, gone.append)
        segments: list[Segment] = []
        for number in range(count):
            base = replace(Segment(True, 0), client_port=1024 + number)
            segments += build.Talk(base).open().say(True, each).segments[:-1]
        for packet in packets(build.records(segments)):
            listener.hear(packet)
        assert len(gone) == (ended if name == "CONVERSATIONS" else 0)
        assert len(listener._talks) + len(listener._strangers) == count - ended


def test_how_often_ports_were_used_is_forgotten_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "USED", 3)
    for between, number in ((2, 2), (3, 1)):
        segments: list[Segment] = []
        for index, port in enumerate([1, *range(2, 2 + between), 1]):
            base = replace(Segment(True, 0), client_port=port, client_isn=index * 1_000_000)
            segments += build.conversation([], base).segments
        assert Log(segments).ended[-1] == f"10.0.0.1:1>10.0.0.2:5672#{number}"


def test_what_is_no_amqp_does_not_count_as_a_use_of_ports() -> None:
    segments: list[Segment] = []
    for index in range(3):
        base = replace(Segment(True, 0), client_isn=index * 1_000_000)
        segments += build.Talk(base).open().say(True, b"GET / HTTP/1.1").say(False, b"HTTP/1.1 400").close().segments
        base = replace(base, client_isn=index * 1_000_000 + 500_000)
        segments += build.conversation([], base).segments
    assert Log(segments).ended == [f"10.0.0.1:40000>10.0.0.2:5672#{number}" for number in (1, 2, 3)]


def test_a_violation_after_the_limit_of_findings_is_still_seen() -> None:
    from amqp_sansio.captures.replay.options import ReplayOptions
    from amqp_sansio.captures.verdicts import FINDINGS, _Case
    from amqp_sansio.events.violation import Violation

    case = _Case(AmqpFlow(Conversation(FakeWitness, lambda _, __: None), (b"\1" * 4, 1, b"\2" * 4, 2), True), ReplayOptions())
    for _ in range(FINDINGS + 5):
        case.hear(LocatedEvent(1, 0, "C", Note("gap", "lost"), 0, 0), PacketIndex())
    case.hear(LocatedEvent(2, 0, "S", Violation("S", "rule", "said", ("legal",)), 0, 0), PacketIndex())
    talk = Log(build.conversation([]).segments)
    assert talk.ended
    assert len(case.findings) == FINDINGS + 1
    assert case.violated
    assert case.left_out == 5


class Number(int):
    """A number of a packet; counts how often two are compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        Number.compared += 1
        return int(self) < int(other)


def test_the_floor_does_not_look_at_all_that_is_unfinished() -> None:
    if COMPILED:
        pytest.skip("comparisons of compiled code cannot be counted")
    listener = Listener(observers(), lambda talk, heard: None, lambda talk: None)
    octets, most = AMQP_0_10.header + b"\x0f\x00\x01\x00", 300
    for number in range(1, most + 1):
        listener.at(Number(number), 0)
        key = build.CLIENT.encode(), number, build.SERVER.encode(), 5672
        listener.segment(key, 0, 1, 1, 16, octets, 0)
    Number.compared = 0
    assert (listener.floor(), Number.compared < 20) == (1, True)
