"""The tests that run each line: measured once, and again for test files that changed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from tools.mutations.choice import PACKAGE, room_of
from tools.mutations.faults import Fault

TESTS: Final = (
    "kernel", "tables", "grammar", "witnesses", "wire", "ledger", "engine", "broker", "conformance", "conversation/channels",
    "captures/replay", "captures/columns", "testing/speech", "testing/strategies", "kept", "test_limits.py",
)  # fmt: skip
"""The folders of tests, and files, that may notice a fault."""
ALWAYS: Final = {"tables": ("tests/witnesses/test_sections.py", "tests/tables")}
"""Tests that check a room as a whole: tables are rows, which are made at import, before any test."""
SECONDS: Final = 40.0
"""The most seconds for the tests of one fault, as measured without it."""


FRAIL: Final = 5
"""How many tests may fail under measurement, because they measure something themselves; they are then excluded."""


class Unsound(Exception):
    """The tests fail without a fault."""


def environment(**more: str) -> dict[str, str]:
    """Returns the environment of a test run in a copy of the tree: nothing is reduced."""
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("MUTATIONS_")},
        "PYTHONHASHSEED": "0",
        "AMQP_PROFILE": "mutations",
        "PYTHONPATH": os.pathsep.join(["src", "."]),
        **more,
    }


def command(*arguments: str) -> list[str]:
    """Returns the command that runs tests."""
    flags = ["-q", "--no-header", "--tb=no", "--assert=plain", "-p", "no:cacheprovider", "-p", "tools.mutations.listening"]
    return [sys.executable, "-m", "pytest", *flags, *arguments]


def _digest(tree: Path, paths: Iterable[Path]) -> str:
    found = hashlib.sha256()
    for path in paths:
        found.update(path.relative_to(tree).as_posix().encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def mirror(path: str) -> str:
    """Returns the path of a module's tests."""
    folder, _, name = path.removeprefix(f"{PACKAGE}/").rpartition("/")
    return f"tests/{folder}/test_{name}"


class Covering:
    """For every line, the tests that run it, with the seconds that each takes."""

    def __init__(self, tree: Path, keep: Path, workers: int = 1) -> None:
        """`tree` is read; the folder `keep` stores the map; `workers` processes measure in parallel."""
        self.tree: Final = tree
        self.keep: Final = keep
        self.workers: Final = workers
        self.seconds: Final[dict[str, float]] = {}
        self.lines: Final[dict[tuple[str, int], list[str]]] = {}

    def measure(self) -> int:
        """Measures the test files that have changed, or all when a module has; returns how many.  Raises Unsound."""
        modules = _digest(self.tree, sorted((self.tree / PACKAGE).rglob("*.py")))
        places = [self.tree / "tests" / place for place in TESTS]
        files = [path for place in places for path in ([place] if place.is_file() else sorted(place.rglob("test_*.py")))]
        known: dict[str, dict[str, Any]] = {}
        stale: list[str] = []
        for path in files:
            name = path.relative_to(self.tree).as_posix()
            kept = self.keep / f"{name.replace('/', '.')}.json"
            found = json.loads(kept.read_text()) if kept.is_file() else {}
            if found.get("of") == f"{modules} {_digest(self.tree, [path])}":
                known[name] = found
            else:
                stale.append(name)
        parts = [stale[number :: self.workers] for number in range(self.workers)]
        with ThreadPoolExecutor(self.workers) as pool:
            for found in pool.map(lambda part: self._measured(part, modules) if part else {}, parts):
                known.update(found)
        for found in known.values():
            names = [name for name, _ in found["tests"]]
            self.seconds.update(dict(found["tests"]))
            for path, lines in found["lines"].items():
                for line, tests in lines.items():
                    self.lines.setdefault((path, int(line)), []).extend([names[test] for test in tests])
        return len(stale)

    def _measured(self, files: list[str], modules: str) -> dict[str, dict[str, Any]]:
        self.keep.mkdir(parents=True, exist_ok=True)
        out = (self.keep / f"measured-{_digest(self.tree, [self.tree / file for file in files])[:12]}.json").resolve()
        run = subprocess.run(
            command(*files), cwd=self.tree, env=environment(MUTATIONS_MAP=str(out), AMQP_PROFILE="glance"), capture_output=True,
            text=True, check=False,
        )  # fmt: skip
        heard = json.loads(out.read_text()) if out.is_file() else {"failed": []}
        out.unlink(missing_ok=True)
        if not heard.get("tests") or len(heard["failed"]) > FRAIL:  # none at all: a test file could not be imported
            raise Unsound(f"the tests fail without any fault:\n{run.stdout[-2000:]}{run.stderr[-2000:]}")
        names = [name for name, _ in heard["tests"]]
        found: dict[str, dict[str, Any]] = {}
        for file in files:
            numbers = [n for n, name in enumerate(names) if name.startswith(f"{file}::") and name not in heard["failed"]]
            own = {number: place for place, number in enumerate(numbers)}
            lines: dict[str, dict[str, list[int]]] = {}
            for path, each in heard["lines"].items():
                kept = {line: [own[test] for test in tests if test in own] for line, tests in each.items()}
                lines[path] = {line: tests for line, tests in kept.items() if tests}
            found[file] = {
                "of": f"{modules} {_digest(self.tree, [self.tree / file])}",
                "tests": [heard["tests"][number] for number in own],
                "lines": {path: each for path, each in lines.items() if each},
            }
            (self.keep / f"{file.replace('/', '.')}.json").write_text(json.dumps(found[file]))
        return found

    def tests(self, fault: Fault) -> tuple[list[str], list[str]]:
        """Returns the tests for a fault: those of the mirrored test file, and the others, the quickest first.

        They run its lines; if no test does (code that runs at import), any line of the module.
        """
        lines = range(fault.line, fault.line + fault.text.count("\n") + 1)
        found = self._through((fault.path, line) for line in lines)
        if not found:
            found = self._through(place for place in self.lines if place[0] == fault.path)
        always = [name for name in self.seconds if name.startswith(ALWAYS.get(room_of(fault.path), ("-",)))]
        own = mirror(fault.path)
        first = [name for name in self.seconds if name.startswith(f"{own}::") and (not found or name in {*found, *always})]
        rest: list[str] = []
        spent = 0.0
        for name in [*always, *sorted(found - set(always), key=lambda name: (self.seconds[name], name))]:
            if name not in first and spent < SECONDS:
                rest.append(name)
                spent += self.seconds[name]
        return first, rest

    def _through(self, places: Iterable[tuple[str, int]]) -> set[str]:
        return {name for place in places for name in self.lines.get(place, ())}
