"""The frames of the older dialects: type, channel, size, payload, and an octet at the end; cutting what we say into them."""

from __future__ import annotations

import re
from functools import cache
from struct import Struct
from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.wire.primitives import put_u64
from amqp_sansio.wire.resync import three_in_a_row

METHOD: Final = 1
CONTENT_HEADER: Final = 2
CONTENT_BODY: Final = 3
TRACE: Final = 7
HEARTBEAT: Final = 8

NAMES: Final = ("nothing", "method", "header", "body", "oob-method", "oob-header", "oob-body", "trace", "heartbeat")
"""The frame types by number."""

FRAME_HEAD: Final = 7
"""Octets before the payload: type, channel, size."""
OVERHEAD: Final = FRAME_HEAD + 1
"""Octets of a frame that are no payload."""
FRAME_END: Final = 0xCE
"""The last octet of every frame."""
FRAME_MIN_SIZE: Final = 4096
"""Octets of a frame that everybody must accept, all of it included."""
FRAME_MAX_SIZE: Final = (1 << 32) - 1

HEADER_HEAD: Final = 14
"""Octets of a content header before its properties' flags follow: class, weight and size of the body are twelve, flags two."""

_HEAD: Final = Struct(">BHI")
frame_head: Final = _HEAD.unpack_from
_TAG_FRAME: Final = Struct(">BHIIQBB")
tag_frame: Final = _TAG_FRAME.unpack_from
"""A frame whose method has one number of 64 bits and bits: type, channel, size, class and method as one number, and those."""
TAG_FRAME: Final = _TAG_FRAME.size
"""Octets of such a frame."""
_END: Final = bytes([FRAME_END])


def put_frame(kind: int, channel: int, payload: bytes) -> bytes:
    """One frame."""
    return _HEAD.pack(kind, channel, len(payload)) + payload + _END


def frame_method(channel: int, payload: bytes, max_frame: int = FRAME_MAX_SIZE) -> bytes:
    """A method as its one frame.  EncodeError when it is larger than `max_frame` octets, all of it included."""
    return _whole(METHOD, "method", channel, payload, max_frame)


def frame_content(
    channel: int,
    method: bytes,
    class_code: int,
    properties: bytes,
    body: bytes,
    max_frame: int = FRAME_MAX_SIZE,
    size: int | None = None,
) -> list[bytes]:
    """A method and its content as frames of at most `max_frame` octets: only a body is ever split, an empty one has no frame.

    `properties` are the flags and what follows them; `size` is all octets of the body where more than `body` follow.
    EncodeError when the method or the header fits into no frame.
    """
    octets = len(body) if size is None else size
    head = class_code.to_bytes(2, "big") + b"\0\0" + put_u64(octets) + properties
    frames = [_whole(METHOD, "method", channel, method, max_frame), _whole(CONTENT_HEADER, "header", channel, head, max_frame)]
    most = max_frame - OVERHEAD
    frames += [put_frame(CONTENT_BODY, channel, body[at : at + most]) for at in range(0, len(body), most)]
    return frames


def _whole(kind: int, what: str, channel: int, payload: bytes, max_frame: int) -> bytes:
    size = len(payload) + OVERHEAD
    if size > max_frame:
        raise EncodeError(what, f"a frame of at most {max_frame} octets, not {size}")
    return put_frame(kind, channel, payload)


@cache
def _first() -> re.Pattern[bytes]:
    """What a frame begins with; not made before somebody looks for one."""
    return re.compile(
        rb"\x01......\x00[\x0a\x14\x1e\x28\x32\x3c\x46\x50\x55\x5a\x64\x6e\x78]\x00"  # a method of a class that there is
        rb"|\x02......\x00[\x0a\x14\x1e\x28\x32\x3c\x46\x50\x55\x5a\x64\x6e\x78]\x00\x00\x00"  # a header of one, of weight 0
        rb"|\x08\x00\x00\x00\x00\x00\x00\xce",  # a heartbeat
        re.DOTALL,
    )


GUESSED: Final = 131_072
"""Octets of the largest frame that is looked for where nobody knows where one begins.  RabbitMQ agrees to larger
ones by itself, but nobody waits for one that a guess is wrong about."""
_LONGEST: Final = 12
"""Octets that the pattern looks at."""


def plausible_frame(octets: bytes, at: int, max_frame_size: int) -> bool:
    """Whether the seven octets at `at` could be the head of a frame."""
    kind: int
    size: int
    kind, _, size = frame_head(octets, at)
    if kind == HEARTBEAT:
        return octets[at + 1 : at + FRAME_HEAD] == bytes(6)
    return METHOD <= kind <= TRACE and size + OVERHEAD <= max_frame_size and (kind != METHOD or size >= 4)


def find_method_frame(octets: bytes, start: int, max_frame_size: int, ended: bool) -> tuple[int, int]:
    """The first place from `start` on where a method, a header or a heartbeat lies that ends where a frame ends, with what
    looks like another frame behind it.

    Gives (index, 0), or (index, octets needed from there on) when there are too few to tell.  When the stream has `ended`, a
    frame up to its very last octet will do.  Linear: no octet before the index is looked at again.
    """
    at, first = start, _first()
    while match := first.search(octets, at):
        at = match.start()
        behind = at + OVERHEAD + frame_head(octets, at)[2]
        if plausible_frame(octets, at, max_frame_size):
            if behind > len(octets):
                if not ended:
                    return at, behind - at
            elif octets[behind - 1] == FRAME_END:
                if behind + FRAME_HEAD <= len(octets):
                    if plausible_frame(octets, behind, max_frame_size):
                        return at, 0
                elif not ended:
                    return at, behind - at + FRAME_HEAD
                elif behind == len(octets):
                    return at, 0
        at += 1
    if ended:
        return len(octets), _LONGEST
    return max(at, len(octets) - _LONGEST + 1), _LONGEST


def find_three_method_frames(octets: bytes, start: int, ended: bool) -> tuple[int, int]:
    """The first place where such a frame begins with two others behind it; see `resync.find_three`."""
    return three_in_a_row(octets, start, GUESSED, ended, FRAME_HEAD, find_method_frame, _size_at, plausible_frame)


def _size_at(octets: bytes, at: int) -> int:
    size: int = frame_head(octets, at)[2]
    return size + OVERHEAD
