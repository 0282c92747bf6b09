"""Whom the fronts ask: rules, or a function of the application."""

from __future__ import annotations

import pytest

from amqp_sansio.broker import Kind, Request, Rule, Rules, Verb
from amqp_sansio.broker.access.guard import Guard
from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.errors import EncodeError

PURGE = Request("bob", Verb.PURGE, Kind.QUEUE, "q")


def test_a_refusal_names_who_the_verb_and_the_name() -> None:
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


def test_anything_else_is_refused() -> None:
    with pytest.raises(EncodeError, match="takes Rules or a function, not str"):
        Guard("rules.toml")  # type: ignore[arg-type]  # on purpose
