"""The tests on the compiled build, apart from those that cannot be about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.compiled.sources import ROOT

SMOKE: Final = ("events", "wire", "engine", "captures/columns", "captures/replay", "spark/test_cluster_compiled.py")
"""Under tests/: the core, and its way to executors, in a few minutes."""
FOLDERS: Final = (
    "kernel", "wire", "events", "tables", "engine", "captures", "broker", "properties", "witnesses", "conformance",
    "testing", "test_limits.py", "spark/test_cluster_compiled.py",
)  # fmt: skip
"""Those of what is compiled, and of what stands on it; not `spec`: its tests look at `__slots__`, which no native class has."""

APART: Final = {
    "tests/engine/test_transmit.py::test_a_body_that_changes_later_does_not_change_what_is_kept": (
        "gives a bytearray as a body, which is a TypeError at the call"
    ),
}
"""Tests that are left out, by the beginning of their name, and why.  Those that replace something inside skip themselves, see
`tools.compiled.patches`; what is different for an argument of a wrong type, tests say with `tests.builds.wrong_type`."""


def trial(out: Path, folders: tuple[str, ...], words: list[str]) -> int:
    """Runs them; `words` are for pytest, which tells how many were left out, and why.  Its exit code."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-o", f"pythonpath={out} .", "-rs"]
    command += ["--max-worker-restart", "0"]  # a crash ends the run, as a failure: with a new worker, loadfile waits for ever
    command += ["-p", "tools.compiled.patches", "-p", "no:cacheprovider", *words]
    command += [f"--deselect={name}" for name in APART]
    command += [f"tests/{name}" for name in folders if (ROOT / "tests" / name).exists()]
    path = os.pathsep.join([str(out), str(ROOT)])
    code = subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
    for name, why in APART.items():
        print(f"compiled: left out: {name}: {why}")
    return code
