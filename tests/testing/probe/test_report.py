"""What is told of a probe."""

from __future__ import annotations

import json

from tests.testing.probe.test_prober import Forgetful, probed

from amqp_sansio.broker import Broker
from amqp_sansio.testing.probe import Prober
from amqp_sansio.testing.probe.judging import Finding
from amqp_sansio.testing.probe.report import Example, Tally


def test_the_shortest_example_is_kept() -> None:
    long, short = Example(1, "a", ("x", "y"), b"", b""), Example(2, "a", ("x",), b"", b"")
    tally = Tally("rule", long)
    tally.add(Finding("rule", True), long)
    tally.add(Finding("rule", True), short)
    assert tally.example is short
    tally.add(Finding("rule", False, "a"), long)
    assert tally.example is long
    tally.add(Finding("rule", True), short)
    assert tally.example is long
    tally.add(Finding("rule", False, "a"), short)
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
