"""A packet that is missing, a recording that starts late or ends early: what depends on it is unknown, nobody is accused.

Every packet of every recording with the profile soak, some of each otherwise.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.captures.columns.test_metamorphic import DATA, connections, data, timed
from tests.captures.finer import EPOCH
from tests.captures.packets import Row, by_connection, gathered, packet_rows, replayed

from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.tables import TABLES

SOAK = os.environ.get("AMQP_PROFILE") == "soak"
SHARED = Path(__file__).resolve().parents[4] / "shared" / "captures" / "0-10"
"""More recordings, where they lie beside the checkout."""
LONG = ("window", "sessions")
"""Recordings of thousands of packets: a few of them do."""
OURS = sorted([*DATA.glob("*.pcap"), *DATA.glob("jms/*.pcap")])
RECORDINGS = [*OURS, *(sorted(SHARED.glob("*.pcap")) if SOAK and SHARED.is_dir() else [])]
ALL = ReplayOptions(tables=tuple(TABLES), ports=(5672, 15671, 15672, 15673, 15674))
BEFORE = 5
"""Packets of a connection that are lost, or places where it is cut, in a short run."""

Tables = dict[str, list[Row]]

# A long run that is stopped by the clock goes on with others in the next round.
FIRST = int(os.environ.get("AMQP_SEED", "0")) * 7 % len(RECORDINGS) if SOAK else 0

ORDER = RECORDINGS[FIRST:] + RECORDINGS[:FIRST]

recorded = pytest.mark.parametrize("path", ORDER, ids=lambda path: f"{path.parent.name}-{path.stem}")


def conversations(path: Path) -> Iterator[list[Row]]:
    """The connections of a recording; some of them in a short run."""
    found = [timed(rows) for rows in by_connection(packet_rows(str(path))).values()]
    yield from found if SOAK else random.Random(path.stem).sample(found, min(3, len(found)))


def chosen(path: Path, places: list[int]) -> list[int]:
    if SOAK and path.stem not in LONG:
        return places
    most = 50 if SOAK else BEFORE
    return sorted(random.Random(f"{path.stem} {os.environ.get('AMQP_SEED')}").sample(places, min(most, len(places))))


def accused(found: Tables) -> Counter[tuple[object, ...]]:
    rows = [row for row in found.get("violations", []) if row["level"] == "violation"]
    return Counter((row["direction"], row["rule"], row["said"]) for row in rows)


def latest(row: Row) -> int:
    """The latest time in a row, in ns, rounded up: what lies below a microsecond is not in every column."""
    times = [value for value in row.values() if isinstance(value, datetime)]
    return max((each - EPOCH) // timedelta(microseconds=1) * 1000 + 999 for each in times)


def one_lost_packet_is_one_gap_and_nobody_is_accused(rows: list[Row], whole: Tables, at: int, found: Tables) -> None:
    """Any packet with data but the very last, which nothing in the capture need tell of."""
    gaps = [row for row in found.get("violations", []) if row["rule"] == "gap"]
    (connection,) = found["connections"]
    lost = connection["lost_by_client"], connection["lost_by_server"]
    assert (len(gaps), connection["gaps"], lost.count(len(data(rows[at])))) == (1, 1, 1), at
    assert accused(found) <= accused(whole), at


def what_stood_before_a_loss_is_as_it_was(rows: list[Row], whole: Tables, at: int, found: Tables) -> None:
    before, same = int(str(rows[at]["ts_ns"])), {"connection": whole["connections"][0]["connection"]}
    for table in ("commands", "messages", "transactions", "frames"):
        settled = [row for row in whole.get(table, []) if latest(row) < before]
        certain = {repr(row) for row in settled if row.get("outcome") not in ("open", "unknown", "refused")}
        assert certain - {repr(row | same) for row in found.get(table, [])} == set(), (at, table)


def the_next_frame_is_found_again(rows: list[Row], whole: Tables, at: int, found: Tables) -> None:
    """Also in the middle of a large message; the other speaker's frames are not concerned."""
    after = int(str(rows[at]["ts_ns"])) + 3000
    port = str(whole["connections"][0]["server"]).rpartition(":")[2]
    speaker = "C" if str(rows[at]["dport"]) == port else "S"
    heard, now = (
        Counter(row["direction"] for row in tables.get("frames", []) if int(str(row["ts_ns"])) > after)
        for tables in (whole, found)
    )
    assert heard[speaker] - now[speaker] <= 2, at
    assert sum(row["direction"] != speaker for row in whole.get("frames", [])) == sum(
        row["direction"] != speaker for row in found.get("frames", [])
    )


def place(table: str, row: Row) -> tuple[object, ...]:
    """What stays of a row's identity when ids are unknown."""
    if table == "dtx":
        return row["xid"], row["ts_ns"]
    if table == "transactions":
        return row["session"], row["transaction"], row["ts_ns"]
    return row["direction"], row["channel"], row["stream_offset"]


def what_depends_on_a_loss_is_unknown(rows: list[Row], whole: Tables, at: int, found: Tables) -> None:
    """A row says of its outcome what it said with all octets there, or that it is unknown; no doubt and no stall is made up."""
    for table in ("commands", "messages", "transactions", "dtx"):
        known = {place(table, row): row for row in whole.get(table, [])}
        for row in found.get(table, []):
            before = known.get(place(table, row))
            if before is not None:
                assert row["outcome"] in (before["outcome"], "unknown"), (at, table, before)
                assert not row.get("in_doubt") or before["in_doubt"], (at, table, before)
    for event in ("exhausted", "end"):
        stalls, now = (
            Counter(row["destination"] for row in tables.get("credit", []) if row["event"] == event)
            for tables in (whole, found)
        )
        assert now <= stalls, (at, event)
    doubts = {(row["session"], row["ts_ns"]): row["in_doubt"] or 0 for row in whole.get("sessions", [])}
    for row in found.get("sessions", []):
        assert (row["in_doubt"] or 0) <= doubts.get((row["session"], row["ts_ns"]), 0), at  # type: ignore[operator]


@recorded
def test_of_one_lost_packet_what_is_known_is_as_it_was_and_nobody_is_accused(path: Path) -> None:
    for rows in conversations(path):
        whole = gathered(replayed(rows, ALL))
        sent = Counter((row["sport"], row["seq"]) for row in rows if data(row))
        carrying = [at for at, row in enumerate(rows) if data(row)]
        once = [at for at in carrying[:-1] if sent[rows[at]["sport"], rows[at]["seq"]] == 1]
        for at in chosen(path, once):
            found = gathered(replayed(rows[:at] + rows[at + 1 :], ALL))
            for holds in (
                one_lost_packet_is_one_gap_and_nobody_is_accused,
                what_stood_before_a_loss_is_as_it_was,
                the_next_frame_is_found_again,
                what_depends_on_a_loss_is_unknown,
            ):
                holds(rows, whole, at, found)


@recorded
@pytest.mark.parametrize("options", [ALL, ReplayOptions(tables=tuple(TABLES))], ids=["port", "no-port"])
def test_a_capture_that_starts_or_ends_anywhere_accuses_nobody(path: Path, options: ReplayOptions) -> None:
    """Whatever part of a recording there is, nobody is accused of what he is not when all of it is there."""
    for rows in conversations(path):
        known = accused(gathered(replayed(rows, ALL)))
        for at in chosen(path, list(range(1, len(rows)))):
            for part in (rows[at:], rows[:at]):
                assert accused(gathered(replayed(part, options))) <= known, at


def test_a_session_that_is_not_known_has_no_doubts() -> None:
    for rows in connections("tx"):
        for at in range(1, len(rows), 9):
            for row in gathered(replayed(rows[at:], ALL)).get("sessions", []):
                if row["session"] is None:
                    assert row["in_doubt"] is row["in_doubt_by_client"] is None
