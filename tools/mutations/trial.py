"""Tries one fault in a copy of the tree, and checks whether its tests notice."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import time
from pathlib import Path
from typing import Final, NamedTuple

from tools.mutations.covering import Covering, command, environment
from tools.mutations.faults import Fault

COPIED: Final = ("src", "tests", "tools", "fuzz", "bench", "pyproject.toml")
LEFT_OUT: Final = ("__pycache__", "*.pyc", ".hypothesis", "out", "failures", "node_modules", "*.egg-info")
MEMORY: Final = 4 << 30
"""The most octets of memory for a run of tests."""
CALM: Final = 20.0
"""The least time limit of a run in seconds, whatever was measured."""


class Verdict(NamedTuple):
    """The verdict on a fault: "killed", "hung" (also noticed) or "survived"; by which test, and in how many seconds."""

    fault: Fault
    outcome: str
    by: str
    seconds: float
    tests: int
    """How many tests could have noticed it."""


def copied(tree: Path, to: Path) -> Path:
    """Makes a new copy of what the tests need."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir(parents=True)
    for name in COPIED:
        path = tree / name
        if path.is_dir():
            shutil.copytree(path, to / name, ignore=shutil.ignore_patterns(*LEFT_OUT))
        elif path.is_file():
            shutil.copy2(path, to / name)
    return to


class Trials:
    """Injects faults into one copy, one at a time."""

    def __init__(self, tree: Path, copy: Path, covering: Covering) -> None:
        self.copy: Final = copied(tree, copy)
        self.covering: Final = covering
        self._moment = 0

    def tried(self, fault: Fault) -> Verdict:
        """Injects it, runs its tests up to the first failure, and removes it again."""
        first, rest = self.covering.tests(fault)
        path = self.copy / fault.path
        right = path.read_bytes()
        stamp = path.stat()
        started = time.monotonic()
        outcome, by = "survived", ""
        path.write_bytes(fault.applied(right))
        # A distinct mtime, so that bytecode of another fault of the same size is not reused.
        self._moment += 1
        os.utime(path, (stamp.st_atime, int(stamp.st_mtime) + self._moment))
        try:
            for tests in (first, rest):
                if tests and outcome == "survived":
                    outcome, by = self._run(tests)
        finally:
            path.write_bytes(right)
            os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
        return Verdict(fault, outcome, by, time.monotonic() - started, len(first) + len(rest))

    def _run(self, tests: list[str]) -> tuple[str, str]:
        only = self.copy.resolve() / "only.txt"
        only.write_text("\n".join(tests), encoding="utf-8")
        files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
        most = int(CALM + 10 * sum([self.covering.seconds[test] for test in tests]))

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (most, most + 5))
            resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

        try:
            run = subprocess.run(
                command("-x", "-rfE", *files), cwd=self.copy, env=environment(MUTATIONS_ONLY=str(only)), preexec_fn=limited,
                capture_output=True, text=True, errors="replace", check=False, timeout=most * 6,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return "hung", "no end"
        if run.returncode < 0:
            return "hung", f"signal {-run.returncode}"
        if run.returncode in (0, 5):
            return "survived", ""
        told = [line for line in run.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return "killed", told[0].split(" ")[1] if told else "not even read"
