"""pamqp and pika as witnesses: the tests that hold our codec of 0-9-1 against theirs, where these are installed."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HELD_AGAINST_THEIRS = ("tests/wire/layouts/test_pamqp.py", "tests/wire/test_field_tables_elsewhere.py")


def test_other_codecs_of_0_9_1_agree_but_for_what_is_listed(codecs: Path) -> None:
    path = os.pathsep.join([str(codecs), str(ROOT / "src"), str(ROOT)])
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", *HELD_AGAINST_THEIRS]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    last = done.stdout.splitlines()[-1]
    assert re.search(r"\d+ passed", last), last
    assert "skipped" not in last, "what needs them was not run"
