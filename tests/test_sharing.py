"""Several processes get the longest files first, and what is dear to make once."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from tests import sharing
from tests.sharing import DEAR, LONGEST, longest, scheduler, share_of

ROOT = Path(__file__).resolve().parents[1]


@pytest.mark.parametrize("name", LONGEST)
def test_what_takes_longest_is_there(name: str) -> None:
    assert name in DEAR or (ROOT / name).is_file()


@pytest.mark.parametrize("asked", DEAR)
def test_a_test_asks_for_what_is_dear(asked: str) -> None:
    assert any(asked in path.read_text(encoding="utf-8") for path in ROOT.glob("tests/*/test_*.py"))


def test_files_that_ask_for_what_is_dear_belong_together(tmp_path: Path) -> None:
    one, other, plain = (tmp_path / f"test_{name}.py" for name in ("one", "other", "plain"))
    for path in (one, other):
        path.write_text(f"def test_it({DEAR[0]}) -> None: ...")
    plain.write_text("def test_it() -> None: ...")
    assert [share_of(path, path.name) for path in (one, other, plain)] == [DEAR[0], DEAR[0], plain.name]


def test_what_takes_longest_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharing, "LONGEST", ("a", "b"))
    assert [longest(waiting) for waiting in (["c", "b", "a"], ["c", "b"], ["c"])] == ["a", "b", None]


def test_a_worker_gets_the_longest_file_that_waits(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of files with a test each, two of which are long and come last of themselves."""
    pytest.importorskip("xdist")
    monkeypatch.setattr(sharing, "LONGEST", ("test_5.py", "test_3.py"))
    names = [f"test_{number}.py" for number in range(6)]
    for name in names:
        (tmp_path / name).write_text("")
    node = Worker()
    options = SimpleNamespace(loadscopereorder=True)
    config: Any = SimpleNamespace(rootpath=tmp_path, option=options, getvalue=lambda name: ["popen"])
    made = scheduler(config, None)
    made.add_node(node)
    made.add_node_collection(node, [f"{name}::test_it" for name in names])
    made.schedule()
    while made.has_pending and len(node.sent) < len(names):
        made.mark_test_complete(node, next(at for at in node.sent if not done(made, node, names[at])))
    assert node.sent == [5, 3, 0, 1, 2, 4]


class Worker:
    """What the scheduler knows of a process: to which tests it has sent it."""

    shutting_down = False

    def __init__(self) -> None:
        self.sent: list[int] = []

    def send_runtest_some(self, indices: list[int]) -> None:
        self.sent += indices


def done(made: Any, node: Any, name: str) -> bool:
    """Whether the one test of a file has been run."""
    return all(made.assigned_work[node][name].values())
