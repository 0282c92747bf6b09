"""An assembly under reception: the octets that have come of it."""

from __future__ import annotations

from typing import Final

from amqp_sansio.wire.assembly import BODY, HEADER, Assembly

IN_SEGMENT: Final = 1
"""The next frame continues the segment (b=0)."""
BETWEEN: Final = 2
"""The next frame begins another segment (B=0, b=1)."""
SKIPPING: Final = 3
"""What is left of a broken assembly is passed over, up to its end or to the next first frame."""

_SMALL: Final = 512
"""Payloads below so many octets are gathered in one bytearray: an object each would cost more than its octets."""


class Partial:
    """One per (channel, track) at most.  Parts are kept as they came and joined once, when their segment ends."""

    __slots__ = (
        "channel", "track", "kind", "start", "end", "state", "segment", "edges", "octets", "segment_octets", "empties", "sound",
        "rest", "_payload", "_header", "_body", "_parts", "_small",
    )  # fmt: skip

    def __init__(self, channel: int, track: int, kind: int, start: int) -> None:
        self.channel: Final = channel
        self.track: Final = track
        self.kind: Final = kind
        self.start: Final = start
        self.end = start
        self.state = IN_SEGMENT
        self.segment = kind
        """Type of the segment under way, or of the last one when between two."""
        self.edges = 0
        """The B and E bits of that segment's first frame."""
        self.octets = 0
        """Payload octets of all its frames so far."""
        self.segment_octets = 0
        self.empties = 0
        """Frames without payload in a row."""
        self.sound = True
        """False when its first frame was at fault already."""
        self.rest = False
        """Skipping begins with the next frame, which by command-point must not begin a command."""
        self._payload: bytes | None = None
        self._header: list[bytes] | None = None  # its segments: one, but for an observer, to whom a speaker may say more
        self._body: list[bytes] | None = None
        self._parts: list[bytes] = []
        self._small: bytearray | None = None

    @property
    def body_begun(self) -> bool:
        """Whether a body segment has begun."""
        return self._body is not None

    def begin_segment(self, segment: int, edges: int) -> None:
        """The first frame of a segment has come; `edges` are its B and E."""
        self.state = IN_SEGMENT
        self.segment = segment
        self.edges = edges
        self.segment_octets = 0
        self.empties = 0

    def add(self, octets: bytes) -> None:
        """One frame's payload."""
        count = len(octets)
        self.octets += count
        self.segment_octets += count
        if count >= _SMALL:
            if self._small:
                self._parts.append(bytes(self._small))
                self._small = None
            self._parts.append(octets)
        elif count:
            if self._small is None:
                self._small = bytearray(octets)
            else:
                self._small += octets

    def end_segment(self) -> None:
        """Joins what has come of the segment under way.  A second header or body comes behind the first one, in the end."""
        octets = self._joined()
        if self.segment == HEADER:
            self._header = _with(self._header, octets)
        elif self.segment == BODY:
            self._body = _with(self._body, octets)
        else:
            self._payload = octets
        self.state = BETWEEN

    def assembly(self, complete: bool, unended: bool = False) -> Assembly:
        """What there is of it, at its end or where it was broken off."""
        if self.state == IN_SEGMENT:
            self.end_segment()
        return Assembly(
            self.channel,
            self.track,
            self.kind,
            self._payload or b"",
            _whole(self._header),
            _whole(self._body),
            self.start,
            self.end,
            complete,
            unended,
        )

    @property
    def payload(self) -> bytes:
        """The control or command segment, once it has ended."""
        return self._payload or b""

    def _joined(self) -> bytes:
        if self._small:
            self._parts.append(bytes(self._small))
        self._small = None
        parts = self._parts
        self._parts = []
        return parts[0] if len(parts) == 1 else b"".join(parts)


def _with(segments: list[bytes] | None, octets: bytes) -> list[bytes]:
    """The segments with one more, of which none but the first is kept without octets."""
    if segments is None:
        return [octets]
    if octets:
        segments.append(octets)
    return segments


def _whole(segments: list[bytes] | None) -> bytes | None:
    if segments is None:
        return None
    return segments[0] if len(segments) == 1 else b"".join(segments)
