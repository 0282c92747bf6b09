"""`decode`: what it prints and with which status it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.captures import build

from amqp_sansio.cli.decode import BODY_SHOWN, decode
from amqp_sansio.cli.output import NO_CONNECTION
from amqp_sansio.cli.selection import Wanted

HELLO = str(Path(__file__).parents[1] / "data" / "captures" / "hello.pcap")


def capture(tmp_path: Path, *, begun: bool = True) -> str:
    segments = build.conversation([b"one", b"two"]).segments
    return build.write(tmp_path / "x", build.pcap(build.records(segments if begun else segments[3:])))


def printed(capsys: pytest.CaptureFixture[str]) -> list[str]:
    out = capsys.readouterr().out
    assert out.isascii()
    return out.splitlines()


def test_lines_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert decode([capture(tmp_path)], as_json=False, ports=(), secrets=False) == 0
    lines = printed(capsys)
    assert "first heard at 2023-11-14 22:13:20.003000000 UTC" in lines[0]
    assert lines[1] == "[1] is 10.0.0.1:40000>10.0.0.2:5672#1"
    assert lines[2].split() == ["4", "0.000000", "[1]", "C", "protocol", "header", "0-10", "(414d51500101000a)"]
    attach = next(line for line in lines if "session.attach " in line)
    assert "name=s" in attach  # a name is octets, and shown as the text that it usually is
    transfers = [line for line in lines if "message.transfer" in line]
    assert [line.split()[6] for line in transfers] == ["#0", "#1"]
    assert "| delivery-properties: delivery-mode=2 routing-key=q | 3 octets" in transfers[0]
    assert "completed" in lines[-3]


def test_a_conversation_without_its_beginning_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    decode([capture(tmp_path, begun=False)], as_json=False, ports=(), secrets=False)
    assert printed(capsys)[1].endswith(", from the middle")


def test_the_name_of_a_mechanism_does_not_reach_the_terminal_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = build.START_OK.replace(b"ANONYMOUS", b"NO\x1b[31m\rx")
    talk = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER + build.START).say(True, chosen)
    talk.say(False, build.TUNE).say(True, build.TUNE_OK + build.OPEN).say(False, build.OPEN_OK).say(True, b"\1" * 40)
    path = build.write(tmp_path / "x", build.pcap(build.records(talk.segments)))
    decode([path], as_json=False, ports=(), secrets=False)
    *_, last = printed(capsys)
    assert last.endswith("behind the security layer of NO\\u001b[31m\\rx")
    assert last.isprintable()


def test_where_nothing_was_found_a_line_says_what_may_be_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    middle = build.write(tmp_path / "x", build.pcap(build.records(build.conversation([b"one"]).segments[12:])))
    assert decode([middle], as_json=True, ports=(), secrets=False) == 0
    assert capsys.readouterr() == ("", f"amqp-sansio: {NO_CONNECTION}\n")
    assert decode([capture(tmp_path)], as_json=True, ports=(), secrets=False) == 0
    assert capsys.readouterr().err == ""


def test_a_row_for_each_thing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path)
    assert decode([path], as_json=True, ports=(), secrets=False) == 0
    rows = [json.loads(line) for line in printed(capsys)]
    assert [row["verb"] for row in rows][-4:] == [
        "message.transfer",
        "session.completed",
        "connection.close",
        "connection.close-ok",
    ]
    assert {row["file"] for row in rows} == {path}
    start_ok = next(row for row in rows if row["verb"] == "connection.start-ok")
    assert start_ok["fields"]["response"] == 0  # its length
    assert decode([path], as_json=True, ports=(), secrets=True) == 0
    rows = [json.loads(line) for line in printed(capsys)]
    assert next(row for row in rows if row["verb"] == "connection.start-ok")["fields"]["response"] == ""


def test_credit_is_shown_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flow = build.frame(bytes.fromhex("040a010007000164" + "00ffffffff"), 1, 1)
    talk = build.Talk().open().say(True, build.HEADER).say(False, build.HEADER + build.START).say(True, build.START_OK)
    talk.say(False, build.TUNE).say(True, build.TUNE_OK + build.OPEN).say(False, build.OPEN_OK).say(True, build.ATTACH)
    talk.say(False, build.ATTACHED).say(True, build.POINT).say(True, flow).close()
    path = build.write(tmp_path / "x", build.pcap(build.records(talk.segments)))
    decode([path], as_json=False, ports=(), secrets=False)
    assert any("destination=d unit=message value=infinite" in line for line in printed(capsys))


def test_a_file_that_cannot_be_read_is_status_2_and_the_next_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert decode([str(tmp_path / "missing"), HELLO], as_json=True, ports=(), secrets=False) == 2
    captured = capsys.readouterr()
    assert len(captured.out.splitlines()) > 10
    assert "cannot be opened" in captured.err


def test_bodies_are_text_or_hex_or_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text, octets = b"one\n\xc3\xa4", b"\xff" * 5000
    path = build.write(tmp_path / "x", build.pcap(build.records(build.conversation([text, octets]).segments)))

    def rows(bodies: str) -> list[tuple[str | None, str | None]]:
        assert decode([path], as_json=True, ports=(), secrets=False, bodies=bodies) == 0
        found = [json.loads(line) for line in printed(capsys)]
        return [(row.get("body"), row.get("body_hex")) for row in found if row["body_octets"]]

    assert rows("none") == [(None, None), (None, None)]
    assert rows("text") == [(text.decode(), None), (None, octets.hex())]
    assert rows("hex") == [(None, text.hex()), (None, octets.hex())]
    assert decode([path], as_json=False, ports=(), secrets=False, bodies="text") == 0
    lines = [line.strip() for line in printed(capsys)]
    at = next(number for number, line in enumerate(lines) if line.endswith(f"{len(text)} octets"))
    assert lines[at + 1 : at + 3] == ["one", "\\u00e4"]
    assert f"0ff0  {' '.join(['ff'] * 16)}  {'.' * 16}" in lines
    assert f"... {5000 - BODY_SHOWN} octets more" in lines


def test_stdin_and_folders(tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    segments = build.conversation([b"one"]).segments
    names = [build.write(folder / name, build.pcap(build.records(segments))) for name in ("dump10", "dump2")]
    with open(names[0], "rb") as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert decode(["-", str(folder)], as_json=True, ports=(), secrets=False) == 0
    files = [json.loads(line)["file"] for line in capfd.readouterr().out.splitlines()]
    assert list(dict.fromkeys(files)) == ["-", *reversed(names)]
    (tmp_path / "empty").mkdir()
    assert decode([str(tmp_path / "empty")], as_json=True, ports=(), secrets=False) == 2


def test_only_on_a_terminal_there_are_colours(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = capture(tmp_path)
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    decode([path], as_json=False, ports=(), secrets=False)
    assert "\x1b[36mC\x1b[0m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    decode([path], as_json=False, ports=(), secrets=False)
    assert "\x1b" not in capsys.readouterr().out


def test_lines_are_left_out_and_numbers_stay(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path)
    decode([path], as_json=False, ports=(), secrets=False)
    every = printed(capsys)
    decode([path], as_json=False, ports=(), secrets=False, wanted=Wanted(verbs=("message.transfer",)))
    assert printed(capsys) == [*every[:2], *[line for line in every if "message.transfer" in line]]
    decode([path], as_json=False, ports=(), secrets=False, wanted=Wanted(verbs=("no.such",)))
    left = len([line for line in every if line[:7].strip().isdigit()])
    assert capsys.readouterr() == ("", f"amqp-sansio: no line fits the options: {left} lines were left out\n")
    decode([path], as_json=False, ports=(), secrets=False, wanted=Wanted(errors=True, verbs=("no.such",)))
    assert capsys.readouterr().err.endswith("; `amqp-sansio check` reports broken rules\n")
