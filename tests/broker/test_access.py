"""Access rules: each, all of them in order, their text, and the guard that the fronts ask."""

from __future__ import annotations

import pickle
import re
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.steps import steps

from amqp_sansio.broker import Kind, Request, Rule, Rules, Verb
from amqp_sansio.broker import access as module
from amqp_sansio.broker.access import LEGAL, Glob, Guard, RulesError, parse_rules
from amqp_sansio.broker.conditions import ACCESS_DENIED, Refused
from amqp_sansio.errors import EncodeError
from amqp_sansio.kernel.build import COMPILED
from amqp_sansio.limits import PATTERN_OCTETS


@pytest.mark.parametrize("kind", Kind)
@pytest.mark.parametrize("verb", Verb)
def test_a_verb_goes_with_the_kinds_to_which_it_can_be_done(kind: Kind, verb: Verb) -> None:
    if verb in LEGAL[kind]:
        assert Rule(allow=True, kind=kind, verbs=[verb]).verbs == frozenset([verb])
    else:
        with pytest.raises(EncodeError, match=f"{kind}: one of .*, not {verb}"):
            Rule(allow=True, kind=kind, verbs=[verb])


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"allow": 1, "kind": Kind.QUEUE}, "True or False"),
        ({"allow": True, "kind": "queue"}, "one of exchange, queue, key, host"),
        ({"allow": True, "kind": Kind.QUEUE, "verbs": ()}, "at least one"),
        ({"allow": True, "kind": Kind.QUEUE, "exchange": "e"}, "belongs to a rule of kind key"),
        ({"allow": True, "kind": Kind.HOST, "host": "h"}, "`pattern` names them"),
        ({"allow": True, "kind": Kind.QUEUE, "pattern": 7}, "Rule.pattern"),
        ({"allow": True, "kind": Kind.QUEUE, "pattern": ""}, "is empty, and every queue has a name"),
        (
            {"allow": True, "kind": Kind.EXCHANGE, "pattern": ""},
            "the default exchange is judged as published to the queue: kind queue",
        ),
    ],
)
def test_what_could_never_decide_is_refused(wrong: dict[str, Any], words: str) -> None:
    with pytest.raises(EncodeError, match=words):
        Rule(**wrong)


@pytest.mark.parametrize("name", ["who", "pattern", "exchange", "host"])
def test_a_pattern_has_a_limit(name: str) -> None:
    kind = Kind.KEY
    for octets in (PATTERN_OCTETS - 1, PATTERN_OCTETS):
        assert getattr(Rule(allow=True, kind=kind, **{name: "x" * octets}), name)  # type: ignore[arg-type]  # texts
    with pytest.raises(EncodeError, match="at most 255 octets"):
        Rule(allow=True, kind=kind, **{name: "x" * (PATTERN_OCTETS + 1)})  # type: ignore[arg-type]  # texts


ALPHABET = "ab*%_\\.{"


@given(st.text(ALPHABET, max_size=8), st.text(ALPHABET, max_size=8))
def test_a_star_is_any_sequence_and_all_else_is_itself(pattern: str, text: str) -> None:
    expected = re.fullmatch(".*".join(map(re.escape, pattern.split("*"))), text, re.DOTALL) is not None
    assert Glob(pattern, "me").matches(text) is expected


@given(st.text(ALPHABET, max_size=4), st.text(ALPHABET, max_size=4))
def test_the_name_of_the_user_matches_itself_alone(identity: str, text: str) -> None:
    assert Glob("{user}.*", identity).matches(f"{text}.q") is (text == identity or f"{text}.q".startswith(f"{identity}."))


def test_a_rule_and_a_request_can_be_read() -> None:
    rule = Rule(
        allow=False, who="@staff", verbs=[Verb.PUBLISH, Verb.BIND], kind=Kind.KEY, pattern="a.*", exchange="e", host="h"
    )
    assert str(rule) == "deny @staff: bind, publish, key 'a.*' at exchange 'e' in host 'h'"
    assert str(Rule(allow=True, kind=Kind.QUEUE, who="")) == "allow anonymous: anything, queue '*'"
    assert str(Request("bob", Verb.PUBLISH, Kind.EXCHANGE, "e", "k")) == "'bob' may not publish exchange 'e' with key 'k'"
    assert str(Request("", Verb.PURGE, Kind.QUEUE, "q")) == "anonymous may not purge queue 'q'"


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


MAINTAINERS: Final = """
# a group that maintains queues and exchanges of one virtual host and its messages, others that only use it
default = "deny"
[[rule]]
allow = ["@maintainers", "@messaging"]
verb = "open"
host = "*"
[[rule]]
allow = "@maintainers"
verb = ["create", "delete", "purge", "query"]
queue = "*"
host = "production"
[[rule]]
allow = "@maintainers"
verb = ["create", "delete", "query", "bind", "unbind"]
exchange = "*"
host = "production"
[[rule]]
allow = "@maintainers"
verb = ["bind", "unbind"]
queue = "*"
host = "production"
[[rule]]
allow = "@messaging"
verb = ["consume", "publish"]
queue = "*"
"""

REQUEST_RESPONSE: Final = """
# a server that is asked on one queue and answers to temporary ones
default = "deny"
[[rule]]
allow = "@messaging-users"
verb = "open"
host = "*"
[[rule]]
allow = "client"
verb = "publish"
queue = "example.RequestQueue"
[[rule]]
allow = "client"
verb = ["create", "consume", "delete", "query"]
queue = "TempQueue*"
[[rule]]
allow = "client"
verb = ["query", "bind"]
exchange = "amq.direct"
[[rule]]
allow = "server"
verb = ["create", "consume", "query"]
queue = "example.RequestQueue"
[[rule]]
allow = "server"
verb = "publish"
queue = "TempQueue*"
[[rule]]
deny = "*"
queue = "*"
"""

V, Q, E, H = Verb, Kind.QUEUE, Kind.EXCHANGE, Kind.HOST
GROUPS: Final = {"maintainers": ["mona"], "messaging": ["max"], "messaging-users": ["client", "server"]}


@pytest.mark.parametrize(
    ("text", "who", "verb", "kind", "name", "allowed"),
    [
        (MAINTAINERS, "mona", V.OPEN, H, "production", True),
        (MAINTAINERS, "eve", V.OPEN, H, "production", False),
        (MAINTAINERS, "mona", V.CREATE, Q, "orders", True),
        (MAINTAINERS, "mona", V.PURGE, Q, "orders", True),
        (MAINTAINERS, "mona", V.BIND, E, "amq.topic", True),
        (MAINTAINERS, "mona", V.CONSUME, Q, "orders", False),
        (MAINTAINERS, "max", V.CONSUME, Q, "orders", True),
        (MAINTAINERS, "max", V.PUBLISH, Q, "orders", True),
        (MAINTAINERS, "max", V.DELETE, Q, "orders", False),
        (REQUEST_RESPONSE, "client", V.OPEN, H, "production", True),
        (REQUEST_RESPONSE, "client", V.PUBLISH, Q, "example.RequestQueue", True),
        (REQUEST_RESPONSE, "client", V.CONSUME, Q, "example.RequestQueue", False),
        (REQUEST_RESPONSE, "client", V.CREATE, Q, "TempQueue17", True),
        (REQUEST_RESPONSE, "client", V.CONSUME, Q, "TempQueue17", True),
        (REQUEST_RESPONSE, "client", V.CREATE, Q, "Other", False),
        (REQUEST_RESPONSE, "client", V.BIND, E, "amq.direct", True),
        (REQUEST_RESPONSE, "client", V.BIND, E, "amq.topic", False),
        (REQUEST_RESPONSE, "server", V.CONSUME, Q, "example.RequestQueue", True),
        (REQUEST_RESPONSE, "server", V.PUBLISH, Q, "TempQueue17", True),
        (REQUEST_RESPONSE, "server", V.PUBLISH, Q, "example.RequestQueue", False),
        (REQUEST_RESPONSE, "server", V.CONSUME, Q, "TempQueue17", False),
        (REQUEST_RESPONSE, "eve", V.CONSUME, Q, "TempQueue17", False),
    ],
)
def test_what_the_examples_decide(text: str, who: str, verb: Verb, kind: Kind, name: str, allowed: bool) -> None:
    rules = parse_rules(text, groups=GROUPS)
    assert rules.decide(Request(who, verb, kind, name, None, "production")).allow is allowed


TEXT = """\
# who may do what
default = "deny"

[[rule]]
allow = ["alice", "@ops"]
verb = ["publish", "bind"]
key = "new.*"
exchange = "orders"

[[rule]]
deny = "*"
queue = ["a", "b"]
host = "test"

  [[ "rule" ]]
allow = ""
verb = "open"
host = "*"
"""


def test_rules_are_read_in_their_order() -> None:
    rules = parse_rules(TEXT, groups={"ops": ["carol"]})
    both = [Verb.PUBLISH, Verb.BIND]
    assert rules.rules == (
        Rule(allow=True, who="alice", verbs=both, kind=Kind.KEY, pattern="new.*", exchange="orders"),
        Rule(allow=True, who="@ops", verbs=both, kind=Kind.KEY, pattern="new.*", exchange="orders"),
        Rule(allow=False, kind=Kind.QUEUE, pattern="a", host="test"),
        Rule(allow=False, kind=Kind.QUEUE, pattern="b", host="test"),
        Rule(allow=True, who="", verbs=[Verb.OPEN], kind=Kind.HOST),
    )
    assert [rule.line for rule in rules.rules] == [4, 4, 10, 10, 15]
    assert (rules.default, rules.groups) == (False, {"ops": frozenset(["carol"])})
    assert parse_rules('default = "allow"').default


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("", None, 'default is "allow" or "deny": it is missing'),
        ('\ndefault = "maybe"', 2, "not 'maybe'"),
        ('default = "deny"\nmore = 1', 2, "there is no 'more'"),
        ('default = "deny"\nrule = 7', 2, "tables"),
        ('default = "deny"\n\n[[rules]]\nallow = "x"', 3, "there is no 'rules'"),
        ('default = "deny"\n[[rule]]\nallow = "x"\nqueue = "q"\n[[rule]]\nqueue = "q"', 5, "either allow or deny"),
        ('default = "deny"\n[[rule]]\nallow = "x"\ndeny = "y"\nqueue = "q"', 2, "either allow or deny"),
        ('default = "deny"\n[[rule]]\nallow = "x"', 2, "names what it is about: exchange, queue, key, host"),
        ('default = "deny"\n[[rule]]\nallow = "x"\nqueue = "q"\nverbs = "all"', 5, "a rule has no 'verbs'"),
        (
            'default = "deny"\n[[rule]]\nallow = "x"\nqueue = "q"\nverb = "eat"',
            5,
            "'eat' is not a verb for queue: use one of create",
        ),
        ('default = "deny"\n[[rule]]\nallow = "x"\nexchange = "q"\nverb = ["bind", "purge"]', 5, "'purge' is not a verb for"),
        ('default = "deny"\n[[rule]]\nallow = 7\nqueue = "q"', 3, "allow is a text, or a list of texts"),
        ('default = "deny"\n[[rule]]\nallow = []\nqueue = "q"', 3, "allow is a text, or a list of texts"),
        ('default = "deny"\n[[rule]]\nallow = "x"\nqueue = "q"\nkey = "k"', 2, "write two"),
        ('default = "deny"\n[[rule]]\nallow = "x"\nqueue = "' + "q" * 256 + '"', 2, "at most 255 octets"),
        ('default = "deny"\n[[rule]\nallow = "x"', 2, "Expected"),
        ('default = "deny', 1, "Illegal|Unterminated"),
        ('default = "deny"\nrule = [{allow = "x"}]', None, "names what it is about"),
    ],
)
def test_what_is_wrong_is_reported_with_its_line(text: str, line: int | None, words: str) -> None:
    with pytest.raises(RulesError, match=words) as told:
        parse_rules(text, "file.toml")
    assert told.value.line == line
    assert str(told.value).startswith("file.toml: " if line is None else f"file.toml: line {line}: ")
    assert str(pickle.loads(pickle.dumps(told.value))) == str(told.value)
