"""Tests of amqp_sansio.wire.method_frames."""

from __future__ import annotations

import pytest

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import Assembly, Malformed
from amqp_sansio.wire.method_frames import (
    METHODS,
    METHODS_AND_TRACES,
    find_method_frame,
    frame_content,
    frame_method,
    plausible_frame,
    put_frame,
)

CLOSE_OK = b"\x00\x0a\x00\x33"
HEARTBEAT = bytes.fromhex("08 0000 00000000 ce")


def test_a_frame_is_type_channel_size_payload_and_an_end() -> None:
    assert frame_method(7, CLOSE_OK) == bytes.fromhex("01 0007 00000004 000a0033 ce")
    assert put_frame(8, 0, b"") == HEARTBEAT


@pytest.mark.parametrize("octets", [0, 1, 8, 9, 16, 17])
def test_a_body_is_split_to_fit_and_an_empty_one_has_no_frame(octets: int) -> None:
    body = bytes(range(octets))
    frames = frame_content(1, bytes.fromhex("003c0028"), 60, b"\0\0", body, 22)
    assert frames[0] == bytes.fromhex("01 0001 00000004 003c0028 ce")
    assert frames[1] == bytes.fromhex("02 0001 0000000e 003c 0000") + octets.to_bytes(8, "big") + b"\0\0\xce"
    assert all(len(frame) <= 22 for frame in frames)
    assert b"".join(frame[7:-1] for frame in frames[2:]) == body
    assert len(frames) == 2 + -(-octets // 14)


@pytest.mark.parametrize("most", [11, 12])
def test_a_method_fits_into_its_frame_or_is_refused(most: int) -> None:
    if most == 12:
        assert len(frame_method(1, CLOSE_OK, most)) == most
        return
    with pytest.raises(EncodeError, match="method: a frame of at most 11 octets, not 12"):
        frame_method(1, CLOSE_OK, most)


def test_a_frame_is_found_behind_octets_that_are_none() -> None:
    """At a method, header or heartbeat that ends where it says, with another frame behind it, or the end."""
    frame = frame_method(1, CLOSE_OK)
    octets = b"\x01\xce\x08\0" * 3 + frame
    assert find_method_frame(octets + HEARTBEAT, 0, 4096, False) == (12, 0)
    assert find_method_frame(octets, 0, 4096, False) == (12, len(frame) + 7)
    assert find_method_frame(octets, 0, 4096, True) == (12, 0)
    assert find_method_frame(octets[:-1], 0, 4096, False) == (12, len(frame))
    at, needed = find_method_frame(b"\xff" * 40, 0, 4096, False)
    assert (at, needed) == (29, 12)


def test_what_could_be_the_head_of_a_frame() -> None:
    assert plausible_frame(frame_method(1, CLOSE_OK), 0, 4096)
    assert plausible_frame(HEARTBEAT, 0, 4096)
    assert not plausible_frame(b"\x08\0\x01\0\0\0\0", 0, 4096)
    assert not plausible_frame(b"\x01\0\x01\0\0\0\x03", 0, 4096)
    assert not plausible_frame(b"\x03\0\x01\0\0\x10\0", 0, 4096)
    assert not plausible_frame(b"AMQP\0\0\x09", 0, 4096)


def test_a_control_without_octets_is_a_heartbeat() -> None:
    frame = METHODS.own(b"", 4096)
    assert frame == bytes.fromhex("08 0000 00000000 ce")
    reader = METHODS.reader(DEFAULT_LIMITS, 4096, strict=True, carries=lambda *_: False, offset=0, opening=True)
    reader.receive(frame)
    unit = reader.next()
    assert isinstance(unit, Assembly)
    assert METHODS.is_own(unit)
    assert unit.payload == b""
    with pytest.raises(EncodeError):
        METHODS.own(b"", 7)


@pytest.mark.parametrize("kind", [4, 5, 6, 7])
def test_framings_that_list_them_read_frames_out_of_band_and_traces(kind: int) -> None:
    frame = bytes([kind]) + bytes.fromhex("0001 00000002 6869 ce")
    for framing, known in ((METHODS, False), (METHODS_AND_TRACES, True)):
        reader = framing.overhearing(DEFAULT_LIMITS, lambda *_: False, 0)
        reader.receive(frame)
        unit = reader.next()
        if known:
            assert isinstance(unit, Assembly)
            assert (unit.kind, unit.channel, unit.payload) == (kind, 1, b"hi")
        else:
            assert isinstance(unit, Malformed)
            assert (unit.rule, unit.code, unit.fatal) == ("frame.type", 501, False)


def test_class_connection_is_the_connections_own_on_any_channel() -> None:
    """Where channels begin at 1 the connection refuses it there."""
    reader = METHODS.overhearing(DEFAULT_LIMITS, lambda *_: False, 0)
    reader.receive(bytes.fromhex("01 0001 00000004 000a0033 ce"))
    unit = reader.next()
    assert isinstance(unit, Assembly)
    assert METHODS.is_own(unit)
