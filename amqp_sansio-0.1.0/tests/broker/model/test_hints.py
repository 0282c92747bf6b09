"""Arguments that are taken and change nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio.broker.model.arguments import KNOWN, OF_SUBSCRIPTIONS, read_subscription_arguments
from amqp_sansio.broker.model.hints import HINTS, Hint, Hints
from amqp_sansio.limits import DEFAULT_BROKER_LIMITS
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.message import Subscribe
from amqp_sansio.spec.values import Map

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
