"""Generated code is committed, fresh and never edited by hand."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_generated_files_are_what_the_generator_writes_now() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tools.codegen", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
