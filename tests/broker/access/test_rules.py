"""Rules together: the first that matches decides, and it costs no more the more there are."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import steps

from amqp_sansio.broker import Kind, Request, Rule, Rules, Verb
from amqp_sansio.broker.access import rules as module
from amqp_sansio.broker.access.rule import LEGAL
from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.build import COMPILED

STAFF = {"staff": ["alice", "bob"]}


def rule(allow: bool, who: str, verb: Verb | None, kind: Kind, pattern: str = "*", **more: Any) -> Rule:
    return Rule(allow=allow, who=who, verbs=None if verb is None else [verb], kind=kind, pattern=pattern, **more)


def consume(who: str, name: str, host: str = "") -> Request:
    return Request(who, Verb.CONSUME, Kind.QUEUE, name, None, host)


def test_the_first_rule_that_matches_decides() -> None:
    rules = Rules(
        [
            rule(False, "bob", Verb.CONSUME, Kind.QUEUE, "secret.*"),
            rule(True, "@staff", None, Kind.QUEUE),
            rule(True, "", Verb.CONSUME, Kind.QUEUE, "public"),
            rule(True, "*", Verb.CONSUME, Kind.QUEUE, "{user}.in", host="h"),
        ],
        groups=STAFF,
    )
    decided = {
        (who, name, host): rules.decide(consume(who, name, host)).allow
        for who in ("alice", "bob", "carol", "") for name in ("secret.x", "public", "carol.in", ".in") for host in ("", "h")
    }  # fmt: skip
    assert {asked for asked, allow in decided.items() if allow} == {
        *[("alice", name, host) for name in ("secret.x", "public", "carol.in", ".in") for host in ("", "h")],
        *[("bob", name, host) for name in ("public", "carol.in", ".in") for host in ("", "h")],
        ("carol", "carol.in", "h"), ("", "public", ""), ("", "public", "h"), ("", ".in", "h"),
    }  # fmt: skip


def test_without_a_rule_the_default_decides_but_not_about_branches() -> None:
    for default in (True, False):
        rules = Rules(default=default)
        assert rules.decide(consume("x", "q")) == (default, None)
        assert rules.decide(Request("x", Verb.MANAGE, Kind.HOST, "h", None, "h")) == (False, None)
    rules = Rules([rule(True, "x", Verb.MANAGE, Kind.HOST, "h")])
    assert [rules.decide(Request("x", Verb.MANAGE, Kind.HOST, host, None, host)).allow for host in ("h", "i")] == [True, False]


def test_keys_and_their_exchanges_are_judged_together() -> None:
    rules = Rules(
        [
            rule(False, "*", Verb.PUBLISH, Kind.KEY, "secret.*"),
            rule(True, "*", Verb.PUBLISH, Kind.KEY, "new.*", exchange="orders"),
            rule(True, "*", Verb.PUBLISH, Kind.EXCHANGE, "open"),
            rule(True, "*", Verb.PUBLISH, Kind.KEY, exchange="any"),
        ]
    )

    def may(exchange: str, key: str | None) -> bool:
        return rules.decide(Request("x", Verb.PUBLISH, Kind.EXCHANGE, exchange, key)).allow

    assert [may("orders", key) for key in ("new.eu", "old.eu", "secret.new")] == [True, False, False]
    assert [may("open", key) for key in ("new.eu", "", "secret.x")] == [True, True, False]
    # Any key at all may come out of an alternate exchange: what is denied of some is denied, what only some have is not had.
    assert [may(exchange, None) for exchange in ("orders", "open", "any")] == [False, False, False]
    assert Rules(rules.rules[1:]).decide(Request("x", Verb.PUBLISH, Kind.EXCHANGE, "any", None)).allow
    assert not rules.decide(Request("x", Verb.CREATE, Kind.EXCHANGE, "orders", None)).allow


@pytest.mark.parametrize("named", ["amq.match", "amq.headers"])
@pytest.mark.parametrize("asked", ["amq.match", "amq.headers"])
def test_a_rule_about_an_exchange_counts_for_both_of_its_names(named: str, asked: str) -> None:
    """Else whoever may not publish to the one publishes to the other."""
    by_name = Rules([rule(False, "*", Verb.PUBLISH, Kind.EXCHANGE, named)], default=True)
    by_key = Rules([rule(False, "*", Verb.PUBLISH, Kind.KEY, "k", exchange=named)], default=True)
    for rules in (by_name, by_key):
        decision = rules.decide(Request("x", Verb.PUBLISH, Kind.EXCHANGE, asked, "k"))
        assert not decision.allow
        assert "'amq.match'" in str(Request("x", Verb.PUBLISH, Kind.EXCHANGE, asked, "k"))
        assert rules.decide(Request("x", Verb.PUBLISH, Kind.QUEUE, asked)).allow


def requests() -> st.SearchStrategy[Request]:
    names = st.sampled_from(["", "a", "b", "a.b"])
    objects = st.sampled_from([(kind, verb) for kind, verbs in LEGAL.items() if kind is not Kind.KEY for verb in verbs])
    return st.builds(
        lambda who, object, name, key, host: Request(who, object[1], object[0], name, key, host),
        st.sampled_from(["", "me", "you"]), objects, names, names, names,
    )  # fmt: skip


def all_rules() -> st.SearchStrategy[Rule]:
    patterns = st.sampled_from(["*", "a", "a*", "*b", "{user}"])
    objects = st.sampled_from([(kind, verb) for kind, verbs in LEGAL.items() for verb in (None, *verbs)])
    return st.builds(
        lambda allow, who, object, pattern: rule(allow, who, object[1], object[0], pattern),
        st.booleans(), st.sampled_from(["*", "", "me", "@us"]), objects, patterns,
    )  # fmt: skip


@given(st.lists(all_rules(), max_size=6), st.lists(requests(), max_size=12), st.booleans())
def test_what_is_remembered_is_what_is_decided(made: list[Rule], asked: list[Request], default: bool) -> None:
    """A decision depends on nothing that was asked before."""
    rules = Rules(made, default=default, groups={"us": ["me", "you"]})
    for request in asked:
        assert rules.decide(request) == Rules(made, default=default, groups={"us": ["me", "you"]}).decide(request)


@pytest.mark.skipif(COMPILED, reason="the steps of compiled code cannot be counted")
def test_a_decision_that_was_made_before_costs_the_same_with_a_thousand_rules() -> None:
    def cost(count: int) -> int:
        rules = Rules([rule(False, "x", Verb.PUBLISH, Kind.EXCHANGE, f"e{n}") for n in range(count)], default=True)
        request = Request("x", Verb.PUBLISH, Kind.EXCHANGE, "orders", "any key")
        rules.decide(request)
        return steps(lambda: rules.decide(request))

    assert cost(1) == cost(1000)


def test_what_is_remembered_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED", 4)
    monkeypatch.setattr(module, "COMPILED", 3)
    rules = Rules([rule(True, "*", None, Kind.QUEUE, "q*")])
    for number in range(50):
        assert rules.decide(consume(f"x{number}", f"q{number}")).allow
        assert len(rules._decided) <= 4
        assert len(rules._lines) <= 3


def test_wrong_use_is_reported() -> None:
    with pytest.raises(EncodeError, match="takes rules, not str"):
        Rules(["allow"])  # type: ignore[list-item]  # on purpose
    with pytest.raises(EncodeError, match="True or False"):
        Rules(default="deny")  # type: ignore[arg-type]  # on purpose
    assert str(Rules().decide(consume("x", "q"))) == "denied by default: no rule matches"
    rules = Rules([Rule(allow=True, kind=Kind.QUEUE, line=7)])
    assert str(rules.decide(consume("x", "q"))) == "allowed by the rule in line 7: allow *: anything, queue '*'"
    assert repr(rules) == "<Rules: 1, else deny>"


def test_rules_about_a_group_in_which_nobody_is_are_idle() -> None:
    rules = [rule(True, who, None, Kind.QUEUE) for who in ("@staff", "@staf", "@", "alice", "*")]
    assert Rules(rules, groups={"staff": ["alice"], "empty": []}).idle == tuple(rules[1:3])
    assert Rules(rules).idle == tuple(rules[:3])
