"""The error codes of sessions: the code and field index of execution.exception for each condition.

Each row has the code of the specification and that of deployed brokers.  Where the specification gives no code, both profiles
have the same one; where a profile does not refuse at all, its code is None.
"""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Condition, Refused
from amqp_sansio.broker.transactions import FAULT_CONDITIONS
from amqp_sansio.config import ErrorCodes
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode


@attrs.frozen
class ErrorColumn:
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


_KINDS: Final[dict[str, type[Command]]] = {
    kind.VERB: kind
    for module in (dtx, exchange, message, queue)
    for kind in vars(module).values()
    if isinstance(kind, type) and issubclass(kind, Command)
}
"""The commands that can be refused, by verb."""
COLUMNS: Final[dict[Condition, ErrorColumn]] = {}
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


def _column(condition: Condition, field: str, rule: str, spec: int | None, *other: int | None) -> None:
    """Adds a row.  `other` is the code of profile qpid if it differs from the specification's."""
    (qpid,) = other or (spec,)
    verb = condition.name.partition(":")[0]
    path = f"{verb}.{rule}" if rule and not rule.startswith("/") else rule.removeprefix("/")
    COLUMNS[condition] = ErrorColumn(
        path, _KINDS.get(verb), field, None if spec is None else ErrorCode(spec), None if qpid is None else ErrorCode(qpid)
    )


# --- any command ----------------------------------------------------------------------------------------------------------

_column(conditions.ACCESS_DENIED, "", "", 403)
_column(conditions.LIMIT, "", "", 506)

# --- message --------------------------------------------------------------------------------------------------------------

_column(conditions.TRANSFER_NO_EXCHANGE, "destination", "destination.nonexistent-exchange", 404)
_column(conditions.TRANSFER_USER_ID, "", "/message.message-properties.user-id.authentication", 403)
_column(conditions.TRANSFER_LIMIT, "", "", 506)
_column(conditions.TRANSFER_HEADER, "", "", 503)
_column(conditions.TRANSFER_FRAGMENT, "", "", 540)
_NOT_FOUND: Final = {
    "message.resume": "destination.destination-not-found",
    "message.cancel": "destination.subscription-not-found",
}
for _verb, _condition in conditions.NO_DESTINATION.items():
    _column(_condition, "destination", _NOT_FOUND.get(_verb, ""), 404)
_column(conditions.SUBSCRIBE_NO_QUEUE, "queue", "queue-not-found", 404)
_column(conditions.SUBSCRIBE_NO_NAME, "queue", "", 531)
_column(conditions.SUBSCRIBE_TWICE, "destination", "destination.unique-subscriber-destination", 530)
_column(conditions.SUBSCRIBE_EXCLUSIVE, "exclusive", "exclusive.in-use", 405)
_column(conditions.SUBSCRIBE_OWNED, "queue", "", 405)
_column(conditions.SUBSCRIBE_QUEUE_DELETED, "", "queue-deletion", 408)
_column(conditions.SUBSCRIBE_SELECTOR, "arguments", "", 531)
_column(conditions.SUBSCRIBE_ARGUMENT, "arguments", "", 540, 531)
_column(conditions.SUBSCRIBE_VALUE, "arguments", "", 540, 542)
_column(conditions.SET_FLOW_MODE_CREDIT, "", "mode-switching", 406, None)

# --- exchange -------------------------------------------------------------------------------------------------------------

_column(conditions.EXCHANGE_DECLARE_RESERVED, "exchange", "exchange.reserved-names", 530)
_column(conditions.EXCHANGE_DECLARE_QPID, "exchange", "", None, 530)
_column(conditions.EXCHANGE_DECLARE_NO_NAME, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.EXCHANGE_DECLARE_NO_TYPE, "type_", "type.exchange-type-not-found", 404)
_column(conditions.EXCHANGE_DECLARE_OTHER_TYPE, "type_", "type.typed", 530)
_column(conditions.EXCHANGE_DECLARE_NO_ALTERNATE, "alternate_exchange", "", 404)
_column(conditions.EXCHANGE_DECLARE_OTHER_ALTERNATE, "alternate_exchange", "alternate-exchange.pre-existing-exchange", 530)
_column(conditions.EXCHANGE_DECLARE_PASSIVE, "passive", "passive.not-found", 404)
_column(conditions.EXCHANGE_DECLARE_ARGUMENT, "arguments", "arguments.unknown-argument", 540, 531)
_column(conditions.EXCHANGE_REDECLARE_ARGUMENT, "arguments", "arguments.unknown-argument", 540, None)
_column(conditions.EXCHANGE_DELETE_NO_EXCHANGE, "exchange", "exchange.exists", 404)
_column(conditions.EXCHANGE_DELETE_NO_NAME, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.EXCHANGE_DELETE_ALTERNATE, "exchange", "exchange.used-as-alternate", 530)
_column(conditions.EXCHANGE_DELETE_IN_USE, "if_unused", "if-unused.exchange-in-use", 406)
_column(conditions.EXCHANGE_DELETE_RESERVED, "exchange", "", 530)
_column(conditions.BIND_NO_QUEUE, "queue", "queue.queue-existence", 404)
_column(conditions.BIND_NO_EXCHANGE, "exchange", "exchange.exchange-existence", 404)
_column(conditions.BIND_NO_QUEUE_NAME, "queue", "queue.empty-queue", 542, 404)
_column(conditions.BIND_NO_EXCHANGE_NAME, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.BIND_OWNED, "queue", "", 405)
_column(conditions.BIND_NO_X_MATCH, "arguments", "", 541)
_column(conditions.BIND_SELECTOR, "arguments", "", 531)
_column(conditions.BIND_VALUE, "arguments", "arguments.unknown-argument", 540, 542)
_column(conditions.BIND_ARGUMENT, "arguments", "arguments.unknown-argument", 540, 531)
_column(conditions.UNBIND_NO_QUEUE, "queue", "queue.non-existent-queue", 404)
_column(conditions.UNBIND_NO_EXCHANGE, "exchange", "exchange.non-existent-exchange", 404)
_column(conditions.UNBIND_NO_KEY, "binding_key", "binding-key.non-existent-binding-key", 404)
_column(conditions.UNBIND_NO_EXCHANGE_NAME, "exchange", "exchange.exchange-name-required", 542)
_column(conditions.UNBIND_OWNED, "queue", "", 405)

# --- queue ----------------------------------------------------------------------------------------------------------------

_column(conditions.QUEUE_DECLARE_RESERVED, "queue", "queue.reserved-prefix", 530, None)
_column(conditions.QUEUE_DECLARE_NO_NAME, "queue", "", 531)
_column(conditions.QUEUE_DECLARE_NAME, "queue", "", 531, None)
_column(conditions.QUEUE_DECLARE_NO_ALTERNATE, "alternate_exchange", "alternate-exchange.unknown-exchange", 404)
_column(conditions.QUEUE_DECLARE_OTHER_ALTERNATE, "alternate_exchange", "alternate-exchange.pre-existing-exchange", 530, None)
_column(conditions.QUEUE_DECLARE_PASSIVE, "passive", "passive.passive", 404)
_column(conditions.QUEUE_DECLARE_EXCLUSIVE, "exclusive", "exclusive.in-use", 405)
_column(conditions.QUEUE_DECLARE_PASSIVE_OWNED, "queue", "exclusive.in-use", 405, None)
_column(conditions.QUEUE_REDECLARE_ARGUMENT, "arguments", "arguments.unknown-argument", 540, None)
_column(conditions.QUEUE_DECLARE_ARGUMENT, "arguments", "arguments.unknown-argument", 540, 531)
_column(conditions.QUEUE_DECLARE_VALUE, "arguments", "arguments.unknown-argument", 540, 542)
_column(conditions.QUEUE_DELETE_NO_NAME, "queue", "queue.empty-name", 542)
_column(conditions.QUEUE_DELETE_NO_QUEUE, "queue", "queue.queue-exists", 404)
_column(conditions.QUEUE_DELETE_IN_USE, "if_unused", "if-unused.if-unused-flag", 406)
_column(conditions.QUEUE_DELETE_NOT_EMPTY, "if_empty", "if-empty.not-empty", 406)
_column(conditions.QUEUE_DELETE_OWNED, "queue", "", 405)
_column(conditions.QUEUE_PURGE_NO_NAME, "queue", "queue.empty-name", 542, 531)
_column(conditions.QUEUE_PURGE_NO_QUEUE, "queue", "queue.queue-exists", 404)
_column(conditions.QUEUE_PURGE_OWNED, "queue", "", 405)

# --- dtx ------------------------------------------------------------------------------------------------------------------

for (_, _fault), _condition in FAULT_CONDITIONS.items():
    _column(_condition, _fault.field, f"/{_fault.rule}", _fault.spec, _fault.qpid)
_column(conditions.DTX_START_ILLEGAL, "", "illegal-state", 409, 503)
_column(conditions.DTX_START_JOIN_UNSUPPORTED, "join", "join.unsupported", 540)
_column(conditions.DTX_END_NOT_SELECTED, "", "illegal-state", 409, 503)
_column(conditions.DTX_END_ILLEGAL, "", "illegal-state", 409)
_column(conditions.DTX_END_OTHER, "xid", "xid.not-associated", 409, 503)
_column(conditions.DTX_COMMIT_ILLEGAL, "", "illegal-state", 409)
_column(conditions.DTX_ROLLBACK_ILLEGAL, "", "illegal-state", 409)
_column(conditions.NO_XID, "", "", 531)
