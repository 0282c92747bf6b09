"""What a run of the tests says at its end."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from tests.conftest import pytest_terminal_summary


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
