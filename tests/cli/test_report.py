"""`amqp-sansio report`."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
from tests.report.made import write_story

from amqp_sansio.cli import output
from amqp_sansio.cli.main import main

HELLO = Path(output.__file__).parent / "samples" / "hello.pcap"


def test_it_writes_the_page_and_says_where(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write_story(tmp_path)
    assert main(["report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}\n"
    assert main(["report", str(folder)]) == 0
    assert (tmp_path / "report.html").read_text() == (tmp_path / "page.html").read_text()


def test_a_page_straight_from_captures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert main(["report", str(HELLO)]) == 0
    assert capsys.readouterr() == ("hello.pcap.html\n", "")
    page = (tmp_path / "hello.pcap.html").read_text()
    assert str(HELLO) in page
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(HELLO.read_bytes()[:-7])
    assert main(["report", str(HELLO), str(cut), "--out", "x.html", "--port", "5672", "--broker", "north"]) == 2
    said = capsys.readouterr()
    assert said.out == "x.html\n"
    assert f"{cut}: octet " in said.err
    assert (tmp_path / "x.html").read_text() != page
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cut.pcap", "hello.pcap.html", "x.html"]
    assert main(["report", str(tmp_path / "*.nothing")]) == 2
    assert "no file matches this pattern" in capsys.readouterr().err


def test_it_prints_the_name_of_the_page_without_what_a_terminal_would_obey(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a b \x1b[2J\u202eü.pcap").write_bytes(HELLO.read_bytes())
    assert main(["report", "a b \x1b[2J\u202eü.pcap"]) == 0
    assert capsys.readouterr().out == "a b \\u001b[2J\\u202e\\u00fc.pcap.html\n"
    assert main(["report", "a b \x1b[2J\u202eü.pcap", "--out", "a b ü.html"]) == 0
    assert capsys.readouterr().out == "a b ü.html\n"


def test_what_stands_in_the_way_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", str(tmp_path)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    assert "no tables here" in said.err


def test_a_missing_library_is_named_with_its_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith(("amqp_sansio.report", "matplotlib"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["report", str(tmp_path)]) == 2
    assert "pip install 'amqp-sansio[report]'" in capsys.readouterr().err


def test_what_takes_no_time_says_nothing_about_progress(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["report", str(write_story(tmp_path))]) == 0
    assert capsys.readouterr().err == ""


def test_it_tells_while_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(output, "ELSEWHERE", 0.0)
    assert main(["report", str(write_story(tmp_path))]) == 0
    said = capsys.readouterr().err
    for table in ("connections", "messages", "violations"):
        assert f"amqp-sansio: reading {table}: 0 of 1 file, 0:0" in said
