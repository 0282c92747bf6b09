"""Captures and tables in an object store: read from there, published there, read back from there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.spark.truth import DATA, OPTIONS, truth

from amqp_sansio.captures.columns.place import Place
from amqp_sansio.captures.locations import located
from amqp_sansio.report.folder import Folder
from amqp_sansio.spark.analyze import analyze, run
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.watch import Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAMES = ("hello.pcap", "tx.pcap")


@pytest.fixture
def store(spark: SparkSession, s3: dict[str, str]) -> str:
    """A bucket with captures that the workers of the session reach, too."""
    spark.sparkContext.environment.update(s3)
    place = located("s3://tables/in")
    for name in NAMES:
        stream = place.system.open_output_stream(f"{place.path}/{name}")
        stream.write((DATA / name).read_bytes())
        stream.close()
    return "s3a://tables"


def test_from_a_store_to_a_store_and_back(spark: SparkSession, store: str) -> None:
    """The tables are those of the same captures on a disk, for Spark and the report; a second run leaves none of the first."""
    expected = truth([DATA / name for name in NAMES])
    analyze(spark, [f"{store}/in/hello.pcap"], f"{store}/out", OPTIONS)
    tables = analyze(spark, [f"{store}/in/*.pcap"], f"{store}/out", OPTIONS)
    place = Place(f"{store}/out")
    assert len(place.published()) == len(place.files())
    for name in ("connections", "messages"):
        rows = [row.asDict(True) for row in tables[name].collect()]
        assert len(rows) == sum(expected[name].values())
        assert Folder(f"{store}/out").count(name) == len(rows)
    found = {row["name"] for row in Folder(f"{store}/out").rows("connections", ("name",))}
    assert found == {row["name"] for row in tables["connections"].collect()}


def test_a_file_uri_is_a_path(spark: SparkSession, tmp_path: Path) -> None:
    run(spark, [(DATA / "hello.pcap").as_uri()], (tmp_path / "out").as_uri(), OPTIONS)
    assert Folder(str(tmp_path / "out")).count("connections") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize("place", ["dbfs:/tables", "webdav://host/tables"])
def test_every_other_place_is_refused_before_anything_is_done(spark: SparkSession, tmp_path: Path, place: str) -> None:
    with pytest.raises(PipelineError, match=f"^{place}: "):
        run(spark, [str(DATA / "hello.pcap")], place, OPTIONS)
    with pytest.raises(PipelineError, match=f"^{place}: "):
        run(spark, [place], str(tmp_path / "out"), OPTIONS)
    with pytest.raises(PipelineError, match=f"^{place}: "):
        Watch(spark, str(tmp_path), place, str(tmp_path / "state"), OPTIONS)
    with pytest.raises(PipelineError, match=f"^{place}: "):
        Watch(spark, str(tmp_path), str(tmp_path / "out"), place, OPTIONS)
