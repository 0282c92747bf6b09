"""What TCP may do to a conversation changes nothing in the tables but how it was captured."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.captures.packets import Row, by_connection, gathered, packet_rows, replayed

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import CAPTURE_COLUMNS, TABLES

DATA = Path(__file__).parents[2] / "data" / "captures"
NAMES = ("hello", "tx", "credit", "dtx", "maps", "syncflush", "cpp_hello", "errors")
ALL = ReplayOptions(tables=tuple(TABLES))
FIN, SYN = 1, 2

Tables = dict[str, list[str]]


def connections(name: str) -> list[list[Row]]:
    return list(by_connection(packet_rows(str(DATA / f"{name}.pcap"))).values())


def said(rows: Sequence[Row], options: ReplayOptions = ALL) -> Tables:
    """What the tables say about the conversation, apart from how it was captured."""
    found = gathered(replayed(rows, options))
    return {
        name: sorted(repr({key: value for key, value in row.items() if key not in CAPTURE_COLUMNS}) for row in made)
        for name, made in found.items()
    }


def timed(rows: list[Row]) -> list[Row]:
    """The rows with times and offsets in the order in which they stand."""
    start = min(int(str(row["ts_ns"])) for row in rows)
    return [row | {"ts_ns": start + 1000 * at, "offset": 24 + 100 * at} for at, row in enumerate(rows)]


def data(row: Row) -> bytes:
    payload = row["payload"]
    assert isinstance(payload, bytes)
    return payload


def duplicated(rows: list[Row], chance: random.Random) -> list[Row]:
    found = list(rows)
    for _ in range(max(1, len(rows) // 5)):
        at = chance.randrange(len(found))
        found.insert(min(len(found), at + chance.randrange(1, 4)), found[at])
    return found


def reordered(rows: list[Row], chance: random.Random) -> list[Row]:
    found = list(rows)
    for at in range(4, len(found) - 4):
        if chance.random() < 0.2:
            found[at], found[at + 1] = found[at + 1], found[at]
    return found


def resegmented(rows: list[Row], chance: random.Random) -> list[Row]:
    found: list[Row] = []
    for row in rows:
        payload, seq = data(row), int(str(row["seq"]))
        if len(payload) > 1 and not int(str(row["flags"])) & (SYN | FIN):
            cut = chance.randrange(1, len(payload))
            found.append(row | {"payload": payload[:cut]})
            found.append(row | {"payload": payload[cut:], "seq": (seq + cut) & 0xFFFFFFFF})
        else:
            found.append(row)
    return found


def overlapping(rows: list[Row], chance: random.Random) -> list[Row]:
    """Some segments begin with octets of the one before them."""
    found: list[Row] = []
    before: dict[object, Row] = {}
    for row in rows:
        payload, last = data(row), before.get(row["sport"])
        if payload and last is not None and data(last) and chance.random() < 0.5:
            again = data(last)[-chance.randrange(1, len(data(last)) + 1) :]
            if int(str(last["seq"])) + len(data(last)) == row["seq"]:
                row = row | {"payload": again + payload, "seq": (int(str(row["seq"])) - len(again)) & 0xFFFFFFFF}
        if payload:
            before[row["sport"]] = row
        found.append(row)
    return found


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("change", [duplicated, reordered, resegmented, overlapping])
def test_the_tables_are_the_same(name: str, change: Callable[[list[Row], random.Random], list[Row]]) -> None:
    """Packets that come twice, in another order, cut otherwise or overlapping say what the good ones say."""
    chance = random.Random(f"{name} {change.__name__}")
    for rows in connections(name)[:6]:
        assert said(timed(change(rows, chance))) == said(timed(rows))


def latest(row: Row) -> int:
    return max(int(str(row[key])) for key in row if key.endswith("_ns") and "latency" not in key and row[key])


def lossy(rows: list[Row], at: int) -> list[Row]:
    return rows[:at] + rows[at + 1 :]


@pytest.mark.parametrize("name", NAMES)
def test_one_lost_packet_is_one_gap_and_nobody_is_accused(name: str) -> None:
    """A packet with data that is missing is one gap; what stood before it is as it was, what depends on it is unknown."""
    for rows in connections(name)[:3]:
        rows = timed(rows)
        whole = gathered(replayed(rows, ALL))
        accused = {(row["rule"], row["said"]) for row in whole.get("violations", []) if row["level"] == "violation"}
        carrying = [at for at, row in enumerate(rows) if data(row)]
        for at in carrying[:: max(1, len(carrying) // 12)]:
            if at == carrying[-1]:
                continue
            found = gathered(replayed(lossy(rows, at), ALL))
            gaps = [row for row in found.get("violations", []) if row["rule"] == "gap"]
            assert len(gaps) == 1, at
            assert found["connections"][0]["gaps"] == 1
            lost = found["connections"][0]
            assert (lost["lost_by_client"], lost["lost_by_server"]).count(len(data(rows[at]))) == 1
            assert {(row["rule"], row["said"]) for row in found.get("violations", []) if row["level"] == "violation"} <= accused
            before = int(str(rows[at]["ts_ns"]))
            for table in ("commands", "messages"):
                settled = {
                    repr(row)
                    for row in whole.get(table, [])
                    if latest(row) < before and row["outcome"] not in ("open", "unknown", "refused")
                }
                same = {repr({**row, "connection": whole["connections"][0]["connection"]}) for row in found.get(table, [])}
                assert {text for text in settled if text not in same} == set(), (table, at)
                for row in found.get(table, []):
                    if row["outcome"] == "open":
                        assert row["command_id" if table == "commands" else "transfer_id"] is not None
            behind = [row for row in found.get("frames", []) if int(str(row["ts_ns"])) > before]
            after = [row for row in whole.get("frames", []) if int(str(row["ts_ns"])) > before + 10_000]
            assert behind or len(after) < 8


@pytest.mark.parametrize("name", ["hello", "tx", "dtx", "credit"])
def test_a_capture_that_starts_or_ends_anywhere_accuses_nobody(name: str) -> None:
    """Whatever part of a recording there is, nobody is accused, and what cannot be known is null or unknown."""
    ports = ReplayOptions(ports=(15673,), tables=tuple(TABLES))
    for rows in connections(name):
        for at in range(1, len(rows), max(1, len(rows) // 12)):
            for part in (rows[at:], rows[:at]):
                found = gathered(replayed(part, ports))
                assert [row for row in found.get("violations", []) if row["level"] == "violation"] == []
            late = gathered(replayed(rows[at:], ports))
            for row in late.get("sessions", []):
                if row["session"] is None:
                    assert row["in_doubt"] is row["in_doubt_by_client"] is None


def test_ports_that_are_used_again_are_another_connection() -> None:
    (rows,) = connections("hello")
    later = [row | {"ts_ns": int(str(row["ts_ns"])) + 10**12, "seq": (int(str(row["seq"])) + 99999) & 0xFFFFFFFF,
                    "ack": (int(str(row["ack"])) + 99999) & 0xFFFFFFFF if row["ack"] else 0} for row in rows]  # fmt: skip
    found = gathered(replayed([*rows, *later]))
    assert [str(row["name"])[-2:] for row in found["connections"]] == ["#1", "#2"]
    assert len({row["connection"] for row in found["connections"]}) == 2
    assert len(found["messages"]) == 4
    cut = gathered(replayed([*rows[:-8], *later]))  # the first one never ended
    assert [row["end"] for row in cut["connections"]] == ["open", "close"]
    assert cut["connections"][0]["end_ns"] == rows[-9]["ts_ns"]
