"""A downstream program that leaves no event out."""

from __future__ import annotations

from typing import assert_never, assert_type

from amqp_sansio.events import (
    AttachRequested,
    Authenticated,
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    ChannelClosed,
    ChannelOpened,
    ChannelRequested,
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    Confirmed,
    ConnectionBlocked,
    ConnectionClosed,
    ConnectionOpened,
    ConnectionRedirected,
    ConnectionUnblocked,
    ConsumerCancelled,
    ContentReceived,
    DeliveriesSettled,
    Event,
    ExceptionReceived,
    FlowChanged,
    LoginRefused,
    MessageDelivered,
    MessageGot,
    MessageReturned,
    MethodAnswered,
    MethodReceived,
    Nacked,
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
        case ChannelClosed(in_doubt=in_doubt):
            assert_type(in_doubt, RangeSet)
            return "channel closed"
        case MessageDelivered(method=method) | MessageGot(method=method):
            assert_type(event.tag, int)
            return method.routing_key
        case ChannelRequested() | ChannelOpened() | FlowChanged() | ConsumerCancelled():
            return "channel"
        case MethodAnswered() | MethodReceived() | ContentReceived() | MessageReturned():
            return "method"
        case Confirmed(ids=ids) | Nacked(ids=ids) | DeliveriesSettled(ids=ids):
            assert_type(ids, RangeSet)
            return "settled"
        case _:
            assert_never(event)
