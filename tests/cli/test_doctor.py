"""`amqp-sansio doctor`: one line for each part, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from amqp_sansio.cli import doctor as module
from amqp_sansio.cli.doctor import ExaminedPart, examine
from amqp_sansio.cli.main import main
from amqp_sansio.spark.errors import MissingJava, PipelineError
from amqp_sansio.spark.installation import Java

pytest.importorskip("pyspark", reason="the extra [spark] is not installed")


@pytest.mark.parametrize(("well", "status", "verdict"), [
    (True, 0, "All there: `analyze` and `watch` can run."),
    (False, 1, "The pipeline cannot run here."),
])  # fmt: skip
def test_each_part_has_a_line(
    well: bool, status: int, verdict: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def examine(master: str, settings: dict[str, str]) -> Iterator[ExaminedPart]:
        assert (master, settings) == ("local[3]", {"a": "b"})
        yield ExaminedPart("Java", well, "about it")

    monkeypatch.setattr(module, "examine", examine)
    assert main(["doctor", "--master", "local[3]", "--conf", "a=b"]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Python    3.")
    assert lines[1].startswith("Build     ")
    assert lines[2:] == [f"Java      {'' if well else 'NOT THERE: '}about it", verdict]


def test_without_java_it_ends_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> Java:
        raise MissingJava("no Java")

    monkeypatch.setattr(module, "ensure_java", none)
    libraries, java = examine()
    assert libraries.well
    assert "pyspark 4." in libraries.text
    assert (java.name, java.well, java.text) == ("Java", False, "no Java")


def test_without_a_library_no_session_is_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "missing", lambda: ["pandas"])
    libraries, java = examine()
    assert (libraries.well, libraries.text) == (False, "pandas: pip install 'amqp-sansio[spark]'")
    assert java.well


def test_a_session_that_cannot_be_had(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(*_: object) -> None:
        raise PipelineError("no Spark session on spark://nowhere")

    monkeypatch.setattr(module, "open_session", none)
    assert [(part.name, part.well) for part in examine("spark://nowhere")][2:] == [("Spark", False)]
