"""Events of a session."""

from __future__ import annotations

from typing import ClassVar, Final

from amqp_sansio.events.violation import Origin, Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import Value


class AttachRequested(Value):
    """The client requests to attach a session (server role; session.attach).

    Answer with `accept` or `refuse` before the next `next_event`, else the config's policy answers.
    """

    __slots__ = ("channel", "force", "session")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "channel", "force")
    __match_args__ = ("session", "channel", "force")

    def __init__(
        self,
        session: bytes,
        channel: int,
        force: bool,
    ) -> None:
        self.session: Final = session
        self.channel: Final = channel
        self.force: Final = force


class SessionAttached(Value):
    """The session is attached and may be used.

    `resumed`: both sides kept their state, and everything in doubt has been replayed.
    """

    __slots__ = ("channel", "resumed", "session")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "channel", "resumed")
    __match_args__ = ("session", "channel", "resumed")

    def __init__(
        self,
        session: bytes,
        channel: int,
        resumed: bool = False,
    ) -> None:
        self.session: Final = session
        self.channel: Final = channel
        self.resumed: Final = resumed


class SessionDetached(Value):
    """The session is no longer attached.

    `code` is the detach code when one was sent; `in_doubt` are our own commands that were sent and that the peer has not
    completed; `ended`: the session is over and cannot be resumed.
    """

    __slots__ = ("channel", "code", "ended", "in_doubt", "origin", "session", "text", "violation")
    FIELDS: ClassVar[tuple[str, ...]] = (
        "session",
        "channel",
        "origin",
        "code",
        "text",
        "violation",
        "in_doubt",
        "ended",
    )
    __match_args__ = ("session", "channel", "origin", "code", "text", "violation", "in_doubt", "ended")

    def __init__(
        self,
        session: bytes,
        channel: int,
        origin: Origin,
        code: int | None = None,
        text: str = "",
        violation: Violation | None = None,
        in_doubt: RangeSet = RangeSet(),
        ended: bool = False,
    ) -> None:
        self.session: Final = session
        self.channel: Final = channel
        self.origin: Final = origin
        self.code: Final = code
        self.text: Final = text
        self.violation: Final = violation
        self.in_doubt: Final = in_doubt
        self.ended: Final = ended


class TimeoutGranted(Value):
    """The peer granted how long it keeps the session while it is detached (session.timeout).

    `seconds` is None for ever, 0 for not at all.
    """

    __slots__ = ("seconds", "session")
    FIELDS: ClassVar[tuple[str, ...]] = ("session", "seconds")
    __match_args__ = ("session", "seconds")

    def __init__(
        self,
        session: bytes,
        seconds: int | None,
    ) -> None:
        self.session: Final = session
        self.seconds: Final = seconds
