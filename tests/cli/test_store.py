"""`amqp-sansio store`: check, backup, compact."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.adapters.test_store import append

from amqp_sansio.adapters.store import FILE, Store
from amqp_sansio.adapters.store_files import MARK
from amqp_sansio.cli.main import main


@pytest.fixture
def place(tmp_path: Path) -> str:
    store = Store(tmp_path / "d")
    append(store, 1, 2)
    store.close()
    return str(tmp_path / "d")


def test_each_says_what_is_there(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy, said = str(tmp_path / "copy"), ""
    for words, begins in ((["check", place], place), (["backup", place, copy], copy), (["compact", place], place)):
        assert main(["store", *words]) == 0
        said = capsys.readouterr().out
        assert said.startswith(f"{begins}: whole; virtual hosts 1, queues 2, messages 0; ")
    assert "and journal 0 (before: " in said


def test_what_is_wrong_is_one_sentence(place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = Store(place)
    assert main(["store", "compact", place]) == 1
    assert capsys.readouterr().err == f"amqp-sansio: {place}: another process has it open\n"
    store.close()
    assert main(["store", "check", str(tmp_path / "slip")]) == 1
    assert "there is no store in it" in capsys.readouterr().err
    (Path(place) / FILE).write_bytes(b"")
    assert main(["store", "check", place]) == 1
    assert "though it was used" in capsys.readouterr().err
    for each in Path(place).iterdir():
        if each.name != MARK:
            each.unlink()
    assert main(["store", "check", place]) == 1
    assert "though it was used" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["backup", "d"], ["check", "d", "e"], ["compact", "d", "e"]])
def test_a_target_belongs_to_a_backup(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["store", *words])
    assert "TARGET" in capsys.readouterr().err
