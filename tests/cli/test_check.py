"""`check`: what it prints and with which status it ends."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import struct
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.cli.check import NOTHING_JUDGED, check
from amqp_sansio.cli.output import NO_CONNECTION
from amqp_sansio.dialects import AMQP_0_10
from amqp_sansio.spec import dtx
from amqp_sansio.spec.base import Command
from amqp_sansio.spec.execution import Result

LAYOUT = AMQP_0_10.codec
DATA = Path(__file__).parents[1] / "data" / "captures"
HELLO = str(DATA / "hello.pcap")


def test_nobody_broke_the_protocol(capsys: pytest.CaptureFixture[str]) -> None:
    assert check([HELLO], as_json=False, ports=(), strict=False) == 0
    out = capsys.readouterr().out
    assert "hello.pcap" in out.splitlines()[0] or out.startswith(HELLO[:40])
    assert "  clean  (" in out
    assert "1 connection in 1 file: 1 clean, 0 with violations (0 violations, " in out
    assert out.splitlines()[-2:] == [
        "in doubt at the end: 0",
        "not judged: 0 octets on 0 connections; every octet was read",
    ]


def test_somebody_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talk = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER + build.START)
    talk.say(True, build.START_OK).say(False, build.TUNE).say(True, build.SYNC).close()
    path = build.write(tmp_path / "x", build.pcap(build.records(talk.segments)))
    assert check([path], as_json=False, ports=(), strict=False) == 1
    out = capsys.readouterr().out
    assert out.isascii()
    assert "1 violation  (" in out
    assert "    violation  packet " in out
    assert f"channel 1, octet {len(build.HEADER + build.START_OK)}" in out
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


def test_where_nothing_was_found_a_line_says_what_may_be_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = build.write(tmp_path / "x", build.pcap(build.records(build.conversation([b"one"]).segments[12:])))
    assert check([path], as_json=True, ports=(), strict=False) == NOTHING_JUDGED
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


def _layered(octets: bytes) -> bytes:
    """What a security layer makes of octets when it only protects them: a length, the octets, a code (DIGEST-MD5, auth-int)."""
    return struct.pack(">I", len(octets) + 16) + octets + bytes(range(200, 210)) + b"\0\1" + bytes(4)


def _joined(*said: tuple[bool, bytes]) -> build.Talk:
    """A conversation of which the beginning was not captured."""
    talk = build.Talk()
    talk.at = {True: 1000, False: 2000}
    for from_client, octets in said:
        talk.say(from_client, octets)
    return talk


WORK = build.transfer(b"one") + build.transfer(b"two")
HELLO_TLS = b"\x16\x03\x01\x00\x05hello"
UNREADABLE = {
    "AMQP 99-0 is not read here": build.Talk().open().say(True, b"AMQP\1\1\x63\0").say(False, b"\1" * 30).close(),
    "AMQP 1.2.0.10 is not read here": build.Talk().open().say(True, b"AMQP\1\2\0\x0a").say(False, build.HEADER + build.START),
    "TLS is not read here": build.Talk()
    .open()
    .say(True, HELLO_TLS)
    .say(False, HELLO_TLS * 9)
    .say(True, b"\x17\x03\x03\0\1x")
    .close(),
    "not AMQP": build.Talk().open().say(True, bytes(range(200, 256))).say(False, bytes(range(100))).close(),
    "no frame was found": _joined((True, bytes(range(256)) * 4), (False, bytes(range(255, -1, -1)) * 4)),
    "nothing came": build.Talk().open().close(),
}


@pytest.mark.parametrize("reason", UNREADABLE)
def test_where_nothing_could_be_read_nothing_is_judged(reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = build.write(tmp_path / "x", build.pcap(build.records(UNREADABLE[reason].segments)))
    assert check([path], as_json=False, ports=(build.SERVER_PORT,), strict=False) == NOTHING_JUDGED
    out = capsys.readouterr().out
    octets = sum(len(each.octets) for each in UNREADABLE[reason].segments)
    assert f"  not judged: {reason}  (" in out
    assert "clean  (" not in out
    assert out.splitlines()[-1] == f"not judged: {octets:,} octets on 1 connection"
    # Beside something that was judged it is 0 or 1, and the last line still says how much was not.
    assert check([path, HELLO], as_json=True, ports=(build.SERVER_PORT,), strict=False) == 0
    first, second = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (first["verdict"], first["not_judged"], second["verdict"], second["not_judged"]) == (
        "not judged",
        reason,
        "clean",
        None,
    )


@pytest.mark.parametrize("strict", [False, True])
def test_what_a_security_layer_protects_accuses_nobody_when_joined_in_the_middle(
    strict: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = [(True, _layered(WORK)), (False, _layered(build.completed(1) + WORK)), (True, _layered(build.completed(9)))] * 4
    path = build.write(tmp_path / "x", build.pcap(build.records(_joined(*said).segments)))
    assert check([path], as_json=True, ports=(build.SERVER_PORT,), strict=strict) in (0, NOTHING_JUDGED)
    row = json.loads(capsys.readouterr().out)
    assert [each for each in row["findings"] if each["level"] == "violation"] == []
    assert row["unread_octets"] > row["octets"] // 2


def test_what_a_person_may_have_lost_is_one_number_that_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    check([str(DATA / "jms" / "xa.pcap"), str(DATA / "tx.pcap")], as_json=True, ports=(), strict=False)
    rows = [json.loads(line)["in_doubt"] for line in capsys.readouterr().out.splitlines()]
    check([str(DATA / "jms" / "xa.pcap"), str(DATA / "tx.pcap")], as_json=False, ports=(), strict=False)
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("in doubt at the end: ")]
    numbers = [int(word) for word in re.findall(r"\d+", line)]
    assert numbers[0] == sum(numbers[1:])
    assert sum(row["publishes"] + row["deliveries"] + row["commits"] for row in rows) <= numbers[0]


def test_a_terminal_shows_each_verdict_in_its_own_colour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = build.write(tmp_path / "x", build.pcap(build.records(UNREADABLE["TLS is not read here"].segments)))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    for forbidden in ("", "1"):
        monkeypatch.setenv("NO_COLOR", forbidden)
        check([path, HELLO], as_json=False, ports=(build.SERVER_PORT,), strict=False)
        out = capsys.readouterr().out
        assert ("\x1b[35mnot judged" in out, "\x1b[32mclean\x1b[0m" in out) == (not forbidden, not forbidden)


@pytest.mark.parametrize(("brokers", "left"), [((), 1), (("10.0.0.2:5672=north", "10.0.0.3:5672=north"), 0), (("all",), 0)])
def test_a_branch_recovered_on_another_address_of_its_broker_is_not_in_doubt(
    brokers: tuple[str, ...], left: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def branch(server: str, port: int, *said: tuple[Command, bool]) -> list[build.Segment]:
        talk = build.Talk(build.Segment(True, 0, client_port=port, server=server)).open()
        talk.say(True, build.HEADER).say(False, build.HEADER + build.START).say(True, build.START_OK).say(False, build.TUNE)
        talk.say(True, build.TUNE_OK + build.OPEN).say(False, build.OPEN_OK).say(True, build.ATTACH).say(False, build.ATTACHED)
        talk.say(True, build.POINT).say(False, build.POINT)
        for id, (command, answers) in enumerate(said):
            talk.say(True, build.frame(LAYOUT.encode_command(command, True), 1, 1))
            if answers:
                result = Result(id, dtx.XaResult(0))
                talk.say(False, build.frame(LAYOUT.encode_command(result, False), 1, 1))
            talk.say(False, build.completed(id))
        return talk.close().segments

    xid = dtx.Xid(0, b"global", b"branch")
    prepared = (dtx.Select(), False), (dtx.Start(xid), True), (dtx.End(xid), True), (dtx.Prepare(xid), True)
    segments = [*branch("10.0.0.2", 40000, *prepared), *branch("10.0.0.3", 40001, (dtx.Commit(xid), True))]
    path = build.write(tmp_path / "x", build.pcap(build.records(segments)))
    check([path], as_json=False, ports=(), strict=False, brokers=brokers)
    told = "in doubt at the end: 1 (1 branch prepared and not decided)" if left else "in doubt at the end: 0"
    assert told in capsys.readouterr().out.splitlines()


def test_only_wrong_shows_those_that_broke_the_protocol_and_counts_all(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A file is named whole, however far down it lies: its end tells it from others."""
    samples = tmp_path / ("far" * 50)
    shutil.copytree(Path(__file__).parents[2] / "src" / "amqp_sansio" / "cli" / "samples", samples)
    assert check([str(samples)], as_json=False, ports=(), strict=False, only_wrong=True) == 1
    out = capsys.readouterr().out
    assert "hello.pcap" not in out
    assert out.splitlines()[0].endswith("badopen.pcap")
    assert "clean  (" not in out
    assert "4 connections in 2 files: 2 clean, 2 with violations" in out
    assert check([str(samples)], as_json=True, ports=(), strict=False, only_wrong=True) == 1
    assert [json.loads(line)["verdict"] for line in capsys.readouterr().out.splitlines()] == ["violations"] * 2
