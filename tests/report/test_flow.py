"""Credit over time."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.report.made import SECOND, START, write_story, write_table

from amqp_sansio.report import flow
from amqp_sansio.report.bins import Axis
from amqp_sansio.report.flow import WITHOUT_LIMIT, CreditReader
from amqp_sansio.report.folder import Folder

AXIS = Axis(START, START + 10 * SECOND - 1, steps=10)


def test_stalls_are_marked_and_what_flies_is_counted(tmp_path: Path) -> None:
    credit = CreditReader(Folder(str(write_story(tmp_path))), AXIS)
    assert (credit.stalls, credit.stalled_ns, credit.subscriptions) == (1, 2 * SECOND, 1)
    assert credit.busy[:10].tolist() == [0, 0, 1, 1, 1, 0, 0, 0, 0, 0]
    (line,) = credit.lines.values()
    assert [change.credit for change in line.changes] == [3, 0, 5]
    assert (line.queue, line.stalls) == ("q", 1)
    assert max(line.flying.tolist()) == 1


def test_of_many_changes_one_for_each_step_is_drawn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(flow, "CHANGES", 5)
    rows = [
        {"direction": "C", "destination": "d", "event": "flow", "message_credit": n, "ts_ns": START + n * 10**7}
        for n in range(900)
    ]
    write_table(tmp_path, "credit", [*rows, {**rows[0], "message_credit": WITHOUT_LIMIT, "ts_ns": START + 10 * SECOND}])
    (line,) = CreditReader(Folder(str(tmp_path)), AXIS).lines.values()
    assert len(line.changes) <= 5 + AXIS.steps + 1
    assert len(line.changes) + line.left_out == 901


def test_without_limit_is_not_a_number(tmp_path: Path) -> None:
    write_table(tmp_path, "credit", [{"direction": "C", "event": "flow", "message_credit": WITHOUT_LIMIT}])
    (line,) = CreditReader(Folder(str(tmp_path)), AXIS).lines.values()
    assert (line.without_limit, line.changes[0].credit) == (True, None)
