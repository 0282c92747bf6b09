"""What happens to a client between and beside its calls, as values: what `on_event` of `connect` gets, and what is logged."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from amqp_sansio.kernel.serials import RangeSet


class Connected(NamedTuple):
    """A connection is open."""

    endpoint: str
    """Host and port."""
    number: int
    """1 for the first one; each later one came after a loss."""


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
    """Whether the client did not want that."""


class Reconnecting(NamedTuple):
    """The client tries this endpoint next."""

    endpoint: str
    seconds: float
    """How long it waits before."""


class GaveUp(NamedTuple):
    """There will be no other connection: waiting calls raise."""

    cause: str


class SessionOpened(NamedTuple):
    """A session is open, as a new one."""

    session: bytes
    again: bool
    """Whether it replaces one that was lost: its exclusive queues are gone."""


class SessionResumed(NamedTuple):
    """A session goes on behind a loss of its connection: nothing of it is lost."""

    session: bytes


class SessionEnded(NamedTuple):
    """A session was refused, or is lost."""

    session: bytes
    cause: str
    in_doubt: RangeSet
    """The ids of commands that were sent and not called complete: each may have been executed or not."""


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
"""Any of them."""
