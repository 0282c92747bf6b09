"""Python processes of Spark import pyspark as a package, not from an archive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyspark
import pytest

from amqp_sansio.spark import home
from amqp_sansio.spark.home import LINKED, ensure_home

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACKAGE = Path(str(pyspark.__file__)).resolve().parent


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(home, "places", lambda: iter([tmp_path / "file", tmp_path / "folder"]))


def test_the_home_leads_to_the_package_without_its_archive(tmp_path: Path) -> None:
    """In the first place where it can be made."""
    environment: dict[str, str] = {}
    made = ensure_home(environment)
    assert made is not None
    assert environment == {"SPARK_HOME": str(made)}
    assert made.parent == tmp_path / "folder"
    assert {path.name: path.readlink() for path in made.iterdir()} == {name: PACKAGE / name for name in LINKED}


def test_it_is_made_once_and_a_link_that_leads_elsewhere_is_replaced(tmp_path: Path) -> None:
    made = ensure_home({})
    assert made is not None
    (made / "bin").unlink()
    (made / "bin").symlink_to(tmp_path)
    before = (made / "jars").lstat().st_ino
    assert ensure_home({}) == made
    assert (made / "bin").readlink() == PACKAGE / "bin"
    assert (made / "jars").lstat().st_ino == before


def test_a_home_of_the_users_stays_and_without_a_place_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    environment = {"SPARK_HOME": "/opt/spark"}
    assert ensure_home(environment) is None
    assert environment == {"SPARK_HOME": "/opt/spark"}
    monkeypatch.setattr(home, "places", lambda: iter([]))
    assert ensure_home({}) is None


def test_workers_import_the_package(spark: SparkSession) -> None:
    def answer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyspark

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"where": [str(pyspark.__file__)]})

    assert Path(spark.range(1).mapInArrow(answer, "where string").collect()[0][0]).parent.resolve() == PACKAGE
