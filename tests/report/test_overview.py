"""Counts and lists of the small tables."""

from __future__ import annotations

from pathlib import Path

from tests.report.made import SECOND, START, write_story, write_table

from amqp_sansio.report.folder import Folder
from amqp_sansio.report.overview import DIAGRAMS, FINDINGS, SHOWN, Overview


def test_the_story_is_counted(tmp_path: Path) -> None:
    seen = Overview(Folder(str(write_story(tmp_path))))
    assert (seen.start, seen.end) == (START, START + 9 * SECOND)
    assert (seen.levels["violation"], seen.levels["note"], seen.broken, seen.in_doubt) == (1, 1, 1, 4)
    assert (seen.branches_in_doubt, len(seen.hanging), len(seen.doubtful)) == (1, 1, 1)
    assert seen.clients.top(1) == [("c", 300, 0)]


def test_the_report_counts_the_ids_of_a_range_that_wraps(tmp_path: Path) -> None:
    wrapping = [{"first": 2**32 - 3, "last": 0}, {"first": 2, "last": 3}]
    write_table(tmp_path, "sessions", [{"connection": 1, "in_doubt_by_client": wrapping, "in_doubt": 6}])
    assert Overview(Folder(str(tmp_path))).publishes_in_doubt == 6


def test_long_lists_are_cut_and_the_first_of_each_rule_is_drawn(tmp_path: Path) -> None:
    many = [{"connection": 1, "level": "violation", "rule": "often", "direction": "C", "ts_ns": START + n} for n in range(500)]
    rare = {"connection": 1, "level": "violation", "rule": "rare", "direction": "S", "ts_ns": START + 900}
    write_table(tmp_path, "violations", [*reversed(many), rare], group=50)
    write_table(tmp_path, "connections", [{"connection": n, "octets_by_client": n} for n in range(100)])
    seen = Overview(Folder(str(tmp_path)))
    assert len(seen.findings) == FINDINGS
    assert [row["ts_ns"] - START for row in seen.findings[:3]] == [0, 1, 2]
    assert len(seen.drawn) == DIAGRAMS
    assert [row["rule"] for row in seen.drawn].count("rare") == 1
    assert [row["connection"] for row in seen.connections[:2]] == [99, 98]
    assert len(seen.connections) == SHOWN


def test_a_branch_decided_later_on_another_connection_of_its_broker_is_not_in_doubt(tmp_path: Path) -> None:
    prepared = {
        "connection": 1,
        "broker": "a",
        "xid": "1:aa:",
        "ts_ns": 10,
        "prepare_ns": 20,
        "outcome": "prepared",
        "in_doubt": True,
    }
    decided = {
        "connection": 2,
        "broker": "a",
        "xid": "1:aa:",
        "ts_ns": 30,
        "decided_ns": 40,
        "outcome": "committed",
        "in_doubt": False,
    }
    for name, other, left in (
        ("later", decided, 0),
        ("before", {**decided, "ts_ns": 1, "decided_ns": 2}, 1),
        ("elsewhere", {**decided, "broker": "b"}, 1),
        ("another", {**decided, "xid": "1:bb:"}, 1),
    ):
        write_table(tmp_path / name, "dtx", [prepared, other])
        seen = Overview(Folder(str(tmp_path / name)))
        assert (name, seen.branches_in_doubt, len(seen.branch_rows)) == (name, left, left)
