"""What a run of the tests says at its end."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest
from tests.conftest import (
    pytest_collection,
    pytest_collection_modifyitems,
    pytest_runtest_teardown,
    pytest_terminal_summary,
)


def said(monkeypatch: pytest.MonkeyPatch, peers: str, *reasons: str) -> list[str]:
    monkeypatch.setenv("AMQP_INTEROP", peers)
    lines: list[str] = []
    skipped = [SimpleNamespace(longrepr=("file.py", 1, f"Skipped: {reason}")) for reason in reasons]
    reporter: Any = SimpleNamespace(stats={"skipped": skipped}, write_line=lines.append)
    pytest_terminal_summary(reporter)
    return lines


def test_it_says_what_it_left_out_and_why(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, "1", "no Java", "no Java", "zstd") == ["left out: 2 tests: no Java", "left out: 1 test: zstd"]


def test_it_says_that_real_peers_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    assert said(monkeypatch, "") == ["left out: tests with real brokers, clients and browsers: make interop runs them"]
    assert said(monkeypatch, "1") == []


@pytest.mark.parametrize(("profile", "kept"), [("ci", ["quick"]), ("soak", ["quick", "slow"])])
def test_slow_forms_wait_for_soak(monkeypatch: pytest.MonkeyPatch, profile: str, kept: list[str]) -> None:
    monkeypatch.setenv("AMQP_PROFILE", profile)
    left_out: list[Any] = []
    config: Any = SimpleNamespace(hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)))
    items: list[Any] = [
        SimpleNamespace(name=name, get_closest_marker=lambda marker, name=name: marker == "soak" and name == "slow")
        for name in ("quick", "slow")
    ]
    every = [each.name for each in items]
    pytest_collection_modifyitems(config, items)
    assert [each.name for each in items] == kept
    assert sorted(each.name for each in [*items, *left_out]) == sorted(every)


def test_nothing_is_looked_through_while_tests_are_collected() -> None:
    around = pytest_collection()
    next(around)
    while_collecting = gc.isenabled()
    with pytest.raises(StopIteration):
        around.send(None)
    assert (while_collecting, gc.isenabled()) == (False, True)


@pytest.mark.parametrize(("following", "frozen"), [("one", False), ("other", True), (None, True)])
def test_what_a_file_leaves_behind_is_looked_through_no_more(following: str | None, frozen: bool) -> None:
    item: Any = SimpleNamespace(path="one")
    after: Any = SimpleNamespace(path=following) if following else None
    before, left = gc.get_freeze_count(), [[number] for number in range(1000)]
    around = pytest_runtest_teardown(item, after)
    next(around)
    with pytest.raises(StopIteration):
        around.send(None)
    assert (gc.get_freeze_count() > before + len(left)) is frozen
