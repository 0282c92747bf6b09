"""Bundles that come in any order leave in theirs, whether they have waited in memory or in a file."""

from __future__ import annotations

from random import Random

import pyarrow as pa
import pytest
from tests.captures.packets import Row, batch, by_connection, packet_rows
from tests.spark.truth import DATA

from amqp_sansio.captures.columns.bundles import BUNDLES_ARROW, ORDER, bundled, opened
from amqp_sansio.spark import ordered
from amqp_sansio.spark.ordered import in_order


@pytest.fixture(scope="module")
def packets() -> list[Row]:
    """The packets of one connection."""
    return max(by_connection(packet_rows(str(DATA / "tx.pcap"))).values(), key=len)


@pytest.mark.parametrize("held", [1, 3000, 1 << 20])
def test_bundles_are_put_in_order_and_nothing_of_them_is_lost(packets: list[Row], held: int) -> None:
    """Of several files, in several frames; with room in memory for none, some and all of them."""
    made = [*bundled(batch([row | {"file_id": n % 2} for row in packets[n : n + 5]]) for n in range(0, len(packets), 5))]
    made += [each for n in range(0, len(packets), 7) for each in bundled([batch(packets[n : n + 7])])]
    rows = pa.Table.from_batches(made).to_pylist()
    Random(1).shuffle(rows)
    frames = [pa.Table.from_pylist(part, schema=BUNDLES_ARROW).to_pandas() for part in (rows[:3], rows[3:])]
    found = pa.Table.from_batches(list(in_order(frames, held)), BUNDLES_ARROW).to_pylist()
    assert len(rows) > 3
    assert found == sorted(rows, key=lambda row: [row[name] for name in ORDER])


def test_packets_of_bundles_in_order_are_those_of_the_connection(packets: list[Row]) -> None:
    frames = [pa.Table.from_batches(bundled([batch(part)])).to_pandas() for part in (packets[9:], packets[:9])]
    assert [row for part in opened(in_order(frames)) for row in part.to_pylist()] == packets


def test_no_frames_are_no_bundles() -> None:
    assert list(in_order([])) == []


def test_what_is_too_much_waits_where_spark_says(packets: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that is not there is refused as soon as a file is needed, and not before."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/nowhere/at-all,/elsewhere")
    frame = pa.Table.from_batches(bundled([batch(packets)])).to_pandas()
    assert len(list(in_order([frame]))) == len(frame)
    with pytest.raises(FileNotFoundError, match="/nowhere/at-all"):
        list(in_order([frame], 1))
    assert ordered.HELD_OCTETS < 64 * 1024 * 1024
