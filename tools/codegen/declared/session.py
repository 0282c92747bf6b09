"""Events of a session."""

from __future__ import annotations

from amqp_sansio.events.violation import Origin, Violation
from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.kernel.value import ValueObject


class AttachRequested(ValueObject):
    """The client requests to attach a session (server role; session.attach).

    Answer with `accept` or `refuse` before the next `next_event`, else the config's policy answers.
    """

    session: bytes
    channel: int
    force: bool


class SessionAttached(ValueObject):
    """The session is attached and may be used.

    `resumed`: both sides kept their state, and everything in doubt has been replayed.
    """

    session: bytes
    channel: int
    resumed: bool = False


class SessionDetached(ValueObject):
    """The session is no longer attached.

    `code` is the detach code when one was sent; `in_doubt` are our own commands that were sent and that the peer has not
    completed; `ended`: the session is over and cannot be resumed.
    """

    session: bytes
    channel: int
    origin: Origin
    code: int | None = None
    text: str = ""
    violation: Violation | None = None
    in_doubt: RangeSet = RangeSet()
    ended: bool = False


class TimeoutGranted(ValueObject):
    """The peer granted how long it keeps the session while it is detached (session.timeout).

    `seconds` is None for ever, 0 for not at all.
    """

    session: bytes
    seconds: int | None
