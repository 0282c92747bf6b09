"""Each named rule and exception has a test that carries its path, or one line that says why not (DESIGN, habit 8)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from amqp_sansio.spec.rules import RULES
from tools.docs.conformance import Carrier, Conformance, carriers_in, gather, problems

MARKED = "@pytest.mark.rule({})\n{}def test_it() -> None: ...\n"


def test_every_rule_has_a_test_or_a_line() -> None:
    assert problems(gather(), RULES) == []


def test_every_path_is_counted_once() -> None:
    known = gather()
    assert len(known.tested) + len(known.not_ours) + len(known.not_kept) == len(RULES) == 224
    assert sum(rule.error is not None for rule in RULES.values()) == 78
    assert sum(rule.error is None for rule in RULES.values()) == 146


def test_so_many_rules_of_each_class_have_tests() -> None:
    """Exactly so many: a test that loses its mark is missed here, one that gains it is counted here."""
    tested = Counter(rule.partition(".")[0] for rule in gather().tested)
    assert tested == {
        "connection": 22, "session": 27, "message": 31, "tx": 6, "dtx": 32, "exchange": 35, "queue": 21, "file": 15,
        "stream": 7,
    }  # fmt: skip
    # class execution has no named rule
    assert {rule.partition(".")[0] for rule in RULES} == set(tested)


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (Conformance({}, {}, {}, ()), ["a.b has neither a test nor a line"]),
        (Conformance({}, {"a.b": "for the user"}, {}, ()), []),
        (Conformance({}, {"a.b": " "}, {}, ()), ["not_ours.toml: a.b has no reason"]),
        (Conformance({"a.b": (Carrier("f", "t", ("a.b",), 1),)}, {}, {}, ()), []),
        (
            Conformance({"a.b": (Carrier("f", "t", ("a.b",), 1),)}, {"a.b": "for the user"}, {}, ()),
            ["a.b has a test and a line in not_ours.toml"],
        ),
        (
            Conformance({"a.c": (Carrier("f", "t", ("a.c",), 7),)}, {"a.b": "x"}, {}, ()),
            ["f:7: t carries a.c, which is no rule"],
        ),
        (Conformance({}, {"a.b": "x", "a.c": "x"}, {}, ()), ["not_ours.toml: a.c is no rule"]),
        (Conformance({}, {}, {"a.b": "it refuses"}, ()), []),
        (Conformance({}, {}, {"a.b": " "}, ()), ["not_kept.toml: a.b has no reason"]),
        (
            Conformance({"a.b": (Carrier("f", "t", ("a.b",), 1),)}, {}, {"a.b": "it refuses"}, ()),
            ["a.b has a test and a line in not_kept.toml"],
        ),
        (
            Conformance({}, {"a.b": "for the user"}, {"a.b": "it refuses"}, ()),
            ["a.b has a line in not_ours.toml and a line in not_kept.toml"],
        ),
        (Conformance({}, {}, {"a.b": "x", "a.c": "x"}, ()), ["not_kept.toml: a.c is no rule"]),
        (Conformance({}, {"a.b": "x"}, {}, ("f:1: t is no test",)), ["f:1: t is no test"]),
    ],
)
def test_what_it_reports(known: Conformance, told: list[str]) -> None:
    assert problems(known, ["a.b"]) == told


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (MARKED.format('"a.b"', ""), [Carrier("f", "test_it", ("a.b",), 1)]),
        (MARKED.format('"a.b", "a.c"', ""), [Carrier("f", "test_it", ("a.b", "a.c"), 1)]),
        (MARKED.format("", ""), ["f:1: test_it carries something else than paths"]),
        (MARKED.format("RULE", ""), ["f:1: test_it carries something else than paths"]),
        (MARKED.format('"a.b"', "@pytest.mark.skip\n"), ["f:1: test_it is left out when the tests run"]),
        (MARKED.format('"a.b"', "@pytest.mark.xfail(reason='no')\n"), ["f:1: test_it is left out when the tests run"]),
        (MARKED.format('"a.b"', "").replace("test_it", "it"), ["f:1: it is no test"]),
        ('pytestmark = pytest.mark.rule("a.b")\n', ["f:1: a mark that is on no function"]),
    ],
)
def test_what_a_file_carries(text: str, found: list[Carrier | str]) -> None:
    assert list(carriers_in("f", text)) == found


def test_a_mark_counts_where_it_is_collected(request: pytest.FixtureRequest) -> None:
    """The marker is registered: a misspelt one stops the run (--strict-markers)."""
    assert any(line.startswith("rule(") for line in request.config.getini("markers"))
    assert "--strict-markers" in (Path(__file__).parents[3] / "pyproject.toml").read_text()
