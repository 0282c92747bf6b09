"""The run-time needs attrs and typing-extensions, and nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
HERE = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

# Everything is absent that is neither ours, nor the standard library's, nor one of the two dependencies.
ALONE = """
import importlib, pkgutil, sys

ALLOWED = {"amqp_sansio", "attr", "attrs", "typing_extensions"} | set(sys.stdlib_module_names)
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] not in ALLOWED and not name.startswith("__editable__"):
            raise ModuleNotFoundError(f"absent here: {name}", name=name)
        return None

sys.meta_path.insert(0, Absent())
"""

# Imports every module of the library; modules of an extra may say that it is missing, by ImportError, and only those.
PROBE = """
EXTRAS = (
    "testing.strategies", "testing.machines", "captures.arrow", "captures.columns", "report", "spark",
    "adapters.trio", "adapters.otel",
)
OF_AN_EXTRA = tuple("amqp_sansio." + name for name in EXTRAS)
import amqp_sansio
count = 0
for module in pkgutil.walk_packages(amqp_sansio.__path__, "amqp_sansio.", onerror=lambda name: None):
    if module.name.endswith("__main__") or module.name.startswith(OF_AN_EXTRA):
        continue
    importlib.import_module(module.name)
    count += 1
print(count)
"""


def test_every_module_imports_with_the_two_dependencies_alone() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ALONE + PROBE], capture_output=True, text=True, check=False, cwd=ROOT, env=HERE
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (["analyze", "hello.pcap", "--out", "tables"], "tables"),
        (["analyze", "hello.pcap", "--out", "tables", "--engine", "spark"], "spark"),
        (["watch", ".", "--out", "tables", "--checkpoint", "state"], "spark"),
        (["doctor"], "spark"),
        (["report", "tables"], "report"),
    ],
)
def test_a_verb_of_an_extra_says_in_one_sentence_what_is_missing(words: list[str], extra: str, tmp_path: Path) -> None:
    probe = f"from amqp_sansio.cli.main import main\nsys.exit(main({words!r}))"
    done = subprocess.run(
        [sys.executable, "-c", ALONE + probe], capture_output=True, text=True, check=False, cwd=tmp_path, env=HERE
    )
    assert done.returncode in (1, 2)
    assert f"pip install 'amqp-sansio[{extra}]'" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


def test_the_two_dependencies_are_the_ones_that_are_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert sorted(word.split(">")[0] for word in project["dependencies"]) == ["attrs", "typing-extensions"]


def test_the_library_alone_loads_no_network_thread_or_clock() -> None:
    """`import amqp_sansio` and the core's modules do not pull in what the core may not use."""
    probe = (
        "import sys; before = set(sys.modules); import amqp_sansio, amqp_sansio.events, amqp_sansio.errors; "
        "print(sorted({'socket', 'asyncio', 'selectors', 'ssl'} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", probe], capture_output=True, text=True, check=True, cwd=ROOT, env=HERE)
    assert done.stdout.strip() == "[]"
