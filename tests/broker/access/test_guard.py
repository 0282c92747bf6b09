"""Whom the fronts ask: rules, or a function of the application."""

from __future__ import annotations

import pytest

from amqp_sansio.broker import Kind, Request, Rule, Rules, Verb
from amqp_sansio.broker.access import guard as module
from amqp_sansio.broker.access.guard import Guard
from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.errors import EncodeError

PURGE = Request("bob", Verb.PURGE, Kind.QUEUE, "q")


def test_a_refusal_names_the_user_the_verb_and_the_name() -> None:
    with pytest.raises(Refused) as refused:
        Guard(Rules()).demand(PURGE)
    assert (refused.value.condition, refused.value.text) == (ACCESS_DENIED, "'bob' may not purge queue 'q'")
    Guard(Rules([Rule(allow=True, kind=Kind.QUEUE)])).demand(PURGE)


def test_a_function_of_the_application_is_asked_each_time() -> None:
    asked: list[Request] = []

    def judge(request: Request) -> bool:
        asked.append(request)
        return len(asked) > 1

    guard = Guard(judge)
    assert not guard.may(PURGE)
    guard.demand(PURGE)
    assert guard.manages("bob", "h")
    assert asked == [PURGE, PURGE, Request("bob", Verb.MANAGE, Kind.HOST, "h", None, "h")]


def test_a_publish_that_was_allowed_is_not_judged_again_by_rules_but_by_a_function() -> None:
    rules = Rules([Rule(allow=True, kind=Kind.EXCHANGE, pattern="e"), Rule(allow=True, kind=Kind.QUEUE, pattern="q")])
    guard = Guard(rules)
    for exchange, key in (("e", "a"), ("e", "b"), ("", "q"), ("", "q")):
        guard.demand_publish("x", "", exchange, key)
    assert guard._publishes == {("x", "", "e", ""), ("x", "", "", "q")}
    for identity, exchange, key in (("x", "", "other"), ("x", "f", "a")):
        with pytest.raises(Refused, match="may not publish"):
            guard.demand_publish(identity, "", exchange, key)
    asked: list[Request] = []
    own = Guard(lambda request: not asked.append(request))  # type: ignore[func-returns-value]  # None: it is allowed
    own.demand_publish("x", "", "e", "a")
    own.demand_publish("x", "", "e", "a")
    assert len(asked) == 2


def test_what_is_remembered_of_publishes_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED", 4)
    guard = Guard(Rules([Rule(allow=True, kind=Kind.KEY)]))
    for number in range(20):
        guard.demand_publish("x", "", "e", f"k{number}")
        assert len(guard._publishes) <= 4


def test_anything_else_is_refused() -> None:
    with pytest.raises(EncodeError, match="takes Rules or a function, not str"):
        Guard("rules.toml")  # type: ignore[arg-type]  # on purpose
