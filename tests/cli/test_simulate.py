"""`amqp-sansio simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.testing.simulation import faulty

from amqp_sansio.cli import output, simulate
from amqp_sansio.cli.main import main
from amqp_sansio.testing import simulation
from amqp_sansio.testing.simulation import plan


def test_a_good_seed_is_reported_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--seed", "3", "--steps", "40"]) == 0
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("seed 3: ")
    assert line.endswith(": good")


def test_many_seeds_are_added_up(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["simulate", "--seeds", "1..3", "--steps", "20", "--clients", "2", "--brokers", "2"]) == 0
    assert capsys.readouterr().out.startswith("3 seeds: ")
    assert main(["simulate", "--seed", "4", "--count", "2", "--steps", "20", "--json"]) == 0
    assert [json.loads(line)["seed"] for line in capsys.readouterr().out.splitlines()] == [4, 5]


def test_progress_of_many_seeds_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where no terminal is, for instance in a log; nothing of it is among the results."""
    run = ["simulate", "--count", "2", "--steps", "5", "--clients", "1", "--brokers", "1"]
    assert main(run) == 0
    quiet = capsys.readouterr()
    assert quiet.err == ""
    monkeypatch.setattr(output, "ELSEWHERE", 0.0)
    assert main(run) == 0
    told = capsys.readouterr()
    assert told.out == quiet.out
    assert [line.partition(",")[0] for line in told.err.splitlines()] == [
        "amqp-sansio: 0 of 2 seeds",
        "amqp-sansio: 1 of 2 seeds",
    ]


def test_a_failure_is_shrunk_told_and_replayed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with faulty.loses_order():
        assert main(["simulate", "--seed", "1"]) == 1
        told = capsys.readouterr().out
        assert "order holds" in told
        assert "shrunk to " in told
        assert "message.transfer(" in told
        assert main(["simulate", "--seed", "1", "--json"]) == 1
        found = json.loads(capsys.readouterr().out)
        assert (found["ok"], found["rule"]) == (False, "order holds")
        file = tmp_path / "plan.json"
        file.write_text(json.dumps(found))
        assert main(["simulate", "--plan", str(file)]) == 1
    capsys.readouterr()
    assert main(["simulate", "--plan", str(file)]) == 0


@pytest.mark.parametrize("text", ["{}", "[]", "no json"])
def test_what_is_no_plan_is_reported(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    assert main(["simulate", "--plan", str(file)]) == 2
    assert capsys.readouterr().err == f"amqp-sansio: {file}: not a plan that `simulate --json` printed\n"
    assert main(["simulate", "--plan", "nowhere"]) == 2
    assert capsys.readouterr().err == "amqp-sansio: nowhere: cannot be read: No such file or directory\n"


@pytest.mark.parametrize(
    "wrong", [["--seeds", "3..1"], ["--seeds", "x"], ["--brokers", "3"], ["--clients", "0"], ["--steps", "-1"]]
)
def test_wrong_numbers_are_reported(wrong: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["simulate", *wrong])
    assert ended.value.code == 2


def test_its_numbers_are_those_of_the_simulation() -> None:
    assert (simulate.STEPS, simulate.MOST_CLIENTS, simulate.MOST_BROKERS) == (
        simulation.STEPS, plan.MOST_CLIENTS, plan.MOST_BROKERS
    )  # fmt: skip
