"""What answers messages is cut where nothing else is there, and nowhere else."""

from __future__ import annotations

import pytest

from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.engine.feedback import replies_of
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.limits import DEFAULT_LIMITS
from amqp_sansio.spec import message, session
from amqp_sansio.spec.base import Command, Control
from amqp_sansio.wire.frames import frame_command, frame_control
from amqp_sansio.wire.one_range import OneRange, alone_next
from amqp_sansio.wire.segments import SegmentReader

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
