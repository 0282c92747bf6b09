"""One rule: what it may say, and what its patterns match."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from amqp_sansio.broker import Kind, Request, Rule, Verb
from amqp_sansio.broker.access.rule import LEGAL, Glob
from amqp_sansio.errors import EncodeError
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
