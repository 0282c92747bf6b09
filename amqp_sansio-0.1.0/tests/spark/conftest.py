"""What the tests of the pipeline share: one Spark session for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.spark.session import missing, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITHOUT_THE_EXTRA = ("test_errors.py", "test_java.py", "test_places.py", "test_progress.py", "test_quiet.py", "test_session.py")
"""Tests of files that import nothing of the extra at their top."""


class _LeftOut(pytest.Module):
    """A file of tests that cannot be imported here, with the reason."""

    def collect(self) -> list[pytest.Item]:
        pytest.skip(f"the extra [spark] is not installed: no {', '.join(missing())}", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Where the extra is not installed, its tests are left out: there is nothing to test with."""
    if Path(__file__).parent in module_path.parents and module_path.name not in WITHOUT_THE_EXTRA and missing():
        left_out: pytest.Module = _LeftOut.from_parent(parent, path=module_path)
        return left_out
    return None


@pytest.fixture(scope="session")
def extra() -> None:
    """Left out where the extra is not installed."""
    absent = missing()
    if absent:
        pytest.skip(f"the extra [spark] is not installed: no {', '.join(absent)}")


@pytest.fixture(scope="session")
def spark(extra: None) -> Iterator[SparkSession]:
    """A session with two cores and the fast compiler alone: these jobs are short."""
    session = open_session(
        "local[2]",
        "tests",
        {
            "spark.driver.memory": "1g",
            "spark.sql.shuffle.partitions": "2",
        },
    )
    yield session
    session.stop()
