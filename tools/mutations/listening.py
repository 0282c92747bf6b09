"""A pytest plugin (`-p tools.mutations.listening`): measures which tests run which lines, or runs only some of them.

The environment controls it: MUTATIONS_MAP names the file to write the map to; MUTATIONS_ONLY a file with the tests to run, one
per line, in order.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import coverage
import pytest
from hypothesis import Phase, settings

settings.register_profile(
    "mutations",
    max_examples=60,
    deadline=None,
    derandomize=True,
    database=None,
    phases=(Phase.explicit, Phase.generate, Phase.target),
)
"""As in `make test`, but without shrinking: a test only has to fail."""
settings.register_profile("glance", settings.get_profile("mutations"), max_examples=5)
"""To see which lines a test runs."""

_MAP: Final = os.environ.get("MUTATIONS_MAP", "")
_ONLY: Final = os.environ.get("MUTATIONS_ONLY", "")


def function_of(test: str) -> str:
    """Returns a test without its parameters: "tests/a/test_b.py::test_c"."""
    return test.partition("[")[0]


class Listener:
    """Measures which lines of the package every test runs, and how long it takes."""

    def __init__(self) -> None:
        self.coverage: Final = coverage.Coverage(data_file=None, source=["src/amqp_sansio"], branch=False, config_file=False)
        self.seconds: Final[dict[str, float]] = {}
        self.failed: Final[dict[str, None]] = {}

    def pytest_sessionstart(self) -> None:
        """Starts measuring, before any test file is imported."""
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Attributes what runs from now on to this test."""
        name = function_of(item.nodeid)
        started = time.perf_counter()
        self.coverage.switch_context(name)
        yield
        self.coverage.switch_context("")
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Excludes tests that fail without a fault: the measurement may disturb them."""
        if report.failed:
            self.failed[function_of(report.nodeid)] = None

    def pytest_sessionfinish(self) -> None:
        """Writes the record: the tests with their seconds, and for each module and line the indexes of tests."""
        self.coverage.stop()
        data = self.coverage.get_data()
        names = {name: number for number, name in enumerate(self.seconds)}
        root = Path.cwd()
        lines: dict[str, dict[int, list[int]]] = {}
        for file in data.measured_files():
            found = {
                line: sorted(names[context] for context in contexts if context in names)
                for line, contexts in data.contexts_by_lineno(file).items()
            }
            lines[Path(file).relative_to(root).as_posix()] = {line: tests for line, tests in found.items() if tests}
        heard = {"tests": list(self.seconds.items()), "lines": lines, "failed": list(self.failed)}
        Path(_MAP).write_text(json.dumps(heard), encoding="utf-8")


class Chooser:
    """Runs only the named tests, in that order."""

    def __init__(self) -> None:
        names = Path(_ONLY).read_text(encoding="utf-8").splitlines()
        self.order: Final = {name: number for number, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Deselects the other tests."""
        kept = [item for item in items if function_of(item.nodeid) in self.order]
        items[:] = sorted(kept, key=lambda item: self.order[function_of(item.nodeid)])


def pytest_configure(config: pytest.Config) -> None:
    """Measures or selects, as the environment says."""
    if _MAP:
        config.pluginmanager.register(Listener())
    if _ONLY:
        config.pluginmanager.register(Chooser())
