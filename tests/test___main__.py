"""The command from its first moment on."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HELLO = str(Path(__file__).parent / "data" / "captures" / "hello.pcap")
STARTS = {
    "script": "from amqp_sansio.__main__ import main; sys.exit(main())",
    "module": "import runpy; runpy.run_module('amqp_sansio', run_name='__main__', alter_sys=True)",
}
INTERRUPTING = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == which:
            signal.raise_signal(signal.SIGINT)

which = sys.argv.pop(1)
sys.meta_path.insert(0, Interrupt())
"""
"""An interrupt when this module is about to be imported."""


def ran(code: str, *arguments: str) -> tuple[int, str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("name", ["cli.main", "errors", "cli.given", "cli.check", "captures.flows", "engine.observer"])
def test_an_interrupt_during_imports_leaves_no_traceback(start: str, name: str) -> None:
    assert ran(INTERRUPTING + STARTS[start], f"amqp_sansio.{name}", "check", HELLO) == (130, "")


def test_without_one_it_does_what_it_is_for() -> None:
    for start in STARTS.values():
        assert ran("import sys; " + start, "check", HELLO) == (0, "")


def test_an_interrupt_in_a_destructor_ends_the_command_too() -> None:
    code = """
import signal, sys
import amqp_sansio.cli.main as cli

class Odd:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def run():
    Odd()
    while True:
        pass

cli.main = run
""" + STARTS["script"]
    assert ran(code) == (130, "")


def test_a_program_that_ignores_interrupts_is_left_alone() -> None:
    code = "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)\n" + INTERRUPTING + STARTS["script"]
    assert ran(code, "amqp_sansio.cli.check", "check", HELLO) == (0, "")


def test_an_interrupt_at_exit_ends_the_command() -> None:
    code = "import sys, atexit, signal; atexit.register(signal.raise_signal, signal.SIGINT)\n" + STARTS["script"]
    assert ran(code, "check", HELLO) == (130, "")


def test_the_package_itself_is_imported_when_something_of_it_is_asked_for() -> None:
    listed = "sorted(name for name in sys.modules if name.startswith('amqp_sansio.'))"
    names = ["__main__", "cli", "kernel", "kernel.build"]
    said = f"{[f'amqp_sansio.{name}' for name in names]}\n"
    assert ran(f"import sys, amqp_sansio.__main__; print({listed}, file=sys.stderr)") == (0, said)
    every = "[name for name in amqp_sansio.__all__ if getattr(amqp_sansio, name) is None or name not in dir(amqp_sansio)]"
    assert ran(f"import sys, amqp_sansio; print({every}, file=sys.stderr)") == (0, "[]\n")
