"""The quick way to what answers a message: a control that is a set of one range and nothing else, in one frame."""

from __future__ import annotations

from typing import Final

from amqp_sansio.wire.assembly import CONTROL
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT, FRAME_HEADER_SIZE, LAST_FRAME, LAST_SEGMENT
from amqp_sansio.wire.octets import frame_of_set
from amqp_sansio.wire.segments import SegmentReader

SIZE: Final = FRAME_HEADER_SIZE + 14
"""Octets of such a frame."""
_HALF: Final = 1 << 31
_WHOLE: Final = (FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME) << 8 | CONTROL


def find_answer(reader: SegmentReader) -> tuple[int, int, int, int] | None:
    """The next frame, where it is such a one: its channel, its class, code and flags as one number, and the range.

    None for anything else, where octets are missing and where something is under way: then `SegmentReader.next` reads the same
    octets with every check.  Nothing is read before `skip_answer`.
    """
    buffer, at = reader.buffer, reader.position
    if len(buffer) - at < SIZE:
        return None
    begins, size, place, zero, head, octets, low, high = frame_of_set(buffer, at)
    if begins != _WHOLE or size != SIZE or place > 0xFFFF or zero or octets != 8 or high < low or high - low >= _HALF:
        return None
    assembler = reader.assembler
    if assembler.open or assembler.queue or reader.searching or reader.trace is not None:
        return None
    return place, head, low, high


def skip_answer(reader: SegmentReader) -> None:
    """What `find_answer` has found is read."""
    reader.skip(reader.position + SIZE, 1, FRAME_HEADER_SIZE)
