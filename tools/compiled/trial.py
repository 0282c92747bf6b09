"""Runs the tests on the compiled build, except those that cannot apply to it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.compiled.sources import ROOT

SMOKE: Final = ("events", "wire", "engine", "captures/columns", "captures/replay", "spark/test_cluster_compiled.py")
"""Under tests/: the core, and its way to Spark executors, in a few minutes."""
FOLDERS: Final = (
    "kernel", "wire", "events", "tables", "engine", "captures", "broker", "properties", "witnesses", "conformance",
    "testing", "test_limits.py", "spark/test_cluster_compiled.py",
)  # fmt: skip
"""The tests of compiled modules and their users; not `spec`, whose tests look at `__slots__`, which native classes lack."""

APART: Final = {
    "tests/engine/test_outbound.py::test_a_body_that_changes_later_does_not_change_what_is_kept": (
        "gives a bytearray as a body, which is a TypeError at the call"
    ),
}
"""Tests that are left out, by prefix of their name, with reasons.

Tests that replace something inside skip themselves, see `tools.compiled.patches`; where the result differs for an argument of a
wrong type, tests use `tests.builds.wrong_type`.
"""


def trial(out: Path, folders: tuple[str, ...], words: list[str]) -> int:
    """Runs them and returns the exit code; `words` are for pytest, which prints how many were left out, and why."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-o", f"pythonpath={out} .", "-rs"]
    command += ["--max-worker-restart", "0"]  # a crash fails the run: with a new worker, loadfile would wait forever
    command += ["-p", "tools.compiled.patches", "-p", "no:cacheprovider", *words]
    command += [f"--deselect={name}" for name in APART]
    command += [f"tests/{name}" for name in folders if (ROOT / "tests" / name).exists()]
    path = os.pathsep.join([str(out), str(ROOT)])
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
    for name, why in APART.items():
        print(f"compiled: left out: {name}: {why}")
    return code
