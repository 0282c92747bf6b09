"""The page of walks is what a tracer sees in a real run."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import walks
from tools.size import ROOT


def test_the_page_is_what_the_tracer_prints() -> None:
    """In a process of its own: what an earlier test has made ready is not entered again."""
    done = subprocess.run([sys.executable, "-m", "tools.walks"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert walks.PAGE.read_text(encoding="utf-8") == done.stdout, "python -m tools.walks --write"


def module(folder: Path, name: str, text: str) -> dict[str, Callable[..., None]]:
    made: dict[str, Callable[..., None]] = {}
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(text)
    exec(compile(text, str(folder / name), "exec"), made)
    return made


def test_a_call_back_up_is_found_and_rooms_that_do_not_count_are_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(walks, "SOURCES", tmp_path)
    walks.counted.cache_clear()
    try:
        below = module(tmp_path, "wire/below.py", "def work(then):\n    then()\n")
        between = module(tmp_path, "kernel/between.py", "def work(then):\n    then()\n")
        text = "def again(): ...\ndef start(below, between):\n    between(again)\n    below(again)\n    again()\n"
        above = module(tmp_path, "engine/above.py", text)
        walk = walks.trace(lambda: above["start"](below["work"], between["work"]))
    finally:
        walks.counted.cache_clear()
    assert walk.files == {"engine/above.py": "start", "wire/below.py": "work"}
    assert list(walk.climbs) == [("wire/below.py work", "engine/above.py again")]


def test_every_reason_is_needed_and_a_call_without_one_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    page = walks.PAGE.read_text(encoding="utf-8")
    assert [callee for callee in walks.CLIMBS if f"calls `{callee}`" not in page] == []
    assert [title for title, reason in walks.LONG.items() if f"more than {walks.MOST}: {reason}" not in page] == []
    monkeypatch.setattr(walks, "CLIMBS", {})
    with pytest.raises(KeyError, match=r"Subscriptions\.named"):
        walks.told("Credit granted", walks.grant)
