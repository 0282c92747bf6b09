"""Rows of a file in the order in which things were captured whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.captures import build
from tests.captures.fake import FakeWitness

from amqp_sansio.captures import row_stream as module
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.flows import Talk
from amqp_sansio.captures.row_stream import transcript
from amqp_sansio.captures.rows import Row


def rows(path: str) -> list[Row]:
    return [row for _, row in transcript(path, FakeWitness, (), lambda text: None)]


def two(tmp_path: Path) -> str:
    """A long transfer on one connection, during which another connection says all it has to say."""
    base = build.Segment(True, 0, client_port=41000)
    slow = build.conversation([b"x" * 4000], chunk=500).segments
    quick = build.conversation([b"y"], base).segments
    at = len(slow) // 2
    return build.write(tmp_path / "x", build.pcap(build.records([*slow[:at], *quick, *slow[at:]])))


def test_rows_come_in_the_order_of_the_packets_that_brought_their_last_octet(tmp_path: Path) -> None:
    found = rows(two(tmp_path))
    packets = [row["packet"] for row in found]
    assert packets == sorted(packets)
    assert len({row["connection"] for row in found}) == 2
    assert [row["body_octets"] for row in found if row["verb"] == "4.1"] == [1, 4000]


def test_what_waits_to_be_recognised_keeps_its_place(tmp_path: Path) -> None:
    """A header of which nobody knows yet whose it is comes before what other connections said after it."""
    waits = build.conversation([b"x"]).segments[3:]  # without the SYN
    other = build.conversation([b"y"], build.Segment(True, 0, client_port=41000)).segments
    segments = [waits[0], *other, *waits[1:]]
    found = rows(build.write(tmp_path / "x", build.pcap(build.records(segments))))
    assert (found[0]["packet"], found[0]["verb"], found[0]["connection"][:14]) == (1, None, "10.0.0.1:40000")
    assert [row["packet"] for row in found] == sorted(row["packet"] for row in found)


@pytest.mark.parametrize(("limit", "value"), [("HELD_ROWS", 0), ("HELD_OCTETS", 0)])
def test_a_limit_on_what_waits_loses_nothing(limit: str, value: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = two(tmp_path)
    before = rows(path)
    monkeypatch.setattr(module, limit, value)
    after = rows(path)
    assert sorted(map(repr, after)) == sorted(map(repr, before))


def test_what_was_good_comes_before_the_error(tmp_path: Path) -> None:
    octets = build.pcap(build.records(build.conversation([b"x"]).segments))
    path = build.write(tmp_path / "x", octets + b"\xff" * 16 + b"x")
    found: list[tuple[Talk, Row]] = []
    with pytest.raises(CaptureError):
        found.extend(transcript(path, FakeWitness, (), lambda text: None))
    assert found[-1][1]["verb"] == "1.12"
