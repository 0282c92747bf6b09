"""The state machine of one (channel, track), frame by frame (model 1.3).  Whole streams of octets: see test_segments."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.pieces import drain, frame
from tests.wire.pieces import rules as rules_and_codes

from amqp_sansio.limits import DEFAULT_LIMITS, Limits
from amqp_sansio.wire.framing import BODY, COMMAND, CONTROL, HEADER, Assembly, Malformed
from amqp_sansio.wire.segments import SegmentReader

TRANSFER = bytes.fromhex("040101000700000100")
HEARTBEAT = bytes.fromhex("010a0000")
BARE_TRANSFER = bytes.fromhex("040101000000")
SYNC = bytes.fromhex("030101000000")


class Fed:
    """A reader that is given frames as (flags, kind, payload) on one channel, each 100 octets behind the one before."""

    def __init__(self, *, tolerant: bool = False, strict: bool = False, limits: Limits = DEFAULT_LIMITS) -> None:
        self.reader = SegmentReader(
            limits, 65535, tolerant, strict=strict, carries=lambda class_code, code: (class_code, code) == (4, 1)
        )
        self.at = 0

    def give(self, flags: int, kind: int, payload: bytes = b"", channel: int = 1) -> list[Assembly | Malformed]:
        track = 0 if kind == CONTROL else 1
        whole = self.reader._frame((flags, kind, track, channel, self.at, payload))
        self.at += 100
        found = list(self.reader.queue)
        self.reader.queue.clear()
        return [*found, whole] if whole is not None else found


def rules(found: list[Assembly | Malformed]) -> list[str]:
    return [each.rule if isinstance(each, Malformed) else "assembly" for each in found]


def test_a_command_in_one_frame_is_handed_back_at_once() -> None:
    fed = Fed()
    assert fed.give(0x0F, COMMAND, SYNC) == [Assembly(1, 1, COMMAND, SYNC, None, None, 0, 12 + len(SYNC))]
    assert not fed.reader._open


def test_segments_of_several_frames_are_joined() -> None:
    fed = Fed()
    frames = [
        (0x0A, COMMAND, BARE_TRANSFER[:3]), (0x09, COMMAND, BARE_TRANSFER[3:]), (0x02, HEADER, b"h1"), (0x00, HEADER, b"h2"),
        (0x01, HEADER, b"h3"), (0x06, BODY, b"b1"), (0x05, BODY, b"b2"),
    ]  # fmt: skip
    *before, last = [fed.give(*each) for each in frames]
    assert before == [[]] * 6
    (whole,) = last
    assert isinstance(whole, Assembly)
    assert (whole.payload, whole.header, whole.body, whole.start, whole.end) == (BARE_TRANSFER, b"h1h2h3", b"b1b2", 0, 614)
    assert fed.reader.held == 0


def test_channels_and_tracks_do_not_meet() -> None:
    fed = Fed()
    fed.give(0x0B, COMMAND, BARE_TRANSFER, channel=1)
    fed.give(0x0B, COMMAND, BARE_TRANSFER, channel=2)
    assert rules(fed.give(0x0F, CONTROL, b"\1\x0a\0\0", channel=1)) == ["assembly"]
    (two,) = fed.give(0x07, BODY, b"two", channel=2)
    (one,) = fed.give(0x07, BODY, b"one", channel=1)
    assert isinstance(one, Assembly)
    assert isinstance(two, Assembly)
    assert (one.body, two.body) == (b"one", b"two")


BEGUN = (0x0B, COMMAND, BARE_TRANSFER)
IN_BODY = (0x06, BODY, b"b")


@pytest.mark.parametrize(
    ("before", "frame", "rule", "code"),
    [
        ([], (0x07, COMMAND, SYNC), "assembly.first-frame", 501),
        ([], (0x0D, COMMAND, SYNC), "assembly.first-frame", 501),
        ([], (0x0F, HEADER, b""), "assembly.first-segment", 501),
        ([], (0x0F, BODY, b""), "assembly.first-segment", 501),
        ([], (0x0B, CONTROL, b""), "assembly.control", 501),
        ([BEGUN, IN_BODY], (0x07, BODY, b"x"), "assembly.last-frame", 501),
        ([BEGUN, IN_BODY], (0x05, HEADER, b"x"), "assembly.last-frame", 501),
        ([BEGUN, IN_BODY], (0x01, BODY, b"x"), "assembly.same-segment", 501),
        ([BEGUN], (0x0F, COMMAND, SYNC), "assembly.last-segment", 501),
        ([BEGUN], (0x05, BODY, b"x"), "assembly.first-frame", 501),
        ([BEGUN, (0x03, BODY, b"x")], (0x07, HEADER, b"x"), "assembly.segment-order", 503),
        ([BEGUN, (0x03, HEADER, b"x")], (0x07, HEADER, b"x"), "assembly.segment-order", 503),
        ([], (0x0B, COMMAND, SYNC), "assembly.segments", 503),
    ],
)
@pytest.mark.parametrize("tolerant", [False, True])
def test_a_frame_out_of_turn(
    before: list[tuple[int, int, bytes]], frame: tuple[int, int, bytes], rule: str, code: int, tolerant: bool
) -> None:
    fed = Fed(tolerant=tolerant, strict=not tolerant)
    for each in before:
        assert fed.give(*each) == []
    told = [each for each in fed.give(*frame) if isinstance(each, Malformed)]
    assert [(each.rule, each.code, each.channel, each.fatal) for each in told] == [(rule, code, 1, False)]
    assert told[0].said
    assert told[0].legal
    assert told[0].offset == 100 * len(before)
    # What follows is read again.
    assert "assembly" in rules([*fed.give(0x0F, COMMAND, SYNC), *fed.give(0x0F, COMMAND, SYNC)])


def test_a_command_behind_an_unended_header_is_what_one_peer_does() -> None:
    for strict, expected in ((False, ["assembly", "assembly"]), (True, ["assembly.last-segment"])):
        fed = Fed(strict=strict)
        fed.give(*BEGUN)
        fed.give(0x03, HEADER, b"h")
        assert rules(fed.give(0x0F, COMMAND, SYNC))[: len(expected)] == expected


@pytest.mark.parametrize(("octets", "good"), [(9, True), (10, True), (11, False)])
def test_limit_assembly_octets(octets: int, good: bool) -> None:
    fed = Fed(limits=Limits(assembly_octets=len(BARE_TRANSFER) + 10))
    fed.give(*BEGUN)
    assert rules(fed.give(0x07, BODY, b"x" * octets)) == (["assembly"] if good else ["limits.assembly_octets"])
    assert fed.reader.held == 0


def test_forgetting_passes_over_the_rest_and_concluding_hands_out_what_there_is() -> None:
    fed = Fed()
    fed.give(*BEGUN)
    fed.give(*IN_BODY)
    fed.reader.forget(1)
    assert fed.reader.held == 0
    assert fed.give(0x05, BODY, b"rest") == []
    assert not fed.reader._open
    fed.give(*BEGUN)
    (ended,) = fed.reader.conclude(1)
    assert (ended.payload, ended.complete, ended.unended) == (BARE_TRANSFER, False, False)
    fed.give(*BEGUN)
    fed.give(0x03, HEADER, b"h")
    (ended,) = fed.reader.conclude(None)
    assert (ended.header, ended.complete, ended.unended) == (b"h", True, True)


LIMITS = attrs.evolve(DEFAULT_LIMITS, handshake_octets=100)


def heard(octets: bytes, opened: bool = False) -> tuple[SegmentReader, list[Assembly | Malformed]]:
    reader = SegmentReader(LIMITS, opening=True)
    if opened:
        reader.opened()
    reader.receive(octets)
    return reader, drain(reader)


@pytest.mark.parametrize(("kind", "channel"), [(CONTROL, 1), (COMMAND, 0), (COMMAND, 7)])
def test_what_goes_on_on_another_channel_or_track_is_refused_at_its_first_frame(kind: int, channel: int) -> None:
    begun = frame(0x0A, kind, bytes(50), channel=channel)
    reader, found = heard(begun)
    assert rules_and_codes(found) == [("connection.handshake", 501)]
    assert reader.held == 0
    reader, found = heard(begun, opened=True)
    if kind == COMMAND:
        assert (found, reader.held) == ([], 50)


def test_a_control_that_begins_before_the_connection_is_open_goes_on_after_it() -> None:
    reader, found = heard(frame(0x0E, CONTROL, b"begun, ", channel=0))
    assert found == []
    reader.opened()
    reader.receive(frame(0x0D, CONTROL, b"ended", channel=0))
    (whole,) = drain(reader)
    assert isinstance(whole, Assembly)
    assert (whole.payload, whole.complete, reader.held) == (b"begun, ended", True, 0)


# Invariant: before the connection is open, whatever frames come, no more than handshake_octets are held for them.
@given(
    st.lists(
        st.tuples(
            st.sampled_from([0, 1, 2, 4, 8, 10, 12, 14, 15]),
            st.sampled_from([CONTROL, COMMAND, HEADER, BODY]),
            st.integers(0, 120),
            st.integers(0, 3),
        ),
        max_size=40,
    )
)
def test_a_stranger_makes_us_hold_one_small_control_at_most(
    frames: list[tuple[int, int, int, int]],
) -> None:
    reader = SegmentReader(LIMITS, opening=True)
    for flags, kind, size, channel in frames:
        reader.receive(frame(flags, kind, bytes(size), channel=channel))
        drain(reader)
        assert reader.held <= LIMITS.handshake_octets
        assert reader.buffered == 0
        assert len(reader._open) <= 1
