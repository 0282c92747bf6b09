"""`amqp-sansio doctor`: one line for each part, and a verdict."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from amqp_sansio.cli.main import main
from amqp_sansio.spark import examination
from amqp_sansio.spark.examination import Part


@pytest.mark.parametrize(("well", "status", "verdict"), [
    (True, 0, "All there: `analyze` and `watch` can run."),
    (False, 1, "The pipeline cannot run here."),
])  # fmt: skip
def test_each_part_has_a_line(
    well: bool, status: int, verdict: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def examine(master: str, settings: dict[str, str]) -> Iterator[Part]:
        assert (master, settings) == ("local[3]", {"a": "b"})
        yield Part("Java", well, "about it")

    monkeypatch.setattr(examination, "examine", examine)
    assert main(["doctor", "--master", "local[3]", "--conf", "a=b"]) == status
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("Python    3.")
    assert lines[1].startswith("Build     ")
    assert lines[2:] == [f"Java      {'' if well else 'NOT THERE: '}about it", verdict]
