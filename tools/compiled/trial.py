"""The tests on the compiled build, apart from those that cannot be about it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

from tools.compiled.sources import ROOT

FOLDERS: Final = ("wire", "kernel", "tables", "events", "engine", "captures", "broker", "conversation", "properties", "testing")
"""Under tests/."""

APART: Final[dict[str, str]] = {}
"""Tests that are left out by the beginning of their name, and why."""


def trial(out: Path, words: list[str]) -> int:
    """Runs them; `words` are for pytest.  The exit code of pytest."""
    command = [sys.executable, "-m", "pytest", "-n", "2", "--dist", "loadfile", "-o", f"pythonpath={out} ."]
    command += [f"--deselect={name}" for name in APART]
    command += words or [f"tests/{name}" for name in FOLDERS if (ROOT / "tests" / name).is_dir()]
    path = os.pathsep.join([str(out), str(ROOT)])
    return subprocess.run(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, check=False).returncode
