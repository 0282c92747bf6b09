"""What TCP may do to a conversation changes nothing in the tables but how it was captured."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tests.captures.finer import moment
from tests.captures.packets import Row, by_connection, gathered, packet_rows, replayed
from tests.captures.variants import CAPTURE_COLUMNS

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES

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


def test_ports_that_are_used_again_are_another_connection() -> None:
    (rows,) = connections("hello")
    later = [row | {"ts_ns": int(str(row["ts_ns"])) + 10**12, "seq": (int(str(row["seq"])) + 99999) & 0xFFFFFFFF,
                    "ack": (int(str(row["ack"])) + 99999) & 0xFFFFFFFF if row["ack"] else 0} for row in rows]  # fmt: skip
    found = gathered(replayed([*rows, *later]))
    assert [str(row["name"])[-2:] for row in found["connections"]] == ["#1", "#2"]
    assert len({row["connection"] for row in found["connections"]}) == 2
    assert len(found["messages"]) == 4
    cut = gathered(replayed([*rows[:-8], *later]))  # the first one never ended
    assert [row["ending"] for row in cut["connections"]] == ["open", "close"]
    assert cut["connections"][0]["ended_at"] == moment(rows[-9]["ts_ns"])
