"""The arguments of declarations: those that the model understands, and those that change nothing."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest
from tests.broker.model.things import refusal

from amqp_sansio.broker import conditions
from amqp_sansio.broker.model.arguments import (
    HINTS,
    KNOWN,
    OF_SUBSCRIPTIONS,
    BindingArguments,
    Hint,
    Hints,
    QueueArguments,
    SubscriptionArguments,
    octets_of,
    read_binding_arguments,
    read_queue_arguments,
    read_subscription_arguments,
)
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Subscribe
from amqp_sansio.spec.values import Map, Uint8, Value

LIMITS = attrs.evolve(DEFAULT_BROKER_LIMITS, queue_messages=100, queue_octets=1000)


def test_without_arguments_there_are_ten_levels_and_the_limits_of_the_host() -> None:
    assert read_queue_arguments(Map(), LIMITS) == QueueArguments(10, 100, 1000)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("qpid.priorities", 1, (1, 100, 1000)),
        ("qpid.priorities", 10, (10, 100, 1000)),
        ("x-qpid-priorities", Uint8(4), (4, 100, 1000)),
        ("qpid.max_count", 7, (10, 7, 1000)),
        ("qpid.max_count", 700, (10, 100, 1000)),
        ("qpid.max_size", 7, (10, 100, 7)),
        ("qpid.max_size", 7000, (10, 100, 1000)),
        ("qpid.priorities", "3", (3, 100, 1000)),
        ("qpid.max_count", "7", (10, 7, 1000)),
        ("qpid.max_size", b"7", (10, 100, 7)),
        ("qpid.policy_type", "reject", (10, 100, 1000)),
        ("qpid.policy_type", b"reject", (10, 100, 1000)),
    ],
)
def test_what_is_understood(name: str, value: Value, expected: tuple[int, int, int]) -> None:
    assert attrs.astuple(read_queue_arguments(Map({name: value}), LIMITS)) == (
        *expected, *[False] * 4, "reject", 0, "", "", (),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("qpid.priorities", 0),
        ("qpid.priorities", 11),
        ("qpid.priorities", "11"),
        ("qpid.max_count", "-1"),
        ("qpid.max_count", ""),
        ("qpid.max_count", "\u0663"),
        ("qpid.max_size", "9" * 21),
        ("qpid.max_size", 1.5),
        ("qpid.priorities", True),
        ("qpid.priorities", None),
        ("qpid.max_count", -1),
        ("qpid.max_size", "big"),
        ("qpid.policy_type", "ring_strict"),
        ("qpid.policy_type", 1),
        ("qpid.auto_delete_timeout", -1),
        ("qpid.auto_delete_timeout", 2**32),
        ("qpid.auto_delete_timeout", 1.5),
        ("no-local", "yes"),
        ("no-local", 1),
    ],
)
@pytest.mark.rule("queue.declare.arguments.unknown-argument")
def test_a_value_that_cannot_be(name: str, value: Value) -> None:
    assert refusal(read_queue_arguments, Map({name: value}), LIMITS).condition is conditions.QUEUE_DECLARE_VALUE


@pytest.mark.parametrize("value", ["reject", "ring", b"ring", "self-destruct"])
def test_the_policies_of_full_queues(value: Value) -> None:
    word = value.decode() if isinstance(value, bytes) else value
    assert read_queue_arguments(Map({"qpid.policy_type": value}), LIMITS) == QueueArguments(10, 100, 1000, policy=str(word))


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (Uint8(5), 5), ("60", 60), (2**32 - 1, 2**32 - 1)])
def test_how_long_an_unused_queue_stays(value: Value, expected: int) -> None:
    asked = read_queue_arguments(Map({"qpid.auto_delete_timeout": value}), LIMITS)
    assert asked == QueueArguments(10, 100, 1000, linger=expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"qpid.last_value_queue_key": "k"}, "k"),
        ({"qpid.last_value_queue_key": b"k"}, "k"),
        ({"qpid.last_value_queue_key": ""}, ""),
        ({"qpid.last_value_queue": True}, "qpid.LVQ_key"),
        ({"qpid.last_value_queue_no_browse": 1}, "qpid.LVQ_key"),
        ({"qpid.last_value_queue": 1, "qpid.last_value_queue_key": "k"}, "k"),
        ({"qpid.last_value_queue_key": "k", "qpid.last_value_queue": 1}, "k"),
        ({"qpid.last_value_queue_key": 7}, None),
        ({"qpid.last_value_queue_key": "k" * 256}, None),
        ({"qpid.last_value_queue_key": "k", "qpid.priorities": 5}, None),
    ],
)
@pytest.mark.rule("queue.declare.arguments.unknown-argument")
def test_the_key_of_last_values(arguments: dict[str, Value], expected: str | None) -> None:
    if expected is None:
        assert refusal(read_queue_arguments, Map(arguments), LIMITS).condition is conditions.QUEUE_DECLARE_VALUE
    else:
        assert read_queue_arguments(Map(arguments), LIMITS) == QueueArguments(10, 100, 1000, last_value=expected)


@pytest.mark.parametrize(("value", "expected"), [("n", "n"), (b"n", "n"), ("", ""), (1, None), ("n" * 255, "n" * 255)])
def test_the_name_of_numbers(value: Value, expected: str | None) -> None:
    given = Map({"qpid.queue_msg_sequence": value})
    if expected is None:
        assert refusal(read_queue_arguments, given, LIMITS).condition is conditions.QUEUE_DECLARE_VALUE
    else:
        assert read_queue_arguments(given, LIMITS) == QueueArguments(10, 100, 1000, sequence=expected)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({"qpid.fairshare": 5}, (5, 5, 5)),
        ({"x-qpid-fairshare": "5"}, (5, 5, 5)),
        ({"qpid.fairshare": 5, "qpid.fairshare-2": 0, "x-qpid-fairshare-0": 2**32 - 1}, (2**32 - 1, 5, 0)),
        ({"x-qpid-fairshare-1": 4}, (0, 4, 0)),
        ({"x-qpid-fairshare-3": 4}, None),
        ({"x-qpid-fairshare-": 4}, None),
        ({"x-qpid-fairshare--1": 4}, None),
        ({"x-qpid-fairshare": -1}, None),
        ({"x-qpid-fairshare": 2**32}, None),
        ({"x-qpid-fairshare": "many"}, None),
    ],
)
def test_shares_of_priorities(arguments: dict[str, Value], expected: tuple[int, ...] | None) -> None:
    if expected is None:
        refused = refusal(read_queue_arguments, Map({"qpid.priorities": 3, **arguments}), LIMITS)
        assert refused.condition is conditions.QUEUE_DECLARE_VALUE
    else:
        asked = read_queue_arguments(Map({"qpid.priorities": 3, **arguments}), LIMITS)
        assert asked == QueueArguments(3, 100, 1000, shares=expected)
        assert refusal(read_queue_arguments, Map(arguments), LIMITS).condition is conditions.QUEUE_DECLARE_VALUE


@pytest.mark.parametrize("name", HINTS["queue.declare"])
def test_a_hint_of_a_queue_changes_nothing(name: str) -> None:
    for value in (True, 7, "text", None):
        assert read_queue_arguments(Map({name: value}), LIMITS) == QueueArguments(10, 100, 1000)
    assert name not in KNOWN


@pytest.mark.parametrize(
    ("value", "expected"), [("true", True), ("True", True), (b"TRUE", True), ("false", False), (b"false", False)]
)
def test_no_local_as_text(value: Value, expected: bool) -> None:
    assert read_queue_arguments(Map({"no-local": value}), LIMITS).no_local is expected


@pytest.mark.parametrize(
    ("exclusivity", "lifetime", "expected"),
    [
        (None, None, (False, False, False)),
        ("NONE", "PERMANENT", (False, False, False)),
        ("SESSION", None, (True, False, False)),
        (b"SESSION", "DELETE_ON_SESSION_END", (True, False, True)),
        ("CONNECTION", "PERMANENT", (False, True, False)),
        ("CONNECTION", "DELETE_ON_CONNECTION_CLOSE", (False, True, True)),
        ("LINK", None, None),
        (None, "DELETE_ON_CONNECTION_CLOSE", None),
        ("SESSION", "DELETE_ON_CONNECTION_CLOSE", None),
        ("CONNECTION", "DELETE_ON_SESSION_END", None),
        ("CONNECTION", "DELETE_ON_NO_LINKS", None),
        (1, None, None),
    ],
)
@pytest.mark.rule("queue.declare.arguments.unknown-argument")
def test_exclusivity_and_lifetime(exclusivity: Value, lifetime: Value, expected: tuple[bool, bool, bool] | None) -> None:
    given = {"qpid.exclusivity_policy": exclusivity, "qpid.lifetime_policy": lifetime}
    arguments = Map({name: value for name, value in given.items() if value is not None})
    if expected is None:
        assert refusal(read_queue_arguments, arguments, LIMITS).condition is conditions.QUEUE_DECLARE_VALUE
    else:
        asked = read_queue_arguments(arguments, LIMITS)
        assert (asked.of_session, asked.of_connection, asked.deleted_with_owner) == expected


def test_no_local() -> None:
    assert read_queue_arguments(Map({"no-local": True}), LIMITS) == QueueArguments(10, 100, 1000, True)
    assert read_queue_arguments(Map({"no-local": False}), LIMITS) == QueueArguments(10, 100, 1000)


@pytest.mark.rule("queue.declare.arguments.unknown-argument")
def test_what_is_not_understood() -> None:
    refused = refusal(read_queue_arguments, Map({"qpid.group_header_key": "k"}), LIMITS)
    assert refused.condition is conditions.QUEUE_DECLARE_ARGUMENT
    assert "qpid.priorities" in refused.text


@pytest.mark.parametrize(
    ("value", "expected"),
    [(7, 7), (-(2**31), -(2**31)), (Uint8(3), 3), ("12", 12), (b"-12", -12), (2**31 - 1, 2**31 - 1)],
)
def test_the_priority_of_a_subscription(value: Value, expected: int) -> None:
    assert read_subscription_arguments(Map({"x-priority": value}), LIMITS) == SubscriptionArguments(priority=expected)


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, "high", "", "-", "--1", True, 1.5, None])
def test_no_priority(value: Value) -> None:
    refused = refusal(read_subscription_arguments, Map({"x-priority": value}), LIMITS)
    assert (refused.condition, "x-priority" in refused.text) == (conditions.SUBSCRIBE_VALUE, True)


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (Uint8(60), 60), ("3600", 3600), (b"0", 0), (2**63 - 1, 2**63 - 1)])
def test_the_replay_period_of_a_subscription(value: Value, expected: int) -> None:
    asked = read_subscription_arguments(Map({"x-qpid-replay-period": value}), LIMITS)
    assert asked == SubscriptionArguments(replay=expected)


@pytest.mark.parametrize("value", [-1, "-1", 2**63, "a while", "", True, 0.5, None])
def test_no_replay_period(value: Value) -> None:
    refused = refusal(read_subscription_arguments, Map({"x-qpid-replay-period": value}), LIMITS)
    assert (refused.condition, "x-qpid-replay-period" in refused.text) == (conditions.SUBSCRIBE_VALUE, True)


@pytest.mark.parametrize(("value", "expected"), [(True, True), (False, False), ("true", True), (b"False", False)])
def test_no_local_of_subscriptions_and_bindings(value: Value, expected: bool) -> None:
    given = Map({"x-qpid-no-local": value})
    assert read_subscription_arguments(given, LIMITS) == SubscriptionArguments(no_local=expected)
    asked = read_binding_arguments(given, LIMITS)
    assert (asked, asked.filters) == (BindingArguments(no_local=expected), expected)


@pytest.mark.parametrize("value", [1, 0, "", "yes", None])
def test_neither_local_nor_not(value: Value) -> None:
    given = Map({"x-qpid-no-local": value})
    assert refusal(read_subscription_arguments, given, LIMITS).condition is conditions.SUBSCRIBE_VALUE
    assert refusal(read_binding_arguments, given, LIMITS).condition is conditions.BIND_VALUE


def test_octets() -> None:
    assert octets_of(Map()) == 0
    assert octets_of(Map({"a": None})) == 4 + 4 + 2 + 1


SUBSCRIBE = Subscribe.VERB


def test_each_is_handed_out_once_however_often_it_comes() -> None:
    hints = Hints()
    assert hints.take() == ()
    for _ in range(3):
        hints.given(SUBSCRIBE, {"qpid.sync_frequency": 10, "x-priority": 1})
    (hint,) = hints.take()
    assert (hint.command, hint.argument) == ("message.subscribe", "qpid.sync_frequency")
    hints.given(SUBSCRIBE, {"x-filter-no-consume": True, "qpid.sync_frequency": 1})
    assert [each.argument for each in hints.take()] == ["x-filter-no-consume"]
    assert hints.take() == ()


def test_what_is_no_hint_of_that_command_is_none() -> None:
    hints = Hints()
    hints.given("exchange.bind", {"qpid.sync_frequency": 10})
    hints.given(SUBSCRIBE, {"x-priority": 3})
    assert hints.take() == ()


def test_a_hint_says_what_it_is_and_why_it_changes_nothing() -> None:
    assert str(Hint("message.subscribe", "x", "because")) == "message.subscribe: the argument 'x' changes nothing (because)"


@pytest.mark.parametrize("name", HINTS[SUBSCRIBE])
def test_a_hint_is_taken_whatever_its_value_and_is_not_known(name: str) -> None:
    for value in (True, 7, "text", None):
        asked = read_subscription_arguments(Map({name: value}), DEFAULT_BROKER_LIMITS)
        assert asked == read_subscription_arguments(Map(), DEFAULT_BROKER_LIMITS)
    assert name not in (*OF_SUBSCRIPTIONS, *KNOWN)


@pytest.mark.parametrize("name", [*HINTS[SUBSCRIBE], *HINTS["queue.declare"], *OF_SUBSCRIPTIONS, *KNOWN])
def test_the_manual_has_every_argument(name: str) -> None:
    page = Path(__file__).resolve().parents[3] / "docs" / "topics" / "arguments.md"
    assert f"`{name}`" in page.read_text(encoding="utf-8")


def test_hints_are_of_commands_that_there_are() -> None:
    verbs = {each.VERB for each in Command.__subclasses__()}
    assert HINTS.keys() <= verbs
