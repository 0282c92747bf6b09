"""The snippets of the tutorial from a capture to tables run as written."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.docs.test_snippets import ROOT, WITH_SPARK, run

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.analyze import run as analyze

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = ROOT / "docs" / "tutorial" / "captures-to-tables.md"


def test_every_question_has_an_answer(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert PAGE.name in WITH_SPARK
    with as_file(files("amqp_sansio.cli") / "samples") as samples:
        analyze(spark, [str(path) for path in sorted(samples.glob("*.pcap"))], str(tmp_path / "tables"), ReplayOptions())
    page = tmp_path / PAGE.name  # the JVM was started elsewhere: to it, a relative path leads there
    page.write_text(PAGE.read_text(encoding="utf-8").replace('"tables', f'"{tmp_path}/tables'), encoding="utf-8")
    run(page)
