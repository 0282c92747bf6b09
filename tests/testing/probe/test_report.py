"""What a probe reports, and why it did not come to a move."""

from __future__ import annotations

import json

import pytest
from tests.testing.probe.inmemory import InMemory
from tests.testing.probe.test_prober import Forgetful, probed

from amqp_sansio.broker import Broker
from amqp_sansio.grammar.walks import transition_words
from amqp_sansio.testing.probe import Prober
from amqp_sansio.testing.probe.plans import covering
from amqp_sansio.testing.probe.report import REASONS, Example, RuleTally, missed
from amqp_sansio.testing.probe.rounds import ProbeVerdict
from amqp_sansio.testing.speech.parts import PARTS


def test_the_shortest_example_is_kept() -> None:
    long, short = Example(1, "a", ("x", "y"), b"", b""), Example(2, "a", ("x",), b"", b"")
    tally = RuleTally("rule")
    tally.add(ProbeVerdict("rule", True), long)
    tally.add(ProbeVerdict("rule", True), short)
    assert tally.example is short
    tally.add(ProbeVerdict("rule", False, "a"), long)
    assert tally.example is long
    tally.add(ProbeVerdict("rule", True), short)
    assert tally.example is long
    tally.add(ProbeVerdict("rule", False, "a"), short)
    assert tally.example is short
    assert tally.ways == {"a": short}
    assert (tally.kept, tally.broken) == (3, 2)


def test_it_is_printed_for_people_and_machines() -> None:
    report = probed("tx", 12)
    lines = report.lines(verbose=True)
    assert lines[0].startswith("12 conversations: ")
    assert "  tx: 5 of 5" in lines
    assert any("octets of the client: 414d5150" in line for line in lines)
    row = json.loads(json.dumps(report.row()))
    assert row["broken"] == 0
    assert row["coverage"] == [{"part": "tx", "covered": 5, "moves": 5, "missing": []}]


def test_broken_rules_come_first() -> None:
    report = Prober(lambda: Forgetful(Broker()), section="tx", conversations=20).run()
    lines = report.lines()
    assert lines[0] == "20 conversations: 9 rules kept, 1 broken"
    assert lines[2] == "Broken rules"
    assert lines[3].startswith("  tx.commit.select-required: broken ")
    row = report.row()
    assert row["broken"] == 1


def test_every_move_of_our_broker_is_gone_through_but_those_that_no_client_can_lead_to() -> None:
    """The conversations that are planned for moves come to all moves of what the broker has, or it is written why not."""
    broker = Broker()
    report = Prober(lambda: InMemory(broker), conversations=sum([len(covering(part)) for part in PARTS.values()])).run()
    left = {(name, each.word) for name, _, _, missing in report.coverage() for each in missing}
    assert {(name, word) for name, word in left if PARTS[name].section not in report.not_offered} == set(REASONS)


@pytest.mark.parametrize("name", PARTS)
def test_each_missing_move_has_a_reason_and_none_is_forgotten(name: str) -> None:
    """Whatever was gone through, what is left is told with a reason, and as many moves as there are."""
    part = PARTS[name]
    every = transition_words(part.client_led)
    for gone in (set(), {move for move, way in every.items() if len(way) == 1}, set(every)):
        told = missed(part, gone)
        assert sum([each.moves for each in told]) == len(every) - len(gone)
        assert all(each.why and each.word.rpartition(":")[2] in str(each) for each in told)


def test_what_lies_behind_a_move_that_was_not_made_says_so() -> None:
    """A move from a state that was never entered is put down to the word on the way that was not said."""
    (first, *_) = [each for each in missed(PARTS["tx"], ()) if each.word == "client:tx.commit"]
    assert first.why == "it follows client:tx.select, which no conversation reached"
