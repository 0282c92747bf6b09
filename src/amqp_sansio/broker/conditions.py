"""The reasons for which a broker refuses a command, one row for each.

Rows are independent of families: each front has a column with its family's codes (`error_column.py`).  A template makes the
text from the model's facts; a front may replace it.  Where the error codes of a profile do not refuse at all, the model
accepts the command (`counts`).  The model raises nothing else because of what a client sends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import attrs

from amqp_sansio.config import ErrorCodes


@attrs.frozen
class Condition:
    """One reason to refuse a command."""

    name: str
    """The command and the fault: "exchange.delete: no such exchange"."""
    template: str
    """The text as a template of `str.format`, which names facts of a `Refused`."""
    only: ErrorCodes | None = None
    """The error codes under which the model refuses; None: under all."""

    def counts(self, error_codes: ErrorCodes) -> bool:
        """Returns whether the model refuses under these error codes."""
        return self.only in (None, error_codes)


class Refused(Exception):
    """A command cannot be executed, and nothing has changed.  The front reports it to its client."""

    def __init__(self, condition: Condition, **facts: object) -> None:
        self.condition: Final = condition
        self.facts: Final = facts
        """The facts, plain values by name: at least those that the condition's template names."""
        super().__init__(f"{condition.name}: {self.text}")

    @property
    def text(self) -> str:
        """The text that the condition's template makes of the facts."""
        return self.condition.template.format_map(self.facts)

    def __reduce__(self) -> tuple[Callable[[Condition, dict[str, object]], Refused], tuple[Condition, dict[str, object]]]:
        return _again, (self.condition, self.facts)


def _again(condition: Condition, facts: dict[str, object]) -> Refused:
    return Refused(condition, **facts)


CONDITIONS: Final[dict[str, Condition]] = {}
"""Every row by its name."""


def row(name: str, template: str, only: ErrorCodes | None = None) -> Condition:
    """Adds and returns a row."""
    assert name not in CONDITIONS
    return CONDITIONS.setdefault(name, Condition(name, template, only))


# --- shared texts ---------------------------------------------------------------------------------------------------------

_NO_EXCHANGE: Final = "there is no exchange {exchange!r}"
_NO_QUEUE: Final = "there is no queue {queue!r}"
_OWNED: Final = "queue {queue!r} belongs to another session"
_NO_NAME: Final = "the name of the queue is empty"
_RESERVED: Final = "names that begin with {prefix!r} are reserved for the broker; legal: a passive declare"
_NO_ALTERNATE: Final = "there is no exchange {exchange!r} to be the alternate; legal: {legal}"
_OTHER_ALTERNATE: Final = "the alternate of {name!r} is {has!r}, not {exchange!r}; legal: {has!r} or none"
_UNKNOWN: Final = "{argument!r}; known are {known}"
_SAID: Final = "{why}"
BRANCH: Final = "dtx.{verb} of branch {branch}: {fault}; {why}"

# --- any command ----------------------------------------------------------------------------------------------------------

ACCESS_DENIED: Final = row("any: access denied", _SAID)
LIMIT: Final = row("any: limit reached", "limit {limit} is {value}; {why}")

# --- message --------------------------------------------------------------------------------------------------------------

TRANSFER_NO_EXCHANGE: Final = row("message.transfer: no such exchange", f"{_NO_EXCHANGE}; legal: {{legal}}")
TRANSFER_USER_ID: Final = row(
    "message.transfer: user-id of somebody else", "user-id {user!r}; this connection may use {identity!r} or none"
)
TRANSFER_LIMIT: Final = row("message.transfer: too large, or no room", "limit {limit} is {value}{where}; {why}")
TRANSFER_HEADER: Final = row("message.transfer: header cannot be read", _SAID)
TRANSFER_FRAGMENT: Final = row("message.transfer: a fragment", "part of a message; only whole messages are accepted")
NO_DESTINATION: Final = {
    verb: row(f"{verb}: no such destination", "no subscription has destination {destination!r}")
    for verb in (
        "message.resume", "message.cancel", "message.flow", "message.flush", "message.stop", "message.set-flow-mode",
    )
}  # fmt: skip
"""By command."""
SUBSCRIBE_NO_QUEUE: Final = row("message.subscribe: no such queue", _NO_QUEUE)
SUBSCRIBE_NO_NAME: Final = row("message.subscribe: empty name", _NO_NAME)
SUBSCRIBE_TWICE: Final = row("message.subscribe: destination in use", "destination {destination!r} is subscribed already")
SUBSCRIBE_EXCLUSIVE: Final = row("message.subscribe: queue in use", "queue {queue!r} has {subscribers}{why}")
SUBSCRIBE_OWNED: Final = row("message.subscribe: queue of another session", _OWNED)
SUBSCRIBE_QUEUE_DELETED: Final = row("message.subscribe: queue deleted", "queue {queue!r} is deleted")
SUBSCRIBE_SELECTOR: Final = row("message.subscribe: a selector that cannot be read", _SAID)
SUBSCRIBE_ARGUMENT: Final = row("message.subscribe: unknown argument", _UNKNOWN)
SUBSCRIBE_VALUE: Final = row("message.subscribe: value of an argument", _SAID)
SET_FLOW_MODE_CREDIT: Final = row(
    "message.set-flow-mode: credit is left", "destination {destination!r} has credit left", "spec"
)

# --- exchange -------------------------------------------------------------------------------------------------------------

EXCHANGE_DECLARE_RESERVED: Final = row("exchange.declare: reserved name", _RESERVED)
EXCHANGE_DECLARE_QPID: Final = row('exchange.declare: name that begins with "qpid."', _RESERVED, "qpid")
EXCHANGE_DECLARE_NO_NAME: Final = row("exchange.declare: empty name", "the default exchange cannot be declared; legal: a name")
EXCHANGE_DECLARE_NO_TYPE: Final = row("exchange.declare: no such type", "there is no type {type!r}; legal: {legal}")
EXCHANGE_DECLARE_OTHER_TYPE: Final = row("exchange.declare: other type", "exchange {exchange!r} is {has}, not {type}")
EXCHANGE_DECLARE_NO_ALTERNATE: Final = row("exchange.declare: no such alternate", _NO_ALTERNATE)
EXCHANGE_DECLARE_OTHER_ALTERNATE: Final = row("exchange.declare: other alternate", _OTHER_ALTERNATE)
EXCHANGE_DECLARE_PASSIVE: Final = row("exchange.declare: no such exchange", _NO_EXCHANGE)
EXCHANGE_DECLARE_ARGUMENT: Final = row("exchange.declare: unknown argument", "{argument!r}; legal: no arguments")
EXCHANGE_REDECLARE_ARGUMENT: Final = row(
    "exchange.declare: unknown argument of one that exists", "{argument!r}; legal: no arguments", "spec"
)
EXCHANGE_DELETE_NO_EXCHANGE: Final = row("exchange.delete: no such exchange", _NO_EXCHANGE)
EXCHANGE_DELETE_NO_NAME: Final = row("exchange.delete: empty name", "the default exchange cannot be deleted; legal: a name")
EXCHANGE_DELETE_ALTERNATE: Final = row(
    "exchange.delete: in use as alternate", "{exchange!r} is the alternate of queues and exchanges: {count}"
)
EXCHANGE_DELETE_IN_USE: Final = row("exchange.delete: has bindings", "{exchange!r} has {bindings}")
EXCHANGE_DELETE_RESERVED: Final = row(
    "exchange.delete: predeclared exchange", "{exchange!r} is predeclared and cannot be deleted"
)
BIND_NO_QUEUE: Final = row("exchange.bind: no such queue", _NO_QUEUE)
BIND_NO_EXCHANGE: Final = row("exchange.bind: no such exchange", _NO_EXCHANGE)
BIND_NO_QUEUE_NAME: Final = row("exchange.bind: empty queue name", _NO_NAME)
BIND_NO_EXCHANGE_NAME: Final = row(
    "exchange.bind: empty exchange name", "every queue is bound to the default exchange by its name; legal: a name"
)
BIND_OWNED: Final = row("exchange.bind: queue of another session", _OWNED)
BIND_NO_X_MATCH: Final = row("exchange.bind: headers without x-match", 'the argument x-match is "all" or "any"{given}')
BIND_SELECTOR: Final = row("exchange.bind: a selector that cannot be read", _SAID)
BIND_VALUE: Final = row("exchange.bind: value of an argument", _SAID)
BIND_ARGUMENT: Final = row("exchange.bind: unknown argument", "{argument!r}; an exchange of type {type} knows {known}")
UNBIND_NO_QUEUE: Final = row("exchange.unbind: no such queue", _SAID)
UNBIND_NO_EXCHANGE: Final = row("exchange.unbind: no such exchange", _NO_EXCHANGE)
UNBIND_NO_KEY: Final = row("exchange.unbind: no such binding", "{queue!r} is not bound to {exchange!r} with key {key!r}")
UNBIND_NO_EXCHANGE_NAME: Final = row(
    "exchange.unbind: empty exchange name", "no queue can be unbound from the default exchange; legal: a name"
)
UNBIND_OWNED: Final = row("exchange.unbind: queue of another session", _OWNED)

# --- queue ----------------------------------------------------------------------------------------------------------------

QUEUE_DECLARE_RESERVED: Final = row(
    "queue.declare: reserved name", 'names that begin with "amq." are reserved for the broker; legal: a passive declare', "spec"
)
QUEUE_DECLARE_NO_NAME: Final = row("queue.declare: empty name", "legal: a name of 1 to 255 octets")
QUEUE_DECLARE_NAME: Final = row(
    "queue.declare: name that begins with another character",
    "{queue!r}; legal: a name that begins with a digit, a letter or '_'",
    "spec",
)
QUEUE_DECLARE_NO_ALTERNATE: Final = row("queue.declare: no such alternate", _NO_ALTERNATE)
QUEUE_DECLARE_OTHER_ALTERNATE: Final = row("queue.declare: other alternate", _OTHER_ALTERNATE, "spec")
QUEUE_DECLARE_PASSIVE: Final = row("queue.declare: no such queue", _NO_QUEUE)
QUEUE_DECLARE_EXCLUSIVE: Final = row("queue.declare: queue in use", _SAID)
QUEUE_DECLARE_PASSIVE_OWNED: Final = row("queue.declare: passive, queue of another session", _OWNED, "spec")
QUEUE_REDECLARE_ARGUMENT: Final = row("queue.declare: unknown argument of one that exists", _UNKNOWN, "spec")
QUEUE_DECLARE_ARGUMENT: Final = row("queue.declare: unknown argument", _UNKNOWN)
QUEUE_DECLARE_VALUE: Final = row("queue.declare: value of an argument", _SAID)
QUEUE_DELETE_NO_NAME: Final = row("queue.delete: empty name", _NO_NAME)
QUEUE_DELETE_NO_QUEUE: Final = row("queue.delete: no such queue", _NO_QUEUE)
QUEUE_DELETE_IN_USE: Final = row("queue.delete: has consumers", "queue {queue!r} has {subscribers}")
QUEUE_DELETE_NOT_EMPTY: Final = row("queue.delete: has messages", "queue {queue!r} has {messages}")
QUEUE_DELETE_OWNED: Final = row("queue.delete: queue of another session", _OWNED)
QUEUE_PURGE_NO_NAME: Final = row("queue.purge: empty name", _NO_NAME)
QUEUE_PURGE_NO_QUEUE: Final = row("queue.purge: no such queue", _NO_QUEUE)
QUEUE_PURGE_OWNED: Final = row("queue.purge: queue of another session", _OWNED)

# --- dtx ------------------------------------------------------------------------------------------------------------------

DTX_START_ILLEGAL: Final = row("dtx.start: no dtx.select", BRANCH)
DTX_START_JOIN_UNSUPPORTED: Final = row("dtx.start: join not supported", BRANCH)
DTX_END_NOT_SELECTED: Final = row("dtx.end: no dtx.select", BRANCH)
DTX_END_ILLEGAL: Final = row("dtx.end: no branch", BRANCH)
DTX_END_OTHER: Final = row("dtx.end: another branch is active", BRANCH)
DTX_COMMIT_ILLEGAL: Final = row("dtx.commit: wrong state", BRANCH)
DTX_ROLLBACK_ILLEGAL: Final = row("dtx.rollback: wrong state", BRANCH)

NO_XID: Final = Condition("dtx: no xid", "no branch is named")
"""A missing field that all commands on a branch need; no row, because it applies to all of class dtx."""
