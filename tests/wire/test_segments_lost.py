"""Reading assemblies goes on behind octets that were lost."""

from __future__ import annotations

import time

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
from amqp_sansio.wire.segments import SegmentReader


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
