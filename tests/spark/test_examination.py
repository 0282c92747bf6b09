"""Everything that the pipeline needs is looked at, as far as it goes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from amqp_sansio.spark import examination
from amqp_sansio.spark.errors import MissingJava, PipelineError
from amqp_sansio.spark.examination import ask_worker, examine
from amqp_sansio.spark.installation import Java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_without_java_it_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Java:
        raise MissingJava("no Java")

    monkeypatch.setattr(examination, "ensure_java", none)
    libraries, java = examine()
    assert libraries.well
    assert "pyspark 4." in libraries.text
    assert (java.name, java.well, java.text) == ("Java", False, "no Java")


def test_without_a_library_no_session_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(examination, "missing", lambda: ["pandas"])
    libraries, java = examine()
    assert (libraries.well, libraries.text) == (False, "pandas: pip install 'amqp-sansio[spark]'")
    assert java.well


def test_a_session_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise PipelineError("no Spark session on spark://nowhere")

    monkeypatch.setattr(examination, "open_session", none)
    assert [(part.name, part.well) for part in examine("spark://nowhere")][2:] == [("Spark", False)]


def test_a_worker_answers(spark: SparkSession) -> None:
    python, ours = ask_worker(spark)
    assert python.startswith("3.")
    assert ours.endswith("amqp_sansio/__init__.py")
