"""The main job: what it prints, and that it says so when something is wrong."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from amqp_sansio.cli import run as job
from amqp_sansio.cli import served
from amqp_sansio.cli.link_demo import Crossing, DemoOutcome
from amqp_sansio.cli.main import main


def test_the_main_job_reads_judges_and_crosses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run"]) == 0
    out = capsys.readouterr().out
    assert "message.transfer #2!" in out
    assert "connection.tune-ok.channel-max.upper-limit" in out
    assert "the link is cut" in out
    assert "24 messages of 24, none lost, none twice, in order" in out
    assert "Every message arrived once and in order.\n" in out
    assert "500 messages of 500, none lost, none twice, in order" in out
    assert out.endswith("Nothing that was completed is lost.\n")


def test_the_same_seed_prints_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in ("5", "5", "6"):
        main(["run", "--seed", seed])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]


def test_a_lost_or_doubled_message_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    class Worse(Crossing):
        def run(self) -> DemoOutcome:
            outcome = super().run()
            return attrs.evolve(outcome, received=(*outcome.received[1:], outcome.received[3]))

    monkeypatch.setattr(job, "Crossing", Worse)
    assert main(["run"]) == 1
    out = capsys.readouterr().out
    assert "1 lost, 1 twice, OUT OF ORDER" in out
    assert "SOMETHING IS WRONG" in out


def test_a_broker_that_loses_something_is_reported(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        served, "tell", lambda messages: served.RestartStory(confirmed=messages, received=(b"order 0",), ended=0)
    )
    assert main(["run"]) == 1
    assert "1 messages of 500, 499 lost" in capsys.readouterr().out


@pytest.mark.parametrize("right", [True, False])
def test_the_tables_of_both_engines_are_held_against_each_other(
    right: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Here both are this process: what Spark gives, tests/spark looks at."""
    pytest.importorskip("matplotlib", reason="the extra [report] is not installed")

    def instead(words: list[str]) -> int:
        if words[0] == "analyze" and "--engine" not in words:
            return main([*words, "--engine", "local"])
        return main(words if right else [word for word in words if "badopen" not in word])

    assert job._tables(str(tmp_path / "out"), instead) == (0 if right else 1)
    out = capsys.readouterr().out
    assert ("THE ROWS DIFFER" in out) == (not right)
    assert ("Both gave the same 119 rows." in out) == right
    assert f"The page made of them: {tmp_path / 'out' / 'report.html'}\n" in out
