"""A downstream user's program is checked by mypy strictly: what is right passes, and each wrong line is found.

A wrong line ends in `# wrong: code`, the error code that mypy must report there; it must report nothing else.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FOUND = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+): error: .*\[(?P<code>[a-z-]+)\]$")
MARKED = re.compile(r"# wrong: ([a-z-]+)$")


def test_mypy_passes_what_is_right_and_finds_what_is_wrong() -> None:
    right, wrong = sorted(HERE.glob("right/*.py")), sorted(HERE.glob("wrong/*.py"))
    assert right
    assert wrong
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", *map(str, [*right, *wrong])],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    found = set()
    for line in done.stdout.splitlines():
        match = FOUND.match(line)
        if match:
            found.add((Path(match["path"]).name, int(match["line"]), match["code"]))
    expected = {
        (path.name, number, marked[1])
        for path in wrong
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if (marked := MARKED.search(line))
    }
    assert expected
    assert found == expected, done.stdout + done.stderr
