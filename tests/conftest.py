"""What all tests share."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from tests.rewriting import files_of, rewrite_share
from tests.s3 import serving
from tests.sharing import scheduler

for _hook in sys.meta_path:
    # pytest rewrites the asserts of every distribution with an entry point for it, and ours has one (amqp_sansio_pytest): what
    # is tested here, counted in steps and compared with the compiled build is the code as it stands.
    getattr(_hook, "_must_rewrite", set()).difference_update({"amqp_sansio", "amqp_sansio_pytest"})

settings.register_profile("ci", max_examples=30, deadline=None, derandomize=True, database=None)
"""Small and always the same: what `make test` runs."""
settings.register_profile("soak", max_examples=3000, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Large, with the seed that `make soak` gives; it runs every property."""
settings.load_profile(os.environ.get("AMQP_PROFILE", "ci"))


def pytest_sessionstart(session: pytest.Session) -> None:
    """Of several processes (`-n 3`) each begins with its share of what all of them need."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        # A shell starts a job in the background so, and the programs that tests interrupt would inherit it.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    worker = getattr(session.config, "workerinput", None)
    if worker is not None:
        mine = int(worker["workerid"].removeprefix("gw"))
        rewrite_share(files_of(session.config.args)[mine :: worker["workercount"]], session.config)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Forms that are slow by nature wait for `make soak`; another form of each runs always."""
    slow = [] if os.environ.get("AMQP_PROFILE") == "soak" else [each for each in items if each.get_closest_marker("soak")]
    if slow:
        config.hook.pytest_deselected(items=slow)
        items[:] = [each for each in items if not each.get_closest_marker("soak")]


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Nothing that is collected goes away: looking for what does would be a third of the work."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Nineteen thousand tests are a heap that no garbage collection needs to walk: it made some tests ten times as slow."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
    """Nor need it walk what a file of tests leaves behind: with the syntax trees of all sources that takes half a second."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            gc.collect()
            gc.freeze()


def pytest_sessionfinish() -> None:
    """Libraries that count what they leak want to see all of it go."""
    gc.unfreeze()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The run says what it left out, and why."""
    skipped = terminalreporter.stats.get("skipped", [])
    for reason, number in Counter([str(each.longrepr[2]).removeprefix("Skipped: ") for each in skipped]).most_common():
        terminalreporter.write_line(f"left out: {number} {'test' if number == 1 else 'tests'}: {reason}")
    if not os.environ.get("AMQP_INTEROP"):
        terminalreporter.write_line("left out: tests with real brokers, clients and browsers: make interop runs them")


@pytest.fixture
def thawed() -> Iterator[None]:
    """Of what is frozen only what the test froze; afterwards all of it is frozen again, or every test that comes after pays."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    yield
    gc.unfreeze()
    if frozen:
        gc.freeze()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of specifications and captures beside the checkout; tests that use it are left out where it is not."""
    for parent in Path(__file__).resolve().parents:
        candidate = parent / "shared"
        if (candidate / "captures" / "MANIFEST.tsv").is_file():
            return candidate
    pytest.skip("no ../shared beside this checkout")


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, str]]:
    """A server that speaks S3, with an empty bucket `tables`: the environment in which it is the S3 of this process."""
    with serving() as environment:
        yield environment


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Several processes (`--dist loadfile`) get the longest files first, and what is dear once."""
    return scheduler(config, log) if config.getvalue("dist") == "loadfile" else None
