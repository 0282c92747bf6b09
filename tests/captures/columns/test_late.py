"""What came too late is counted by file; in order, nothing is."""

from __future__ import annotations

import json

import pytest
from tests.captures.packets import Row, batch

from amqp_sansio.captures.columns.late import LATE, SLACK_NS, Late, Lateness, bounded, gathered, late_in

SECOND = 1_000_000_000
NOW = 1_700_000_000 * SECOND


def packet(ns: int, capture: str = "a", octets: int = 10, note: str | None = None) -> Row:
    return {
        "capture": capture, "file_id": 0, "offset": 0, "ts_ns": ns, "connection": 7, "src": "", "dst": "", "sport": 1,
        "dport": 2, "seq": 0, "ack": 0, "flags": 16, "payload": b"x" * octets, "cut": 0, "note": note,
    }  # fmt: skip


def looked(packets: list[Row], latest_ns: int = NOW, spoken: bool = True) -> list[Late]:
    lateness = Lateness(latest_ns)
    for each in packets:
        lateness.look(batch([each]))
    return gathered((rows for _, rows in lateness.records(spoken)), 4)


def late(capture: str, at: int, packets: int = 1, files: int = 1) -> Late:
    return Late(batch=at, capture=capture, packets=packets, octets=10 * packets, first_ns=at, last_ns=at + 5, files=files)


def test_what_is_older_than_what_was_judged_is_counted_by_file() -> None:
    """Also where a packet in between is in time."""
    found = looked([packet(NOW - 9 * SECOND), packet(NOW + 1), packet(NOW - 3 * SECOND), packet(NOW - SECOND, "b", 7)])
    assert found == [
        Late(batch=4, capture="a", packets=2, octets=20, first_ns=NOW - 9 * SECOND, last_ns=NOW - 3 * SECOND),
        Late(batch=4, capture="b", packets=1, octets=7, first_ns=NOW - SECOND, last_ns=NOW - SECOND),
    ]
    assert str(found[0]) == (
        "a: too late: 2 packets with 20 octets, 2023-11-14T22:13:11.000Z to 2023-11-14T22:13:17.000Z,"
        " older than what was already judged"
    )
    assert str(found[1]).startswith("b: too late: 1 packet with 7 octets, ")


@pytest.mark.parametrize("packets", [[], [packet(NOW)], [packet(NOW - SLACK_NS)], [packet(NOW - SECOND, note="torn")]])
def test_what_comes_in_time_is_not(packets: list[Row]) -> None:
    assert looked(packets) == []


def test_a_first_file_or_one_without_amqp_is_never_late() -> None:
    assert looked([packet(NOW - SECOND)], spoken=False) == []
    assert looked([packet(NOW), packet(NOW - SECOND)], latest_ns=0) == []


def test_the_latest_time_never_goes_back() -> None:
    lateness = Lateness(0)
    for ns in (NOW, NOW - SECOND):
        lateness.look(batch([packet(ns)]))
    assert lateness.latest_ns == NOW


def test_what_is_kept_is_bounded_and_a_batch_that_is_done_again_can_be_removed() -> None:
    """The sum of those that are not named is apart for the latest batch."""
    kept: list[Late] = []
    for at in range(8):
        kept = bounded([*kept, late(f"{at}-a", at), late(f"{at}-b", at, packets=2)], named=3)
        assert len(kept) <= 5
        assert sum(each.files for each in kept) == 2 * (at + 1)
    assert [each.capture for each in kept] == ["0-a", "0-b", "1-a", "", ""]
    again = [each for each in kept if each.batch < 7]
    assert again[-1] == Late(batch=6, capture="", packets=17, octets=170, first_ns=1, last_ns=11, files=11)
    assert str(again[-1]).startswith("11 more files: too late: 17 packets with 170 octets, ")
    assert sum(each.packets for each in again) == 7 * 3


def test_of_no_manifest_nothing_is_known() -> None:
    assert late_in(None) == late_in(b"{}") == []
    assert late_in(
        json.dumps({LATE: [{"batch": 1, "capture": "a", "packets": 2, "octets": 3, "first_ns": 4, "last_ns": 5}]}).encode()
    ) == [Late(batch=1, capture="a", packets=2, octets=3, first_ns=4, last_ns=5)]
