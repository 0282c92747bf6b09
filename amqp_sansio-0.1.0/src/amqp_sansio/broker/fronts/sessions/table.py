"""Which command is done where.  What is in no row is not implemented (540): classes file and stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from amqp_sansio.broker.conditions import Refused
from amqp_sansio.broker.fronts.sessions import administration, messaging, rights, transacting
from amqp_sansio.events import CommandReceived
from amqp_sansio.spec import dtx, exchange, execution, message, queue, tx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import SessionHolder

COMMANDS: Final[dict[type[Command], Callable[[SessionHolder, int, Any], None]]] = {  # Any: each row takes its own command
    message.Subscribe: messaging.subscribe,
    message.Cancel: messaging.cancel,
    message.Flow: messaging.flow,
    message.SetFlowMode: messaging.set_flow_mode,
    message.Flush: messaging.flush,
    message.Stop: messaging.stop,
    message.Accept: messaging.accept,
    message.Reject: messaging.reject,
    message.Release: messaging.release,
    message.Acquire: messaging.acquire,
    message.Resume: messaging.resume,
    queue.Declare: administration.declare_queue,
    queue.Delete: administration.delete_queue,
    queue.Purge: administration.purge,
    queue.Query: administration.query_queue,
    exchange.Declare: administration.declare_exchange,
    exchange.Delete: administration.delete_exchange,
    exchange.Query: administration.query_exchange,
    exchange.Bind: administration.bind,
    exchange.Unbind: administration.unbind,
    exchange.Bound: administration.bound,
    tx.Select: transacting.tx_select,
    tx.Commit: transacting.tx_commit,
    tx.Rollback: transacting.tx_rollback,
    dtx.Select: transacting.dtx_select,
    dtx.Start: transacting.start,
    dtx.End: transacting.end,
    dtx.Prepare: transacting.prepare,
    dtx.Commit: transacting.commit,
    dtx.Rollback: transacting.rollback,
    dtx.Forget: transacting.forget,
    dtx.Recover: transacting.recover,
    dtx.GetTimeout: transacting.get_timeout,
    dtx.SetTimeout: transacting.set_timeout,
}
"""By command."""


def execute(holder: SessionHolder, event: CommandReceived) -> None:
    """Does a command of the session, answers it, or refuses it, which ends the session."""
    command = event.command
    does = COMMANDS.get(type(command))
    guard = holder.broker._guard
    try:
        if guard is not None:
            rights.demand(guard, holder, command)
        if does is not None:
            does(holder, event.id, command)
            return
    except Refused as refused:
        holder.refuse(event.id, refused)
        return
    if type(command) is not execution.Sync:  # which the engine completes when all before it is
        holder.fail(event.id, ErrorCode.NOT_IMPLEMENTED, f"{command.VERB} is not implemented")
