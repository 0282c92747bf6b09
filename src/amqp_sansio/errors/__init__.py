"""Every exception of the library: all of them are `AmqpError`, and name what, where and which rule.

A peer can never make the core raise: what a peer does wrong is an event.  The core raises for a *caller*: for misuse
(`LocalProtocolError`, `EncodeError`, `NoCredit`, `LimitError`), for a race with the other side (`ConnectionClosedError`,
`SessionDetachedError`, `ChannelClosedError`), for octets handed to the wire functions directly (`DecodeError`), for reading a
header field that the walk on receipt could not vouch for (`HeaderError`), and for a broker's damaged state (`RestoreError`).
The clients of the adapters add those that say what became of a call when the other side, or the way to it, failed.
"""

from __future__ import annotations

from amqp_sansio.errors.channels import ChannelClosed, InDoubt, MessageNacked, SubscriptionCancelled
from amqp_sansio.errors.clients import (
    AddressError,
    BranchFailed,
    ConnectFailed,
    ConnectionLost,
    MessageReturned,
    NoResult,
    SessionFailed,
    SessionLost,
    SessionReopened,
    SharedSessionFailed,
    SubscriptionClosed,
    TransactionFailed,
)
from amqp_sansio.errors.core import (
    AmqpError,
    CapabilityMissing,
    ChannelClosedError,
    ConnectionClosedError,
    DecodeError,
    EncodeError,
    FlowStopped,
    HeaderError,
    LimitError,
    LocalProtocolError,
    NoCredit,
    RestoreError,
    SessionDetachedError,
    StaleDelivery,
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
