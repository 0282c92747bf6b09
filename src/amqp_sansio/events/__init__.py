"""The events: one class for each thing that a connection or an observer reports, and the closed unions of them.

A Connection returns an `Event`, an Observer an `Observation`.  Events are plain values: compared, hashed and pickled by value,
without references to live objects.  A type checker reports a `match` over a union that leaves one of them out.
"""

from __future__ import annotations

from typing import TypeAlias

from amqp_sansio.events.channel import (
    ChannelClosed,
    ChannelOpened,
    ChannelRequested,
    Confirmed,
    ConsumerCancelled,
    ContentReceived,
    DeliveriesSettled,
    FlowChanged,
    MessageDelivered,
    MessageGot,
    MessageReturned,
    MethodAnswered,
    MethodReceived,
    Nacked,
)
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
"""Events of a connection, whatever its channels carry."""

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
"""Events of the sessions on channels (0-10)."""

ChannelEvent: TypeAlias = (
    ChannelRequested
    | ChannelOpened
    | MethodAnswered
    | MethodReceived
    | MessageDelivered
    | MessageGot
    | MessageReturned
    | ContentReceived
    | Confirmed
    | Nacked
    | DeliveriesSettled
    | ConsumerCancelled
    | FlowChanged
    | ChannelClosed
)
"""Events of the channels of the older dialects (0-8, 0-9, 0-9-1)."""

Event: TypeAlias = ConnectionEvent | SessionEvent | ChannelEvent
"""Every event of a Connection; each family of dialects has a union of its own in it."""

__all__ = [
    "AttachRequested",
    "Authenticated",
    "BranchAnswered",
    "BranchTimeout",
    "BranchesRecovered",
    "ChannelClosed",
    "ChannelEvent",
    "ChannelOpened",
    "ChannelRequested",
    "CommandReceived",
    "CommandSeen",
    "CommandsCompleted",
    "CommandsConfirmed",
    "CommandsSkipped",
    "Confirmed",
    "ConnectionBlocked",
    "ConnectionClosed",
    "ConnectionEvent",
    "ConnectionOpened",
    "ConnectionRedirected",
    "ConnectionUnblocked",
    "ConsumerCancelled",
    "ContentReceived",
    "ControlSeen",
    "DeliveriesSettled",
    "Event",
    "ExceptionReceived",
    "FlowChanged",
    "HeaderSeen",
    "LoginRefused",
    "MessageDelivered",
    "MessageGot",
    "MessageReturned",
    "MethodAnswered",
    "MethodReceived",
    "MethodSeen",
    "Nacked",
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
