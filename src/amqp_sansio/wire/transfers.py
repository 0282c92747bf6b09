"""Many transfers at once: the fast path of a third person, who needs what headers say and how long bodies are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.base import Struct
from amqp_sansio.wire.assembly import BODY, HEADER
from amqp_sansio.wire.frames import FIRST_FRAME, FRAME_HEADER_SIZE, LAST_FRAME, LAST_SEGMENT
from amqp_sansio.wire.headers import decode_headers, masked
from amqp_sansio.wire.octets import frame_begin, u16, u32
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.segments import KnownTransfer, SegmentReader

T = TypeVar("T")

MOST: Final = 1024
"""Transfers of one run."""
REMEMBERED: Final = 1024
"""Headers remembered by what they have in common with others."""
REMEMBERED_OCTETS: Final = 512
"""Octets of a header that may be remembered."""

_WHOLE_HEADER: Final = (FIRST_FRAME | LAST_FRAME) << 8 | HEADER
_LAST_HEADER: Final = (LAST_SEGMENT | FIRST_FRAME | LAST_FRAME) << 8 | HEADER
_LAST_BODY: Final = (LAST_SEGMENT | FIRST_FRAME | LAST_FRAME) << 8 | BODY


Cut: TypeAlias = tuple[KnownTransfer, bytes, "int | None", bytes, int, int]
"""A transfer: its command, its header segment, the octets of its body (None: it has no body segment) and the first of them,
and where in its speaker's stream it begins and ends."""


def cut_run(reader: SegmentReader, head: int) -> list[Cut]:
    """Cuts transfers of one channel as `SegmentReader.cut_transfer` does, until one is not as plain as that.

    `head` is how many octets of bodies are wanted.
    """
    assembler = reader.assembler
    if assembler.open or assembler.queue or reader.searching or reader.dead or reader.trace is not None or not reader.ready():
        return []
    buffer = reader.buffer
    at = reader.position
    base = reader.offset - at
    have = len(buffer)
    known_frames = reader.known
    most = reader.max_frame_size
    run: list[Cut] = []
    frames = 0
    needed = FRAME_HEADER_SIZE
    place = -1
    while at + FRAME_HEADER_SIZE <= have and len(run) < MOST:
        command_end = at + u16(buffer, at + 2)[0]
        known = known_frames.get(buffer[at:command_end])
        if known is None:
            break
        header_at = command_end + FRAME_HEADER_SIZE
        if have < header_at:
            needed = header_at - at
            break
        begins, size, where = frame_begin(buffer, command_end)
        if place < 0:
            place = known.place
        if where != place or known.place != place or size < FRAME_HEADER_SIZE + 8 or size > most:
            break
        end = header_end = command_end + size
        body: int | None = None
        body_at = header_end + FRAME_HEADER_SIZE
        if begins == _WHOLE_HEADER:
            if have < body_at:
                needed = body_at - at
                break
            begins, size, where = frame_begin(buffer, header_end)
            if begins != _LAST_BODY or where != place or size <= FRAME_HEADER_SIZE or size > most:
                break
            end += size
            body = size - FRAME_HEADER_SIZE
        elif begins != _LAST_HEADER:
            break
        if have < end:
            needed = end - at
            break
        walked = header_at + 4 + u32(buffer, header_at)[0]
        if walked != header_end and (
            walked < header_at + 6 or header_end - walked < 8 or walked + 4 + u32(buffer, walked)[0] != header_end
        ):
            break
        first = buffer[body_at : min(body_at + head, end)] if head and body else b""
        run.append((known, buffer[header_at:header_end], body, first, base + at, base + end))
        frames += 2 if body is None else 3
        at = end
    reader.skip(at, frames, needed)
    return run


def put_back(reader: SegmentReader, run: Iterable[Cut]) -> None:
    """The last ones of a run are to be read again."""
    back = list(run)
    if back:
        frames = sum([2 if cut[2] is None else 3 for cut in back])
        reader.skip(reader.position - (reader.offset - back[0][4]), -frames, FRAME_HEADER_SIZE)


Sift: TypeAlias = Callable[[tuple[Struct, ...]], tuple[T, bytes | None]]
"""What is wanted of the structs of a header, and the message-id; times and lengths are not to be looked at."""


class Headers(Generic[T]):
    """Reads headers of transfers; those that differ in message-id, times and content-length only are read once."""

    __slots__ = ("_last", "_reading", "_remembered", "sift")

    def __init__(self, reading: Reading, sift: Sift[T]) -> None:
        self._reading: Final = reading
        self.sift: Final = sift
        self._remembered: dict[bytes, tuple[T, bytes | None]] = {}
        self._last: tuple[int, int, bytes, int, bytes, T] | None = None
        """Of the last one that was read: its size, where what may differ begins, what stands before, where its message-id
        stands, what stands behind, what it says."""

    def read(self, header: bytes) -> tuple[T, bytes | None] | None:
        """What `sift` says of such a header, and its message-id; None when it cannot be read."""
        last = self._last
        if last is not None:  # nearly always the one before differs in nothing else
            size, begin, before, low, behind, said = last
            if len(header) == size and header[:begin] == before and header[low + 16 :] == behind:
                return said, header[low : low + 16]
        key, id, begin, low = masked(header)
        found = self._remembered.get(key)
        if found is None:
            try:
                found = self.sift(decode_headers(header, 0, len(header), self._reading))
            except DecodeError:
                return None
            if len(key) <= REMEMBERED_OCTETS:
                if len(self._remembered) >= REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = found
        if id is None:
            return found
        if begin:
            self._last = len(header), begin, header[:begin], low, header[low + 16 :], found[0]
        return found[0], id
