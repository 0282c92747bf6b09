"""Executes commands of classes tx and dtx.  The engine has refused those that are illegal in the session's state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amqp_sansio.broker.fronts.sessions.rights import recoverer
from amqp_sansio.broker.transactions.transaction_buffer import Work
from amqp_sansio.spec import dtx, tx
from amqp_sansio.spec.dtx import GetTimeoutResult, RecoverResult, XaResult

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder
    from amqp_sansio.broker.transactions.coordinator import Outcome


def tx_select(holder: SessionHolder, id: int, command: tx.Select) -> None:
    """Executes tx.select: from now on transfers and accepts wait for commit."""
    if holder.tx is None:
        holder.tx = Work(holder.site.host, holder.broker.limits, holder.provisional)
    holder.complete(id)


def tx_commit(holder: SessionHolder, id: int, command: tx.Commit) -> None:
    """Executes tx.commit: applies the transaction, and begins the next."""
    provisional = holder.provisional
    number = holder.tx.commit(taken=provisional.entries()) if holder.tx is not None else 0
    provisional.commit()
    holder.complete_after(number, id)


def tx_rollback(holder: SessionHolder, id: int, command: tx.Rollback) -> None:
    """Executes tx.rollback: discards the transaction; accepted messages are acquired and unaccepted again."""
    if holder.tx is not None:
        holder.tx.rollback(False)
    holder.provisional.rollback()
    holder.complete(id)


def dtx_select(holder: SessionHolder, id: int, command: dtx.Select) -> None:
    """Executes dtx.select: the session may work on branches."""
    holder.complete(id)


def _answer(holder: SessionHolder, id: int, outcome: Outcome) -> None:
    holder.result_after(outcome.journal, id, XaResult(outcome.status))


def start(holder: SessionHolder, id: int, command: dtx.Start) -> None:
    """Executes dtx.start."""
    _answer(holder, id, holder.site.coordinator.start(holder.owner, command.xid, command.join, command.resume, holder.key[1]))


def end(holder: SessionHolder, id: int, command: dtx.End) -> None:
    """Executes dtx.end."""
    _answer(holder, id, holder.site.coordinator.end(holder.owner, command.xid, command.suspend, command.fail))


def prepare(holder: SessionHolder, id: int, command: dtx.Prepare) -> None:
    """Executes dtx.prepare."""
    _answer(holder, id, holder.site.coordinator.prepare(command.xid))


def commit(holder: SessionHolder, id: int, command: dtx.Commit) -> None:
    """Executes dtx.commit."""
    _answer(holder, id, holder.site.coordinator.commit(command.xid, command.one_phase))


def rollback(holder: SessionHolder, id: int, command: dtx.Rollback) -> None:
    """Executes dtx.rollback."""
    _answer(holder, id, holder.site.coordinator.rollback(command.xid))


def forget(holder: SessionHolder, id: int, command: dtx.Forget) -> None:
    """Executes dtx.forget."""
    holder.complete_after(holder.site.coordinator.forget(command.xid), id)


def recover(holder: SessionHolder, id: int, command: dtx.Recover) -> None:
    """Executes dtx.recover, with as many branches as fit into one frame; the client asks again when it has resolved them."""
    xids = holder.site.coordinator.recover(holder.frame_octets, recoverer(holder))
    while xids and not holder.fits(RecoverResult(xids)):
        xids = xids[: len(xids) // 2]
    holder.result(id, RecoverResult(xids))


def get_timeout(holder: SessionHolder, id: int, command: dtx.GetTimeout) -> None:
    """Executes dtx.get-timeout."""
    holder.result(id, GetTimeoutResult(holder.site.coordinator.get_timeout(command.xid)))


def set_timeout(holder: SessionHolder, id: int, command: dtx.SetTimeout) -> None:
    """Executes dtx.set-timeout."""
    holder.site.coordinator.set_timeout(command.xid, command.timeout)
    holder.complete(id)
