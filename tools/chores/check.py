"""`make check` runs every check, shows all findings, and ends with one verdict."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[2]
BIN: Final = Path(sys.executable).parent
TYPED: Final = ("src", "tests", "tools", "bench", "fuzz")

CHECKS: Final[tuple[tuple[str, tuple[str, ...]], ...]] = (
    ("style", (str(BIN / "ruff"), "check", ".")),
    ("format", (str(BIN / "ruff"), "format", "--check", ".")),
    ("types", (sys.executable, "-m", "mypy", *TYPED)),
    ("types of the snippets", (sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/docs/snippet_types.py")),
    ("types of the examples, by pyright", (sys.executable, "-m", "basedpyright", "--pythonpath", sys.executable)),
    ("imports", (str(BIN / "lint-imports"), "--no-cache")),
    ("generated code", (sys.executable, "-m", "tools.codegen", "--check")),
    ("docs", (sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict")),
)


def main() -> int:
    """Returns 0 if no check found anything, otherwise 1."""
    failed: list[str] = []
    for number, (name, command) in enumerate(CHECKS, 1):
        print(f"check {number}/{len(CHECKS)} {name} ...", end=" ", flush=True)
        started = time.monotonic()
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        print("ok" if done.returncode == 0 else "FINDINGS", f"({time.monotonic() - started:.0f} s)", flush=True)
        if done.returncode != 0:
            failed.append(name)
            print((done.stdout + done.stderr).rstrip(), flush=True)
    print(f"check: found something in: {', '.join(failed)}" if failed else "check: all good")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
