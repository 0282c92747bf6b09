"""A downstream user's program is checked by mypy and by pyright, strictly: what is right passes, and each wrong line is found.

A wrong line ends in `# wrong: code`, the error code that mypy must report there; both must report nothing else.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
FOUND = re.compile(r"^(?P<path>[^:]+):(?P<line>\d+): error: .*\[(?P<code>[a-z-]+)\]$")
MARKED = re.compile(r"# wrong: ([a-z-]+)$")


RIGHT, WRONG = sorted(HERE.glob("right/*.py")), sorted(HERE.glob("wrong/*.py"))
MARKS = {
    (path.name, number, marked[1])
    for path in WRONG
    for number, line in enumerate(path.read_text().splitlines(), 1)
    if (marked := MARKED.search(line))
}


def told(*words: str) -> str:
    """What a type checker writes about the programs."""
    command = [sys.executable, "-m", *words, *map(str, [*RIGHT, *WRONG])]
    return subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False).stdout


def test_mypy_passes_what_is_right_and_finds_what_is_wrong() -> None:
    assert RIGHT
    assert MARKS
    text = told("mypy", "--no-error-summary", "--hide-error-context")
    matches = [match for line in text.splitlines() if (match := FOUND.match(line))]
    assert {(Path(match["path"]).name, int(match["line"]), match["code"]) for match in matches} == MARKS, text


def test_so_does_pyright() -> None:
    text = told("basedpyright", "--pythonpath", sys.executable, "--outputjson")
    found = {
        (Path(each["file"]).name, each["range"]["start"]["line"] + 1)
        for each in json.loads(text)["generalDiagnostics"]
        if each["severity"] == "error"
    }
    assert found == {(name, line) for name, line, _ in MARKS}, text
