"""A plugin of pytest (`-p tools.mutations.listening`): which tests go through which lines, and running only some of them.

Told what to do by the environment: MUTATIONS_MAP names the file to write the map to; MUTATIONS_ONLY a file with the tests to
run, one a line, in their order.
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
"""As in `make test`, but what fails is not made small: it only has to fail."""
settings.register_profile("glance", settings.get_profile("mutations"), max_examples=5)
"""To see which lines a test goes through."""

_MAP: Final = os.environ.get("MUTATIONS_MAP", "")
_ONLY: Final = os.environ.get("MUTATIONS_ONLY", "")


def function_of(test: str) -> str:
    """A test without its parameters: "tests/a/test_b.py::test_c"."""
    return test.partition("[")[0]


class Listener:
    """Measures which lines of the package every test goes through, and how long it takes."""

    def __init__(self) -> None:
        self.coverage: Final = coverage.Coverage(data_file=None, source=["src/amqp_sansio"], branch=False, config_file=False)
        self.seconds: Final[dict[str, float]] = {}
        self.failed: Final[dict[str, None]] = {}

    def pytest_sessionstart(self) -> None:
        """Begins to listen, before any test file is read."""
        self.coverage.start()

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """What is run from now on is this test's."""
        name = function_of(item.nodeid)
        started = time.perf_counter()
        self.coverage.switch_context(name)
        yield
        self.coverage.switch_context("")
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """What fails without any fault is not asked: it may be one that minds being listened to."""
        if report.failed:
            self.failed[function_of(report.nodeid)] = None

    def pytest_sessionfinish(self) -> None:
        """Writes its record: the tests with their seconds, and for each module and line the numbers of tests."""
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
    """Runs only the tests that were named, in that order."""

    def __init__(self) -> None:
        names = Path(_ONLY).read_text(encoding="utf-8").splitlines()
        self.order: Final = {name: number for number, name in enumerate(names)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leaves out the rest."""
        kept = [item for item in items if function_of(item.nodeid) in self.order]
        items[:] = sorted(kept, key=lambda item: self.order[function_of(item.nodeid)])


def pytest_configure(config: pytest.Config) -> None:
    """Listens or chooses, as the environment says."""
    if _MAP:
        config.pluginmanager.register(Listener())
    if _ONLY:
        config.pluginmanager.register(Chooser())
