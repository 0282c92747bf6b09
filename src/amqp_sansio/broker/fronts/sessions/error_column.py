"""The error codes of sessions: the code and field index of execution.exception for each condition.

Each row has the code of the specification and that of deployed brokers.  Where the specification gives no code, both profiles
have the same one; where a profile does not refuse at all, its code is None.
"""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Condition, Refused
from amqp_sansio.config import ErrorCodes
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode


@attrs.frozen
class Column:
    """The error codes of one condition in sessions.

    `spec` and `qpid` are its error codes in the profiles of those names, None where that profile does not refuse.
    """

    rule: str
    """The path of the rule or exception in `spec.rules`; "" where the specification has none."""
    command: type[Command] | None
    """The command that is refused; None for a condition of any command."""
    field: str
    """The field of the command that is wrong; "" when it is not a single field."""
    spec: ErrorCode | None
    qpid: ErrorCode | None

    def code(self, error_codes: ErrorCodes) -> ErrorCode | None:
        """Returns the code in that profile; None when the profile does not refuse."""
        return self.spec if error_codes == "spec" else self.qpid

    @property
    def codes(self) -> frozenset[int]:
        """The codes of both profiles."""
        return frozenset([int(code) for code in (self.spec, self.qpid) if code is not None])

    @property
    def field_index(self) -> int | None:
        """The index of the field in its command, counted from 0; None when it is not a single field."""
        return self.command.FIELDS.index(self.field) if self.command is not None and self.field else None


COLUMNS: Final[dict[Condition, Column]] = {}
"""Every condition has one."""


def code_of(refused: Refused, error_codes: ErrorCodes) -> ErrorCode:
    """Returns the error code of the answer."""
    column = COLUMNS[refused.condition]
    code = column.code(error_codes) or column.code("spec") or column.code("qpid")
    assert code is not None
    return code


def field_index_of(refused: Refused) -> int | None:
    """Returns the index of the wrong field, counted from 0; None when it is not a single field."""
    return COLUMNS[refused.condition].field_index


def _column(
    condition: Condition, command: type[Command] | None, field: str, rule: str, spec: int | None, *other: int | None
) -> None:
    """Adds a row.  `other` is the code of profile qpid if it differs from the specification's."""
    (qpid,) = other or (spec,)
    path = f"{command.VERB}.{rule}" if command is not None and rule and not rule.startswith("/") else rule.removeprefix("/")
    COLUMNS[condition] = Column(
        path, command, field, None if spec is None else ErrorCode(spec), None if qpid is None else ErrorCode(qpid)
    )


# --- any command ----------------------------------------------------------------------------------------------------------

_column(conditions.ACCESS_DENIED, None, "", "", 403)
_column(conditions.LIMIT, None, "", "", 506)

# --- message --------------------------------------------------------------------------------------------------------------

_column(conditions.TRANSFER_NO_EXCHANGE, message.Transfer, "destination", "destination.nonexistent-exchange", 404)
_column(conditions.TRANSFER_USER_ID, message.Transfer, "", "/message.message-properties.user-id.authentication", 403)
_column(conditions.TRANSFER_LIMIT, message.Transfer, "", "", 506)
_column(conditions.TRANSFER_HEADER, message.Transfer, "", "", 503)
_column(conditions.TRANSFER_FRAGMENT, message.Transfer, "", "", 540)
_column(conditions.RESUME_NO_DESTINATION, message.Resume, "destination", "destination.destination-not-found", 404)
_column(conditions.SUBSCRIBE_NO_QUEUE, message.Subscribe, "queue", "queue-not-found", 404)
_column(conditions.SUBSCRIBE_NO_NAME, message.Subscribe, "queue", "", 531)
_column(conditions.SUBSCRIBE_TWICE, message.Subscribe, "destination", "destination.unique-subscriber-destination", 530)
_column(conditions.SUBSCRIBE_EXCLUSIVE, message.Subscribe, "exclusive", "exclusive.in-use", 405)
_column(conditions.SUBSCRIBE_OWNED, message.Subscribe, "queue", "", 405)
_column(conditions.SUBSCRIBE_QUEUE_DELETED, message.Subscribe, "", "queue-deletion", 408)
_column(conditions.SUBSCRIBE_SELECTOR, message.Subscribe, "arguments", "", 531)
_column(conditions.SUBSCRIBE_ARGUMENT, message.Subscribe, "arguments", "", 540, 531)
_column(conditions.SUBSCRIBE_VALUE, message.Subscribe, "arguments", "", 540, 542)
_column(conditions.CANCEL_NO_DESTINATION, message.Cancel, "destination", "destination.subscription-not-found", 404)
_column(conditions.FLOW_NO_DESTINATION, message.Flow, "destination", "", 404)
_column(conditions.FLUSH_NO_DESTINATION, message.Flush, "destination", "", 404)
_column(conditions.STOP_NO_DESTINATION, message.Stop, "destination", "", 404)
_column(conditions.SET_FLOW_MODE_CREDIT, message.SetFlowMode, "", "mode-switching", 406, None)
_column(conditions.SET_FLOW_MODE_NO_DESTINATION, message.SetFlowMode, "destination", "", 404)

# --- exchange -------------------------------------------------------------------------------------------------------------

_column(conditions.EXCHANGE_DECLARE_RESERVED, exchange.Declare, "exchange", "exchange.reserved-names", 530)
_column(conditions.EXCHANGE_DECLARE_QPID, exchange.Declare, "exchange", "", None, 530)
_column(conditions.EXCHANGE_DECLARE_NO_NAME, exchange.Declare, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.EXCHANGE_DECLARE_NO_TYPE, exchange.Declare, "type_", "type.exchange-type-not-found", 404)
_column(conditions.EXCHANGE_DECLARE_OTHER_TYPE, exchange.Declare, "type_", "type.typed", 530)
_column(conditions.EXCHANGE_DECLARE_NO_ALTERNATE, exchange.Declare, "alternate_exchange", "", 404)
_column(
    conditions.EXCHANGE_DECLARE_OTHER_ALTERNATE,
    exchange.Declare,
    "alternate_exchange",
    "alternate-exchange.pre-existing-exchange",
    530,
)
_column(conditions.EXCHANGE_DECLARE_PASSIVE, exchange.Declare, "passive", "passive.not-found", 404)
_column(conditions.EXCHANGE_DECLARE_ARGUMENT, exchange.Declare, "arguments", "arguments.unknown-argument", 540, 531)
_column(conditions.EXCHANGE_REDECLARE_ARGUMENT, exchange.Declare, "arguments", "arguments.unknown-argument", 540, None)
_column(conditions.EXCHANGE_DELETE_NO_EXCHANGE, exchange.Delete, "exchange", "exchange.exists", 404)
_column(conditions.EXCHANGE_DELETE_NO_NAME, exchange.Delete, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.EXCHANGE_DELETE_ALTERNATE, exchange.Delete, "exchange", "exchange.used-as-alternate", 530)
_column(conditions.EXCHANGE_DELETE_IN_USE, exchange.Delete, "if_unused", "if-unused.exchange-in-use", 406)
_column(conditions.EXCHANGE_DELETE_RESERVED, exchange.Delete, "exchange", "", 530)
_column(conditions.BIND_NO_QUEUE, exchange.Bind, "queue", "queue.queue-existence", 404)
_column(conditions.BIND_NO_EXCHANGE, exchange.Bind, "exchange", "exchange.exchange-existence", 404)
_column(conditions.BIND_NO_QUEUE_NAME, exchange.Bind, "queue", "queue.empty-queue", 542, 404)
_column(conditions.BIND_NO_EXCHANGE_NAME, exchange.Bind, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.BIND_OWNED, exchange.Bind, "queue", "", 405)
_column(conditions.BIND_NO_X_MATCH, exchange.Bind, "arguments", "", 541)
_column(conditions.BIND_SELECTOR, exchange.Bind, "arguments", "", 531)
_column(conditions.BIND_VALUE, exchange.Bind, "arguments", "arguments.unknown-argument", 540, 542)
_column(conditions.BIND_ARGUMENT, exchange.Bind, "arguments", "arguments.unknown-argument", 540, 531)
_column(conditions.UNBIND_NO_QUEUE, exchange.Unbind, "queue", "queue.non-existent-queue", 404)
_column(conditions.UNBIND_NO_EXCHANGE, exchange.Unbind, "exchange", "exchange.non-existent-exchange", 404)
_column(conditions.UNBIND_NO_KEY, exchange.Unbind, "binding_key", "binding-key.non-existent-binding-key", 404)
_column(conditions.UNBIND_NO_EXCHANGE_NAME, exchange.Unbind, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.UNBIND_OWNED, exchange.Unbind, "queue", "", 405)

# --- queue ----------------------------------------------------------------------------------------------------------------

_column(conditions.QUEUE_DECLARE_RESERVED, queue.Declare, "queue", "queue.reserved-prefix", 530, None)
_column(conditions.QUEUE_DECLARE_NO_NAME, queue.Declare, "queue", "", 531)
_column(conditions.QUEUE_DECLARE_NAME, queue.Declare, "queue", "", 531, None)
_column(conditions.QUEUE_DECLARE_NO_ALTERNATE, queue.Declare, "alternate_exchange", "alternate-exchange.unknown-exchange", 404)
_column(
    conditions.QUEUE_DECLARE_OTHER_ALTERNATE,
    queue.Declare,
    "alternate_exchange",
    "alternate-exchange.pre-existing-exchange",
    530,
    None,
)
_column(conditions.QUEUE_DECLARE_PASSIVE, queue.Declare, "passive", "passive.passive", 404)
_column(conditions.QUEUE_DECLARE_EXCLUSIVE, queue.Declare, "exclusive", "exclusive.in-use", 405)
_column(conditions.QUEUE_DECLARE_PASSIVE_OWNED, queue.Declare, "queue", "exclusive.in-use", 405, None)
_column(conditions.QUEUE_REDECLARE_ARGUMENT, queue.Declare, "arguments", "arguments.unknown-argument", 540, None)
_column(conditions.QUEUE_DECLARE_ARGUMENT, queue.Declare, "arguments", "arguments.unknown-argument", 540, 531)
_column(conditions.QUEUE_DECLARE_VALUE, queue.Declare, "arguments", "arguments.unknown-argument", 540, 542)
_column(conditions.QUEUE_DELETE_NO_NAME, queue.Delete, "queue", "queue.empty-name", 542)
_column(conditions.QUEUE_DELETE_NO_QUEUE, queue.Delete, "queue", "queue.queue-exists", 404)
_column(conditions.QUEUE_DELETE_IN_USE, queue.Delete, "if_unused", "if-unused.if-unused-flag", 406)
_column(conditions.QUEUE_DELETE_NOT_EMPTY, queue.Delete, "if_empty", "if-empty.not-empty", 406)
_column(conditions.QUEUE_DELETE_OWNED, queue.Delete, "queue", "", 405)
_column(conditions.QUEUE_PURGE_NO_NAME, queue.Purge, "queue", "queue.empty-name", 542, 531)
_column(conditions.QUEUE_PURGE_NO_QUEUE, queue.Purge, "queue", "queue.queue-exists", 404)
_column(conditions.QUEUE_PURGE_OWNED, queue.Purge, "queue", "", 405)

# --- dtx ------------------------------------------------------------------------------------------------------------------

_column(conditions.DTX_START_ILLEGAL, dtx.Start, "", "illegal-state", 409, 503)
_column(conditions.DTX_START_ACTIVE, dtx.Start, "", "illegal-state", 409)
_column(conditions.DTX_START_KNOWN, dtx.Start, "", "already-known", 530)
_column(conditions.DTX_START_JOIN_AND_RESUME, dtx.Start, "", "join-and-resume", 530, 503)
_column(conditions.DTX_START_JOIN_UNKNOWN, dtx.Start, "xid", "xid.unknown-xid", 530, 404)
_column(conditions.DTX_START_RESUME_UNKNOWN, dtx.Start, "xid", "xid.unknown-xid", 530, 503)
_column(conditions.DTX_START_NOT_SUSPENDED, dtx.Start, "xid", "illegal-state", 409, 503)
_column(conditions.DTX_START_JOIN_DONE, dtx.Start, "xid", "illegal-state", 409, 503)
_column(conditions.DTX_START_JOIN_DECIDED, dtx.Start, "xid", "already-known", 530)
_column(conditions.DTX_START_JOIN_UNSUPPORTED, dtx.Start, "join", "join.unsupported", 540)
_column(conditions.DTX_END_NOT_SELECTED, dtx.End, "", "illegal-state", 409, 503)
_column(conditions.DTX_END_ILLEGAL, dtx.End, "", "illegal-state", 409)
_column(conditions.DTX_END_NOT_ASSOCIATED, dtx.End, "xid", "xid.not-associated", 409)
_column(conditions.DTX_END_SUSPENDED, dtx.End, "suspend", "illegal-state", 409)
_column(conditions.DTX_END_OTHER, dtx.End, "xid", "xid.not-associated", 409, 503)
_column(conditions.DTX_END_SUSPEND_AND_FAIL, dtx.End, "", "suspend-and-fail", 530, 503)
_column(conditions.DTX_PREPARE_ILLEGAL, dtx.Prepare, "", "illegal-state", 409)
_column(conditions.DTX_PREPARE_UNKNOWN, dtx.Prepare, "xid", "xid.unknown-xid", 404)
_column(conditions.DTX_PREPARE_ASSOCIATED, dtx.Prepare, "xid", "xid.not-disassociated", 409)
_column(conditions.DTX_COMMIT_ILLEGAL, dtx.Commit, "", "illegal-state", 409)
_column(conditions.DTX_COMMIT_UNKNOWN, dtx.Commit, "xid", "xid.unknown-xid", 404)
_column(conditions.DTX_COMMIT_ASSOCIATED, dtx.Commit, "xid", "xid.not-disassociated", 409)
_column(conditions.DTX_COMMIT_ONE_PHASE, dtx.Commit, "one_phase", "one-phase.two-phase", 409)
_column(conditions.DTX_COMMIT_TWO_PHASE, dtx.Commit, "one_phase", "one-phase.one-phase", 409)
_column(conditions.DTX_ROLLBACK_ILLEGAL, dtx.Rollback, "", "illegal-state", 409)
_column(conditions.DTX_ROLLBACK_UNKNOWN, dtx.Rollback, "xid", "xid.unknown-xid", 404)
_column(conditions.DTX_ROLLBACK_ASSOCIATED, dtx.Rollback, "xid", "xid.not-disassociated", 409)
_column(conditions.DTX_FORGET_ILLEGAL, dtx.Forget, "", "illegal-state", 409)
_column(conditions.DTX_FORGET_UNKNOWN, dtx.Forget, "xid", "xid.unknown-xid", 404)
_column(conditions.DTX_FORGET_ASSOCIATED, dtx.Forget, "xid", "xid.not-disassociated", 409)
_column(conditions.DTX_GET_TIMEOUT_UNKNOWN, dtx.GetTimeout, "xid", "xid.unknown-xid", 404)
_column(conditions.DTX_SET_TIMEOUT_UNKNOWN, dtx.SetTimeout, "xid", "xid.unknown-xid", 404)
_column(conditions.DTX_SET_TIMEOUT_TOO_LONG, dtx.SetTimeout, "timeout", "", 542)
_column(conditions.NO_XID, None, "", "", 531)
