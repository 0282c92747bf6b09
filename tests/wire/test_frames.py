"""Cutting output into frames, and the checks of their headers."""

from __future__ import annotations

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.frames import check_header, describe, frame_command, frame_control, uncuttable
from amqp_sansio.wire.framing import Assembly
from amqp_sansio.wire.segments import SegmentReader

TRANSFER = bytes.fromhex("040101000700000100")
HEARTBEAT = bytes.fromhex("010a0000")


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
