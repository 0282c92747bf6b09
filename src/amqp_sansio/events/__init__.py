"""One class for each thing that may happen to you; `Event` is their closed union, put together from one for each family.

`Event` is what a Connection hands out; `Observation` is what an Observer, the third person, hears.  Events are plain
values: equal, hashed and pickled by value, without live objects in them.  Leaving one out of a `match` over the union is
a type error.
"""

from __future__ import annotations

from typing import TypeAlias

from amqp_sansio.events.connection import (
    Authenticated,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    ConnectionUnblocked,
    LoginRefused,
    OpenRequested,
    SecretUpdated,
    SecurityLayerStarted,
    StartReceived,
    VersionRefused,
)
from amqp_sansio.events.execution import (
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    ExceptionReceived,
    ResultReceived,
)
from amqp_sansio.events.message import ProducerCreditChanged, TransferReceived
from amqp_sansio.events.observed import (
    CommandSeen,
    ControlSeen,
    HeaderSeen,
    MethodSeen,
    Note,
    Observation,
    OpaqueSeen,
)
from amqp_sansio.events.session import AttachRequested, SessionAttached, SessionDetached, TimeoutGranted
from amqp_sansio.events.transaction import (
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    TransactionEnded,
    TransactionOutcome,
)
from amqp_sansio.events.violation import Origin, Violation

ConnectionEvent: TypeAlias = (
    StartReceived
    | Authenticated
    | OpenRequested
    | ConnectionOpened
    | ConnectionRedirected
    | SecurityLayerStarted
    | VersionRefused
    | LoginRefused
    | ConnectionBlocked
    | ConnectionUnblocked
    | SecretUpdated
    | ConnectionClosed
)
"""What happens to a connection, whatever is spoken on its channels."""

SessionEvent: TypeAlias = (
    AttachRequested
    | SessionAttached
    | SessionDetached
    | TimeoutGranted
    | TransferReceived
    | CommandReceived
    | ResultReceived
    | ExceptionReceived
    | CommandsCompleted
    | CommandsConfirmed
    | CommandsSkipped
    | ProducerCreditChanged
    | TransactionEnded
    | BranchAnswered
    | BranchTimeout
    | BranchesRecovered
)
"""What happens on channels that carry sessions (0-10)."""

Event: TypeAlias = ConnectionEvent | SessionEvent
"""All that may happen; each family of dialects has a union here of what happens on its channels."""

__all__ = [
    "AttachRequested",
    "Authenticated",
    "BranchAnswered",
    "BranchTimeout",
    "BranchesRecovered",
    "CommandReceived",
    "CommandSeen",
    "CommandsCompleted",
    "CommandsConfirmed",
    "CommandsSkipped",
    "ConnectionBlocked",
    "ConnectionClosed",
    "ConnectionEvent",
    "ConnectionOpened",
    "ConnectionRedirected",
    "ConnectionUnblocked",
    "ControlSeen",
    "Event",
    "ExceptionReceived",
    "HeaderSeen",
    "LoginRefused",
    "MethodSeen",
    "Note",
    "Observation",
    "OpaqueSeen",
    "OpenRequested",
    "Origin",
    "ProducerCreditChanged",
    "ResultReceived",
    "SecretUpdated",
    "SecurityLayerStarted",
    "SessionAttached",
    "SessionDetached",
    "SessionEvent",
    "StartReceived",
    "TimeoutGranted",
    "TransactionEnded",
    "TransactionOutcome",
    "TransferReceived",
    "VersionRefused",
    "Violation",
]
