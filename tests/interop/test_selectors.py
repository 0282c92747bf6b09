"""Our selectors and Broker-J's: the same messages, or a difference that is on the list with its reason."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from tests.interop.conftest import have

from amqp_sansio.broker.selectors.expressions import SelectorError, SelectorValue
from amqp_sansio.broker.selectors.parser import Selector
from tools.interop.peers import CACHE
from tools.interop.selectors.answers import answers
from tools.interop.selectors.dialect import Raised, evaluate
from tools.interop.selectors.samples import Samples

MANY = 10_000


def test_generated_selectors_select_the_same_messages_or_differ_as_the_list_says() -> None:
    have("broker_j")
    samples = Samples(1)
    asked = [(samples.selector(), samples.message()) for _ in range(MANY)]
    same = 0
    for (text, message), theirs in zip(asked, answers(CACHE / "broker_j", asked), strict=True):
        selector = Selector(text)
        if str(selector.selects(message.get)).lower() == theirs:
            same += 1
        else:
            assert _as_they_do(selector, message) == theirs.split()[0], f"{text} of {dict(message)}: {theirs}"
    print(f"{same} of {MANY} the same, {MANY - same} differ as the list says")
    assert same > MANY * 0.8


def _as_they_do(selector: Selector, message: Mapping[str, SelectorValue]) -> str:
    try:
        return "true" if evaluate(selector.condition, message.get) is True else "false"
    except Raised:
        return "raised"


REFUSED_BY_BOTH = (
    "a =",
    "a = 'b' 'c'",
    "(a = 1",
    "a IN ()",
    "a IN (1)",
    "a LIKE b",
    "a NOT = 1",
    "a IS 1",
    "NULL = 1",
    "a > 'b'",
    "TRUE <= a",
    "5",
    "'a'",
    "a = 1 AND",
    "= 1",
    "a == 1",
    "a != 1",
    "a = 'b",
    "a BETWEEN 1",
    "a BETWEEN 1 AND",
    "a NOT",
    "NOT",
    "a b",
    "a # 1",
)


@pytest.mark.parametrize("text", REFUSED_BY_BOTH)
def test_what_is_no_selector_is_refused_by_both(text: str) -> None:
    have("broker_j")
    (theirs,) = answers(CACHE / "broker_j", [(text, {})])
    assert theirs.startswith("refused")
    with pytest.raises(SelectorError):
        Selector(text)


ONLY_THEIRS = {
    "a % 2 = 1": "remainders",
    '"a" = 1': "identifiers in quotes",
    "a = 1 = TRUE": "comparisons of comparisons",
    "a = 1 /* all */": "comments",
    "a LIKE 'x!y' ESCAPE '!'": "an escape where there is nothing to escape",
}
"""What Broker-J takes beyond JMS 1.1 and we refuse, so that nobody relies here on what other brokers read otherwise."""


@pytest.mark.parametrize("text", ONLY_THEIRS)
def test_what_broker_j_takes_beyond_the_specification_we_refuse(text: str) -> None:
    have("broker_j")
    (theirs,) = answers(CACHE / "broker_j", [(text, {})])
    assert theirs in ("true", "false")
    with pytest.raises(SelectorError):
        Selector(text)


@pytest.mark.parametrize(
    ("text", "ours", "theirs"),
    [
        ("NOT TRUE OR TRUE", True, "false"),
        ("a = a", False, "true"),
        ("1 <> 'a'", False, "true"),
        ("5 / 2 = 2", True, "false"),
        ("2147483647 + 1 > 0", True, "false"),
        ("", True, "refused ParseException"),
        ("a.b IS NULL", True, "refused TokenMgrError"),
    ],
)
def test_differences_that_a_user_may_meet(text: str, ours: bool, theirs: str) -> None:
    have("broker_j")
    assert answers(CACHE / "broker_j", [(text, {})]) == [theirs]
    assert Selector(text).selects(lambda name: None) is ours
