"""Assemblies, whole and under reception: what a reader of frames hands out, and what is wrong with frames."""

from __future__ import annotations

from typing import Any, ClassVar, Final, Generic, TypeAlias, TypeVar

from amqp_sansio.kernel.value import Value

C = TypeVar("C")  # a command of a session, or a delivery of a channel: compiled code asks for its bound

CONTROL: Final = 0
"""Segment type of a control (track 0)."""
COMMAND: Final = 1
"""Segment type of a command (track 1)."""
HEADER: Final = 2
"""Segment type of the header segment behind a command (track 1)."""
BODY: Final = 3
"""Segment type of the body segment behind a command (track 1)."""

CONNECTION_SCOPE: Final = 501
"""The code with which the whole connection ends (framing-error); every other code ends one session."""


class Assembly(Value):
    """A control, or a command with what it carries.

    `kind` is CONTROL or COMMAND; `payload` is the octets of its control or command segment; `header` and `body` are those
    of the other segments, None where there is no such segment (b"" is a segment without octets).  `start` is the
    offset, in the octets of this speaker's stream, of its first frame, `end` the offset behind its last one: frames of other
    channels, and controls, may lie between.  `complete` is False when it was broken off or is still open at the end;
    `unended` is True for a command and its header that were never marked as ended, behind which the next command
    simply started: qpidd delivers a message with neither header nor body of its own like that.
    """

    __slots__ = ("channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended")
    FIELDS: ClassVar[tuple[str, ...]] = (
        "channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended",
    )  # fmt: skip
    __match_args__ = ("channel", "track", "kind", "payload", "header", "body", "start", "end", "complete", "unended")

    def __init__(
        self,
        channel: int,
        track: int,
        kind: int,
        payload: bytes,
        header: bytes | None,
        body: bytes | None,
        start: int,
        end: int,
        complete: bool = True,
        unended: bool = False,
    ) -> None:
        self.channel: Final = channel
        self.track: Final = track
        self.kind: Final = kind
        self.payload: Final = payload
        self.header: Final = header
        self.body: Final = body
        self.start: Final = start
        self.end: Final = end
        self.complete: Final = complete
        self.unended: Final = unended


class Malformed(Value):
    """A frame that breaks a rule.

    `rule` is the specification's rule where it has one, else a path under "frame." or "assembly." for the tables of frame
    headers and of segment order, or "limits." and the name of the limit.  `code` is 501 (the connection ends), 503 (segments
    in the wrong order or where there may be none: the session ends) or 506 (a limit: the session ends).  `offset` is the
    place of the frame in this speaker's stream.  `fatal`: the frame cannot be cut, so nothing behind it can be read.
    `said` and `legal` tell, for a person, what the frame was and what it could have been.
    """

    __slots__ = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal")
    FIELDS: ClassVar[tuple[str, ...]] = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal")
    __match_args__ = ("rule", "text", "code", "channel", "offset", "fatal", "said", "legal")

    def __init__(
        self,
        rule: str,
        text: str,
        code: int,
        channel: int,
        offset: int,
        fatal: bool = False,
        said: str = "",
        legal: tuple[str, ...] = (),
    ) -> None:
        self.rule: Final = rule
        self.text: Final = text
        self.code: Final = code
        self.channel: Final = channel
        self.offset: Final = offset
        self.fatal: Final = fatal
        self.said: Final = said
        self.legal: Final = legal

    @property
    def ends_connection(self) -> bool:
        """Whether the connection ends by it, and not one session only."""
        return self.code == CONNECTION_SCOPE


class KnownCommand(Generic[C]):
    """What the frame of a command means, remembered because the same frame comes again with every message."""

    __slots__ = ("account", "channel", "command", "payload", "place", "sync")

    def __init__(self, channel: int, command: C, sync: bool, payload: bytes, account: Any = None) -> None:
        self.channel: Final = channel
        self.place: Final = 1 << 16 | channel  # octets 4 to 7 of its frames: track 1, and the channel
        self.command: Final = command
        self.sync: Final = sync
        self.payload: Final = payload
        self.account: Final = account  # where it is counted.  Any: of whoever learns it, who alone reads it


Cut: TypeAlias = tuple[KnownCommand[Any], bytes, "int | None", bytes, int, int]
"""Such a command with its content: what is known of it, its header segment, the octets of its body (None: it has no body
segment) and the first of them, and where in its speaker's stream it begins and ends."""


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
