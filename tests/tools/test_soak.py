"""`make soak` runs every form that `make test` leaves to it."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tools.chores import soak

TESTS = Path(__file__).parents[1]


def test_all_that_is_marked_is_run_with_the_profile_that_takes_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    ran: list[Sequence[str]] = []

    def passes(command: Sequence[str], environment: Mapping[str, str], seconds: float | None = None) -> bool:
        assert environment["AMQP_PROFILE"] == "soak"
        ran.append(command)
        return True

    monkeypatch.setattr(soak, "passes", passes)
    monkeypatch.setattr(soak, "STATE", tmp_path / "out" / "soak.json")
    monkeypatch.setattr(sys, "argv", ["soak", "--seconds", "0.1"])
    assert soak.main() == 0
    properties = next(command for command in ran if "hypothesis" in command)
    assert properties[properties.index("hypothesis") - 1] == "-m"
    assert not any(word.startswith("tests") for word in properties), "all tests are looked through"
    marked = next(command for command in ran if "soak" in command)
    assert marked[marked.index("soak") - 1] == "-m"
    assert not any(word.startswith("tests") for word in marked), "all tests are looked through"
    words = {word for command in ran for word in command}
    for path in TESTS.rglob("test_*.py"):
        if 'environ.get("AMQP_PROFILE") == "soak"' in path.read_text() and path != Path(__file__):
            name = path.relative_to(TESTS.parent).as_posix()
            assert any(name.startswith(word) for word in words if word.startswith("tests/")), (
                f"nobody runs the long form of {name}"
            )
