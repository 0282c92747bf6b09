"""A downstream program that forgets an event of a family."""

from __future__ import annotations

from typing import assert_never

from amqp_sansio.events import (
    AttachRequested,
    BranchAnswered,
    BranchesRecovered,
    BranchTimeout,
    CommandReceived,
    CommandsCompleted,
    CommandsConfirmed,
    CommandsSkipped,
    ExceptionReceived,
    ProducerCreditChanged,
    ResultReceived,
    SessionAttached,
    SessionDetached,
    SessionEvent,
    TimeoutGranted,
    TransactionEnded,
)


def tell(event: SessionEvent) -> str:
    """Knows nothing of TransferReceived."""
    match event:
        case AttachRequested() | SessionAttached() | SessionDetached() | TimeoutGranted():
            return "session"
        case CommandReceived() | ResultReceived() | ExceptionReceived() | CommandsCompleted() | CommandsConfirmed():
            return "command"
        case CommandsSkipped() | ProducerCreditChanged() | TransactionEnded() | BranchAnswered() | BranchTimeout():
            return "progress"
        case BranchesRecovered():
            return "branch"
        case _:
            assert_never(event)  # wrong: arg-type
