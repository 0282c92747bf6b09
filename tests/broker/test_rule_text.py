"""Rules written as TOML, and the line of what is wrong in it."""

from __future__ import annotations

import pickle

import pytest

from amqp_sansio.broker import Kind, Rule, Verb
from amqp_sansio.broker.rule_text import RulesError, parse_rules

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
