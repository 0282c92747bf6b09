"""`amqp-sansio compact`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.captures.columns.test_compact import published

from amqp_sansio.cli.main import main


def test_it_says_how_many_files_there_were_and_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = published(tmp_path)
    before = sum(file.octets for file in place.published())
    assert main(["compact", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said == {
        "out": str(tmp_path),
        "files": 2,
        "octets": sum(file.octets for file in place.published()),
        "before": {"files": 6, "octets": before},
    }
    assert main(["compact", str(tmp_path)]) == 0
    assert ": 2 files, " in capsys.readouterr().out


def test_it_prints_the_name_of_the_folder_without_what_a_terminal_would_obey(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "t\x1b[2J"
    folder.mkdir()
    published(folder)
    assert main(["compact", str(folder)]) == 0
    assert capsys.readouterr().out.startswith(f"{tmp_path}/t\\u001b[2J: ")


def test_what_stands_in_the_way_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compact", str(tmp_path)]) == 2
    assert capsys.readouterr().err == f"amqp-sansio: {tmp_path}: no tables were published there\n"


@pytest.mark.parametrize("size", ["0", "4097", "x", "-1", "1.5"])
def test_a_size_is_a_number_of_mib(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["compact", "x", "--file-size", size])
    assert "is not a number of MiB from 1 to 4096" in capsys.readouterr().err


def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delitem(sys.modules, "amqp_sansio.captures.columns.compact", raising=False)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    assert main(["compact", str(tmp_path)]) == 2
    assert "pip install 'amqp-sansio[tables]'" in capsys.readouterr().err
