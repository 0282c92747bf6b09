"""Reading assemblies goes on behind octets that were lost."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.wire.pieces import (
    BODY_OPEN,
    NEXT,
    SYNC,
    TRANSFER,
    Found,
    carries,
    drain,
    frame,
    summary,
)

from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import BODY, COMMAND, Assembly
from amqp_sansio.wire.segments import SEGMENTATION, SegmentReader, find_frame, frame_command, frame_control, plausible_header


def test_behind_lost_octets_reading_goes_on_at_the_next_plausible_frame() -> None:
    before = NEXT + BODY_OPEN
    torn = b"\x0f\x00 torn \x0f\x01" * 9 + frame(0x04, BODY, b"rest") + frame(0x05, BODY, b"rest")
    after = frame(0x0B, COMMAND, TRANSFER) + frame(0x07, BODY, b"y") + NEXT
    answers = []
    for piece in (1000, 1, 7):
        reader = SegmentReader(DEFAULT_LIMITS, tolerant=True, carries=carries)
        found: Found = []
        for part, gap in ((before + NEXT[:5], True), (torn + after, False)):
            for at in range(0, len(part), piece):
                reader.receive(part[at : at + piece])
                found += drain(reader)
            if gap:
                reader.lost(100)
        assert not reader.searching
        answers.append(found)
        assert summary(found) == ["0301", "0401!", "0401", "0301"]
        last = found[-1]
        assert isinstance(last, Assembly)
        assert last.end == len(before) + 5 + 100 + len(torn) + len(after)
    assert answers[0] == answers[1] == answers[2]


def test_a_last_frame_behind_lost_octets_is_found_at_the_end() -> None:
    reader = SegmentReader(DEFAULT_LIMITS, tolerant=True)
    reader.lost(10)
    reader.receive(b"torn" + NEXT)
    assert drain(reader) == []
    reader.finish()
    assert summary(drain(reader)) == ["0301"]


def test_searching_octet_by_octet_is_linear() -> None:
    reader = SegmentReader(DEFAULT_LIMITS, tolerant=True)
    reader.lost(1)
    octets = frame(0x0F, COMMAND, SYNC, size=65535) + bytes(200_000)
    begin = time.perf_counter()
    for at in range(len(octets)):
        reader.receive(octets[at : at + 1])
        assert reader.next() is None
    assert time.perf_counter() - begin < 5
    assert reader.buffered < 70_000


def test_behind_lost_octets_what_continues_them_is_nobodys_fault() -> None:
    reader = SegmentReader(DEFAULT_LIMITS, tolerant=True, carries=carries)
    reader.lost(10)
    reader.receive(frame(0x0F, COMMAND, SYNC, channel=2) + frame(0x06, BODY, b"rest") + frame(0x05, BODY, b"rest") + NEXT)
    reader.receive(frame(0x05, BODY, b"stray"))
    assert summary(drain(reader)) == ["0301", "0301", "assembly.first-segment"]


WHOLE_CONTROL = frame_control(0, bytes.fromhex("010a0000"))
WHOLE_COMMAND = frame_command(1, bytes.fromhex("030101000000"))[0]
BODY_FRAME = frame_command(1, b"", None, b"body")[1]
GOES_ON = b"\x00\x03\x00\x10\x00\x01\x00\x01\x00\x00\x00\x00body"


@pytest.mark.parametrize(
    "torn",
    [
        b"",
        b"\x0f",
        WHOLE_COMMAND[1:],
        WHOLE_CONTROL[3:],
        b"\x0f\0\0\x10" * 5,
        BODY_FRAME[1:],
        BODY_FRAME[:5],
    ],
)
def test_the_first_frame_with_a_frame_behind_it(torn: bytes) -> None:
    octets = torn + WHOLE_COMMAND + BODY_FRAME
    assert find_frame(octets, 0, 65535, False) == (len(torn), 0)
    assert find_frame(octets, len(torn) + len(WHOLE_COMMAND) + 1, 65535, True) == (len(octets), 16)


@pytest.mark.parametrize("torn", [b"", b"\x01", GOES_ON[1:], b"\x00\x03\x00\x00" * 9])
@pytest.mark.parametrize("behind", [WHOLE_COMMAND, BODY_FRAME, GOES_ON])
def test_a_body_that_goes_on_is_found(torn: bytes, behind: bytes) -> None:
    """In the middle of a large message the next frame is one of its body: reading goes on there, not behind the message."""
    assert find_frame(torn + GOES_ON + behind, 0, 65535, False) == (len(torn), 0)


def test_too_few_octets_to_tell() -> None:
    assert find_frame(WHOLE_COMMAND, 0, 65535, False) == (0, len(WHOLE_COMMAND) + 12)
    assert find_frame(WHOLE_COMMAND, 0, 65535, True) == (0, 0)
    assert find_frame(WHOLE_COMMAND + BODY_FRAME[:5], 0, 65535, True) == (len(WHOLE_COMMAND) + 5, 16)
    assert find_frame(b"x" * 100, 0, 65535, False) == (85, 16)


def test_a_frame_larger_than_possible_is_none() -> None:
    octets = WHOLE_COMMAND + WHOLE_CONTROL + b"xyz"
    assert find_frame(octets, 0, len(WHOLE_COMMAND) - 1, True) == (len(octets), 16)


def test_a_frame_followed_by_something_else_is_none() -> None:
    octets = WHOLE_COMMAND + b"\xff" * 12 + WHOLE_COMMAND + WHOLE_COMMAND
    assert find_frame(octets, 0, 65535, False) == (len(WHOLE_COMMAND) + 12, 0)


def test_plausible() -> None:
    for whole in (WHOLE_CONTROL, WHOLE_COMMAND, BODY_FRAME):
        assert plausible_header(whole, 0, 65535)
    for at, octet in ((0, 0x10), (1, 4), (2, 0xFF), (4, 1), (5, 7), (8, 1), (11, 1)):
        broken = bytearray(WHOLE_COMMAND)
        broken[at] = octet
        assert not plausible_header(bytes(broken), 0, 4096)


@given(st.binary(max_size=300), st.booleans())
def test_it_moves_forward_and_ends(octets: bytes, ended: bool) -> None:
    """Whatever the octets are, the answer lies within them and asks for more than there is, or for nothing."""
    at, needed = find_frame(octets, 0, 65535, ended)
    assert 0 <= at <= len(octets)
    assert needed == 0 or needed > len(octets) - at


@given(st.binary(max_size=300), st.booleans())
def test_three_in_a_row_move_forward_and_end_too(octets: bytes, ended: bool) -> None:
    at, needed = SEGMENTATION.find(octets, 0, ended)
    assert 0 <= at <= len(octets)
    assert needed == 0 or ended or needed > len(octets) - at


def test_three_in_a_row() -> None:
    assert SEGMENTATION.find(b"xy" + WHOLE_COMMAND + WHOLE_CONTROL + WHOLE_COMMAND, 0, False) == (2, 0)
    assert SEGMENTATION.find(WHOLE_COMMAND + WHOLE_CONTROL, 0, False) == (0, len(WHOLE_COMMAND + WHOLE_CONTROL) + 12)
    assert SEGMENTATION.find(WHOLE_COMMAND + WHOLE_CONTROL, 0, True)[1]
    assert SEGMENTATION.find(WHOLE_COMMAND + WHOLE_CONTROL + b"\xff" * 12, 0, False)[0] > 0
    broken = WHOLE_COMMAND + WHOLE_CONTROL + b"\xff" * 12 + WHOLE_COMMAND * 3
    assert SEGMENTATION.find(broken, 0, False) == (len(broken) - 3 * len(WHOLE_COMMAND), 0)
