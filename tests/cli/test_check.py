"""`check`: what it prints and with which status it ends."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.cli.check import check
from amqp_sansio.cli.output import NO_CONNECTION

DATA = Path(__file__).parents[1] / "data" / "captures"
HELLO = str(DATA / "hello.pcap")


def test_nobody_broke_the_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    assert check([HELLO], as_json=False, ports=(), strict=False) == 0
    out = capsys.readouterr().out
    assert "hello.pcap" in out.splitlines()[0] or out.startswith(HELLO[:40])
    assert "  clean  (" in out
    assert "1 connection in 1 file: 1 clean, 0 with violations (0 violations, " in out


def test_somebody_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER + build.START)
    talk.say(True, build.START_OK).say(False, build.TUNE).say(True, build.SYNC).close()
    path = build.write(tmp_path / "x", build.pcap(build.records(talk.segments)))
    assert check([path], as_json=False, ports=(), strict=False) == 1
    out = capsys.readouterr().out
    assert out.isascii()
    assert "1 violation  (" in out
    assert "    violation  packet " in out
    assert "client" in out
    assert "legal: " in out
    assert check([path, HELLO], as_json=True, ports=(), strict=False) == 1
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row["verdict"] for row in rows] == ["violations", "clean"]
    assert rows[0]["findings"][0]["level"] == "violation"


def test_what_a_peer_said_cannot_spoil_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    evil = build.START_OK.replace(b"ANONYMOUS", b"\x1b[2Jevil!")
    talk = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER + build.START).say(True, evil).close()
    path = build.write(tmp_path / "x", build.pcap(build.records(talk.segments)))
    assert check([path], as_json=False, ports=(), strict=False) == 1
    out = capsys.readouterr().out
    assert "\\u001b[2Jevil!" in out
    assert "\x1b" not in out


def test_where_nothing_was_found_what_may_be_missing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = build.write(tmp_path / "x", build.pcap(build.records(build.conversation([b"one"]).segments[12:])))
    assert check([path], as_json=True, ports=(), strict=False) == 0
    assert capsys.readouterr() == ("", f"amqp-sansio: {NO_CONNECTION}\n")
    assert check([path], as_json=True, ports=(build.SERVER_PORT,), strict=False) == 0
    said = capsys.readouterr()
    assert (len(said.out.splitlines()), said.err) == (1, "")


def test_strict_reports_what_deployed_peers_do(capsys: pytest.CaptureFixture[str]) -> None:
    counts = []
    for strict in (False, True):
        check([str(each) for each in sorted(DATA.glob("*.pcap"))], as_json=True, ports=(), strict=strict)
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        counts.append(sum(each["level"] == "violation" for row in rows for each in row["findings"]))
    assert counts[0] < counts[1]


def test_a_file_that_cannot_be_read_is_status_2_and_the_next_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert check([str(tmp_path / "missing"), HELLO], as_json=True, ports=(), strict=False) == 2
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) == 1
    assert "cannot be opened" in captured.err


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_a_compressed_capture_gives_the_same_verdict(kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow = pytest.importorskip("pyarrow")
    octets = Path(HELLO).read_bytes()
    packed = gzip.compress(octets) if kind == "gz" else arrow.Codec("zstd").compress(octets, asbytes=True)
    path = build.write(tmp_path / f"x.{kind}", packed)
    assert check([path], as_json=True, ports=(), strict=False) == 0
    row = json.loads(capsys.readouterr().out)
    assert check([HELLO], as_json=True, ports=(), strict=False) == 0
    assert {**row, "file": HELLO} == json.loads(capsys.readouterr().out)
    # Cut short: what was good, then one line that says so.
    cut = build.write(tmp_path / f"cut.{kind}", packed[:-9])
    assert check([cut], as_json=True, ports=(), strict=False) == 2
    assert "stream is damaged" in capsys.readouterr().err
