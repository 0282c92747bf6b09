"""Packets and transfers taken many at a time give the rows that they give one by one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.captures.packets import Row, by_connection, packet_rows, replayed

from amqp_sansio.captures.columns import replay as module
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from bench.traffic import make

DATA = Path(__file__).parents[2] / "data" / "captures"
EXPECTED = json.loads((DATA / "expected.json").read_text())


def said(groups: list[list[Row]], options: ReplayOptions, step: int = 1 << 30) -> list[tuple[str, str]]:
    found = [each for rows in groups for each in replayed(rows, options, step)]
    return sorted((name, repr(row)) for name, batch in found for row in batch.to_pylist())


def slowly(groups: list[list[Row]], options: ReplayOptions, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    with monkeypatch.context() as patch:
        patch.setattr(module, "take_runs", lambda listener, key, packets, at, order: at)
        patch.setattr(ConnectionReplay, "_many", lambda self, conversation, witness: False)
        return said(groups, options)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_recordings_give_the_same_rows_packet_by_packet(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),), tables=tuple(TABLES), body_head=5)
    groups = list(by_connection(packet_rows(str(DATA / name))).values())
    assert said(groups, options) == slowly(groups, options, monkeypatch)


@pytest.mark.parametrize("body", [30, 400, 9000])
def test_traffic_gives_the_same_rows_packet_by_packet(body: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "traffic.pcap"
    make(path, 250_000 + 60 * body, connections=5, body=body, faults=0.2, repeats=0.02, seed=body)
    rows = packet_rows(str(path))
    for lost in (None, len(rows) // 3):
        left = [row for at, row in enumerate(rows) if at != lost]
        groups = list(by_connection(left).values())
        slow = slowly(groups, ReplayOptions(body_head=3), monkeypatch)
        assert said(groups, ReplayOptions(body_head=3)) == slow
        assert said(groups, ReplayOptions(body_head=3), 37) == slow
        assert any(name == "messages" for name, _ in slow)


def test_silence_is_noticed_within_many_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    name = "heartbeat_dead.pcap"
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),))
    groups = list(by_connection(packet_rows(str(DATA / name))).values())
    found = said(groups, options)
    assert any("connection.silence" in row for _, row in found)
    assert found == slowly(groups, options, monkeypatch)
