"""Latencies out of tables."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.captures.finer import timed
from tests.captures.rowwise import end_to_end
from tests.report.made import SECOND, START, write_story, write_table

from amqp_sansio.report import latency
from amqp_sansio.report.bins import Axis
from amqp_sansio.report.folder import Folder
from amqp_sansio.report.latency import Commands, Messages, joined


# End-to-end latencies are those of `captures.tables`, whatever ids repeat and cross.
def test_latencies_are_those_of_the_join(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = []
    total = 0
    for seed in range(20):
        chance = Random(seed)
        rows = [
            {"connection": chance.randrange(3), "direction": chance.choice("CS"), "ts_ns": START + (at := chance.randrange(30)),
             "last_octet_ns": START + at + chance.randrange(4), "message_id": chance.choice(["a", "b", "c", None]),
             "stream_offset": n, "queue": None, "redelivered": None}
            for n in range(chance.randrange(40))
        ]  # fmt: skip
        write_table(tmp_path, "messages", rows, group=7)
        expected = [row["latency_ns"] for row in end_to_end(map(timed, rows))]
        found, early = joined(Folder(str(tmp_path)), 1)
        assert sorted(found.tolist()) == sorted(int(str(each)) for each in expected if each is not None)
        assert early == expected.count(None)
        total += early
    assert rows
    assert total > 9


def test_of_too_many_ids_some_are_joined_and_the_page_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "JOINED", 40)
    rows = [
        {"direction": who, "message_id": f"id{n}", "ts_ns": START, "last_octet_ns": START + n}
        for n in range(100)
        for who in "CS"
    ]
    write_table(tmp_path, "messages", rows)
    seen = Messages(Folder(str(tmp_path)), Axis(START, START + SECOND))
    assert (seen.with_id, seen.every) == (200, 5)
    assert 5 <= seen.end_to_end.count <= 40


def test_the_story_is_counted(tmp_path: Path) -> None:
    folder = Folder(str(write_story(tmp_path)))
    commands = Commands(folder)
    assert commands.outcomes.top(9) == [("completed", 3, 0), ("open", 2, 0)]
    assert commands.latency["C"].count == 3
    assert [(row["verb"], row["count_all"]) for row in commands.open] == [("tx.commit", 1), ("execution.sync", 1)]
    seen = Messages(folder, Axis(START, START + 10 * SECOND - 1, steps=10))
    assert seen.in_flight["C"].tolist() == [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    assert seen.in_flight["S"].tolist() == [0, 0, 1, 1, 1, 1, 1, 1, 1, 1]
    assert seen.routes.top(1) == [(("e", "k"), 1, 5)]
    assert seen.queues.top(1) == [("q", 1, 5)]
    spread = seen.end_to_end.spread()
    assert spread is not None
    assert spread.most == 2 * SECOND
