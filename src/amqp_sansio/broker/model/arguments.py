"""The arguments of declarations: those that the model understands, and hints, which change nothing.

Hints are settings of deployed clients and brokers that are fixed here.  An argument that would change which consumer gets a
message is never a hint: it is supported, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import attrs

from amqp_sansio.broker import conditions
from amqp_sansio.broker.conditions import Condition, Refused
from amqp_sansio.broker.model.exchange import NO_LOCAL as NO_LOCAL_FILTER
from amqp_sansio.broker.model.exchange import SELECTORS
from amqp_sansio.broker.model.queue import MOST_LEVELS, POLICIES, REJECT
from amqp_sansio.broker.selectors.expressions import SelectorError
from amqp_sansio.broker.selectors.parser import Selector
from amqp_sansio.limits import BrokerLimits
from amqp_sansio.spec.values import Map, Value
from amqp_sansio.wire.encoding import encode_map

HINTS: Final[dict[str, dict[str, str]]] = {
    "message.subscribe": {
        "qpid.sync_frequency": "qpidd's bridges ask for a sync after every N messages; the broker completes them anyway",
        "x-filter-no-consume": "Qpid's clients of AMQP 0-8 mark browsers with it; in 0-10 acquire-mode does",
        "x-filter-auto-close": "Qpid's clients of AMQP 0-8 mark browsers with it; in 0-10 message.flush does",
        "local-address": "Broker-J shows it to its administrator",
    },
    "queue.declare": {
        "qpid.file_count": "qpidd's older store has files of a fixed size; this broker's log grows as needed",
        "qpid.file_size": "qpidd's older store has files of a fixed size; this broker's log grows as needed",
        "qpid.paging": "qpidd keeps part of the queue on disk; this broker keeps all of it in memory",
        "qpid.max_pages_loaded": "qpidd keeps part of the queue on disk; this broker keeps all of it in memory",
        "qpid.page_factor": "qpidd keeps part of the queue on disk; this broker keeps all of it in memory",
        "x-qpid-description": "Broker-J shows it to its administrator",
        "x-qpid-capacity": "Broker-J blocks publishers above it; here BrokerLimits.throttle_messages does",
        "x-qpid-flow-resume-capacity": "here publishers continue at half of BrokerLimits.throttle_messages",
        "qpid.flow_stop_count": "qpidd blocks publishers above it; here BrokerLimits.throttle_messages does",
        "qpid.flow_stop_size": "qpidd blocks publishers above it; here BrokerLimits.throttle_messages does",
        "qpid.flow_resume_count": "here publishers continue at half of BrokerLimits.throttle_messages",
        "qpid.flow_resume_size": "here publishers continue at half of BrokerLimits.throttle_messages",
        **dict.fromkeys(
            (
                "qpid.alert_count",
                "qpid.alert_count_up",
                "qpid.alert_count_down",
                "x-qpid-maximum-message-count",
                "qpid.alert_size",
                "qpid.alert_size_up",
                "qpid.alert_size_down",
                "x-qpid-maximum-message-size",
                "qpid.alert_repeat_gap",
                "x-qpid-minimum-alert-repeat-gap",
                "x-qpid-maximum-message-age",
                "x-qpid-maximum-queue-depth",
            ),
            "qpidd and Broker-J report it to their management, which this broker does not have",
        ),
    },
}
"""The reason why a hint changes nothing, by command and argument."""


@attrs.frozen
class Hint:
    """An argument that a client gave and that changed nothing."""

    command: str
    """The command as the specification names it: "message.subscribe"."""
    argument: str
    why: str

    def __str__(self) -> str:
        return f"{self.command}: the argument {self.argument!r} changes nothing ({self.why})"


class Hints:
    """The hints that a broker received, each kept once."""

    def __init__(self) -> None:
        self._known: Final[dict[Hint, None]] = {}
        self._fresh: Final[list[Hint]] = []

    def given(self, command: str, arguments: Mapping[str, Value]) -> None:
        """Records the hints among the arguments of a command."""
        for argument, why in HINTS.get(command, {}).items():
            hint = Hint(command, argument, why)
            if argument in arguments and hint not in self._known:
                self._known[hint] = None
                self._fresh.append(hint)

    def take(self) -> tuple[Hint, ...]:
        """Returns the hints received for the first time since the last call, for a log."""
        if not self._fresh:
            return ()
        fresh = tuple(self._fresh)
        self._fresh.clear()
        return fresh


PRIORITIES: Final = ("qpid.priorities", "x-qpid-priorities")
"""The number of priority levels, 1 to 10, as qpidd and Broker-J name the argument."""
MAX_COUNT: Final = "qpid.max_count"
"""The most messages of this queue; at most the limit for all queues."""
MAX_SIZE: Final = "qpid.max_size"
"""The most octets of this queue; at most the limit for all queues."""
POLICY: Final = "qpid.policy_type"
"""The policy of a full queue: one of `POLICIES`."""
AUTO_DELETE_TIMEOUT: Final = "qpid.auto_delete_timeout"
"""Seconds that the queue stays when it is no longer used, 0 to 2**32 - 1; more than 0 makes it auto-delete."""
LAST_VALUE: Final = "qpid.last_value_queue_key"
"""The application header that is the key of a last-value queue, as qpidd and Broker-J name the argument."""
LEGACY_LAST_VALUE: Final = ("qpid.last_value_queue", "qpid.last_value_queue_no_browse")
"""The older names of that argument, with any value; the header is then `LEGACY_KEY`."""
LEGACY_KEY: Final = "qpid.LVQ_key"
SEQUENCE: Final = "qpid.queue_msg_sequence"
"""The application header in which the queue numbers arriving messages; empty for none."""
SHARES: Final = ("qpid.fairshare", "x-qpid-fairshare")
"""The most messages of each level before lower levels get a turn; a suffix "-" and a level sets it for that level."""
NO_LOCAL: Final = "no-local"
"""Whether the queue ignores what its owner's own connection publishes; Qpid JMS sends true or false with every queue."""
_DIGITS: Final = 20  # digits of 2**64 - 1
_MOST_NAME: Final = 255  # octets of a key in a map
_OF_LEVELS: Final = tuple([f"{name}-" for name in SHARES])
_BOOLEANS: Final = {"true": True, "false": False}
EXCLUSIVITY: Final = "qpid.exclusivity_policy"
"""The scope of exclusive use: an argument of Broker-J, which Qpid JMS sends for temporary queues."""
LIFETIME: Final = "qpid.lifetime_policy"
"""When the queue is deleted, also from Broker-J."""
_EXCLUSIVITIES: Final = ("NONE", "SESSION", "CONNECTION")
_LIFETIMES: Final = {"PERMANENT": "", "DELETE_ON_SESSION_END": "SESSION", "DELETE_ON_CONNECTION_CLOSE": "CONNECTION"}
"""Lifetimes, each with the exclusivity of the owner at whose end the queue is deleted."""
PRIORITY: Final = "x-priority"
"""Of a subscription: higher priorities are served first.  A 32-bit number, 0 by default."""
REPLAY_PERIOD: Final = "x-qpid-replay-period"
"""Of a subscription: it also gets what arrived up to this many seconds before; with 0 only later messages.

From Broker-J.
"""
OF_SUBSCRIPTIONS: Final = (*SELECTORS, NO_LOCAL_FILTER, PRIORITY, REPLAY_PERIOD)
KNOWN: Final = (
    *PRIORITIES, MAX_COUNT, MAX_SIZE, POLICY, NO_LOCAL, EXCLUSIVITY, LIFETIME, AUTO_DELETE_TIMEOUT, LAST_VALUE,
    *LEGACY_LAST_VALUE, SEQUENCE, *SHARES,
)  # fmt: skip


@attrs.frozen
class QueueArguments:
    """The parsed arguments of queue.declare."""

    levels: int
    most_messages: int
    most_octets: int
    no_local: bool = False
    of_session: bool = False
    """Exclusive to the session, whether or not the command sets the flag."""
    of_connection: bool = False
    """Exclusive to all sessions of the connection."""
    deleted_with_owner: bool = False
    policy: str = REJECT
    linger: int = 0
    """In seconds."""
    last_value: str = ""
    """The header that is the key of a last-value queue; "" for other queues."""
    sequence: str = ""
    """The header that holds the number; "" for none."""
    shares: tuple[int, ...] = ()
    """The shares, from the lowest level on; empty: the highest level always goes first."""


def read_queue_arguments(arguments: Map, limits: BrokerLimits) -> QueueArguments:
    """Parses the arguments of queue.declare.  Raises Refused for an unknown argument, and for an invalid value."""
    refuse_unknown(arguments, conditions.QUEUE_DECLARE_ARGUMENT)
    levels, most_messages, most_octets = MOST_LEVELS, limits.queue_messages, limits.queue_octets
    no_local, exclusivity, owner, policy, linger = False, "NONE", "", REJECT, 0
    last_value = sequence = ""
    for name, value in arguments.items():
        if name in PRIORITIES:
            levels = _number(name, value, 1, MOST_LEVELS)
        elif name == MAX_COUNT:
            most_messages = min(_number(name, value, 0), most_messages)
        elif name == MAX_SIZE:
            most_octets = min(_number(name, value, 0), most_octets)
        elif name == POLICY:
            policy = _word(name, value, POLICIES)
        elif name == AUTO_DELETE_TIMEOUT:
            linger = _number(name, value, 0, 2**32 - 1)
        elif name == NO_LOCAL:
            no_local = _boolean(name, value)
        elif name == LAST_VALUE:
            last_value = _name(name, value)
        elif name in LEGACY_LAST_VALUE:
            last_value = last_value or LEGACY_KEY
        elif name == SEQUENCE:
            sequence = _name(name, value)
        elif name == EXCLUSIVITY:
            exclusivity = _word(name, value, _EXCLUSIVITIES)
        elif name == LIFETIME:
            owner = _LIFETIMES[_word(name, value, tuple(_LIFETIMES))]
    if owner not in ("", exclusivity):
        why = f"{LIFETIME} {arguments[LIFETIME]!r} goes with {EXCLUSIVITY} {owner!r}, not {exclusivity!r}"
        raise _wrong(LIFETIME, why)
    shares = _shares(arguments, levels)
    if last_value and any(name in arguments for name in PRIORITIES):
        raise _wrong(LAST_VALUE, f"{LAST_VALUE} does not go with {PRIORITIES[0]}")
    of_session, of_connection = exclusivity == "SESSION", exclusivity == "CONNECTION"
    return QueueArguments(
        levels, most_messages, most_octets, no_local, of_session, of_connection, bool(owner), policy, linger,
        last_value, sequence, shares,
    )  # fmt: skip


@attrs.frozen
class SubscriptionArguments:
    """The parsed arguments of message.subscribe."""

    selector: Selector | None = None
    priority: int = 0
    no_local: bool = False
    """Whether it excludes what its own connection published."""
    replay: int | None = None
    """In seconds: it gets nothing that arrived earlier.  None: it gets all messages present."""


NOTHING_ASKED: Final = SubscriptionArguments()


def read_subscription_arguments(arguments: Map, limits: BrokerLimits) -> SubscriptionArguments:
    """Parses the arguments of message.subscribe.

    Raises Refused for an argument that is neither known nor a hint, and for an invalid value.
    """
    for name in arguments:
        if name not in OF_SUBSCRIPTIONS and name not in HINTS["message.subscribe"]:
            raise Refused(conditions.SUBSCRIBE_ARGUMENT, argument=name, known=", ".join(OF_SUBSCRIPTIONS))
    selector = read_selector(arguments, limits, conditions.SUBSCRIBE_SELECTOR)
    priority = 0
    if PRIORITY in arguments:
        priority = _number(PRIORITY, arguments[PRIORITY], -(2**31), 2**31 - 1, conditions.SUBSCRIBE_VALUE)
    replay = None
    if REPLAY_PERIOD in arguments:
        replay = _number(REPLAY_PERIOD, arguments[REPLAY_PERIOD], 0, 2**63 - 1, conditions.SUBSCRIBE_VALUE)
    return SubscriptionArguments(selector, priority, _no_local(arguments, conditions.SUBSCRIBE_VALUE), replay)


@attrs.frozen
class BindingArguments:
    """The parsed arguments of exchange.bind, besides those that the type of the exchange interprets."""

    selector: Selector | None = None
    no_local: bool = False
    """Whether the binding excludes what the connection of the queue's user published."""

    @property
    def filters(self) -> bool:
        """Whether it filters the messages that the exchange matches."""
        return self.no_local or self.selector is not None


UNFILTERED: Final = BindingArguments()


def read_binding_arguments(arguments: Map, limits: BrokerLimits) -> BindingArguments:
    """Parses the arguments of exchange.bind.  Raises Refused for an invalid value."""
    selector = read_selector(arguments, limits, conditions.BIND_SELECTOR)
    return BindingArguments(selector, _no_local(arguments, conditions.BIND_VALUE))


def refuse_unknown(arguments: Map, condition: Condition) -> None:
    """Raises Refused for an argument that is neither one of queues nor a hint."""
    for name in arguments:
        if name not in KNOWN and name not in HINTS["queue.declare"] and not name.startswith(_OF_LEVELS):
            raise Refused(condition, argument=name, known=", ".join(KNOWN))


def read_selector(arguments: Map, limits: BrokerLimits, condition: Condition) -> Selector | None:
    """Returns the selector of message.subscribe or exchange.bind; None for none.

    An empty one, as Qpid JMS sends, counts as none.  Raises Refused, with the position, for an invalid one.
    """
    for name in SELECTORS:
        value = arguments.get(name)
        if value is None:
            continue
        try:
            text = value.decode() if isinstance(value, bytes) else value
        except UnicodeDecodeError:
            text = None
        if not isinstance(text, str):
            raise _wrong(name, f"{name} must be text, not {value!r}", condition)
        if not text.strip():
            continue
        try:
            return Selector(text, limits)
        except SelectorError as error:
            raise _wrong(name, f"{name}: {error}", condition) from None
    return None


def octets_of(arguments: Map) -> int:
    """Returns the encoded size of arguments; 0 when there are none."""
    return len(encode_map(arguments)) if arguments else 0


def _wrong(argument: str, why: str, condition: Condition = conditions.QUEUE_DECLARE_VALUE) -> Refused:
    return Refused(condition, argument=argument, why=why)


def _text(value: Value) -> Value:
    """Returns octets as text: clients send argument values as either, and numbers and booleans as text."""
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _number(
    name: str, value: Value, low: int, high: int = 2**64 - 1, condition: Condition = conditions.QUEUE_DECLARE_VALUE
) -> int:
    said = _text(value)
    if isinstance(said, str) and said.isascii() and said.removeprefix("-").isdigit() and len(said) <= _DIGITS:
        said = int(said)
    if not isinstance(said, int) or isinstance(said, bool) or not low <= said <= high:
        raise _wrong(name, f"{name} is a number of {low} to {high}, not {value!r}", condition)
    return int(said)


def _name(name: str, value: Value) -> str:
    said = _text(value)
    if not isinstance(said, str) or len(said.encode("utf-8", "surrogateescape")) > _MOST_NAME:
        text = f"{name} is the name of an application header, of at most {_MOST_NAME} octets, not {value!r}"
        raise _wrong(name, text)
    return said


def _shares(arguments: Map, levels: int) -> tuple[int, ...]:
    """Returns the shares of the levels; empty when none is given."""
    named = [name for name in arguments if name in SHARES or name.startswith(_OF_LEVELS)]
    if not named:
        return ()
    if not any(name in arguments for name in PRIORITIES):
        raise _wrong(named[0], f"{named[0]} goes with {PRIORITIES[0]} or {PRIORITIES[1]}")
    default, own = 0, dict[int, int]()
    for name in named:
        share = _number(name, arguments[name], 0, 2**32 - 1)
        if name in SHARES:
            default = share
        else:
            own[_number(f"the level of {name}", name.partition("share-")[2], 0, levels - 1)] = share
    return tuple([own.get(level, default) for level in range(levels)])


def _word(name: str, value: Value, words: tuple[str, ...]) -> str:
    said = _text(value)
    if not isinstance(said, str) or said not in words:
        raise _wrong(name, f"{name} is one of {', '.join(words)}, not {value!r}")
    return said


def _no_local(arguments: Map, condition: Condition) -> bool:
    return NO_LOCAL_FILTER in arguments and _boolean(NO_LOCAL_FILTER, arguments[NO_LOCAL_FILTER], condition)


def _boolean(name: str, value: Value, condition: Condition = conditions.QUEUE_DECLARE_VALUE) -> bool:
    said = _text(value)
    if isinstance(said, str):
        said = _BOOLEANS.get(said.lower())
    if not isinstance(said, bool):
        raise _wrong(name, f"{name} is true or false, not {value!r}", condition)
    return said
