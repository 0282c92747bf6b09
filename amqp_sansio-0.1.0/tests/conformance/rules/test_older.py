"""The rules that the excerpt of 0-8 and class queue of 0-9 name: what RabbitMQ was recorded to do, or what is open."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.conformance.channels import CAPTURES
from tests.conformance.test_older_words_on_captures import SPOKEN

from amqp_sansio.spec.base import Method
from amqp_sansio.spec.methods import channel, exchange, queue
from tools.docs.conformance import OlderRule, older_rules

RULES, ASSERTS = older_rules()
SHOWN = [rule for rule in (*RULES, *ASSERTS) if rule.recording]

NAMED = {"08_no", "09_no"}
"""Queues that there are not, in the recordings."""

ASKED: dict[str, Callable[[Method], bool]] = {
    "amq_exchange_05": lambda asked: isinstance(asked, exchange.Declare) and asked.passive,
    "amq_exchange_15": lambda asked: isinstance(asked, exchange.Declare) and asked.exchange == "amq.new",
    "amq_exchange_16": lambda asked: (
        isinstance(asked, exchange.Declare) and (asked.exchange, asked.type_) == ("amq.direct", "fanout")
    ),
    "amq_exchange_18": lambda asked: isinstance(asked, exchange.Declare) and asked.type_ == "nosuch",
    "amq_queue_05": lambda asked: isinstance(asked, queue.Declare) and asked.passive,
    "amq_queue_10": lambda asked: isinstance(asked, queue.Declare) and asked.queue == "",
    "assert": lambda asked: isinstance(asked, queue.Declare) and asked.queue == "",
    "amq_queue_26": lambda asked: isinstance(asked, queue.Bind) and asked.queue in NAMED,
    "amq_queue_30": lambda asked: isinstance(asked, queue.Delete) and asked.if_unused,
    "amq_queue_32": lambda asked: isinstance(asked, queue.Declare) and asked.queue == "amq.q",
}
"""What is asked where a rule counts."""


def test_every_rule_and_assert_is_shown_or_open() -> None:
    paths = [rule.path for rule in (*RULES, *ASSERTS)]
    assert len(paths) == len(set(paths))
    assert [sum(rule.path.startswith(version) for rule in RULES) for version in ("0-8:", "0-9:")] == [31, 37]
    assert [sum(rule.path.startswith(version) for rule in ASSERTS) for version in ("0-8:", "0-9:")] == [4, 2]
    for rule in (*RULES, *ASSERTS):
        assert bool(rule.recording and rule.kept) != bool(rule.open), rule.path
    assert len(SHOWN) == 14


@pytest.mark.parametrize("rule", SHOWN, ids=lambda rule: rule.path)
def test_what_is_shown_is_what_the_rule_is_about(rule: OlderRule) -> None:
    codec = SPOKEN[rule.path[:3]].codec
    asked, answered = codec.read(bytes.fromhex(rule.asked)), codec.read(bytes.fromhex(rule.answered))
    assert isinstance(asked, Method)
    assert ASKED[rule.path.rpartition(".")[2]](asked)
    code = getattr(answered, "reply_code", None)
    assert rule.answer == answered.VERB + ("" if code is None else f" {code}")
    wanted = rule.says.rpartition(" answered with ")[2].rstrip(".")
    if rule.kept and wanted != rule.says.rstrip("."):
        assert rule.answer.startswith(wanted)
    if isinstance(answered, queue.DeclareOk):
        assert answered.queue
    elif rule.answer.startswith("channel"):
        assert isinstance(answered, channel.Close)


@pytest.mark.parametrize("rule", SHOWN, ids=lambda rule: rule.path)
def test_what_is_shown_was_recorded(rule: OlderRule) -> None:
    path = CAPTURES / f"{rule.recording}.pcap"
    if not path.is_file():
        pytest.skip("the recordings are not here")
    octets = path.read_bytes()
    assert bytes.fromhex(rule.asked) in octets
    assert bytes.fromhex(rule.answered) in octets
