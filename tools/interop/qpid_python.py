"""Apache's Python client for AMQP 0-10 and its test suites, unmodified, from the package index, under Python 2.7.

suites = Suites(folder); suites.run("qpid_tests.broker_0_10.queue", port) -> the outcome of each test, by name

python -m tools.interop.qpid_python MODULE [PATTERN] [options of serve]     runs one module against a fresh `serve`
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from threading import Timer
from typing import Final
from urllib.parse import urlsplit

import attrs

from amqp_sansio.cli.served import Process
from tools.interop.maven import NotAvailable
from tools.interop.packages import install

REQUIREMENTS: Final = Path(__file__).with_name("qpid_python.txt")
"""The packages, with the digests of the files that Apache released."""
TIMEOUT: Final = 300.0
"""The most seconds of a module; a test without an outcome by then is "not run"."""
BROKER_0_10: Final = "qpid_tests.broker_0_10"
CORE: Final = ("alternate_exchange", "broker", "dtx", "example", "exchange", "message", "query", "queue", "tx")
"""The modules of qpid_tests.broker_0_10 that test what AMQP 0-10 defines."""
EXTENSIONS: Final = (
    "extensions", "lvq", "management", "msg_groups", "new_api", "priority", "qmf_events", "stats", "threshold",
)  # fmt: skip
"""The other modules: qpidd's extensions."""
MESSAGING: Final = "qpid.tests.messaging"
"""The tests of the client's higher-level interface."""

DIED: Final = re.compile(r"qpid\.messaging thread died: (.*)")
"""The output of a run when the client's I/O thread ends: every later test fails unnoticed or waits forever."""
RACE: Final = re.compile(
    r"(?:qpid\.messaging thread died|qpid\.selector\.SelectorStopped): "
    r"(?:'NoneType' object has no attribute '(?:fileno|recv|send|peek)'|\[Errno 9\] Bad file descriptor)"
)
"""The ends of that thread that are a race in the client.

`Driver.stop` closes and clears the transport in the application's thread while the thread of `Selector.run` is about to ask it
for its descriptor, to read or to write.  Any other end may be the broker's fault.
"""
ATTEMPTS: Final = 3
"""How many consecutive runs the race may end without any outcome before that counts."""

_NAMED: Final = re.compile(r"(qpid[\w.]+) \.+(?: (pass|skip|fail|start))?")
_OUTCOMES: Final = ("pass", "skip", "fail")
NOT_RUN: Final = "not run"


@attrs.frozen
class Report:
    """One run of one module."""

    outcomes: dict[str, str]
    """"pass", "skip", "fail" or "not run", by the test's full name."""
    text: str
    """The output of the run."""
    runs: int = 1
    """The number of runs: one more for each that the client's own race ended."""

    @property
    def passed(self) -> int:
        """The number of tests that passed; a skip is not a pass."""
        return sum(outcome == "pass" for outcome in self.outcomes.values())

    @property
    def others(self) -> set[str]:
        """The names of the tests that did not pass."""
        return {name for name, outcome in self.outcomes.items() if outcome != "pass"}

    @property
    def raced(self) -> bool:
        """Whether the client's own race ended its thread, so that tests without an outcome prove nothing."""
        return RACE.search(self.text) is not None


class Suites:
    """The client and its suites, installed.  Raises NotAvailable."""

    def __init__(self, folder: Path) -> None:
        self._python: Final = python()
        self._library: Final = install(self._python, REQUIREMENTS, folder)

    def names(self, module: str) -> list[str]:
        """Returns the tests that a module defines (not those it imports) or, for a package, its modules."""
        command = self._command("--list", "-m", module, f"{module}.*")
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, check=True)
        return done.stdout.split()

    def run(self, module: str, port: int, pattern: str = "", without: Iterable[str] = ()) -> Report:
        """Runs the module's tests, or those that match the pattern, against the broker on that loopback port.

        Leaves out the tests in `without`, also in the report.
        """
        wanted = pattern or f"{module}.*"
        left_out = set(without)
        ignored = [word for name in sorted(left_out) for word in ("--ignore", name)]
        command = self._command("-m", module, "-b", f"127.0.0.1:{port}", *ignored, wanted)
        process = subprocess.Popen(
            command, env=self._environment(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
        )
        text = _printed(process)
        found = outcomes(text)
        expected = [] if pattern else [name for name in self.names(module) if name not in left_out]
        return Report({**dict.fromkeys(expected, NOT_RUN), **found}, text)

    def start(self, program: Path, *arguments: str) -> subprocess.Popen[str]:
        """Starts a program of ours that imports the client: lines in, lines out."""
        return subprocess.Popen(
            [self._python, "-u", str(program), *arguments],
            env=self._environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip

    def _command(self, *arguments: str) -> list[str]:
        return [self._python, str(self._library / "bin" / "qpid-python-test"), *arguments]

    def _environment(self) -> dict[str, str]:
        return {**os.environ, "PYTHONPATH": str(self._library), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "400"}


def run_all(run: Callable[[Collection[str]], Report]) -> Report:
    """Runs all tests, in as many runs as the client's own race requires; `run` gets the tests to leave out.

    An outcome counts if a run printed it before the race ended the run; the other tests are run again from their beginning,
    with a new client and broker.
    """
    first = report = run(())
    done: dict[str, str] = {}
    texts = [report.text]
    idle = 0
    while report.raced:
        new = {name: outcome for name, outcome in report.outcomes.items() if outcome != NOT_RUN}
        done.update(new)
        idle = 0 if new else idle + 1
        if idle == ATTEMPTS or len(done) == len(first.outcomes):
            break
        report = run(done)
        texts.append(report.text)
    return Report({**first.outcomes, **done, **report.outcomes}, "".join(texts), len(texts))


def _printed(process: subprocess.Popen[str]) -> str:
    """Returns what a run prints until it ends, its time is up, or the client's thread dies: later output proves nothing."""
    assert process.stdout is not None
    lines: list[str] = []
    clock = Timer(TIMEOUT, process.kill)
    clock.start()
    with process:
        try:
            for line in process.stdout:
                lines.append(line)
                if DIED.search(line) or RACE.search(line):
                    process.kill()
                    break
        finally:
            clock.cancel()
    return "".join(lines)


def outcomes(text: str) -> dict[str, str]:
    """Returns the outcome of each test that a run reports, by full name.

    The run prints the name first, then the outcome: on the same line, or on a later one when the test printed in between.
    """
    found: dict[str, str] = {}
    name = ""
    for line in text.splitlines():
        if (named := _NAMED.fullmatch(line)) is not None:
            name = named[1]
            if named[2] in _OUTCOMES:
                found[name] = named[2]
        elif name and line in (" pass", " skip", " fail"):  # the output of a test is indented by two
            found[name] = line.strip()
    return found


def python() -> str:
    """Returns the path of a Python 2.7: on the path, or built by pyenv.  Raises NotAvailable."""
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [shutil.which("python2.7"), *map(str, sorted(pyenv.glob("2.7*/bin/python2.7"), reverse=True))]
    for candidate in candidates:
        if candidate is not None and _answers(candidate):
            return candidate
    raise NotAvailable("it needs Python 2.7: there is none here, also not below ~/.pyenv/versions")


def _answers(program: str) -> bool:
    """Returns whether it is a Python 2.7 rather than, for example, pyenv's shim for a version that it lacks."""
    done = subprocess.run(
        [program, "-c", "import sys; print(sys.version_info[:2] == (2, 7))"], capture_output=True, text=True, check=False
    )
    return done.returncode == 0 and done.stdout.strip() == "True"


def main(arguments: list[str]) -> int:
    """Runs one module against a fresh `serve` and prints its report; returns 1 when a test did not pass."""
    from tools.interop.peers import CACHE  # which imports this module

    module, *others = arguments
    pattern = others.pop(0) if others and not others[0].startswith("-") else ""
    suites = Suites(CACHE / "qpid_python")
    process = Process(*others)
    try:
        report = suites.run(module, urlsplit(process.url).port or 0, pattern)
    finally:
        process.kill()
    print(report.text)
    print(f"{report.passed} of {len(report.outcomes)} passed; not: {', '.join(sorted(report.others)) or 'none'}")
    return 1 if report.others else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
