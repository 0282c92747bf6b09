"""`amqp-sansio analyze`: what is wrong is said before Spark starts; and once with everything."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amqp_sansio.captures.columns.store import PublishedTables
from amqp_sansio.cli import analyze as module
from amqp_sansio.cli.analyze import SMALL_OCTETS, advice
from amqp_sansio.cli.main import main
from amqp_sansio.spark import session

pytest.importorskip("pyspark", reason="the extra [spark] is not installed")

ROOT = Path(__file__).resolve().parents[2]
HELLO = str(ROOT / "src" / "amqp_sansio" / "cli" / "samples" / "hello.pcap")


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object, **__: object) -> None:
        raise AssertionError("Spark was started")

    monkeypatch.setattr(session, "open_session", start)


@pytest.mark.parametrize(("capture", "words"), [
    ("/nowhere.pcap", "/nowhere.pcap: no such file"),
    (__file__, f"{__file__}: neither a pcap nor a pcapng file: it starts with 22222260"),
    (str(ROOT / "docs" / "no*thing"), "no file matches this pattern"),
])  # fmt: skip
def test_captures_that_are_none(capture: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", capture, "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert main(["analyze", str(tmp_path / "pipe"), "--out", str(tmp_path / "out")]) == 2
    assert "is a pipe or a device" in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["analyze", HELLO, "--out", str(tmp_path / "file" / "out")]) == 2
    assert capsys.readouterr().err == f"amqp-sansio: {tmp_path}/file/out: cannot be written: Not a directory\n"


def test_without_the_extra(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "EXTRA", ("no_such_library",))
    assert main(["analyze", HELLO, "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "amqp-sansio: the pipeline needs no_such_library: pip install 'amqp-sansio[spark]'\n"


def test_the_engine_local_starts_no_spark(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["analyze", HELLO, "--out", str(tmp_path / "out"), "--json", "--engine", "local"]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.err == ""
    tables = json.loads(said.out)["tables"]
    assert tables["connections"] > 0
    assert "end_to_end" in tables
    assert json.loads((tmp_path / "out" / "_MANIFEST.json").read_text())["engine"] == "local"


def test_the_size_of_files_is_for_either_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[object] = []

    def here(captures: list[str], out: str, plan: object, file_octets: int) -> PublishedTables:
        asked.append((captures, out, file_octets))
        return PublishedTables(out, {"connections": 1}, 0, 0, {}, 0.0)

    monkeypatch.setattr(module, "run_here", here)
    assert main(["analyze", HELLO, "--out", str(tmp_path), "--engine", "local", "--file-size", "3"]) == 0
    assert asked == [([HELLO], str(tmp_path), 3 << 20)]


def test_without_pyspark_it_is_what_runs_and_a_line_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "EXTRA", ("pyspark", "no_such_library"))
    monkeypatch.setitem(sys.modules, "pyspark", None)
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(Path(HELLO).read_bytes()[:-7])
    words = ["analyze", HELLO, str(cut), "--out", str(tmp_path / "out")]
    assert main(words) == 2  # a place that cannot be read is told, as with Spark
    first, second, third = capsys.readouterr().err.splitlines()
    assert first == "amqp-sansio: pyspark is not installed: analyzed in this process (--engine local)"
    assert second.startswith("amqp-sansio: 1 place in the captures cannot be read")
    assert third.startswith(f"amqp-sansio: {cut}: octet ")
    for more in (["--engine", "spark"], ["--master", "local[2]"], ["--conf", "a=b"]):  # who asks for Spark means Spark
        assert main([*words, *more]) == 2
        assert "pip install 'amqp-sansio[spark]'" in capsys.readouterr().err


@pytest.mark.parametrize("more", [["--master", "local[2]"], ["--conf", "a=b"]])
def test_what_is_for_spark_is_refused_without_it(more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", HELLO, "--out", str(tmp_path / "out"), "--engine", "local", *more]) == 2
    assert capsys.readouterr().err == "amqp-sansio: --master and --conf are for Spark, which --engine local does not use\n"
    assert not (tmp_path / "out").exists()


def test_without_arrow_the_extra_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "amqp_sansio.captures.columns.local", raising=False)
    monkeypatch.setitem(sys.modules, "amqp_sansio.captures.columns.end_to_end", None)
    with pytest.raises(ImportError):  # ours is no library of an extra
        main(["analyze", HELLO, "--out", str(tmp_path / "out"), "--engine", "local"])
    for name in [name for name in sys.modules if name.startswith("amqp_sansio.captures.columns")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert main(["analyze", HELLO, "--out", str(tmp_path / "out"), "--engine", "local"]) == 2
    assert capsys.readouterr().err == "amqp-sansio: tables need pyarrow: pip install 'amqp-sansio[tables]'\n"


def test_after_a_small_run_on_spark_the_other_way_is_named(tmp_path: Path) -> None:
    small, large, packed, tiny = [tmp_path / name for name in ("small", "large", "small.gz", "tiny")]
    for path, octets in ((small, 8_000_000), (large, SMALL_OCTETS), (packed, 8), (tiny, 8)):
        with open(path, "wb") as stream:
            stream.truncate(octets)
    assert advice([str(small)], 23.2, 20_000) == "Spark took 23.2 s for 8.0 MB: --engine local takes about 5.3 s"
    assert advice([str(small)], 5.0, 20_000) is None
    assert advice([str(small)], 10.66, 4) == "Spark took 10.7 s for 8.0 MB: --engine local takes about 2.0 s"
    assert advice([str(small)], 2.0, 4) is None
    assert advice([str(tiny)] * 6000, 10.9, 4) is None, "so many files take eleven seconds"
    assert advice([str(small), str(large)], 100, 4) is None
    assert advice([str(packed)], 10, 4) is None


def test_all_of_it_on_a_machine_without_java(tmp_path: Path) -> None:
    """Good, damaged and foreign files together: the good ones are read, the others are rows, nothing else is said."""
    whole = Path(HELLO).read_bytes()
    (tmp_path / "cut.pcap").write_bytes(whole[: len(whole) - 7])
    (tmp_path / "foreign.pcap").write_bytes(b"this is no capture")
    captures = [HELLO, str(tmp_path / "cut.pcap"), str(tmp_path / "foreign.pcap")]
    words = [sys.executable, "-m", "amqp_sansio", "analyze", *captures, "--out", str(tmp_path / "out"), "--json"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "PATH": without_java(tmp_path)}
    environment.pop("JAVA_HOME", None)
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 2, done.stderr
    said = json.loads(done.stdout)
    assert said["tables"]["connections"] >= 1
    assert said["findings"]["damage"] == 2
    lines = [line for line in done.stderr.splitlines() if not line.startswith("amqp-sansio: 3 captures")]
    assert lines[0] == "amqp-sansio: 2 places in the captures cannot be read: see level damage in violations"
    cut, foreign = said["damage"]
    assert lines[1:-1] == [
        f"amqp-sansio: {cut['capture']}: octet {cut['offset']}: {cut['text']}",
        f"amqp-sansio: {foreign['capture']}: {foreign['text']}",
    ]
    assert lines[-1].startswith("amqp-sansio: Spark took ")
    assert lines[-1].endswith(" s")
    assert [(each["capture"], each["offset"] > 0) for each in said["damage"]] == [(captures[1], True), (captures[2], False)]
    assert (tmp_path / "out" / "_MANIFEST.json").is_file()


def without_java(folder: Path) -> str:
    """A PATH with the programs that Spark's scripts need, and no java."""
    tools = folder / "tools"
    tools.mkdir()
    for name in ("bash", "sh", "env", "dirname", "cat", "uname", "ps", "nice", "id", "hostname", "ls", "rm", "sed", "grep"):
        for place in ("/usr/bin", "/bin"):
            if Path(place, name).exists():
                (tools / name).symlink_to(Path(place, name))
                break
    return str(tools)
