"""Finds the next frame after a gap, or in a stream whose beginning is missing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from amqp_sansio.wire.frames import FRAME_HEADER_SIZE

_FIRST: Final = re.compile(
    rb"[\x0e\x0f]\x00..\x00\x00..\x00{4}[\x01\x02][\x01-\x10]"  # a control: class connection or session
    rb"|[\x0a\x0b\x0e\x0f]\x01..\x00\x01..\x00{4}[\x03-\x0a][\x01-\x20]\x01[\x00\x01]"  # a command and its session.header
    rb"|[\x00-\x0f][\x02\x03]..\x00\x01..\x00{4}",  # a frame of a header or body
    re.DOTALL,
)
_LONGEST: Final = 16
"""Octets that the pattern looks at."""


def find_frame(octets: bytes, start: int, max_frame_size: int, ended: bool) -> tuple[int, int]:
    """Finds the first frame from `start` on that another one follows.

    It begins a control or command, or belongs to a header or body.  Returns (index, 0), or (index, octets needed from there on)
    when there are too few to decide.  When the stream has `ended`, a frame up to its very last octet is enough.  Linear: octets
    before the index are not looked at again.
    """
    at = start
    while match := _FIRST.search(octets, at):
        at = match.start()
        size = octets[at + 2] << 8 | octets[at + 3]
        if FRAME_HEADER_SIZE <= size <= max_frame_size:
            behind = at + size
            if behind + FRAME_HEADER_SIZE <= len(octets):
                if plausible_header(octets, behind, max_frame_size):
                    return at, 0
            elif not ended:
                return at, size + FRAME_HEADER_SIZE
            elif behind == len(octets):
                return at, 0
        at += 1
    if ended:
        return len(octets), _LONGEST
    return max(at, len(octets) - _LONGEST + 1), _LONGEST


def find_three(octets: bytes, start: int, max_frame_size: int, ended: bool) -> tuple[int, int]:
    """Finds the first such frame that two others follow; otherwise like `find_frame`.

    When the stream has `ended` without one, the octets needed will never come.
    """
    return three_in_a_row(octets, start, max_frame_size, ended, FRAME_HEADER_SIZE, find_frame, _size_at, plausible_header)


def three_in_a_row(
    octets: bytes,
    start: int,
    max_frame_size: int,
    ended: bool,
    head: int,
    find: Callable[[bytes, int, int, bool], tuple[int, int]],
    size_at: Callable[[bytes, int], int],
    plausible: Callable[[bytes, int, int], bool],
) -> tuple[int, int]:
    """Does the same as `find_three` for any framing whose frames begin with `head` octets that determine their size."""
    at, last = start, len(octets) - head
    while True:
        at, needed = find(octets, at, max_frame_size, False)
        if not needed:
            second = at + size_at(octets, at)
            third = second + size_at(octets, second)
            if third > last:
                needed = third + head - at
            elif plausible(octets, third, max_frame_size):
                return at, 0
        if needed and (not ended or at >= last):
            return at, needed
        at += 1


def _size_at(octets: bytes, at: int) -> int:
    return octets[at + 2] << 8 | octets[at + 3]


def plausible_header(octets: bytes, at: int, max_frame_size: int) -> bool:
    """Returns whether the twelve octets at `at` could be a frame header; no real peer sets a reserved octet."""
    kind = octets[at + 1]
    size = octets[at + 2] << 8 | octets[at + 3]
    return (
        octets[at] < 0x10
        and kind <= 3
        and FRAME_HEADER_SIZE <= size <= max_frame_size
        and octets[at + 4] == 0
        and octets[at + 5] == (kind != 0)
        and octets[at + 8 : at + 12] == b"\0\0\0\0"
    )
