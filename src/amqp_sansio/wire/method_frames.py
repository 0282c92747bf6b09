"""The frames of the older dialects: type, channel, size, payload, and an end octet; and how output is split into them."""

from __future__ import annotations

import re
from functools import cache
from struct import Struct
from typing import ClassVar, Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import Limits
from amqp_sansio.wire.framing import CONTROL, Assembly, Carries, Framing, Reader
from amqp_sansio.wire.primitives import put_u64

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
"""Octets of a frame other than its payload."""
FRAME_END: Final = 0xCE
"""The last octet of every frame."""
FRAME_MIN_SIZE: Final = 4096
"""Octets of the largest frame that every peer must accept, including its overhead."""
FRAME_MAX_SIZE: Final = (1 << 32) - 1

HEADER_HEAD: Final = 14
"""Octets of a content header before its properties: class, weight and body size are twelve, the flags two."""

_HEAD: Final = Struct(">BHI")
frame_head: Final = _HEAD.unpack_from
_TAG_FRAME: Final = Struct(">BHIIQBB")
tag_frame: Final = _TAG_FRAME.unpack_from
"""A frame whose method has one 64-bit number and bits: type, channel, size, class and method as one number, and those."""
TAG_FRAME: Final = _TAG_FRAME.size
"""Octets of a frame that `tag_frame` reads."""
_END: Final = bytes([FRAME_END])


def put_frame(kind: int, channel: int, payload: bytes) -> bytes:
    """Encodes one frame."""
    return _HEAD.pack(kind, channel, len(payload)) + payload + _END


def frame_method(channel: int, payload: bytes, max_frame: int = FRAME_MAX_SIZE) -> bytes:
    """Encodes a method as one frame.  Raises EncodeError when the frame exceeds `max_frame` octets."""
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
    """Encodes a method and its content as frames of at most `max_frame` octets.

    Only the body is ever split; an empty one has no frame.  `properties` are the flags and the properties; `size` is the size
    of the whole body where more than `body` follows.  Raises EncodeError when the method or the header does not fit into one
    frame.
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
    """Returns the pattern for the beginning of a frame, compiled on first use."""
    return re.compile(
        rb"\x01......\x00[\x0a\x14\x1e\x28\x32\x3c\x46\x50\x55\x5a\x64\x6e\x78]\x00"  # a method of a defined class
        rb"|\x02......\x00[\x0a\x14\x1e\x28\x32\x3c\x46\x50\x55\x5a\x64\x6e\x78]\x00\x00\x00"  # a header with weight 0
        rb"|\x08\x00\x00\x00\x00\x00\x00\xce",  # a heartbeat
        re.DOTALL,
    )


GUESSED: Final = 131_072
"""Octets of the largest frame that is searched for without knowing where one begins.

RabbitMQ negotiates larger ones, but a wrong guess must not wait for that many octets.
"""
_LONGEST: Final = 12
"""Octets that the pattern looks at."""


def plausible_frame(octets: bytes, at: int, max_frame_size: int) -> bool:
    """Returns whether the seven octets at `at` could be the head of a frame."""
    kind: int
    size: int
    kind, _, size = frame_head(octets, at)
    if kind == HEARTBEAT:
        return octets[at + 1 : at + FRAME_HEAD] == bytes(6)
    return METHOD <= kind <= TRACE and size + OVERHEAD <= max_frame_size and (kind != METHOD or size >= 4)


def find_method_frame(octets: bytes, start: int, max_frame_size: int, ended: bool) -> tuple[int, int]:
    """Finds the first method, header or heartbeat frame from `start` on with a valid end and another frame after it.

    Returns (index, 0), or (index, octets needed from there on) when there are too few to decide.  When the stream has `ended`,
    a frame up to its very last octet is enough.  Linear: octets before the index are not looked at again.
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


USUAL_FRAME_SIZE: Final = 131072
"""RabbitMQ's default, which clients accept."""


class MethodFraming(Framing):
    """Frames of up to four GiB, with an overhead of eight octets.

    `extra`: the dialect has out-of-band and trace frames. The reader is imported with the first connection, because importing
    the package builds all dialects.
    """

    HEAD: ClassVar[int] = FRAME_HEAD

    def __init__(self, extra: bool) -> None:
        super().__init__(OVERHEAD, FRAME_MIN_SIZE, USUAL_FRAME_SIZE, FRAME_MAX_SIZE)
        self.extra: Final = extra
        if extra:
            self.name += ", with traces"

    def reader(
        self, limits: Limits, max_frame_size: int, *, strict: bool, carries: Carries, offset: int, opening: bool
    ) -> Reader:
        from amqp_sansio.wire.method_reader import MethodReader

        return MethodReader(limits, max_frame_size, False, carries, offset=offset, opening=opening, extra=self.extra)

    def overhearing(self, limits: Limits, carries: Carries, offset: int) -> Reader:
        from amqp_sansio.wire.method_reader import MethodReader

        return MethodReader(limits, self.largest, True, carries, offset=offset, extra=self.extra)

    def find_one(self, octets: bytes, start: int) -> tuple[int, int]:
        return find_method_frame(octets, start, GUESSED, False)

    def size_at(self, octets: bytes, at: int) -> int:
        return OVERHEAD + int(frame_head(octets, at)[2])

    def plausible_at(self, octets: bytes, at: int) -> bool:
        return plausible_frame(octets, at, GUESSED)

    def begins(self, octet: int) -> bool:
        return octet == METHOD

    def is_own(self, unit: Assembly) -> bool:
        return unit.kind == CONTROL

    def own(self, payload: bytes, max_frame: int) -> bytes:
        """See `Framing.own`; a control with an empty payload is a heartbeat."""
        if payload:
            return frame_method(0, payload, max_frame)
        if max_frame < OVERHEAD:
            raise EncodeError("heartbeat", f"a frame of at most {max_frame} octets, not {OVERHEAD}")
        return put_frame(HEARTBEAT, 0, b"")


METHODS: Final = MethodFraming(False)
"""Without out-of-band and trace frames: 0-9-1."""
METHODS_AND_TRACES: Final = MethodFraming(True)
"""With them: 0-8 and 0-9."""
