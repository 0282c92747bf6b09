"""Frames of 0-10, a header of twelve octets and a payload: splits output into frames, and checks headers of incoming ones."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.errors.core import many
from amqp_sansio.limits import MAX_FRAME_SIZE
from amqp_sansio.wire.framing import BODY, COMMAND, CONTROL, HEADER, Malformed
from amqp_sansio.wire.primitives import put_frame_header as _head

FRAME_HEADER_SIZE: Final = 12
"""Octets of a frame header; the size field of a frame includes them."""

FIRST_SEGMENT: Final = 0x08
LAST_SEGMENT: Final = 0x04
FIRST_FRAME: Final = 0x02
LAST_FRAME: Final = 0x01
WHOLE: Final = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME
"""The flags of a frame that is a complete assembly."""

KINDS: Final = ("control", "command", "header", "body")
"""The segment types by number."""


def frame_control(channel: int, payload: bytes, max_frame: int = MAX_FRAME_SIZE) -> bytes:
    """Encodes a control as one frame, as deployed peers require.  Raises EncodeError when it exceeds `max_frame` octets."""
    size = len(payload) + FRAME_HEADER_SIZE
    if size > max_frame:
        raise _too_large("control", size, max_frame)
    return _head(0x0F, CONTROL, size, 0, 0, channel, 0) + payload


def frame_command(
    channel: int,
    payload: bytes,
    header: bytes | None = None,
    body: bytes | None = None,
    max_frame: int = MAX_FRAME_SIZE,
    split_header: bool = False,
) -> list[bytes]:
    """Encodes a command and its content as frames of at most `max_frame` octets, headers included.

    None omits a segment; an empty body is one empty frame.  Only the body is ever split, as deployed peers require: raises
    EncodeError when the command or the header exceeds one frame.  `split_header` splits such a header as well, to forward a
    message from a peer with larger frames.
    """
    size = len(payload) + FRAME_HEADER_SIZE
    if size > max_frame:
        raise _too_large("command", size, max_frame)
    if header is None and body is None:
        return [_head(0x0F, COMMAND, size, 0, 1, channel, 0) + payload]
    frames = [_head(0x0B, COMMAND, size, 0, 1, channel, 0) + payload]
    if header is not None:
        size = len(header) + FRAME_HEADER_SIZE
        if size <= max_frame:
            frames.append(_head(0x07 if body is None else 0x03, HEADER, size, 0, 1, channel, 0) + header)
        elif split_header:
            _split(frames, channel, HEADER, 0 if body is not None else 0x04, header, max_frame)
        else:
            raise _too_large("header", size, max_frame)
    if body is not None:
        size = len(body) + FRAME_HEADER_SIZE
        if size <= max_frame:
            frames.append(_head(0x07, BODY, size, 0, 1, channel, 0) + body)
        else:
            _split(frames, channel, BODY, 0x04, body, max_frame)
    return frames


def _split(frames: list[bytes], channel: int, kind: int, last_segment: int, body: bytes, max_frame: int) -> None:
    """Adds a segment of this kind as several frames; `last_segment` is the flag, 0x04 or 0, that all of them carry."""
    room = max_frame - FRAME_HEADER_SIZE
    if room < 1:
        raise EncodeError("frame", f"a frame of {max_frame} octets has no room for a body")
    last = (len(body) - 1) // room * room
    head = _head(last_segment, kind, max_frame, 0, 1, channel, 0)
    frames.append(_head(last_segment | 0x02, kind, max_frame, 0, 1, channel, 0) + body[:room])
    for at in range(room, last, room):
        frames.append(head + body[at : at + room])
    rest = body[last:]
    frames.append(_head(last_segment | 0x01, kind, len(rest) + FRAME_HEADER_SIZE, 0, 1, channel, 0) + rest)


def _too_large(what: str, size: int, max_frame: int) -> EncodeError:
    return EncodeError(what, f"its segment must fit into one frame of {max_frame} octets, and takes {size}")


# --- incoming frames ------------------------------------------------------------------------------------------------------


def describe(flags: int, kind: int) -> str:
    """Describes a frame in words: "B E b e control"."""
    marks = [
        mark for bit, mark in ((FIRST_SEGMENT, "B"), (LAST_SEGMENT, "E"), (FIRST_FRAME, "b"), (LAST_FRAME, "e")) if flags & bit
    ]
    return " ".join([*marks, KINDS[kind]])


def uncuttable(flags: int, size: int, channel: int, offset: int) -> Malformed:
    """Returns the violation of a frame whose end cannot be determined."""
    if flags & 0xC0:
        rule, text, said = "frame.version", "the framing version must be 0", f"framing version {flags >> 6}"
        legal = "framing version 0"
    else:
        rule, text, said = "frame.size", "a frame is at least as large as its header", f"a frame of {many(size, 'octet')}"
        legal = "12 octets or more"
    return Malformed(rule, text, 501, channel, offset, True, said, (legal,))


def check_header(
    flags: int, kind: int, size: int, zero: int, track: int, channel: int, max_frame_size: int, offset: int
) -> Malformed | None:
    """Returns the first violation in a frame header.  Ignores octets 8 to 11, as peers do."""
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
