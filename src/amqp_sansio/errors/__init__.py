"""Every exception of the library.  All of them are `AmqpError` and name what failed, where, and which rule was broken.

A peer can never make the core raise: its faults arrive as events.  The core raises for a *caller*: for misuse
(`LocalProtocolError`, `EncodeError`, `NoCredit`, `LimitError`), for a race with the peer (`ConnectionClosedError`,
`SessionDetachedError`, `ChannelClosedError`), for octets passed directly to the wire functions (`DecodeError`), for reading a
header field that the check on receipt could not cover (`HeaderError`), and for a broker's damaged state (`RestoreError`). The
clients of the adapters add exceptions that report the outcome of a call when the peer or the connection failed.
"""

from __future__ import annotations

from amqp_sansio.errors.core import (
    AddressError,
    AmqpError,
    BranchFailed,
    CapabilityMissing,
    ChannelClosed,
    ChannelClosedError,
    ConnectFailed,
    ConnectionClosedError,
    ConnectionLost,
    DecodeError,
    EncodeError,
    FlowStopped,
    HeaderError,
    InDoubt,
    LimitError,
    LocalProtocolError,
    MessageNacked,
    MessageReturned,
    NoCredit,
    NoResult,
    RestoreError,
    SessionDetachedError,
    SessionFailed,
    SessionLost,
    SessionReopened,
    SharedSessionFailed,
    StaleDelivery,
    SubscriptionCancelled,
    SubscriptionClosed,
    TransactionFailed,
)

__all__ = [
    "AddressError",
    "AmqpError",
    "BranchFailed",
    "CapabilityMissing",
    "ChannelClosed",
    "ChannelClosedError",
    "ConnectFailed",
    "ConnectionClosedError",
    "ConnectionLost",
    "DecodeError",
    "EncodeError",
    "FlowStopped",
    "HeaderError",
    "InDoubt",
    "LimitError",
    "LocalProtocolError",
    "MessageNacked",
    "MessageReturned",
    "NoCredit",
    "NoResult",
    "RestoreError",
    "SessionDetachedError",
    "SessionFailed",
    "SessionLost",
    "SessionReopened",
    "SharedSessionFailed",
    "StaleDelivery",
    "SubscriptionCancelled",
    "SubscriptionClosed",
    "TransactionFailed",
]
