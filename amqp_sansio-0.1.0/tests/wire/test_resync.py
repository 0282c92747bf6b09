"""Finding the next frame in octets whose beginning is not known."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.wire.frames import frame_command, frame_control
from amqp_sansio.wire.resync import find_frame, find_three, plausible_header

HEARTBEAT = frame_control(0, bytes.fromhex("010a0000"))
SYNC = frame_command(1, bytes.fromhex("030101000000"))[0]
BODY = frame_command(1, b"", None, b"body")[1]
GOES_ON = b"\x00\x03\x00\x10\x00\x01\x00\x01\x00\x00\x00\x00body"


@pytest.mark.parametrize("torn", [b"", b"\x0f", SYNC[1:], HEARTBEAT[3:], b"\x0f\0\0\x10" * 5, BODY[1:], BODY[:5]])
def test_the_first_frame_with_a_frame_behind_it(torn: bytes) -> None:
    octets = torn + SYNC + BODY
    assert find_frame(octets, 0, 65535, False) == (len(torn), 0)
    assert find_frame(octets, len(torn) + len(SYNC) + 1, 65535, True) == (len(octets), 16)


@pytest.mark.parametrize("torn", [b"", b"\x01", GOES_ON[1:], b"\x00\x03\x00\x00" * 9])
@pytest.mark.parametrize("behind", [SYNC, BODY, GOES_ON])
def test_a_body_that_goes_on_is_found(torn: bytes, behind: bytes) -> None:
    """In the middle of a large message the next frame is one of its body: reading goes on there, not behind the message."""
    assert find_frame(torn + GOES_ON + behind, 0, 65535, False) == (len(torn), 0)


def test_too_few_octets_to_tell() -> None:
    assert find_frame(SYNC, 0, 65535, False) == (0, len(SYNC) + 12)
    assert find_frame(SYNC, 0, 65535, True) == (0, 0)
    assert find_frame(SYNC + BODY[:5], 0, 65535, True) == (len(SYNC) + 5, 16)
    assert find_frame(b"x" * 100, 0, 65535, False) == (85, 16)


def test_a_frame_larger_than_possible_is_none() -> None:
    octets = SYNC + HEARTBEAT + b"xyz"
    assert find_frame(octets, 0, len(SYNC) - 1, True) == (len(octets), 16)


def test_a_frame_followed_by_something_else_is_none() -> None:
    octets = SYNC + b"\xff" * 12 + SYNC + SYNC
    assert find_frame(octets, 0, 65535, False) == (len(SYNC) + 12, 0)


def test_plausible() -> None:
    for frame in (HEARTBEAT, SYNC, BODY):
        assert plausible_header(frame, 0, 65535)
    for at, octet in ((0, 0x10), (1, 4), (2, 0xFF), (4, 1), (5, 7), (8, 1), (11, 1)):
        broken = bytearray(SYNC)
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
    at, needed = find_three(octets, 0, 65535, ended)
    assert 0 <= at <= len(octets)
    assert needed == 0 or ended or needed > len(octets) - at


def test_three_in_a_row() -> None:
    assert find_three(b"xy" + SYNC + HEARTBEAT + SYNC, 0, 65535, False) == (2, 0)
    assert find_three(SYNC + HEARTBEAT, 0, 65535, False) == (0, len(SYNC + HEARTBEAT) + 12)
    assert find_three(SYNC + HEARTBEAT, 0, 65535, True)[1]
    assert find_three(SYNC + HEARTBEAT + b"\xff" * 12, 0, 65535, False)[0] > 0
    broken = SYNC + HEARTBEAT + b"\xff" * 12 + SYNC * 3
    assert find_three(broken, 0, 65535, False) == (len(broken) - 3 * len(SYNC), 0)
