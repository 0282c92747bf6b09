"""Why a broker refuses a command: one row for each, with the error code of the specification and that of deployed brokers.

Where the specification gives no code both profiles answer alike; where one of the two does not refuse at all its code is None,
and the model lets the command pass in that profile (`counts`).  Nothing else is ever raised for what a client says.
"""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.config import ErrorCodes
from amqp_sansio.spec import dtx, exchange, message, queue
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.codes import ErrorCode


@attrs.frozen
class Condition:
    """One reason to refuse a command.

    `spec` and `qpid` are its error codes in the profiles of those names, None where that profile does not refuse.
    """

    name: str
    """The command in the specification's words, and what is wrong: "exchange.delete: no such exchange"."""
    rule: str
    """The path of the rule or exception in `spec.rules`; "" where the specification has none."""
    command: type[Command] | None
    """The command that is refused; None for one that any command may meet."""
    field: str
    """The field of the command that is wrong; "" where it is no single one."""
    spec: ErrorCode | None
    qpid: ErrorCode | None

    def code(self, error_codes: ErrorCodes) -> ErrorCode | None:
        """The code in that profile; None when it does not refuse."""
        return self.spec if error_codes == "spec" else self.qpid

    def counts(self, error_codes: ErrorCodes) -> bool:
        """Whether that profile refuses at all."""
        return self.code(error_codes) is not None

    @property
    def field_index(self) -> int | None:
        """The place of the field in its command, counted from 0; None where it is no single one."""
        return self.command.FIELDS.index(self.field) if self.command is not None and self.field else None


class Refused(Exception):
    """A command cannot be done, and nothing has changed.  The peer tells its client by an execution.exception."""

    def __init__(self, condition: Condition, text: str) -> None:
        super().__init__(f"{condition.name}: {text}")
        self.condition: Final = condition
        self.text: Final = text

    @property
    def field_index(self) -> int | None:
        """Which field of the command was wrong, counted from 0; None where it is no single one."""
        return self.condition.field_index

    def code(self, error_codes: ErrorCodes) -> ErrorCode:
        """The error code to answer with."""
        code = self.condition.code(error_codes) or self.condition.code("spec") or self.condition.code("qpid")
        assert code is not None
        return code

    def __reduce__(self) -> tuple[type[Refused], tuple[Condition, str]]:
        return type(self), (self.condition, self.text)


CONDITIONS: Final[dict[str, Condition]] = {}
"""Every row by its name."""


def _row(command: type[Command] | None, field: str, what: str, rule: str, spec: int | None, *other: int | None) -> Condition:
    """`other` is the code of profile qpid where it is not that of the specification."""
    (qpid,) = other or (spec,)
    path = f"{command.VERB}.{rule}" if command is not None and rule and not rule.startswith("/") else rule.removeprefix("/")
    row = Condition(
        f"{command.VERB if command is not None else 'any'}: {what}",
        path,
        command,
        field,
        None if spec is None else ErrorCode(spec),
        None if qpid is None else ErrorCode(qpid),
    )
    assert row.name not in CONDITIONS
    return CONDITIONS.setdefault(row.name, row)


# --- any command ----------------------------------------------------------------------------------------------------------

ACCESS_DENIED: Final = _row(None, "", "access denied", "", 403)
LIMIT: Final = _row(None, "", "a limit stands in the way", "", 506)

# --- message --------------------------------------------------------------------------------------------------------------

TRANSFER_NO_EXCHANGE: Final = _row(
    message.Transfer, "destination", "no such exchange", "destination.nonexistent-exchange", 404
)  # fmt: skip
TRANSFER_USER_ID: Final = _row(
    message.Transfer, "", "user-id of somebody else", "/message.message-properties.user-id.authentication", 403
)
TRANSFER_LIMIT: Final = _row(message.Transfer, "", "too large, or no room", "", 506)
TRANSFER_HEADER: Final = _row(message.Transfer, "", "header cannot be read", "", 503)
TRANSFER_FRAGMENT: Final = _row(message.Transfer, "", "a fragment", "", 540)
RESUME_NO_DESTINATION: Final = _row(
    message.Resume, "destination", "no such destination", "destination.destination-not-found", 404
)  # fmt: skip
SUBSCRIBE_NO_QUEUE: Final = _row(message.Subscribe, "queue", "no such queue", "queue-not-found", 404)
SUBSCRIBE_NO_NAME: Final = _row(message.Subscribe, "queue", "empty name", "", 531)
SUBSCRIBE_TWICE: Final = _row(
    message.Subscribe, "destination", "destination in use", "destination.unique-subscriber-destination", 530
)  # fmt: skip
SUBSCRIBE_EXCLUSIVE: Final = _row(message.Subscribe, "exclusive", "queue in use", "exclusive.in-use", 405)
SUBSCRIBE_OWNED: Final = _row(message.Subscribe, "queue", "queue of another session", "", 405)
SUBSCRIBE_QUEUE_DELETED: Final = _row(message.Subscribe, "", "queue deleted", "queue-deletion", 408)
SUBSCRIBE_SELECTOR: Final = _row(message.Subscribe, "arguments", "a selector that cannot be read", "", 531)
SUBSCRIBE_ARGUMENT: Final = _row(message.Subscribe, "arguments", "unknown argument", "", 540, 531)
SUBSCRIBE_VALUE: Final = _row(message.Subscribe, "arguments", "value of an argument", "", 540, 542)
CANCEL_NO_DESTINATION: Final = _row(
    message.Cancel, "destination", "no such destination", "destination.subscription-not-found", 404
)  # fmt: skip
FLOW_NO_DESTINATION: Final = _row(message.Flow, "destination", "no such destination", "", 404)
FLUSH_NO_DESTINATION: Final = _row(message.Flush, "destination", "no such destination", "", 404)
STOP_NO_DESTINATION: Final = _row(message.Stop, "destination", "no such destination", "", 404)
SET_FLOW_MODE_CREDIT: Final = _row(message.SetFlowMode, "", "credit is left", "mode-switching", 406, None)
SET_FLOW_MODE_NO_DESTINATION: Final = _row(message.SetFlowMode, "destination", "no such destination", "", 404)

# --- exchange -------------------------------------------------------------------------------------------------------------

EXCHANGE_DECLARE_RESERVED: Final = _row(exchange.Declare, "exchange", "reserved name", "exchange.reserved-names", 530)
EXCHANGE_DECLARE_QPID: Final = _row(exchange.Declare, "exchange", 'name that begins with "qpid."', "", None, 530)
EXCHANGE_DECLARE_NO_NAME: Final = _row(exchange.Declare, "exchange", "empty name", "exchange.exchange-name-required", 542)
EXCHANGE_DECLARE_NO_TYPE: Final = _row(exchange.Declare, "type_", "no such type", "type.exchange-type-not-found", 404)
EXCHANGE_DECLARE_OTHER_TYPE: Final = _row(exchange.Declare, "type_", "other type", "type.typed", 530)
EXCHANGE_DECLARE_NO_ALTERNATE: Final = _row(exchange.Declare, "alternate_exchange", "no such alternate", "", 404)
EXCHANGE_DECLARE_OTHER_ALTERNATE: Final = _row(
    exchange.Declare, "alternate_exchange", "other alternate", "alternate-exchange.pre-existing-exchange", 530
)
EXCHANGE_DECLARE_PASSIVE: Final = _row(exchange.Declare, "passive", "no such exchange", "passive.not-found", 404)
EXCHANGE_DECLARE_ARGUMENT: Final = _row(
    exchange.Declare, "arguments", "unknown argument", "arguments.unknown-argument", 540, 531
)  # fmt: skip
EXCHANGE_REDECLARE_ARGUMENT: Final = _row(
    exchange.Declare, "arguments", "unknown argument of one that exists", "arguments.unknown-argument", 540, None
)
EXCHANGE_DELETE_NO_EXCHANGE: Final = _row(exchange.Delete, "exchange", "no such exchange", "exchange.exists", 404)
EXCHANGE_DELETE_NO_NAME: Final = _row(exchange.Delete, "exchange", "empty name", "exchange.exchange-name-required", 542)
EXCHANGE_DELETE_ALTERNATE: Final = _row(exchange.Delete, "exchange", "in use as alternate", "exchange.used-as-alternate", 530)
EXCHANGE_DELETE_IN_USE: Final = _row(exchange.Delete, "if_unused", "has bindings", "if-unused.exchange-in-use", 406)
EXCHANGE_DELETE_RESERVED: Final = _row(exchange.Delete, "exchange", "predeclared exchange", "", 530)
BIND_NO_QUEUE: Final = _row(exchange.Bind, "queue", "no such queue", "queue.queue-existence", 404)
BIND_NO_EXCHANGE: Final = _row(exchange.Bind, "exchange", "no such exchange", "exchange.exchange-existence", 404)
BIND_NO_QUEUE_NAME: Final = _row(exchange.Bind, "queue", "empty queue name", "queue.empty-queue", 542, 404)
BIND_NO_EXCHANGE_NAME: Final = _row(
    exchange.Bind, "exchange", "empty exchange name", "exchange.exchange-name-required", 542
)  # fmt: skip
BIND_OWNED: Final = _row(exchange.Bind, "queue", "queue of another session", "", 405)
BIND_NO_X_MATCH: Final = _row(exchange.Bind, "arguments", "headers without x-match", "", 541)
BIND_SELECTOR: Final = _row(exchange.Bind, "arguments", "a selector that cannot be read", "", 531)
BIND_VALUE: Final = _row(exchange.Bind, "arguments", "value of an argument", "arguments.unknown-argument", 540, 542)
BIND_ARGUMENT: Final = _row(exchange.Bind, "arguments", "unknown argument", "arguments.unknown-argument", 540, 531)
UNBIND_NO_QUEUE: Final = _row(exchange.Unbind, "queue", "no such queue", "queue.non-existent-queue", 404)
UNBIND_NO_EXCHANGE: Final = _row(exchange.Unbind, "exchange", "no such exchange", "exchange.non-existent-exchange", 404)
UNBIND_NO_KEY: Final = _row(
    exchange.Unbind, "binding_key", "no such binding", "binding-key.non-existent-binding-key", 404
)  # fmt: skip
UNBIND_NO_EXCHANGE_NAME: Final = _row(
    exchange.Unbind, "exchange", "empty exchange name", "exchange.exchange-name-required", 542
)
UNBIND_OWNED: Final = _row(exchange.Unbind, "queue", "queue of another session", "", 405)

# --- queue ----------------------------------------------------------------------------------------------------------------

QUEUE_DECLARE_RESERVED: Final = _row(queue.Declare, "queue", "reserved name", "queue.reserved-prefix", 530, None)
QUEUE_DECLARE_NO_NAME: Final = _row(queue.Declare, "queue", "empty name", "", 531)
QUEUE_DECLARE_NAME: Final = _row(queue.Declare, "queue", "name that begins with another character", "", 531, None)
QUEUE_DECLARE_NO_ALTERNATE: Final = _row(
    queue.Declare, "alternate_exchange", "no such alternate", "alternate-exchange.unknown-exchange", 404
)
QUEUE_DECLARE_OTHER_ALTERNATE: Final = _row(
    queue.Declare, "alternate_exchange", "other alternate", "alternate-exchange.pre-existing-exchange", 530, None
)
QUEUE_DECLARE_PASSIVE: Final = _row(queue.Declare, "passive", "no such queue", "passive.passive", 404)
QUEUE_DECLARE_EXCLUSIVE: Final = _row(queue.Declare, "exclusive", "queue in use", "exclusive.in-use", 405)
QUEUE_DECLARE_PASSIVE_OWNED: Final = _row(
    queue.Declare, "queue", "passive, queue of another session", "exclusive.in-use", 405, None
)
QUEUE_REDECLARE_ARGUMENT: Final = _row(
    queue.Declare, "arguments", "unknown argument of one that exists", "arguments.unknown-argument", 540, None
)
QUEUE_DECLARE_ARGUMENT: Final = _row(
    queue.Declare, "arguments", "unknown argument", "arguments.unknown-argument", 540, 531
)  # fmt: skip
QUEUE_DECLARE_VALUE: Final = _row(
    queue.Declare, "arguments", "value of an argument", "arguments.unknown-argument", 540, 542
)  # fmt: skip
QUEUE_DELETE_NO_NAME: Final = _row(queue.Delete, "queue", "empty name", "queue.empty-name", 542)
QUEUE_DELETE_NO_QUEUE: Final = _row(queue.Delete, "queue", "no such queue", "queue.queue-exists", 404)
QUEUE_DELETE_IN_USE: Final = _row(queue.Delete, "if_unused", "has consumers", "if-unused.if-unused-flag", 406)
QUEUE_DELETE_NOT_EMPTY: Final = _row(queue.Delete, "if_empty", "has messages", "if-empty.not-empty", 406)
QUEUE_DELETE_OWNED: Final = _row(queue.Delete, "queue", "queue of another session", "", 405)
QUEUE_PURGE_NO_NAME: Final = _row(queue.Purge, "queue", "empty name", "queue.empty-name", 542, 531)
QUEUE_PURGE_NO_QUEUE: Final = _row(queue.Purge, "queue", "no such queue", "queue.queue-exists", 404)
QUEUE_PURGE_OWNED: Final = _row(queue.Purge, "queue", "queue of another session", "", 405)

# --- dtx ------------------------------------------------------------------------------------------------------------------

DTX_START_ILLEGAL: Final = _row(dtx.Start, "", "no dtx.select", "illegal-state", 409, 503)
DTX_START_ACTIVE: Final = _row(dtx.Start, "", "session has a branch", "illegal-state", 409)
DTX_START_KNOWN: Final = _row(dtx.Start, "", "branch is known", "already-known", 530)
DTX_START_JOIN_AND_RESUME: Final = _row(dtx.Start, "", "join and resume", "join-and-resume", 530, 503)
DTX_START_JOIN_UNKNOWN: Final = _row(dtx.Start, "xid", "join of an unknown branch", "xid.unknown-xid", 530, 404)
DTX_START_RESUME_UNKNOWN: Final = _row(dtx.Start, "xid", "resume of an unknown branch", "xid.unknown-xid", 530, 503)
DTX_START_NOT_SUSPENDED: Final = _row(dtx.Start, "xid", "not suspended here", "illegal-state", 409, 503)
DTX_START_JOIN_DONE: Final = _row(dtx.Start, "xid", "join of a prepared branch", "illegal-state", 409, 503)
DTX_START_JOIN_DECIDED: Final = _row(dtx.Start, "xid", "join of a decided branch", "already-known", 530)
DTX_START_JOIN_UNSUPPORTED: Final = _row(dtx.Start, "join", "join not supported", "join.unsupported", 540)
DTX_END_ILLEGAL: Final = _row(dtx.End, "", "no branch", "illegal-state", 409)
DTX_END_NOT_ASSOCIATED: Final = _row(dtx.End, "xid", "not associated", "xid.not-associated", 409)
DTX_END_SUSPENDED: Final = _row(dtx.End, "suspend", "suspended already", "illegal-state", 409)
DTX_END_OTHER: Final = _row(dtx.End, "xid", "another branch is active", "xid.not-associated", 409, 503)
DTX_END_SUSPEND_AND_FAIL: Final = _row(dtx.End, "", "suspend and fail", "suspend-and-fail", 530, 503)
DTX_PREPARE_ILLEGAL: Final = _row(dtx.Prepare, "", "wrong state", "illegal-state", 409)
DTX_PREPARE_UNKNOWN: Final = _row(dtx.Prepare, "xid", "unknown branch", "xid.unknown-xid", 404)
DTX_PREPARE_ASSOCIATED: Final = _row(dtx.Prepare, "xid", "still associated", "xid.not-disassociated", 409)
DTX_COMMIT_ILLEGAL: Final = _row(dtx.Commit, "", "wrong state", "illegal-state", 409)
DTX_COMMIT_UNKNOWN: Final = _row(dtx.Commit, "xid", "unknown branch", "xid.unknown-xid", 404)
DTX_COMMIT_ASSOCIATED: Final = _row(dtx.Commit, "xid", "still associated", "xid.not-disassociated", 409)
DTX_COMMIT_ONE_PHASE: Final = _row(dtx.Commit, "one_phase", "prepared, one phase", "one-phase.two-phase", 409)
DTX_COMMIT_TWO_PHASE: Final = _row(dtx.Commit, "one_phase", "not prepared, two phases", "one-phase.one-phase", 409)
DTX_ROLLBACK_ILLEGAL: Final = _row(dtx.Rollback, "", "wrong state", "illegal-state", 409)
DTX_ROLLBACK_UNKNOWN: Final = _row(dtx.Rollback, "xid", "unknown branch", "xid.unknown-xid", 404)
DTX_ROLLBACK_ASSOCIATED: Final = _row(dtx.Rollback, "xid", "still associated", "xid.not-disassociated", 409)
DTX_FORGET_ILLEGAL: Final = _row(dtx.Forget, "", "wrong state", "illegal-state", 409)
DTX_FORGET_UNKNOWN: Final = _row(dtx.Forget, "xid", "unknown branch", "xid.unknown-xid", 404)
DTX_FORGET_ASSOCIATED: Final = _row(dtx.Forget, "xid", "still associated", "xid.not-disassociated", 409)
DTX_GET_TIMEOUT_UNKNOWN: Final = _row(dtx.GetTimeout, "xid", "unknown branch", "xid.unknown-xid", 404)
DTX_SET_TIMEOUT_UNKNOWN: Final = _row(dtx.SetTimeout, "xid", "unknown branch", "xid.unknown-xid", 404)
DTX_SET_TIMEOUT_TOO_LONG: Final = _row(dtx.SetTimeout, "timeout", "too long", "", 542)
