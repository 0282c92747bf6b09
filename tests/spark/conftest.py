"""What the tests of the pipeline share: one Spark session for the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from amqp_sansio.spark.session import missing, open_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def extra() -> None:
    """Left out where the extra is not installed: then there is nothing to test with."""
    absent = missing()
    if absent:
        pytest.skip(f"the extra [spark] is not installed: {', '.join(absent)}")


@pytest.fixture(scope="session")
def spark(extra: None) -> Iterator[SparkSession]:
    """A session with two cores and the fast compiler alone: these jobs are short."""
    session = open_session(
        "local[2]",
        "tests",
        {
            "spark.driver.memory": "1g",
            "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:-UsePerfData -XX:TieredStopAtLevel=1",
        },
    )
    yield session
    session.stop()
