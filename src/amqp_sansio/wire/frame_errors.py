"""What a frame header may not say, and frames in words."""

from __future__ import annotations

from typing import Final

from amqp_sansio.wire.assembly import BODY, CONTROL, Malformed
from amqp_sansio.wire.frames import FIRST_FRAME, FIRST_SEGMENT, LAST_FRAME, LAST_SEGMENT

KINDS: Final = ("control", "command", "header", "body")
"""The segment types by number."""


def describe(flags: int, kind: int) -> str:
    """A frame in words: "B E b e control"."""
    marks = [
        mark for bit, mark in ((FIRST_SEGMENT, "B"), (LAST_SEGMENT, "E"), (FIRST_FRAME, "b"), (LAST_FRAME, "e")) if flags & bit
    ]
    return " ".join([*marks, KINDS[kind]])


def uncuttable(flags: int, size: int, channel: int, offset: int) -> Malformed:
    """A frame of which nobody knows where it ends."""
    if flags & 0xC0:
        rule, text, said = "frame.version", "the framing version must be 0", f"framing version {flags >> 6}"
        legal = "framing version 0"
    else:
        rule, text, said = "frame.size", "a frame is at least as large as its header", f"a frame of {size} octets"
        legal = "12 octets or more"
    return Malformed(rule, text, 501, channel, offset, True, said, (legal,))


def check_header(
    flags: int, kind: int, size: int, zero: int, track: int, channel: int, max_frame_size: int, offset: int
) -> Malformed | None:
    """The first rule that the header of a frame breaks.  Octets 8 to 11 may be anything: peers ignore them."""
    legal: tuple[str, ...]
    if size > max_frame_size:
        rule, text = "connection.tune-ok.max-frame-size.max-frame-size", "a frame larger than what was agreed"
        said, legal = f"a frame of {size} octets", (f"at most {max_frame_size} octets",)
    elif flags & 0x30 or zero or track & 0xF0:
        rule, text = "frame.reserved", "the reserved bits of a frame header must be 0"
        said, legal = f"reserved bits {flags & 0x30:#04x}, octet 4 {zero:#04x}, octet 5 {track:#04x}", ("0",)
    elif kind > BODY:
        rule, text, said, legal = "frame.segment-type", "nobody knows this segment type", f"segment type {kind}", KINDS
    elif track != (kind != CONTROL):
        rule, text = "frame.track", "controls go on track 0, everything else on track 1"
        said, legal = f"a {KINDS[kind]} on track {track}", (f"track {int(kind != CONTROL)}",)
    else:
        return None
    return Malformed(rule, text, 501, channel, offset, False, said, legal)
