"""A downstream program that leaves no event out."""

from __future__ import annotations

from typing import assert_never, assert_type

from amqp_sansio.events import (
    AttachRequested,
    Authenticated,
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    ConnectionUnblocked,
    Event,
    ExceptionReceived,
    LoginRefused,
    OpenRequested,
    ProducerCreditChanged,
    ResultReceived,
    SecretUpdated,
    SecurityLayerStarted,
    SessionAttached,
    SessionDetached,
    StartReceived,
    TimeoutGranted,
    TransactionEnded,
    TransactionOutcome,
    TransferReceived,
    VersionRefused,
    Violation,
)
from amqp_sansio.kernel.serials import RangeSet


def tell(event: Event) -> str:
    """One word for each event."""
    match event:
        case TransferReceived(body=body):
            assert_type(body, bytes)
            return f"{len(body)} octets"
        case SessionDetached(in_doubt=in_doubt):
            assert_type(in_doubt, RangeSet)
            return "detached"
        case ConnectionClosed(violation=violation):
            assert_type(violation, Violation | None)
            return "closed"
        case StartReceived() | Authenticated() | OpenRequested() | ConnectionOpened() | ConnectionRedirected():
            return "opening"
        case VersionRefused() | LoginRefused():
            return "refused"
        case ConnectionBlocked() | ConnectionUnblocked() | SecretUpdated():
            return "open"
        case SecurityLayerStarted() | AttachRequested() | SessionAttached() | TimeoutGranted():
            return "attaching"
        case CommandReceived() | ResultReceived() | ExceptionReceived():
            return "command"
        case CommandsCompleted() | CommandsConfirmed() | CommandsSkipped() | ProducerCreditChanged():
            return "progress"
        case TransactionEnded(outcome=outcome):
            assert_type(outcome, TransactionOutcome)
            return "transaction"
        case BranchAnswered() | BranchTimeout() | BranchesRecovered():
            return "branch"
        case _:
            assert_never(event)
