"""A made-up family through a capture: `decode`, `check`, and rows that a person can read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.captures import build
from tests.captures.packets import Row, batch, by_connection, gathered, packet_rows
from tests.families.history import LineHistory
from tests.families.made_up import BAD
from tests.families.test_heard import BOTH, LINES_SAID, line

from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.conversation import observers
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.replay.recorder import HISTORIES, Recorder
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.cli.check import check
from amqp_sansio.cli.decode import decode


@pytest.fixture
def capture(tmp_path: Path) -> str:
    talk = build.Talk(build.Segment(True, 0), 1460).open()
    for who, octets in [*LINES_SAID, ("C", line(BAD, 5) + line(b"pin doubt", 6))]:
        talk.say(who == "C", octets)
    return build.write(tmp_path / "lines.pcap", build.pcap(build.records(talk.close().segments)))


def tables(capture: str) -> dict[str, list[Row]]:
    (rows,) = by_connection(packet_rows(capture)).values()
    replay = ConnectionReplay(ReplayOptions(tables=tuple(TABLES)), dialects=BOTH)
    return gathered(replay.feed(batch(rows)) + replay.finish())


def test_its_rows(capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(HISTORIES, "lines", LineHistory)
    found = tables(capture)
    (connection,) = found["connections"]
    assert (connection["protocol"], connection["not_judged"]) == ("made-up", None)
    assert (connection["commands_by_client"], connection["transfers_by_client"], connection["violations"]) == (4, 2, 1)
    settled, open_ = found["messages"]
    assert (settled["direction"], settled["channel"], settled["destination"], settled["transfer_id"]) == ("C", 2, "line 2", 1)
    assert (settled["body_octets"], settled["outcome"], settled["session"]) == (len(b"a message"), "accepted", None)
    assert isinstance(settled["settle_latency_ns"], int)
    assert settled["settle_latency_ns"] > 0
    assert (open_["destination"], open_["outcome"], open_["settled_at"]) == ("line 6", "open", None)
    assert [(row["direction"], row["verb"], row["arguments"]) for row in found["commands"]] == [
        ("C", "line.ask", '{"text":"well?"}'), ("C", "line.put", '{"text":"a message"}'),
        ("S", "line.echo", '{"text":"well?"}'), ("S", "line.done", '{"text":""}'),
        ("C", "line.b", None), ("C", "line.put", '{"text":"in doubt"}'),
    ]  # fmt: skip
    assert [row["verb"] for row in found["controls"]][:3] == ["connection.start", "connection.start-ok", "connection.tune"]
    assert {row["whole"] for row in found["commands"]} == {True, False}
    assert [(row["level"], row["rule"], row["direction"]) for row in found["violations"]] == [
        ("violation", "line.verb", "C"), ("note", "line.open", "S"),
    ]  # fmt: skip


def test_without_rows_of_its_own_it_has_those_of_every_family(capture: str) -> None:
    assert [row["verb"] for row in tables(capture)["commands"]][:2] == ["line.ask", "line.put"]
    assert "messages" not in tables(capture)


def test_decode_and_check(capture: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    for verb in ("check", "decode"):
        monkeypatch.setattr(f"amqp_sansio.cli.{verb}.observers", lambda *given, **named: observers(dialects=BOTH))
    assert decode([capture], as_json=True, ports=(), secrets=False) == 0
    rows = [json.loads(row) for row in capsys.readouterr().out.splitlines()]
    assert [row["verb"] for row in rows if row["kind"] == "command"][:4] == ["line.ask", "line.put", "line.echo", "line.done"]
    assert rows[0]["fields"]["version"] == "made-up"
    assert decode([capture], as_json=False, ports=(), secrets=False) == 0
    assert "line.put #1              text='a message'" in capsys.readouterr().out.replace('"', "'")
    assert check([capture], as_json=False, ports=(), strict=False) == 1
    out = capsys.readouterr().out
    assert "made-up" in out
    assert "line.verb" in out
    assert check([capture], as_json=False, ports=(), strict=False) != 0


def test_the_recorder_knows_no_family() -> None:
    assert not [name for name in Recorder.__slots__ if "session" in name]
