"""Packets and transfers taken many at a time give the rows that they give one by one."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest
from tests.captures.packets import Row, by_connection, packet_rows, replayed

from amqp_sansio.captures.columns import replay as module
from amqp_sansio.captures.columns import runs
from amqp_sansio.captures.columns.replay import ConnectionReplay
from amqp_sansio.captures.conversation import Conversation
from amqp_sansio.captures.flows import Listener
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES
from bench.traffic import make

DATA = Path(__file__).parents[2] / "data" / "captures"
VARIANTS = 2000 if os.environ.get("AMQP_PROFILE") == "soak" else 5
EXPECTED = json.loads((DATA / "expected.json").read_text())


def said(groups: list[list[Row]], options: ReplayOptions, step: int = 1 << 30) -> list[tuple[str, str]]:
    found = [each for rows in groups for each in replayed(rows, options, step)]
    return sorted((name, repr(row)) for name, batch in found for row in batch.to_pylist())


def slowly(groups: list[list[Row]], options: ReplayOptions, monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    with monkeypatch.context() as patch:
        patch.setattr(module, "take_runs", lambda listener, key, packets, at, count, order: at)
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


def odd(rows: list[Row], chance: random.Random) -> list[Row]:
    """The same packets, but that some are lost, come twice or late, are split or cut, or carry another flag or octet."""
    rows = [dict(row) for row in rows]
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(rows))
        row, payload = rows[at], rows[at]["payload"]
        assert isinstance(payload, bytes) and isinstance(row["seq"], int) and isinstance(row["flags"], int)  # noqa: PT018
        half = len(payload) // 2
        match chance.choice(("lost", "twice", "late", "split", "cut", "flag", "octet")):
            case "lost" if len(rows) > 3:
                del rows[at]
            case "twice":
                rows.insert(min(len(rows), at + chance.randint(1, 3)), dict(row))
            case "late":
                rows.insert(min(len(rows) - 1, at + chance.randint(1, 3)), rows.pop(at))
            case "split" if half:
                second = {**row, "payload": payload[half:], "seq": (row["seq"] + half) & 0xFFFFFFFF}
                rows[at : at + 1] = [{**row, "payload": payload[:half]}, second]
            case "cut" if half:
                row["payload"], row["cut"] = payload[:half], len(payload) - half
            case "flag":
                row["flags"] ^= 1 << chance.randrange(6)
            case "octet" if half:
                row["payload"] = payload[:half] + bytes([payload[half] ^ 1 << chance.randrange(8)]) + payload[half + 1 :]
    latest = 0
    for place, row in enumerate(rows):
        row["offset"] = 24 + 100 * place
        assert isinstance(row["ts_ns"], int)
        row["ts_ns"] = latest = max(row["ts_ns"], latest)
    return rows


@pytest.mark.parametrize("name", ["hello.pcap", "credit.pcap", "dtx.pcap", "tx.pcap"])
def test_odd_packets_give_the_same_rows_packet_by_packet_however_they_are_batched(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with packets, and wherever a batch begins, many at a time tell what one by one does."""
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),), tables=tuple(TABLES))
    groups = list(by_connection(packet_rows(str(DATA / name))).values())
    for seed in range(VARIANTS):
        chance = random.Random(f"{name} {seed}")
        rows = odd(chance.choice(groups), chance)
        slow = slowly([rows], options, monkeypatch)
        for step in (1 << 30, chance.randint(1, 9), chance.randint(10, 60)):
            assert said([rows], options, step) == slow, (seed, step)


def test_a_batch_that_begins_with_an_odd_packet_tells_nothing_of_the_time_of_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """A SYN in the middle: what follows belongs to nobody, and the connection ends before it."""
    name = "hello.pcap"
    options = ReplayOptions(ports=(int(EXPECTED[name]["port"]),), tables=tuple(TABLES))
    rows = max(by_connection(packet_rows(str(DATA / name))).values(), key=len)
    for at in range(12, 40):
        changed = [{**row, "flags": 26} if index == at else row for index, row in enumerate(rows)]
        assert said([changed], options, at) == slowly([changed], options, monkeypatch), at


def test_what_is_replayed_at_once_is_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Whatever one side says in a row: no more octets at once than are allowed and one packet."""
    heard: list[int] = []
    several = Conversation.several

    def noted(self: Conversation, side: int, octets: bytes, *rest: Any) -> None:
        heard.append(len(octets))
        several(self, side, octets, *rest)

    monkeypatch.setattr(Conversation, "several", noted)
    make(tmp_path / "traffic.pcap", 200_000, connections=1)
    groups = list(by_connection(packet_rows(str(tmp_path / "traffic.pcap"))).values())
    whole = said(groups, ReplayOptions())
    assert max(heard) > 6000
    heard.clear()
    monkeypatch.setattr(runs, "RUN_OCTETS", 3000)
    assert said(groups, ReplayOptions()) == whole
    assert 3000 < max(heard) <= 3000 + 1448


@pytest.mark.parametrize("block", [1, 20, 300])
def test_packets_of_many_files_give_the_same_rows_and_stay_many_at_once(
    block: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Files that were rotated within a connection; where files take turns packet by packet, so are they heard."""
    make(tmp_path / "traffic.pcap", 200_000, connections=2)
    groups = list(by_connection(packet_rows(str(tmp_path / "traffic.pcap"))).values())
    for rows in groups:
        for at, row in enumerate(rows):
            row["file_id"], row["capture"] = at // block, f"{at // block}.pcap"
    slow = slowly(groups, ReplayOptions(), monkeypatch)
    alone: list[int] = []
    segment = Listener.segment

    def noted(self: Listener, *given: Any) -> None:
        alone.append(1)
        segment(self, *given)

    monkeypatch.setattr(Listener, "segment", noted)
    assert said(groups, ReplayOptions()) == slow
    count = sum(len(rows) for rows in groups)
    assert len(alone) == count if block == 1 else len(alone) < count / 8
