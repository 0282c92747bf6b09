"""What a reader of frames hands out: whole assemblies, and what is wrong with frames."""

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
