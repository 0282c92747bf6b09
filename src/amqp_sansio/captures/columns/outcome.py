"""The outcome of a run: what it has published."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from attrs import frozen

from amqp_sansio.captures.columns.end_to_end import joined_of
from amqp_sansio.captures.columns.findings import Damage, Findings
from amqp_sansio.captures.columns.late import Late
from amqp_sansio.captures.columns.place import Written
from amqp_sansio.captures.replay.options import ReplayOptions


@frozen
class Outcome:
    """What was published, and how long it took in seconds.

    `rows` per table, the number of `files` and their `octets`; `findings` are the rows of `violations` by level, `damage` the
    first unreadable places in captures; `late` the files that came too late for a stream; `early` the deliveries without a
    latency in `end_to_end`, because by the recorded times they ended before their publication began.
    """

    out: str
    rows: Mapping[str, int]
    files: int
    octets: int
    findings: Mapping[str, int]
    seconds: float
    damage: Sequence[Damage] = ()
    late: Sequence[Late] = ()
    early: int = 0


def outcome(
    out: str, plan: ReplayOptions, files: Sequence[Written], findings: Findings, began: float, late: Sequence[Late] = ()
) -> Outcome:
    """Returns the outcome for files published in `out`; `began` is the start of the run by `time.monotonic`."""
    rows = dict.fromkeys([*plan.tables, *joined_of(plan)], 0)
    for file in files:
        rows[file.table] += file.rows
    octets = sum(file.octets for file in files)
    seconds = time.monotonic() - began
    return Outcome(out, rows, len(files), octets, findings.levels, seconds, findings.damage, late, findings.early)
