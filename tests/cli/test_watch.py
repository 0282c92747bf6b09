"""`amqp-sansio watch` reports what is wrong before it starts Spark.  With Spark: tests/interop/test_spark_watch.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from amqp_sansio.cli.main import main
from amqp_sansio.spark import session

pytest.importorskip("pyspark", reason="the extra [spark] is not installed")


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["watch", str(tmp_path / "in"), "--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "checkpoint")]
    assert main(words) == 2
    assert capsys.readouterr().err == f"amqp-sansio: {tmp_path}/in: cannot be read: No such file or directory\n"
    assert not (tmp_path / "out").exists()


def test_a_checkpoint_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said in one sentence, before Spark starts."""
    monkeypatch.setattr(session, "open_session", lambda *_, **__: pytest.fail("Spark was started"))
    (tmp_path / "file").write_text("")
    words = ["watch", str(tmp_path), "--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "file")]
    assert main(words) == 2
    assert capsys.readouterr().err == f"amqp-sansio: {tmp_path}/file: cannot be written: Not a directory\n"


def test_a_checkpoint_is_needed(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["watch", "in", "--out", "out"])
    assert "--checkpoint" in capsys.readouterr().err
