from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.captures import flows
from amqp_sansio.captures.flows import PIECE_OCTETS, Flow
from amqp_sansio.captures.layers import ACK, FIN, RST, SYN
from amqp_sansio.captures.withheld import GRACE_NANOSECONDS, GRACE_SEGMENTS

C_ISN, S_ISN = 0xFFFFFFF0, 1000
Heard = tuple[str, int, object]


class Ear:
    """A sink that keeps everything."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.packets: list[int] = []
        self.differing: list[tuple[int, int, int, int]] = []

    def data(self, side: int, octets: bytes, packet: int, time: int) -> None:
        if self.heard and self.heard[-1][:2] == ("data", side):
            last = self.heard[-1][2]
            assert isinstance(last, bytes)
            self.heard[-1] = ("data", side, last + octets)
        else:
            self.heard.append(("data", side, octets))
        self.packets.append(packet)

    def gap(self, side: int, octets: int, packet: int, time: int) -> None:
        self.heard.append(("gap", side, octets))

    def eof(self, side: int, packet: int, time: int) -> None:
        self.heard.append(("eof", side, None))

    def reset(self, side: int, packet: int, time: int) -> None:
        self.heard.append(("reset", side, None))

    def differs(self, side: int, start: int, end: int, packet: int, time: int) -> None:
        self.differing.append((side, start, end, packet))

    def of(self, side: int) -> list[tuple[str, object]]:
        """What one side said, neighbouring data joined."""
        found: list[tuple[str, object]] = []
        for what, who, value in self.heard:
            if who == side:
                if what == "data" and found and found[-1][0] == "data":
                    assert isinstance(found[-1][1], bytes)
                    assert isinstance(value, bytes)
                    found[-1] = ("data", found[-1][1] + value)
                else:
                    found.append((what, value))
        return found


class Host:
    """Hands segments to a Flow; sequence numbers count from the initial one."""

    def __init__(self) -> None:
        self.ear = Ear()
        self.flow = Flow(self.ear)
        self.packet = 0

    def hear(
        self, side: int, at: int, octets: bytes = b"", ack: int | None = None, flags: int = 0, cut: int = 0, time: int = 0
    ) -> Host:
        self.packet += 1
        mine, other = (C_ISN, S_ISN) if side == 0 else (S_ISN, C_ISN)
        acknowledged = 0 if ack is None else (other + ack) & 0xFFFFFFFF
        flags |= 0 if ack is None else ACK
        self.flow.hear(side, (mine + at) & 0xFFFFFFFF, acknowledged, flags, octets, cut, self.packet, time)
        return self

    def open(self) -> Host:
        return self.hear(0, 0, flags=SYN).hear(1, 0, ack=1, flags=SYN).hear(0, 1, ack=1)


def test_streams_over_the_wrap_of_sequence_numbers() -> None:
    host = Host().open()
    for number in range(40):
        host.hear(0, 1 + number, bytes([number]), ack=1)
    assert host.ear.of(0) == [("data", bytes(range(40)))]


def test_a_syn_ack_tells_where_the_octets_begin_that_it_answers() -> None:
    """The SYN that was captured is of an attempt before it, or damaged."""
    ear = Ear()
    flow = Flow(ear)
    other = C_ISN ^ 0x88000000
    for at, (side, sequence, acknowledged, flags, octets) in enumerate(
        [
            (0, other, 0, SYN, b""),
            (1, S_ISN, C_ISN + 1 & 0xFFFFFFFF, SYN | ACK, b""),
            (0, C_ISN + 1, S_ISN + 1, ACK, b"ask"),
            (1, S_ISN + 1, C_ISN + 4 & 0xFFFFFFFF, ACK, b"answer"),
        ]
    ):
        flow.hear(side, sequence & 0xFFFFFFFF, acknowledged, flags, octets, 0, at + 1, at)
    assert ear.heard == [("data", 0, b"ask"), ("data", 1, b"answer")]


def test_reordered_and_sent_again() -> None:
    host = Host().open().hear(0, 4, b"def", ack=1).hear(0, 7, b"g", ack=1).hear(0, 4, b"DEF", ack=1)
    assert host.ear.heard == []
    host.hear(0, 1, b"abc", ack=1).hear(0, 1, b"XXXXXXX", ack=1)
    assert host.ear.of(0) == [("data", b"abcdefg")]
    assert host.ear.differing == [(0, 3, 6, 6)]  # what was passed on is not kept, so not compared


def test_waiting_octets_that_come_again_are_compared() -> None:
    host = Host().open().hear(0, 4, b"def", ack=1).hear(0, 9, b"ij", ack=1).hear(0, 11, cut=2, ack=1)
    for start, octets in ((4, b"def"), (2, b"bcde"), (5, b"efghi"), (10, b"jXX"), (20, b"Z"), (1, b"abcdefghij")):
        host.hear(0, start, octets, ack=1)
    assert host.ear.differing == []
    host = Host().open().hear(0, 4, b"def", ack=1).hear(0, 9, b"ij", ack=1)
    for start, octets in ((3, b"cX"), (6, b"fghX"), (2, b"XXXefX"), (10, b"jX"), (8, b"hXj")):
        host.hear(0, start, octets, ack=1)
    assert [each[:3] for each in host.ear.differing] == [(0, 3, 4), (0, 8, 9), (0, 2, 3), (0, 8, 10)]


def test_of_overlapping_segments_the_first_wins() -> None:
    host = (
        Host().open().hear(0, 3, b"3456", ack=1).hear(0, 8, b"8", ack=1).hear(0, 2, b"BBBBBBBBB", ack=1).hear(0, 1, b"A", ack=1)
    )
    assert host.ear.of(0) == [("data", b"AB3456B8BB")]
    assert host.flow.waiting == 0


def test_keep_alives_and_zero_window_probes() -> None:
    host = Host().open().hear(0, 1, b"abc", ack=1)
    host.hear(0, 3, b"\0", ack=1).hear(0, 3, b"", ack=1).hear(1, 1, ack=4)
    host.hear(0, 4, b"d", ack=1).hear(0, 4, b"d", ack=1).hear(0, 5, b"e", ack=1)
    assert host.ear.of(0) == [("data", b"abcde")]


def test_fin_in_and_out_of_order() -> None:
    host = Host().open().hear(0, 4, b"d", ack=1, flags=FIN).hear(0, 1, b"abc", ack=1)
    assert host.ear.of(0) == [("data", b"abcd"), ("eof", None)]
    host.hear(0, 4, b"d", ack=1, flags=FIN).hear(1, 1, ack=6, flags=FIN).hear(0, 6, ack=2)
    assert host.ear.of(1) == [("eof", None)]
    assert host.ear.of(0) == [("data", b"abcd"), ("eof", None)]


def test_a_fin_comes_after_what_it_acknowledges() -> None:
    host = Host().open().hear(0, 1, ack=4, flags=FIN).hear(1, 1, b"abc", ack=1)
    assert host.ear.heard == [("data", 1, b"abc"), ("eof", 0, None)]
    # Sent again with newer acknowledgements: each FIN acknowledges the other.
    host = Host().open().hear(0, 1, ack=2, flags=FIN).hear(1, 1, ack=2, flags=FIN)
    assert sorted(host.ear.heard) == [("eof", 0, None), ("eof", 1, None)]


def test_a_lost_fin_is_no_gap() -> None:
    host = Host().open().hear(0, 1, b"abc", ack=1).hear(1, 1, ack=5, flags=FIN)
    host.flow.give_up()
    assert host.ear.of(0) == [("data", b"abc"), ("eof", None)]


def test_reset() -> None:
    host = Host().open().hear(0, 1, b"abc", ack=1).hear(1, 1, flags=RST).hear(1, 1, flags=RST)
    assert host.ear.heard == [("data", 0, b"abc"), ("reset", 1, None)]


def test_a_cut_packet_is_a_gap_of_known_size() -> None:
    host = Host().open().hear(0, 1, b"abc", ack=1, cut=5).hear(0, 9, b"ij", ack=1)
    assert host.ear.of(0) == [("data", b"abc"), ("gap", 5), ("data", b"ij")]
    host = Host().open().hear(0, 9, b"ij", ack=1).hear(0, 1, b"", ack=1, cut=8)
    assert host.ear.of(0) == [("gap", 8), ("data", b"ij")]


def test_what_nobody_answers_waits_and_what_is_acknowledged_is_lost() -> None:
    host = Host().open().hear(0, 1, b"abc", ack=1).hear(0, 7, b"ghi", ack=1)
    for _ in range(GRACE_SEGMENTS * 2):
        host.hear(1, 1, ack=4)
    assert host.ear.of(0) == [("data", b"abc")]
    host.hear(1, 1, ack=10)
    for _ in range(GRACE_SEGMENTS):
        host.hear(1, 1, ack=10)
        assert host.ear.of(0) == [("data", b"abc")]
    host.hear(1, 1, ack=10)
    assert host.ear.of(0) == [("data", b"abc"), ("gap", 3), ("data", b"ghi")]


@pytest.mark.parametrize(("segments", "time", "over"), [(15, 1, False), (16, 0, False), (16, 1, True)])
def test_grace_ends_by_time_too(segments: int, time: int, over: bool) -> None:
    host = Host().open().hear(0, 4, b"def", ack=1).hear(1, 1, ack=7, time=5)
    for _ in range(segments):
        host.hear(1, 1, ack=7, time=5 + GRACE_NANOSECONDS + time)
    assert host.ear.of(0) == ([("gap", 3), ("data", b"def")] if over else [])


def test_grace_begins_anew_with_each_hole() -> None:
    host = Host().open()
    for number in range(200):
        host.hear(1, 1, ack=2 + number, time=number * 10**9).hear(0, 1 + number, b"x", ack=1, time=number * 10**9)
    assert host.ear.of(0) == [("data", b"x" * 200)]


def test_a_hole_that_is_being_filled_is_not_lost() -> None:
    """What a thread wrote late, or a file that a stream reads late, may be more segments than the grace."""
    host = Host().open().hear(1, 1, ack=401)
    for number in range(400):
        host.hear(0, 1 + number, b"x", ack=1)
    assert host.ear.of(0) == [("data", b"x" * 400)]


@pytest.mark.parametrize("step", [0, 10**8])
def test_a_direction_that_is_always_captured_late_loses_nothing(step: int) -> None:
    host = Host().open()
    late = 8
    for number in range(3 * GRACE_SEGMENTS):
        host.hear(1, 1, ack=2 + number, time=number * step)
        if number >= late:
            host.hear(0, 1 + number - late, b"x", ack=1, time=number * step)
    assert host.ear.of(0) == [("data", b"x" * (3 * GRACE_SEGMENTS - late))]


def test_segments_outside_the_window_acknowledge_nothing() -> None:
    host = Host().open().hear(0, 1, b"abc", ack=1).hear(1, 1 << 31, ack=5000)
    for _ in range(GRACE_SEGMENTS * 2):
        host.hear(0, 4, ack=1)
    assert host.ear.of(0) == [("data", b"abc")]


def test_an_answer_captured_before_its_question_comes_after_it() -> None:
    host = Host().open().hear(1, 1, b"answer", ack=9).hear(0, 1, b"question", ack=1)
    assert host.ear.heard == [("data", 0, b"question"), ("data", 1, b"answer")]


def test_octets_that_wait_for_each_other() -> None:
    # Sent again with a newer acknowledgement, and captured before the first time.
    host = Host().open().hear(0, 1, b"question", ack=7).hear(1, 1, b"answer", ack=9)
    assert host.ear.heard == [("data", 0, b"question"), ("data", 1, b"answer")]
    host = (
        Host()
        .open()
        .hear(0, 5, b"tion", ack=7)
        .hear(0, 5, b"tion", ack=1)
        .hear(1, 1, b"answer", ack=9)
        .hear(0, 1, b"ques", ack=1)
    )
    assert host.ear.heard == [("data", 0, b"question"), ("data", 1, b"answer")]


def test_holes_at_the_end_count_as_lost() -> None:
    host = Host().open().hear(0, 4, b"d", ack=1).hear(1, 1, b"x", ack=1).hear(1, 5, b"z", ack=8)
    host.flow.give_up()
    assert host.ear.of(0) == [("gap", 3), ("data", b"d"), ("gap", 3)]
    assert host.ear.of(1) == [("data", b"x"), ("gap", 3), ("data", b"z")]
    assert host.flow.waiting == 0


def test_from_the_middle() -> None:
    host = Host().hear(1, 500, b"", ack=900).hear(0, 900, b"abc", ack=500).hear(1, 500, b"xyz", ack=903)
    assert host.ear.heard == [("data", 0, b"abc"), ("data", 1, b"xyz")]
    host = Host().hear(0, 899, b"\0", ack=500).hear(0, 900, b"abc", ack=500)
    assert host.ear.heard == [("data", 0, b"abc")]


def test_what_lies_outside_every_window_is_left_alone() -> None:
    host = (
        Host().open().hear(0, (1 << 30) + 2, b"far", ack=1).hear(0, -(1 << 30), b"far", ack=1).hear(0, 1, b"near", ack=1 << 31)
    )
    host.flow.give_up()
    assert host.ear.of(0) == [("data", b"near")]


def test_the_limit_of_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    limit = 1000 + PIECE_OCTETS
    monkeypatch.setattr(flows, "REORDER_OCTETS", limit)
    for size, lost in ((999, False), (1000, False), (1001, True)):
        host = Host().open().hear(0, 2, b"x" * size, ack=1)
        assert host.ear.of(0) == ([("gap", 1), ("data", b"x" * size)] if lost else [])
    # Answers to something that never comes wait no longer than that, either.
    host = Host().open()
    for number in range(30):
        host.hear(1, 1 + 100 * number, b"y" * 100, ack=50)
    assert host.flow.waiting <= limit
    assert host.ear.of(0) == [("gap", 49)]


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[bytes, bytes, list[tuple[int, int, bytes]]]:
    """Two streams and segments of them that overlap, repeat and come in any order, but together hold every octet."""
    streams = bytes(range(draw(st.integers(0, 120)))), bytes(range(draw(st.integers(0, 120))))
    segments = []
    for side, stream in enumerate(streams):
        at = 0
        while at < len(stream):
            size = draw(st.integers(1, 40))
            back = draw(st.integers(0, min(at, 10)))
            segments.append((side, at - back, stream[at - back : at + size]))
            at += size
    segments += draw(st.lists(st.sampled_from(segments), max_size=5)) if segments else []
    order = draw(st.permutations(range(len(segments))))
    return *streams, [segments[index] for index in order]


@given(deliveries())
def test_any_segmentation_order_and_repetition_gives_the_same_streams(
    case: tuple[bytes, bytes, list[tuple[int, int, bytes]]],
) -> None:
    # Whatever segments the octets came in, and in whatever order, each stream is handed out whole, without a gap.
    client, server, segments = case
    host = Host().open()
    for side, at, octets in segments:
        host.hear(side, 1 + at, octets, ack=1)
    host.flow.give_up()
    assert host.ear.of(0) == ([("data", client)] if client else [])
    assert host.ear.of(1) == ([("data", server)] if server else [])


@given(st.integers(0, 2**32), st.lists(st.integers(1, 50), min_size=2, max_size=20), st.data())
def test_one_lost_segment_is_exactly_one_gap(seed: int, sizes: list[int], data: st.DataObject) -> None:
    # When one segment is not in the capture, its octets are one gap, and everything else is as it was.
    stream = random.Random(seed).randbytes(sum(sizes))
    lost = data.draw(st.integers(0, len(sizes) - 1))
    host = Host().open()
    at = 0
    expected: list[tuple[str, object]] = []
    for index, size in enumerate(sizes):
        octets = stream[at : at + size]
        if index != lost:
            host.hear(0, 1 + at, octets, ack=1)
        host.hear(1, 1, ack=1 + at + size)
        at += size
    before = sum(sizes[:lost])
    for what, value in (("data", stream[:before]), ("gap", sizes[lost]), ("data", stream[before + sizes[lost] :])):
        if value:
            expected.append((what, value))
    host.flow.give_up()
    if lost == len(sizes) - 1 and sizes[lost] == 1:
        expected[-1] = ("eof", None)  # nobody could tell it from a lost FIN
    assert host.ear.of(0) == expected


def test_linear_in_what_waits() -> None:
    host = Host().open()
    for number in range(20_000, 0, -1):
        host.hear(0, 1 + 2 * number, b"ab", ack=1)
    assert host.ear.of(0) == []
    host.hear(0, 1, b"ab", ack=1)
    assert host.ear.of(0) == [("data", b"ab" * 20_001)]


def test_octets_sent_again_with_other_content_change_nothing() -> None:
    host = Host().open().hear(0, 1, b"first", ack=1).hear(0, 1, b"other", ack=1)
    host.hear(0, 11, b"third", ack=1).hear(0, 11, b"WRONG", ack=1).hear(0, 6, b"again", ack=1)
    assert host.ear.of(0) == [("data", b"firstagainthird")]


def test_the_limit_of_segments_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "REORDER_SEGMENTS", 5)
    for segments, lost in ((4, False), (5, False), (6, True)):
        host = Host().open()
        for number in range(segments):
            host.hear(0, 2 + 2 * number, b"x", ack=1)
        assert (host.ear.of(0) != []) is lost
        assert len(host.flow.sides[0].pieces) == min(segments, 5)


class Count:
    """A sink that counts."""

    def __init__(self) -> None:
        self.octets = [0, 0]
        self.ends = [0, 0]

    def data(self, side: int, octets: bytes, packet: int, time: int) -> None:
        assert octets
        self.octets[side] += len(octets)

    def gap(self, side: int, octets: int, packet: int, time: int) -> None:
        assert octets > 0
        self.octets[side] += octets

    def eof(self, side: int, packet: int, time: int) -> None:
        self.ends[side] += 1

    def reset(self, side: int, packet: int, time: int) -> None:
        pass

    def differs(self, side: int, start: int, end: int, packet: int, time: int) -> None:
        assert start < end


def noise(seed: int) -> None:
    """Segments that no two hosts would send: any numbers, any flags, FINs in the middle, cuts of gigabytes."""
    chance = random.Random(seed)
    sink = Count()
    flow = Flow(sink)
    base = [chance.getrandbits(32), chance.getrandbits(32)]
    for packet in range(chance.randrange(1, 150)):
        side = chance.randrange(2)
        away = [
            chance.choice((0, 1, chance.randrange(3000), chance.randrange(300), -chance.randrange(50), chance.getrandbits(32)))
            for _ in base
        ]
        flags = chance.choice((ACK, ACK, ACK, ACK, ACK, ACK | 8, ACK | FIN, 0, SYN, SYN | ACK, RST, FIN))
        octets = chance.randbytes(chance.choice((0, 1, 5, 100, 300)))
        cut = chance.choice((0, 0, 0, 7, 2**31 - 1))
        sequence, acknowledged = (base[side] + away[0]) & 0xFFFFFFFF, (base[1 - side] + away[1]) & 0xFFFFFFFF
        flow.hear(side, sequence, acknowledged, flags, octets, cut, packet, packet * chance.choice((1, 10**9)))
        for each in flow.sides:
            assert each.waiting <= 3000
            assert len(each.pieces) <= 9
            assert each.waiting == sum(PIECE_OCTETS + len(piece.octets or b"") for piece in each.pieces)
    flow.give_up()
    for index, each in enumerate(flow.sides):
        assert each.pieces == []
        assert each.waiting == 0
        assert sink.ends[index] <= 1
        assert abs(each.position - sink.octets[index] - sink.ends[index]) <= sink.ends[index]


def test_noise_keeps_within_the_limits_and_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever segments come, what waits is bounded, everything is handed out once, and no call goes on for ever."""
    monkeypatch.setattr(flows, "REORDER_OCTETS", 3000)
    monkeypatch.setattr(flows, "REORDER_SEGMENTS", 9)
    for seed in range(150):
        noise(seed)


def test_octets_behind_a_fin_that_waits_for_an_answer_come_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flows, "REORDER_OCTETS", 9 * (PIECE_OCTETS + 1))
    host = Host().open().hear(1, 1, ack=1000, flags=FIN)
    for number in range(12):  # the tenth is one too many
        host.hear(1, 20 + 20 * number, b"x", ack=1)
    assert len(host.flow.sides[1].pieces) <= 9
    assert ("gap", 0, 999) in host.ear.heard
    assert host.ear.of(1)[-1] == ("data", b"x")
