"""0-8, 0-9 and 0-9-1 through captures: `decode` and `check`, beside 0-10, without SYN, without secrets."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.captures import build
from tests.families.channels import ALL, EIGHT, FAMILY, ONE, Said, content, frame, opening
from tests.families.test_heard import SESSIONS

from amqp_sansio.captures.conversation import observers
from amqp_sansio.cli.check import check
from amqp_sansio.cli.decode import decode
from amqp_sansio.cli.main import main
from amqp_sansio.dialects import Dialect
from amqp_sansio.wire.method_codec import MethodCodec

MAKE = observers(dialects=ALL)


@pytest.fixture
def _every_dialect(monkeypatch: pytest.MonkeyPatch) -> None:
    """`check` and `decode` read every dialect."""
    for verb in ("check", "decode"):
        monkeypatch.setattr(f"amqp_sansio.cli.{verb}.observers", lambda *given, **named: MAKE)


def talk(said: list[Said], port: int, syn: bool = True) -> list[build.Segment]:
    """Segments of a connection from this port of the client."""
    made = build.Talk(replace(build.Segment(True, 0), client_port=port), 1460)
    if syn:
        made.open()
    for who, octets in said:
        made.say(who == "C", octets)
    return made.close().segments


def conversation(dialect: Dialect[MethodCodec]) -> list[Said]:
    words: list[Said] = [
        ("C", frame(dialect, "basic.publish", routing_key="k") + content(b"four", properties=b"\x80\0\4text")),
        ("C", frame(dialect, "queue.declare", arguments={"x": [1, None, "a"]})),
        ("S", frame(dialect, "queue.declare-ok", queue="q")),
        ("C", frame(dialect, "tx.commit")),
    ]
    return [*opening(dialect, ("consumer_cancel_notify",)), *words]


def write(path: Path, *talks: list[build.Segment]) -> str:
    """A capture of these connections side by side, packet by packet."""
    segments = [each[at] for at in range(max(map(len, talks))) for each in talks if at < len(each)]
    return build.write(path, build.pcap(build.records(segments)))


def rows(file: str, capsys: pytest.CaptureFixture[str], **more: Any) -> list[dict[str, Any]]:
    assert decode([file], as_json=True, ports=more.pop("ports", ()), secrets=more.pop("secrets", False)) == 0
    return [json.loads(row) for row in capsys.readouterr().out.splitlines()]


@pytest.mark.parametrize("dialect", FAMILY, ids=lambda dialect: dialect.name)
@pytest.mark.usefixtures("_every_dialect")
def test_decode(dialect: Dialect[MethodCodec], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "one.pcap", talk(conversation(dialect), 40001))
    found = rows(file, capsys)
    assert [row["verb"] for row in found if row["kind"] == "method"] == [
        "channel.open", "channel.open-ok", "basic.publish", "queue.declare", "queue.declare-ok", "tx.commit",
    ]  # fmt: skip
    assert [row["verb"] for row in found if row["kind"] == "control"][:2] == ["connection.start", "connection.start-ok"]
    assert found[0]["fields"]["version"] == dialect.name.split()[0]
    publish = next(row for row in found if row["verb"] == "basic.publish")
    assert publish["headers"] == [{"struct": "basic.properties", "content_type": "text"}]
    assert (publish["body_octets"], publish["complete"], publish["channel"]) == (4, True, 1)
    declare = next(row for row in found if row["verb"] == "queue.declare")
    assert declare["fields"]["arguments"] == {"x": [1, None, "a"]}
    assert decode([file], as_json=False, ports=(), secrets=False) == 0
    assert "| properties: content-type=text | 4 octets" in capsys.readouterr().out


@pytest.mark.usefixtures("_every_dialect")
def test_a_header_that_cannot_be_read_is_given_as_octets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[Said] = [*opening(ONE), ("C", frame(ONE, "basic.publish") + content(properties=b"\x80\0\4te"))]
    assert rows(write(tmp_path / "one.pcap", talk(said, 40001)), capsys)[-1]["headers"] == [
        {"struct": None, "octets": (b"\0\x3c" + bytes(10) + b"\x80\0\4te").hex()}
    ]


@pytest.mark.usefixtures("_every_dialect")
def test_secrets_only_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said: list[Said] = [*opening(ONE), ("C", frame(ONE, "connection.update-secret", 0, new_secret=b"hush-3", reason="r"))]
    file = write(tmp_path / "one.pcap", talk(said, 40001))
    assert "hush" not in json.dumps(rows(file, capsys))
    assert b"hush".hex() not in json.dumps(rows(file, capsys))
    assert rows(file, capsys)[-1]["fields"] == {"new_secret": 6, "reason": "r"}
    assert json.dumps(rows(file, capsys, secrets=True)).count(b"hush".hex()) == 3
    for as_json in (False, True):
        decode([file], as_json=as_json, ports=(), secrets=False)
        check([file], as_json=as_json, ports=(), strict=True)
    out = capsys.readouterr().out
    assert "hush" not in out
    assert b"hush".hex() not in out


@pytest.mark.usefixtures("_every_dialect")
def test_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(tmp_path / "one.pcap", talk(conversation(ONE), 40001))
    assert check([file], as_json=False, ports=(), strict=False) == 1
    out = capsys.readouterr().out
    assert "0-9-1  1 violation  (12 methods, " in out
    assert "tx.select-required: tx.commit" in out
    assert "every octet was read" in out
    clean = write(tmp_path / "clean.pcap", talk(opening(EIGHT), 40001))
    assert check([clean], as_json=False, ports=(), strict=False) == 0


# Connections of three families side by side in one file give what each gives alone.
@pytest.mark.usefixtures("_every_dialect")
def test_several_dialects_in_one_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    talks = {
        40001: [("C" if who == "C" else "S", octets) for who, octets in SESSIONS],
        40002: conversation(ONE),
        40003: conversation(EIGHT),
    }
    alone: dict[int, list[dict[str, Any]]] = {}
    for port, said in talks.items():
        alone[port] = rows(write(tmp_path / f"{port}.pcap", talk(said, port)), capsys)
    together = rows(write(tmp_path / "all.pcap", *[talk(said, port) for port, said in talks.items()]), capsys)
    for port, found in alone.items():
        mine = [row for row in together if f":{port}>" in row["connection"]]
        assert found
        assert [_timeless(row) for row in mine] == [_timeless(row) for row in found]


def _timeless(row: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in row.items() if key not in ("file", "packet", "time")}


@pytest.mark.parametrize("dialect", FAMILY, ids=lambda dialect: dialect.name)
@pytest.mark.parametrize("first", [0, 1, 2])
@pytest.mark.usefixtures("_every_dialect")
def test_the_roles_without_syn(
    dialect: Dialect[MethodCodec], first: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Heard from the header, from the server's start on, and behind it, where only a port tells."""
    said = conversation(dialect)[first:]
    found = rows(write(tmp_path / "one.pcap", talk(said, 40001, syn=False)), capsys, ports=(5672,) if first == 2 else ())
    speakers = {row["verb"]: row["speaker"] for row in found}
    assert (speakers["channel.open"], speakers["channel.open-ok"]) == ("C", "S")


@pytest.mark.usefixtures("_every_dialect")
def test_a_client_that_says_all_at_once_is_the_client(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its words may look like those of another family's server where that one's start has its class and number."""
    said = opening(ONE)
    client = b"".join([octets for who, octets in said if who == "C"])
    start_ok = len(ONE.header) + 11
    assert client[start_ok - 4 : start_ok] == b"\0\x0a\0\x0b"
    forged = frame(ONE, "connection.start-ok", 0, client_properties={"x": "y" * (0x010100 - 7)}, mechanism="PLAIN")
    assert forged[12:14] == b"\1\1"
    words: list[Said] = [("C", ONE.header + forged), said[1]]
    found = rows(write(tmp_path / "one.pcap", talk(words, 40001, syn=False)), capsys)
    assert [row["speaker"] for row in found if row["verb"] == "connection.start-ok"] == ["C"]


def test_check_reads_the_family_by_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One dialect for each header; `--dialect` takes another one of that header."""
    said = [*opening(EIGHT), ("C", frame(EIGHT, "queue.unbind")), ("S", frame(EIGHT, "queue.unbind-ok"))]
    file = write(tmp_path / "unbind.pcap", talk(said, 40001))
    assert main(["check", file]) == 0
    assert "  0-8  clean  (" in capsys.readouterr().out
    assert main(["check", "--dialect", "0-8", file]) == 1
    assert "method.unknown" in capsys.readouterr().out
    assert main(["decode", "--dialect", "0-8", file]) == 0
    assert "queue.50" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["decode", "--dialect", "0-7", file])
    assert "0-8 unbind" in capsys.readouterr().err
