"""What was published, counted."""

from __future__ import annotations

import time

from amqp_sansio.captures.columns.findings import Damage, Findings
from amqp_sansio.captures.columns.outcome import outcome
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.replay.options import ReplayOptions


def test_rows_and_octets_of_all_files() -> None:
    files = [Written("messages", "", "a", 3, 10), Written("messages", "", "b", 4, 20), Written("end_to_end", "", "c", 2, 5)]
    damage = (Damage("x", 1, "torn"),)
    plan = ReplayOptions(tables=("messages", "dtx"))
    found = outcome("out", plan, files, Findings({"damage": 1}, damage), time.monotonic() - 5)
    assert found.rows == {"messages": 7, "dtx": 0, "end_to_end": 2}
    assert (found.out, found.files, found.octets, found.findings, found.damage) == ("out", 3, 35, {"damage": 1}, damage)
    assert 5 <= found.seconds < 3600


def test_without_messages_nothing_is_joined() -> None:
    assert outcome("out", ReplayOptions(tables=("dtx",)), [], Findings(), 0).rows == {"dtx": 0}
