"""Cutting what we say into frames (0-10: a header of twelve octets, then the payload)."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import MAX_FRAME_SIZE
from amqp_sansio.wire.assembly import BODY, COMMAND, CONTROL, HEADER
from amqp_sansio.wire.primitives import put_frame_header as _head

FRAME_HEADER_SIZE: Final = 12
"""Octets of a frame header; the size that a frame says includes them."""

FIRST_SEGMENT: Final = 0x08
LAST_SEGMENT: Final = 0x04
FIRST_FRAME: Final = 0x02
LAST_FRAME: Final = 0x01
WHOLE: Final = FIRST_SEGMENT | LAST_SEGMENT | FIRST_FRAME | LAST_FRAME
"""What a frame says that is all of its assembly."""

KINDS: Final = ("control", "command", "header", "body")
"""The segment types by number."""


def frame_control(channel: int, payload: bytes, max_frame: int = MAX_FRAME_SIZE) -> bytes:
    """A control as its one frame.  EncodeError when it is larger than `max_frame` octets (deployed peers read no other)."""
    size = len(payload) + FRAME_HEADER_SIZE
    if size > max_frame:
        raise _too_large("control", size, max_frame)
    return _head(0x0F, CONTROL, size, 0, 0, channel, 0) + payload


def frame_begun(channel: int, payload: bytes) -> bytes:
    """The frame of a whole command segment that a header or body follows."""
    return _head(0x0B, COMMAND, len(payload) + FRAME_HEADER_SIZE, 0, 1, channel, 0) + payload


def frame_command(
    channel: int,
    payload: bytes,
    header: bytes | None = None,
    body: bytes | None = None,
    max_frame: int = MAX_FRAME_SIZE,
    split_header: bool = False,
) -> list[bytes]:
    """A command and what it carries as frames of at most `max_frame` octets, frame header included.

    None leaves a segment out; an empty body is a segment of one empty frame.  Only a body is ever split, for deployed
    peers read nothing else: EncodeError when the command or the header does not fit into one frame.  `split_header` splits such
    a header as well, to forward a message from a peer with larger frames.
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
    """A segment of this kind as several frames; `last_segment` is the flag, 0x04 or 0, that all of them carry."""
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
