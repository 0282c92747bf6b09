"""Events of a client, as values: passed to `on_event` of `connect`, and logged."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from amqp_sansio.kernel.serials import RangeSet


class Connected(NamedTuple):
    """A connection is open."""

    endpoint: str
    """Host and port."""
    number: int
    """1 for the first connection; each later one came after a loss."""


class AttemptFailed(NamedTuple):
    """No connection could be opened at this endpoint."""

    endpoint: str
    cause: str


class LoginRefused(NamedTuple):
    """The server did not accept the user, its password or its mechanism."""

    endpoint: str
    cause: str


class ConnectionEnded(NamedTuple):
    """An open connection ended."""

    endpoint: str
    cause: str
    lost: bool
    """Whether it ended against the client's will."""


class Reconnecting(NamedTuple):
    """The client will try this endpoint next."""

    endpoint: str
    seconds: float
    """The delay before the attempt."""


class GaveUp(NamedTuple):
    """The client will not connect again, though it was not closed: pending calls raise."""

    cause: str


class SessionOpened(NamedTuple):
    """A session was opened as a new one."""

    session: bytes
    again: bool
    """Whether it replaces a lost one, whose exclusive queues it does not own."""


class SessionResumed(NamedTuple):
    """A session was resumed after a loss of its connection, with nothing lost."""

    session: bytes


class SessionEnded(NamedTuple):
    """A session was refused or lost."""

    session: bytes
    cause: str
    in_doubt: RangeSet
    """The ids of commands that were sent and not completed: each may or may not have been executed."""


ClientEvent: TypeAlias = (
    Connected
    | AttemptFailed
    | LoginRefused
    | ConnectionEnded
    | Reconnecting
    | GaveUp
    | SessionOpened
    | SessionResumed
    | SessionEnded
)
"""Any event of a client."""
