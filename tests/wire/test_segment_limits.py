"""The limits of reading assemblies: at each what is let pass, and what one beyond is told."""

from __future__ import annotations

import attrs
import pytest
from tests.wire.pieces import (
    BETWEEN_COMMAND,
    BODY_OPEN,
    NEXT,
    SYNC,
    TRANSFER,
    drain,
    frame,
    read,
    rules,
    summary,
)

from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.wire.framing import BODY, COMMAND, HEADER, Malformed
from amqp_sansio.wire.segments import SegmentReader


@pytest.mark.parametrize(("octets", "legal"), [(99, True), (100, True), (101, False)])
def test_limit_assembly_octets(octets: int, legal: bool) -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, assembly_octets=100)
    whole = frame(0x0F, COMMAND, TRANSFER + bytes(octets - len(TRANSFER)))
    parts = frame(0x0B, COMMAND, TRANSFER) + frame(0x06, BODY, bytes(50)) + frame(0x05, BODY, bytes(octets - 59))
    for message in (whole, parts):
        found = read(message + NEXT, limits=limits)
        heard = read(message + NEXT, limits=limits, tolerant=True)
        if legal:
            assert summary(found) == summary(heard) == ["0401", "0301"]
        else:
            assert summary(found) == ["limits.assembly_octets", "0301"]
            assert rules(found) == [("limits.assembly_octets", 506)]
            assert isinstance(found[0], Malformed)
            assert found[0].method == (0 if message == whole else 4 << 16 | 1)  # its command, if that came whole
            assert summary(heard) == ["0401!", "limits.assembly_octets", "0301"]


def test_the_rest_of_a_command_that_was_too_large_begins_nothing() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, assembly_octets=100)
    message = frame(0x0E, COMMAND, TRANSFER) + frame(0x0C, COMMAND, bytes(99)) + frame(0x0C, COMMAND) + frame(0x0D, COMMAND)
    for tolerant, expected in ((False, []), (True, ["0401!"])):
        assert summary(read(message + NEXT, limits=limits, tolerant=tolerant)) == [*expected, "limits.assembly_octets", "0301"]


def test_behind_a_header_that_was_too_large_an_observer_takes_a_command_for_a_new_one() -> None:
    """The rest of a header that was refused is more of the header: a command frame begins something, whatever it says."""
    limits = attrs.evolve(DEFAULT_LIMITS, header_octets=100)
    message = BETWEEN_COMMAND + frame(0x02, HEADER, bytes(101)) + frame(0x0D, COMMAND, SYNC)
    for tolerant, expected in ((False, []), (True, ["0401!"])):
        told = summary(read(message + NEXT, limits=limits, tolerant=tolerant))
        assert told == [*expected, "limits.header_octets", *["0301"] * (1 + tolerant)]


@pytest.mark.parametrize(("octets", "legal"), [(99, True), (100, True), (101, False)])
def test_limit_header_octets(octets: int, legal: bool) -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, header_octets=100)
    message = BETWEEN_COMMAND + frame(0x02, HEADER, bytes(60)) + frame(0x01, HEADER, bytes(octets - 60)) + frame(0x07, BODY)
    expected = ["0401"] if legal else ["limits.header_octets"]
    assert summary(read(message + NEXT, limits=limits)) == [*expected, "0301"]


@pytest.mark.parametrize(("octets", "legal"), [(99, True), (100, True), (101, False)])
def test_limit_buffered_octets(octets: int, legal: bool) -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, buffered_octets=100)
    one = frame(0x0B, COMMAND, TRANSFER, channel=1) + frame(0x06, BODY, bytes(50 - len(TRANSFER)), channel=1)
    two = frame(0x0B, COMMAND, TRANSFER, channel=2) + frame(0x06, BODY, bytes(octets - 50 - len(TRANSFER)), channel=2)
    reader = SegmentReader(limits)
    reader.receive(one + two)
    assert summary(drain(reader)) == ([] if legal else ["limits.buffered_octets"])
    assert reader.held == (octets if legal else 50)
    reader.receive(frame(0x05, BODY, b"", channel=2) + frame(0x05, BODY, b"", channel=1))
    assert len(drain(reader)) == (2 if legal else 1)
    assert reader.held == 0


@pytest.mark.parametrize(("frames", "legal"), [(15, True), (16, True), (17, False)])
def test_limit_empty_frames(frames: int, legal: bool) -> None:
    message = BODY_OPEN + frame(0x04, BODY) * frames + frame(0x04, BODY, b"y") + frame(0x04, BODY) * 16 + frame(0x05, BODY)
    assert summary(read(message + NEXT)) == [*(["0401"] if legal else ["limits.empty_frames"]), "0301"]


@pytest.mark.parametrize(("channels", "legal"), [(3, True), (4, True), (5, False)])
def test_limit_channels_bounds_the_assemblies_under_way(channels: int, legal: bool) -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, channels=2)
    octets = b"".join([frame(0x0A, COMMAND, TRANSFER, channel=channel) for channel in range(channels)])
    assert rules(read(octets, limits=limits)) == ([] if legal else [("limits.channels", 501)])
    assert rules(read(octets, limits=limits, tolerant=True)) == ([] if legal else [("limits.channels", 501)])


def test_an_empty_frame_that_ends_its_segment_does_not_count() -> None:
    limits = attrs.evolve(DEFAULT_LIMITS, empty_frames=1)
    message = frame(0x0B, COMMAND, TRANSFER) + frame(0x03, HEADER) + frame(0x06, BODY) + frame(0x05, BODY)
    assert summary(read(message, limits=limits)) == ["0401"]
