"""Measures what a broker of its own costs each of a hundred tests: `python -m bench.fixture` runs it alone."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Final

from bench.harness import progress

TESTS: Final = 100
TARGET: Final = 5.0
"""Seconds that these tests may take beyond their own."""
_TEXT: Final = "import pytest\n@pytest.mark.parametrize('number', range({count}))\ndef test_one(number{fixture}):\n    pass\n"


def _seconds(folder: Path, fixture: str) -> float:
    (folder / "test_cost.py").write_text(_TEXT.format(count=TESTS, fixture=fixture))
    plugins = ("-p", "amqp_sansio_pytest", "-p", "no:cacheprovider")
    started = time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *plugins, "test_cost.py"],
        cwd=folder, check=True, stdout=subprocess.DEVNULL,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
    )  # fmt: skip
    return time.monotonic() - started


def cost() -> list[str]:
    """Prints the extra time of a hundred tests with `amqp_broker`; returns the target if it was missed."""
    with tempfile.TemporaryDirectory() as folder:
        progress("a broker for each of a hundred tests")
        without, beside = (min(_seconds(Path(folder), each) for _ in range(3)) for each in ("", ", amqp_broker"))
        progress("")
    more = beside - without
    met = more <= TARGET
    verdict = "met" if met else "MISSED"
    print(f"\n{TESTS} tests with a broker of their own: {more:.2f} s beyond their own, target {TARGET} {verdict}")
    return [] if met else [f"fixture: {more:.2f} s for {TESTS} tests, target {TARGET}"]


if __name__ == "__main__":
    sys.exit(1 if cost() else 0)
