"""Recordings of the Java client and broker: what decode and check make of peers that the machines were not built beside."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from amqp_sansio.cli.main import main

JMS = Path(__file__).parents[1] / "data" / "captures" / "jms"
EXPECTED = json.loads((JMS / "expected.json").read_text())


@pytest.mark.parametrize("name", EXPECTED)
def test_counts_per_speaker_and_verb(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--json", str(JMS / name)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    counted: dict[str, Counter[str]] = {"C": Counter(), "S": Counter()}
    for row in rows:
        assert row["kind"] != "opaque"
        assert row["complete"]
        if row["verb"] is not None:
            counted[row["speaker"]][row["verb"]] += 1
    assert counted == EXPECTED[name]["operations"]
    assert len({row["connection"] for row in rows}) == EXPECTED[name]["connections"]


@pytest.mark.parametrize("name", EXPECTED)
def test_nobody_is_accused(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--json", str(JMS / name)]) == 0
    verdicts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [verdict["verdict"] for verdict in verdicts] == ["clean"] * EXPECTED[name]["connections"]
    notes = [finding["rule"] for verdict in verdicts for finding in verdict["findings"]]
    assert bool(notes) == (name == "err.pcap")
    assert notes.count("execution.exception") == (2 if name == "err.pcap" else 0)
