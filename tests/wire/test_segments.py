"""Cutting output into frames, and the checks of their headers."""

from __future__ import annotations

import time

import attrs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.wire.pieces import (
    BETWEEN_BODY,
    BETWEEN_COMMAND,
    BODY_OPEN,
    COMMAND_OPEN,
    HEARTBEAT,
    NEXT,
    SYNC,
    TRANSFER,
    Found,
    carries,
    drain,
    frame,
    only,
    read,
    rules,
    summary,
)

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.inbound import replies_of
from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec import message, session
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.wire.framing import BODY, COMMAND, CONTROL, HEADER, Assembly, Malformed
from amqp_sansio.wire.segments import (
    SEGMENTATION,
    OneRange,
    SegmentReader,
    alone_next,
    check_header,
    codes_of,
    describe,
    frame_command,
    frame_control,
    uncuttable,
)


def test_a_control_is_one_frame() -> None:
    assert frame_control(0, HEARTBEAT) == bytes.fromhex("0f000010000000000000000001 0a0000".replace(" ", ""))
    assert len(frame_control(1, bytes(4084), 4096)) == 4096
    with pytest.raises(EncodeError):
        frame_control(1, bytes(4085), 4096)
    with pytest.raises(EncodeError):
        frame_control(1, bytes(65524))


def test_flags_of_a_command_and_what_it_carries() -> None:
    assert [(f[0], f[1]) for f in frame_command(1, TRANSFER)] == [(0x0F, 1)]
    assert [(f[0], f[1]) for f in frame_command(1, TRANSFER, b"h")] == [(0x0B, 1), (0x07, 2)]
    assert [(f[0], f[1]) for f in frame_command(1, TRANSFER, b"h", b"")] == [(0x0B, 1), (0x03, 2), (0x07, 3)]
    assert [(f[0], f[1]) for f in frame_command(1, TRANSFER, None, b"b")] == [(0x0B, 1), (0x07, 3)]
    split = frame_command(1, TRANSFER, b"h", bytes(4084 * 2 + 1), 4096)
    assert [(f[0], f[1], len(f)) for f in split[2:]] == [(0x06, 3, 4096), (0x04, 3, 4096), (0x05, 3, 13)]
    exact = frame_command(1, TRANSFER, b"h", bytes(4084 * 2), 4096)
    assert [(f[0], len(f)) for f in exact[2:]] == [(0x06, 4096), (0x05, 4096)]


def test_commands_and_headers_are_never_split() -> None:
    assert len(frame_command(1, bytes(4084), bytes(4084), None, 4096)) == 2
    with pytest.raises(EncodeError, match="command"):
        frame_command(1, bytes(4085), None, None, 4096)
    with pytest.raises(EncodeError, match="header"):
        frame_command(1, b"", bytes(4085), None, 4096)
    with pytest.raises(EncodeError):
        frame_command(1, b"", None, b"xx", 12)


def test_a_frame_of_thirteen_octets_holds_one_octet_of_a_body_and_a_smaller_one_none() -> None:
    assert [frame[12:] for frame in frame_command(1, b"", None, b"xyz", 13)] == [b"", b"x", b"y", b"z"]
    with pytest.raises(EncodeError, match="a frame of 12 octets has no room for a body"):
        frame_command(1, b"", None, b"x", 12)


def test_a_header_that_must_be_passed_on_is_split_when_asked() -> None:
    split = frame_command(1, TRANSFER, bytes(4085), b"b", 4096, split_header=True)
    assert [(f[0], f[1], len(f)) for f in split] == [(0x0B, 1, 21), (0x02, 2, 4096), (0x01, 2, 13), (0x07, 3, 13)]
    last = frame_command(1, TRANSFER, bytes(4084 * 2), None, 4096, split_header=True)
    assert [(f[0], f[1], len(f)) for f in last[1:]] == [(0x06, 2, 4096), (0x05, 2, 4096)]
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.receive(b"".join(split))
    thing = reader.next()
    assert isinstance(thing, Assembly)
    assert (thing.header, thing.body) == (bytes(4085), b"b")


def test_frames_in_words() -> None:
    assert describe(0x0F, 0) == "B E b e control"
    assert describe(0x06, 3) == "E b body"
    assert describe(0x00, 1) == "command"


def test_every_frame_header_check_lists_what_would_be_legal() -> None:
    for breach in (
        check_header(0x0F, 0, 5000, 0, 0, 1, 4096, 9),
        check_header(0x1F, 0, 16, 0, 0, 1, 4096, 9),
        check_header(0x0F, 7, 16, 0, 1, 1, 4096, 9),
        check_header(0x0F, 0, 16, 0, 1, 1, 4096, 9),
        uncuttable(0x4F, 16, 1, 9),
        uncuttable(0x0F, 3, 1, 9),
    ):
        assert breach is not None
        assert breach.legal
        assert breach.said
        assert (breach.code, breach.channel, breach.offset, breach.ends_connection) == (501, 1, 9, True)


@pytest.mark.parametrize(("kind", "track"), [(0, 0), (1, 1), (2, 1), (3, 1)])
def test_a_good_header(kind: int, track: int) -> None:
    assert check_header(0x0F, kind, 4096, 0, track, 65535, 4096, 0) is None


# Whole assemblies.


def test_a_control_in_one_frame() -> None:
    octets = frame(0x0F, CONTROL, HEARTBEAT, channel=0)
    assert only(read(octets)) == Assembly(0, 0, CONTROL, HEARTBEAT, None, None, 0, 16)


def test_a_command_with_header_and_body() -> None:
    octets = frame(0x0B, COMMAND, TRANSFER) + frame(0x03, HEADER, b"head") + frame(0x07, BODY, b"hello")
    assert only(read(octets)) == Assembly(1, 1, COMMAND, TRANSFER, b"head", b"hello", 0, len(octets))


@pytest.mark.parametrize(
    ("octets", "header", "body"),
    [
        (frame(0x0F, COMMAND, TRANSFER), None, None),
        (frame(0x0B, COMMAND, TRANSFER) + frame(0x07, HEADER, b"h"), b"h", None),
        (frame(0x0B, COMMAND, TRANSFER) + frame(0x03, HEADER, b"h") + frame(0x07, BODY), b"h", b""),
        (frame(0x0B, COMMAND, TRANSFER) + frame(0x07, BODY), None, b""),
    ],
)
def test_the_four_encodings_of_an_empty_message(octets: bytes, header: bytes | None, body: bytes | None) -> None:
    assembly = only(read(octets))
    assert (assembly.payload, assembly.header, assembly.body) == (TRANSFER, header, body)


def test_a_body_over_many_frames() -> None:
    octets = (
        frame(0x0B, COMMAND, TRANSFER)
        + frame(0x03, HEADER, b"h")
        + frame(0x06, BODY, b"a" * 600)
        + frame(0x04, BODY, b"b")
        + frame(0x04, BODY, b"")
        + frame(0x05, BODY, b"c")
    )
    assert only(read(octets)).body == b"a" * 600 + b"bc"


def test_every_segment_over_many_frames() -> None:
    octets = (
        frame(0x0A, COMMAND, TRANSFER[:3])
        + frame(0x09, COMMAND, TRANSFER[3:])
        + frame(0x02, HEADER, b"h")
        + frame(0x00, HEADER, b"e")
        + frame(0x01, HEADER, b"ad")
        + frame(0x07, BODY, b"x")
    )
    assert only(read(octets)) == Assembly(1, 1, COMMAND, TRANSFER, b"head", b"x", 0, len(octets))
    control = frame(0x0E, CONTROL, HEARTBEAT[:1]) + frame(0x0C, CONTROL, b"") + frame(0x0D, CONTROL, HEARTBEAT[1:])
    assert only(read(control)).payload == HEARTBEAT


def test_controls_and_other_channels_interleave_within_a_transfer() -> None:
    octets = (
        frame(0x0B, COMMAND, TRANSFER, channel=1)
        + frame(0x0B, COMMAND, TRANSFER, channel=0)
        + frame(0x0E, CONTROL, HEARTBEAT[:2], channel=1)
        + frame(0x06, BODY, b"one ", channel=1)
        + frame(0x0D, CONTROL, HEARTBEAT[2:], channel=1)
        + frame(0x07, BODY, b"zero", channel=0)
        + frame(0x05, BODY, b"more", channel=1)
    )
    found = read(octets)
    assert [(a.channel, a.kind, a.body) for a in found if isinstance(a, Assembly)] == [
        (1, CONTROL, None),
        (0, COMMAND, b"zero"),
        (1, COMMAND, b"one more"),
    ]


def test_octets_8_to_11_of_a_frame_header_are_ignored() -> None:
    octets = bytearray(frame(0x0F, CONTROL, HEARTBEAT))
    octets[8:12] = b"\xde\xad\xbe\xef"
    assert only(read(bytes(octets))).complete


def test_an_assembly_that_is_never_ended() -> None:
    unended = frame(0x0B, COMMAND, TRANSFER) + frame(0x03, HEADER, b"h")
    control = frame(0x0F, CONTROL, HEARTBEAT)
    octets = unended + control + unended + frame(0x0F, COMMAND, SYNC)
    for tolerant in (False, True):
        found = read(octets, tolerant=tolerant)
        assert summary(found) == ["010a", "0401~", "0401~", "0301"]
        first = found[1]
        assert isinstance(first, Assembly)
        assert (first.start, first.end, first.header, first.body) == (0, len(unended), b"h", None)
    assert summary(read(octets, strict=True)) == ["010a", "assembly.last-segment", "0301"]
    assert summary(read(unended, tolerant=True)) == ["0401!"]


# Frame headers that cannot be (model 1.2).


@pytest.mark.parametrize(
    ("octets", "rule"),
    [
        (frame(0x0F, CONTROL, size=11), "frame.size"),
        (frame(0x0F, CONTROL, size=0), "frame.size"),
        (frame(0x4F, CONTROL, HEARTBEAT), "frame.version"),
        (frame(0x8F, CONTROL, HEARTBEAT), "frame.version"),
    ],
)
def test_a_frame_that_cannot_be_cut_ends_the_reading(octets: bytes, rule: str) -> None:
    good = frame(0x0F, CONTROL, HEARTBEAT)
    for tolerant in (False, True):
        found = read(good + octets + good, tolerant=tolerant)
        assert summary(found) == ["010a", rule]
        breach = found[1]
        assert isinstance(breach, Malformed)
        assert (breach.code, breach.offset, breach.fatal, breach.ends_connection) == (501, len(good), True, True)
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.receive(octets)
    drain(reader)
    reader.receive(b"x" * 1000)
    assert reader.dead
    assert reader.received == len(octets) + 1000
    assert reader.next() is None
    assert reader.buffered <= 12


@pytest.mark.parametrize(
    ("octets", "rule", "seen"),
    [
        (frame(0x1F, CONTROL, HEARTBEAT), "frame.reserved", True),
        (frame(0x2F, CONTROL, HEARTBEAT), "frame.reserved", True),
        (frame(0x0F, CONTROL, HEARTBEAT, track=0xF0), "frame.reserved", True),
        (frame(0x0F, CONTROL, HEARTBEAT)[:4] + b"\1" + frame(0x0F, CONTROL, HEARTBEAT)[5:], "frame.reserved", True),
        (frame(0x0F, 4, HEARTBEAT), "frame.segment-type", False),
        (frame(0x0F, 9, HEARTBEAT), "frame.segment-type", False),
        (frame(0x0F, CONTROL, HEARTBEAT, track=1), "frame.track", True),
        (frame(0x0F, CONTROL, HEARTBEAT, track=5), "frame.track", True),
        (frame(0x0F, COMMAND, SYNC, track=0), "frame.track", True),
    ],
)
def test_a_frame_header_that_says_what_it_may_not(octets: bytes, rule: str, seen: bool) -> None:
    good = frame(0x0F, CONTROL, HEARTBEAT)
    assert rules(read(octets + good)) == [(rule, 501)]
    assert len(read(octets + good)) == 2
    found = read(octets + good, tolerant=True)
    assert rules(found) == [(rule, 501)]
    assert len(found) == 2 + seen
    breach = found[0]
    assert isinstance(breach, Malformed)
    assert not breach.fatal
    assert breach.legal
    assert breach.said


@pytest.mark.parametrize(("size", "legal"), [(4095, True), (4096, True), (4097, False)])
def test_the_largest_frame(size: int, legal: bool) -> None:
    reader = SegmentReader(DEFAULT_LIMITS, 65535, carries=carries)
    reader.receive(frame(0x0F, COMMAND, b"\4\1" * 3000))
    assert isinstance(reader.next(), Assembly)
    reader.max_frame_size = 4096
    reader.receive(frame(0x0F, COMMAND, bytes(size - 12)))
    thing = reader.next()
    if legal:
        assert isinstance(thing, Assembly)
    else:
        assert isinstance(thing, Malformed)
        assert (thing.rule, thing.code) == ("connection.tune-ok.max-frame-size.max-frame-size", 501)
        assert thing.legal == ("at most 4096 octets",)
    assert reader.next() is None


# The order of frames within one (channel, track) (model 1.3).


@pytest.mark.parametrize(
    ("octets", "rule", "code", "heard"),
    [
        # idle
        (frame(0x07, COMMAND, TRANSFER), "assembly.first-frame", 501, ["0401"]),
        (frame(0x0D, COMMAND, TRANSFER), "assembly.first-frame", 501, ["0401"]),
        (frame(0x05, COMMAND, TRANSFER), "assembly.first-frame", 501, ["0401"]),
        (frame(0x00, CONTROL, HEARTBEAT), "assembly.first-frame", 501, ["010a!"]),
        (frame(0x07, CONTROL, HEARTBEAT), "assembly.first-frame", 501, ["010a"]),
        (frame(0x0F, HEADER, b"h"), "assembly.first-segment", 501, []),
        (frame(0x0F, BODY, b"h"), "assembly.first-segment", 501, []),
        (frame(0x07, BODY, b"h"), "assembly.first-segment", 501, []),
        (frame(0x03, HEADER, b"h") + frame(0x07, BODY, b"b"), "assembly.first-segment", 501, []),
        # in a segment
        (COMMAND_OPEN + frame(0x0B, COMMAND, TRANSFER) + frame(0x07, BODY), "assembly.last-frame", 501, ["0401!", "0401"]),
        (COMMAND_OPEN + frame(0x0F, COMMAND, TRANSFER), "assembly.last-frame", 501, ["0401!", "0401"]),
        (COMMAND_OPEN + frame(0x07, BODY, b"x"), "assembly.last-frame", 501, ["0401!"]),
        (COMMAND_OPEN + frame(0x05, BODY, b"x"), "assembly.last-frame", 501, ["0401!"]),
        (BODY_OPEN + frame(0x01, HEADER, b"x") + frame(0x07, BODY), "assembly.last-frame", 501, ["0401!"]),
        (BODY_OPEN + frame(0x05, COMMAND, b"\4\1"), "assembly.last-frame", 501, ["0401!", "0401"]),
        (BODY_OPEN + frame(0x07, BODY, b"x"), "assembly.last-frame", 501, ["0401!"]),
        (BODY_OPEN + frame(0x0D, BODY, b"x"), "assembly.same-segment", 501, ["0401"]),
        (COMMAND_OPEN + frame(0x0D, COMMAND, b""), "assembly.same-segment", 501, ["0401"]),
        # between two segments
        (BETWEEN_COMMAND + NEXT, "assembly.last-segment", 501, ["0401!", "0301"]),
        (BETWEEN_COMMAND + frame(0x0F, BODY), "assembly.last-segment", 501, ["0401!"]),
        (BETWEEN_COMMAND + frame(0x05, BODY), "assembly.first-frame", 501, ["0401!"]),
        (BETWEEN_COMMAND + frame(0x07, COMMAND, SYNC), "assembly.segment-order", 503, ["0401!", "0301"]),
        (BETWEEN_BODY + frame(0x07, HEADER, b"h"), "assembly.segment-order", 503, ["0401"]),
        (BETWEEN_BODY + frame(0x07, BODY, b"h"), "assembly.segment-order", 503, ["0401"]),
        (BETWEEN_COMMAND + frame(0x03, HEADER, b"h") + frame(0x07, HEADER, b"h"), "assembly.segment-order", 503, ["0401"]),
        # segments where there may be none
        (frame(0x0B, COMMAND, SYNC) + frame(0x07, BODY), "assembly.segments", 503, ["0301"]),
        (frame(0x0B, COMMAND, b"") + frame(0x07, BODY), "assembly.segments", 503, [""]),
        (frame(0x0B, CONTROL, HEARTBEAT), "assembly.control", 501, ["010a!"]),
        (frame(0x0A, CONTROL, HEARTBEAT) + frame(0x09, CONTROL), "assembly.control", 501, ["010a!"]),
    ],
)
def test_frames_out_of_order(octets: bytes, rule: str, code: int, heard: list[str]) -> None:
    after = frame(0x0F, COMMAND, SYNC) + frame(0x0F, CONTROL, HEARTBEAT)
    found = read(octets + after)
    assert rules(found) == [(rule, code)]
    assert summary(found)[-2:] == ["0301", "010a"]
    found = read(octets + after, tolerant=True)
    assert rules(found) == [(rule, code)]
    assert sorted(summary([each for each in found if isinstance(each, Assembly)])) == sorted([*heard, "0301", "010a"])
    other = next(thing for thing in read(octets + after) if isinstance(thing, Malformed))
    assert other.said
    assert other.legal
    assert other.channel == 1
    assert not other.fatal


def test_a_segment_that_changes_its_edges_is_reported_once_for_each_change() -> None:
    more, other, last = frame(0x04, BODY, b"x"), frame(0x0C, BODY, b"x"), frame(0x0D, BODY, b"x")
    assert rules(read(BODY_OPEN + more + other + other + last, tolerant=True)) == [("assembly.same-segment", 501)]
    assert rules(read(BODY_OPEN + other + more + other + last, tolerant=True)) == [("assembly.same-segment", 501)] * 3


def test_what_has_come_whole_before_the_end_is_read_whole() -> None:
    """The end of the stream takes nothing from what was not looked at yet: what is open behind it is incomplete."""
    reader = SegmentReader(DEFAULT_LIMITS, tolerant=True, carries=carries)
    reader.receive(b"".join(frame_command(1, TRANSFER, b"", b"x")) + COMMAND_OPEN)
    reader.finish()
    assert summary(drain(reader)) == ["0401", "0401!"]


def test_only_an_observer_is_given_what_was_broken_off() -> None:
    """Behind a frame that cannot be cut, who takes part gets the reason alone; an observer also what was under way."""
    limits = attrs.evolve(DEFAULT_LIMITS, assembly_octets=50)
    octets = COMMAND_OPEN + frame(0x0E, COMMAND, bytes(60), channel=2) + b"\xff" * 12
    refused = "limits.assembly_octets"
    assert summary(read(octets, limits=limits))[:1] == [refused]
    assert len(read(octets, limits=limits)) == 2
    found = summary(read(octets, limits=limits, tolerant=True))
    assert [word for word in found if word.endswith("!")] == ["0000!", "0401!"]


def test_what_is_open_at_the_end_is_incomplete() -> None:
    octets = frame(0x0E, CONTROL, HEARTBEAT, channel=3) + BODY_OPEN + COMMAND_OPEN.replace(b"\0\1\0\0\0\0", b"\0\2\0\0\0\0")
    found = read(octets, tolerant=True)
    assert summary(found) == ["010a!", "0401!", "0401!"]
    assert [each.body for each in found if isinstance(each, Assembly)] == [None, b"x", None]


def test_the_rest_of_a_command_after_a_command_point_with_an_offset_is_passed_over() -> None:
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.expect_rest(1)
    reader.receive(frame(0x06, BODY, b"rest") + frame(0x05, BODY, b"x") + NEXT)
    assert summary(drain(reader)) == ["0301"]


@pytest.mark.parametrize("tolerant", [False, True])
@pytest.mark.parametrize("rest", [b"", frame(0x05, BODY, b"x"), frame(0x07, BODY, b"x"), frame(0x07, COMMAND, SYNC)])
def test_a_command_that_begins_where_the_rest_of_another_was_announced(tolerant: bool, rest: bytes) -> None:
    reader = SegmentReader(DEFAULT_LIMITS, tolerant=tolerant)
    reader.expect_rest(1)
    reader.receive(rest + NEXT)
    found = drain(reader)
    assert isinstance(found[-1], Assembly)
    told = [(each.rule, each.code) for each in found if isinstance(each, Malformed)]
    assert told == ([] if rest else [("session.command-point.nonzero-offset", 501)])


def test_forgetting_a_channel_passes_over_the_rest_of_its_command() -> None:
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.receive(BODY_OPEN)
    assert drain(reader) == []
    assert not reader.idle(1)
    reader.forget(1)
    assert reader.held == 0
    reader.receive(frame(0x05, BODY, b"x") + NEXT)
    assert summary(drain(reader)) == ["0301"]
    assert reader.idle(1)


# Cost.


def test_one_octet_at_a_time_is_linear() -> None:
    octets = b"".join(frame_command(1, TRANSFER, b"", bytes(65523 * 3)))
    reader = SegmentReader(DEFAULT_LIMITS)
    begin = time.perf_counter()
    found: Found = []
    for at in range(len(octets)):
        reader.receive(octets[at : at + 1])
        found += drain(reader)
    assert time.perf_counter() - begin < 5
    assert len(found) == 1


def test_small_frames_do_not_cost_an_object_each() -> None:
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.receive(BODY_OPEN)
    drain(reader)
    for _ in range(1000):
        reader.receive(frame(0x04, BODY, b"ab") * 10)
        drain(reader)
    partial = reader._open[1 << 4 | 1]
    assert len(partial._parts) <= 2
    reader.receive(frame(0x05, BODY, b"!"))
    assert only(drain(reader)).body == b"x" + b"ab" * 10000 + b"!"


@settings(max_examples=settings().max_examples * 2)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 65535),
            st.binary(max_size=40),
            st.none() | st.binary(max_size=40),
            st.none() | st.binary(max_size=400),
        ),
        max_size=5,
    ),
    st.integers(52, 100),
    st.integers(1, 50),
)
def test_what_is_written_is_read(
    commands: list[tuple[int, bytes, bytes | None, bytes | None]], max_frame: int, piece: int
) -> None:
    """Whatever is cut into frames is put together again as it was, however the octets arrive."""
    octets = b"".join([b"".join(frame_command(*command, max_frame)) for command in commands])
    reader = SegmentReader(DEFAULT_LIMITS, max_frame)
    found: Found = []
    for at in range(0, len(octets), piece):
        reader.receive(octets[at : at + piece])
        found += drain(reader)
    assert [(a.channel, a.payload, a.header, a.body) for a in found if isinstance(a, Assembly)] == commands
    assert len(found) == len(commands)


@settings(max_examples=settings().max_examples * 5)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 15),
            st.integers(0, 4),
            st.binary(max_size=6),
            st.integers(0, 1),
            st.sampled_from([None, None, None, 0, 1, 2]),
        ),
        max_size=12,
    )
)
def test_random_frames_give_the_same_in_pieces(frames: list[tuple[int, int, bytes, int, int | None]]) -> None:
    """Any frames in any order: no exception, the same things however they are cut, each control and command at most once."""
    octets = b"".join([frame(*each) for each in frames])
    read(octets)
    heard = read(octets, tolerant=True)
    firsts = sum([kind <= COMMAND for _, kind, _, _, _ in frames])
    assert len([each for each in heard if isinstance(each, Assembly)]) <= firsts


@settings(max_examples=settings().max_examples * 2)
@given(st.binary(max_size=200))
def test_random_octets_give_the_same_in_pieces(octets: bytes) -> None:
    """Any octets at all: no exception, and the same things however they are cut."""
    read(octets)
    read(octets, tolerant=True)


@pytest.mark.parametrize("piece", [1, 7, 1 << 20])
def test_the_answer_to_a_close_is_found_among_whatever_else_comes(piece: int) -> None:
    """Commands that do not end and other controls are passed over; a control over two frames is no answer."""
    ok, crossing, other = b"\1\x0c", b"\1\x0b\0\0", b"\1\x0a\0\0"
    before = frame(0x0B, COMMAND, TRANSFER) + frame(0x0E, CONTROL, ok) + frame(0x0F, CONTROL, other, channel=0)
    octets = before + frame(0x0F, CONTROL, crossing, channel=0) + frame(0x0F, COMMAND, ok) + frame(0x0F, CONTROL, ok, channel=0)
    for until, expected in ((len(octets) - 14, [crossing, ok]), (len(octets) - 15, [crossing])):
        reader = SegmentReader(DEFAULT_LIMITS)
        found = []
        for at in range(0, len(octets), piece):
            reader.receive(octets[at : at + piece])
            while (unit := reader.next_answer((ok, crossing[:2]), until)) is not None:
                assert isinstance(unit, Assembly)
                assert unit.end - unit.start == 12 + len(unit.payload)
                found.append(unit.payload)
        assert found == expected
        assert reader.offset == (len(octets) if ok in expected else len(octets) - 14)


@pytest.mark.parametrize("octets", [b"\x0f\0\0\x0b" + bytes(8), b"\x4f\0\0\x0c" + bytes(8)])
def test_behind_a_frame_that_cannot_be_cut_no_answer_is_found(octets: bytes) -> None:
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.receive(frame(0x0B, COMMAND, TRANSFER) + octets)
    unit = reader.next_answer((b"\1\x0c",), 1 << 20)
    assert isinstance(unit, Malformed)
    assert unit.fatal
    assert reader.next_answer((b"\1\x0c",), 1 << 20) is None


def test_its_sizes() -> None:
    assert (SEGMENTATION.overhead, SEGMENTATION.smallest, SEGMENTATION.largest) == (12, 4096, 65535)


@pytest.mark.parametrize(
    ("kind", "payload", "own"),
    [
        (CONTROL, b"\x01\x0a", True),
        (CONTROL, b"\x02\x01", False),  # session.attach
        (CONTROL, b"", False),
        (COMMAND, b"\x01\x0a", False),
    ],
)
def test_only_controls_of_class_connection_are_the_connections_own(kind: int, payload: bytes, own: bool) -> None:
    assert SEGMENTATION.is_own(Assembly(0, kind, kind, payload, None, None, 0, 9)) is own


@pytest.mark.parametrize("strict", [False, True])
def test_its_reader_is_one_of_a_side_of_the_conversation(strict: bool) -> None:
    """It drops what is broken, reads from where it is told, and holds the peer to a few controls before open."""
    reader = SEGMENTATION.reader(DEFAULT_LIMITS, 5000, strict=strict, carries=lambda *_: True, offset=8, opening=True)
    assert isinstance(reader, SegmentReader)
    assert (reader.tolerant, reader.strict, reader.max_frame_size, reader.offset) == (False, strict, 5000, 8)
    reader.receive(frame(0x0B, COMMAND, bytes(8), channel=1))
    assert [unit.rule for unit in drain(reader) if isinstance(unit, Malformed)] == ["connection.handshake"]


def test_codes_of_a_segment() -> None:
    assert codes_of(b"\x04\x01\x01\x00") == (4, 1)
    assert codes_of(b"\x04") == (0, 0)


LAYOUT = AMQP_0_10.codec
ONE = RangeSet([(3, 9)])


def control(what: Control, channel: int = 7) -> bytes:
    return frame_control(channel, LAYOUT.encode_control(what))


def command(what: Command, sync: bool = False, channel: int = 7) -> bytes:
    return b"".join(frame_command(channel, LAYOUT.encode_command(what, sync)))


def reader_of(octets: bytes) -> SegmentReader:
    reader = SegmentReader(DEFAULT_LIMITS, tolerant=True)
    reader.receive(octets)
    return reader


@pytest.mark.parametrize(
    ("octets", "accepts", "sync"),
    [
        (control(session.Completed(ONE)), False, False),
        (control(session.Completed(ONE, True)), False, True),
        (command(message.Accept(ONE)), True, False),
        (command(message.Accept(ONE), True), True, True),
    ],
)
def test_completions_and_accepts_of_one_range_are_cut(octets: bytes, accepts: bool, sync: bool) -> None:
    """What was cut can be put back, and is the same for who reads it with every check."""
    reader = reader_of(octets + b"\x0f")
    replies = replies_of(LAYOUT)
    assert alone_next(reader)
    assert replies.cut(reader) == (accepts, sync, 7, 3, 9, 0, len(octets))
    assert (reader.offset, reader.frames, replies.cut(reader)) == (len(octets), 1, None)
    OneRange.put_back(reader, len(octets))
    whole = reader.next()
    assert (reader.offset, reader.frames) == (len(octets), 1)
    assert (getattr(whole, "payload", None), getattr(whole, "complete", None)) == (octets[12:], True)


@pytest.mark.parametrize("asks", [False, True])
def test_one_range_is_written_as_the_control_that_holds_it(asks: bool) -> None:
    for low, high in ((3, 9), (0, 0), (4294967295, 4294967295), (0, (1 << 31) - 1)):
        wanted = control(session.Completed(RangeSet.span(low, high), asks), 65535)
        assert replies_of(LAYOUT).control(65535, low, high, asks) == wanted


def learned() -> SegmentReader:
    reader = SegmentReader(DEFAULT_LIMITS)
    reader.learn(1, TRANSFER, message.Transfer(), False)
    return reader


def said(header: bytes, body: bytes = b"") -> bytes:
    more = (frame(0x03, HEADER, header), frame(0x07, BODY, body)) if body else (frame(0x07, HEADER, header),)
    return b"".join((frame(0x0B, COMMAND, TRANSFER), *more))


STRUCTS = (b"\0\0\0\4\4\3\0\0", b"\0\0\0\5\4\1\0\0x")
HEADERS = [STRUCTS[0], STRUCTS[1], STRUCTS[0] + STRUCTS[1], STRUCTS[1] + STRUCTS[0]]


@given(st.lists(st.tuples(st.sampled_from(HEADERS), st.sampled_from([b"", b"b", b"bb"])), max_size=6))
def test_a_run_of_messages_is_cut_as_they_are_read_one_by_one(messages: list[tuple[bytes, bytes]]) -> None:
    """Whichever came before, and however many at once; where the octets end, it waits for the rest of the next one."""
    octets = b"".join([said(*each) for each in messages])
    wanted = [(header, len(body) or None, body[:1], len(said(header, body))) for header, body in messages]
    for most in (1, 9):
        for rest in range(0, len(octets), 5):
            reader, found = learned(), []
            reader.receive(octets[: len(octets) - rest])
            while run := reader.cut_run(1, most):
                found += run
            assert [(cut[1], cut[2], cut[3], cut[5] - cut[4]) for cut in found] == wanted[: len(found)]
            assert reader.frames == sum([2 if cut[2] is None else 3 for cut in found])
            assert rest or len(found) == len(wanted)
            assert reader.offset + reader._needed <= len(octets) or not reader.buffered


@pytest.mark.parametrize("bad", [STRUCTS[0] + b"\0\0\0\6\4\1\0\0x", STRUCTS[0] + STRUCTS[0] * 2, b"\0\0\0\1\4\4\0\0\0"])
def test_a_header_of_the_size_of_one_that_was_cut_is_checked(bad: bytes) -> None:
    good = next((each for each in HEADERS if len(each) == len(bad) and each[:4] == bad[:4]), STRUCTS[0])
    reader = learned()
    reader.receive(said(good, b"b") + said(bad, b"b"))
    assert len(reader.cut_run(9)) == 1
    assert reader.cut_run(9) == []


def test_a_frame_beyond_the_size_agreed_on_is_not_cut_because_one_was_before() -> None:
    reader = learned()
    reader.receive(said(HEADERS[2], b"b") * 2)
    assert len(reader.cut_run(9, 1)) == 1
    reader.max_frame_size = 20
    assert reader.cut_run(9) == []


def test_what_is_unlearned_is_not_cut() -> None:
    reader = learned()
    reader.receive(said(HEADERS[2], b"b") * 2)
    assert len(reader.cut_run(9, 1)) == 1
    reader.unlearn()
    assert reader.cut_run(9) == []


def test_a_publisher_that_wants_completions_only_gets_no_accept() -> None:
    replies = replies_of(LAYOUT)
    assert replies.cut(reader_of(GOOD[1]), False) is None
    assert replies.cut(reader_of(GOOD[0]), False) == (False, False, 7, 3, 9, 0, len(GOOD[0]))


GOOD = control(session.Completed(ONE)), command(message.Accept(ONE))


@pytest.mark.parametrize("octets", GOOD)
@pytest.mark.parametrize("at", range(28))
def test_what_differs_in_one_octet_is_an_answer_with_other_numbers_or_none(octets: bytes, at: int) -> None:
    """Whatever octet is another one: what is cut, if anything, is what the octets say."""
    for bit in range(8 if at < len(octets) else 0):
        wrong = octets[:at] + bytes([octets[at] ^ 1 << bit]) + octets[at + 1 :]
        cut = replies_of(LAYOUT).cut(reader_of(wrong))
        if cut is None:
            continue
        accepts, sync, channel, low, high, _, _ = cut
        ids = RangeSet.span(low, high)
        if accepts:
            assert command(message.Accept(ids), sync, channel) == wrong
        else:
            assert control(session.Completed(ids, sync), channel) == wrong


@pytest.mark.parametrize(
    "octets",
    [
        GOOD[0][:-1],
        GOOD[1][:-1],
        control(session.Completed(RangeSet([(1, 2), (5, 6)]))),
        control(session.Completed(RangeSet([(0xFFFFFFFF, 0)]))),
        control(session.KnownCompleted(ONE)),
        control(session.Confirmed(ONE)),
        command(message.Release(ONE)),
    ],
)
def test_anything_else_is_left_to_the_reader_with_every_check(octets: bytes) -> None:
    reader = reader_of(octets)
    assert replies_of(LAYOUT).cut(reader) is None
    assert (reader.offset, reader.frames) == (0, 0)


def test_after_lost_octets_a_track_must_have_had_a_first_frame() -> None:
    """What comes on a track of which nothing was heard since may continue what was lost: nobody cuts it here."""
    reader = reader_of(b"")
    reader.lost(5)
    reader.receive(GOOD[1] * 3)
    replies = replies_of(LAYOUT)
    assert replies.cut(reader) is None
    assert reader.next() is not None
    assert replies.cut(reader) is not None
    reader.receive(GOOD[0] * 2)
    assert replies.cut(reader) is not None
    reader.ready()
    assert replies.cut(reader) is None


def test_frames_that_are_to_be_reported_are_not_cut_here() -> None:
    reader = reader_of(GOOD[0])
    reader.trace = []
    assert replies_of(LAYOUT).cut(reader) is None
