"""Apache's own Python suites, files untouched, against `serve`: what does not pass is on a list, each with its reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.interop.conftest import TOLD

from amqp_sansio.cli.served import Process
from tools.interop.qpid_python import BROKER_0_10, CORE, EXTENSIONS, MESSAGING, Report, Suites, run_all

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "real-peers.md"
HEADING = "## Apache's Python suites with `serve`"
AT_ONCE = 4
"""Modules that run side by side: most of their time is waiting."""
MODULES = (*[f"{BROKER_0_10}.{name}" for name in (*CORE, *EXTENSIONS)], MESSAGING)
RUNS = [(module, kept) for module in MODULES for kept in (False, True)]
"""Each in memory and with --data-dir."""


def listed() -> set[str]:
    """The tests that the manual names as not passing: "module.test", from the table with the reasons."""
    _, _, section = PAGE.read_text().partition(HEADING)
    section, _, _ = section.partition("\n## ")
    return set(re.findall(r"`(\w+\.test\w+)`", section))


def short(name: str) -> str:
    """The module and the test of a full name: no module has two tests of one name that do not pass."""
    module, _, test = name.rpartition(".")
    return f"{module.rpartition('.')[0].rpartition('.')[2]}.{test}"


def run(suites: Suites, module: str, folder: Path, kept: bool) -> Report:
    """Runs a module against a `serve` of its own, the rest of it against another after the client's own race."""
    numbers = count(1)

    def once(without: Collection[str]) -> Report:
        process = Process(*(["--data-dir", str(folder / f"{module}-{next(numbers)}")] if kept else []))
        try:
            report = suites.run(module, urlsplit(process.url).port or 0, without=without)
            assert process.end() == 0
            return report
        finally:
            process.kill()

    return run_all(once)


@pytest.fixture(scope="module")
def reports(suites: Suites, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, bool], Future[Report]]]:
    """What each run reports, by module and whether `serve` had --data-dir."""
    folder = tmp_path_factory.mktemp("suites")
    with ThreadPoolExecutor(AT_ONCE) as pool:
        longest_first = sorted(RUNS, key=lambda each: not each[0].endswith(("messaging", "message")))
        yield {(module, kept): pool.submit(run, suites, module, folder, kept) for module, kept in longest_first}


@pytest.mark.parametrize(("module", "kept"), RUNS)
def test_what_does_not_pass_is_named(module: str, kept: bool, reports: dict[tuple[str, bool], Future[Report]]) -> None:
    report = reports[module, kept].result()
    expected = {name for name in report.outcomes if short(name) in listed()}
    assert report.others == expected, report.text[-5000:]


def test_the_counts(reports: dict[tuple[str, bool], Future[Report]], record_property: Callable[[str, object], None]) -> None:
    done = {key: future.result() for key, future in reports.items()}
    for (module, _), report in done.items():
        if report.runs > 1:
            record_property(TOLD, f"{module} took {report.runs} runs: the thread of Apache's client died of its own race")
    for kept in (False, True):
        core = [done[f"{BROKER_0_10}.{name}", kept] for name in CORE]
        whole = [*core, *[done[f"{BROKER_0_10}.{name}", kept] for name in EXTENSIONS]]
        where = "--data-dir" if kept else "in memory"
        counts = f"core {counted(core)}, {BROKER_0_10} {counted(whole)}, {MESSAGING} {counted([done[MESSAGING, kept]])}"
        record_property(TOLD, f"qpid-python 1.36, serve {where}: {counts}")
        assert sum(len(report.outcomes) for report in core) == 133
        assert sum(len(report.outcomes) for report in whole) == 233
        assert sum(report.passed for report in core) >= 132
        assert sum(report.passed for report in whole) >= 150
        assert len(done[MESSAGING, kept].outcomes) == 182
        assert done[MESSAGING, kept].passed >= 175


def counted(reports: list[Report]) -> str:
    """How many passed, of how many."""
    return f"{sum(report.passed for report in reports)} of {sum(len(report.outcomes) for report in reports)}"


def test_every_name_in_the_manual_is_a_test(reports: dict[tuple[str, bool], Future[Report]]) -> None:
    names = {short(name) for future in reports.values() for name in future.result().outcomes}
    assert listed() <= names
