"""One word for each chore: the words exist, say what is missing in one line, and tell «not run» from «failed»."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
WORDS = ("run", "test", "check", "bench", "bench-spark", "fuzz", "soak", "interop", "docs", "changelog")


@pytest.mark.parametrize("word", WORDS)
def test_the_makefile_knows_the_word(word: str) -> None:
    assert re.search(rf"^{word}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.skipif(shutil.which("make") is None, reason="no make here")
def test_what_is_compiled_is_kept_whatever_the_shell_says() -> None:
    """Where the shell says otherwise each process that a test starts would compile all sources again."""
    asked = ["make", "-s", "--eval", 'said:; @echo "<$$PYTHONDONTWRITEBYTECODE>"', "said"]
    environment = {"PATH": os.environ["PATH"], "PYTHONDONTWRITEBYTECODE": "1"}
    assert subprocess.run(asked, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout == "<>\n"


@pytest.mark.parametrize("path", [".ci/run", "tools/chores/set-up"])
def test_a_script_can_be_run(path: str) -> None:
    assert os.access(ROOT / path, os.X_OK)
    assert (ROOT / path).read_text().startswith("#!/bin/bash\n")


def set_up(tmp_path: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(ROOT / "tools/chores/set-up"), "nothing"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_is_missing_is_named_in_one_line(tmp_path: Path) -> None:
    done = set_up(tmp_path, PYTHON="no-such-python")
    assert done.returncode == 1
    assert done.stderr.splitlines() == ["set-up: missing: Python 3.11 or later (python3), its venv module (python3-venv)"]


@pytest.mark.parametrize(("words", "code", "said"), [
    ("WARNING: Retrying (Retry(total=1)) after connection broken by 'NewConnectionError'", 75, "NOT RUN"),
    ("ERROR: Failed building wheel for something", 1, "pip failed"),
])  # fmt: skip
def test_a_registry_that_does_not_answer_is_not_a_failure(tmp_path: Path, words: str, code: int, said: str) -> None:
    # A python that has a pip which says these words and fails.
    fake = tmp_path / "venv" / "bin" / "python"
    fake.parent.mkdir(parents=True)
    fake.write_text(f'#!/bin/bash\n[ "$3" = --version ] && exit 0\n[ "$2" = pip ] && {{ echo "{words}"; exit 1; }}\nexit 0\n')
    fake.chmod(0o755)
    done = set_up(tmp_path, PYTHON=str(fake), VENV="venv")
    assert done.returncode == code, done.stderr
    assert said in done.stderr
    assert (tmp_path / ".not-run").exists() == (code == 75)


def test_no_file_names_the_host_of_a_registry() -> None:
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    hosts = [name.encode() for name in ("py" + "pi.org", "python" + "hosted.org", "test.py" + "pi")]
    found = []
    for name in tracked.stdout.split("\0"):
        path = ROOT / name
        if path.is_file():
            octets = path.read_bytes()
            found += [f"{name}: {host.decode()}" for host in hosts if host in octets]
    assert found == []
