"""The pass over packets costs one exchange and one sort."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from tests.captures import build
from tests.captures.packets import gathered, tables_of
from tests.spark.truth import DATA

from amqp_sansio.captures.columns import runner
from amqp_sansio.captures.columns.bundles import FED_PACKETS, ORDER, bundled
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.columns.replay import TableRecords
from amqp_sansio.captures.columns.runner import heard
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.passes import replayed, replays
from amqp_sansio.spark.source import read_bundles, read_packets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_one_exchange(spark: SparkSession) -> None:
    """Grouping by connection is satisfied by the order that the replay wants anyway."""
    packets = read_packets(spark, [str(DATA / "hello.pcap")])
    with redirect_stdout(StringIO()) as plan:
        replayed(packets, ReplayOptions(), 3).explain()
    assert plan.getvalue().count("Exchange") == 1
    assert plan.getvalue().count("Sort ") == 1


def test_bundles_are_replayed_connection_by_connection() -> None:
    path = str(DATA / "hello.pcap")
    found = gathered(replays(bundled(read_file(path)), ReplayOptions()))
    expected = tables_of(path)
    assert {name: sorted(map(repr, rows)) for name, rows in found.items()} == {
        name: sorted(map(repr, rows)) for name, rows in expected.items()
    }


def test_many_short_connections_are_replayed_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their packets are taken apart together, whatever connection they are of; the rows are those of the local engine."""
    segments = [
        each
        for port in range(40_000, 40_200)
        for each in build.conversation([b"x"] * 2, build.Segment(True, 0, client_port=port)).segments
    ]
    path = build.write(tmp_path / "many.pcap", build.pcap(build.records(segments)))
    packets = pa.Table.from_batches(list(read_file(path))).to_batches(7)
    small = [bundle for some in packets for bundle in bundled([some])]
    bundles = pa.Table.from_batches(small).sort_by([(name, "ascending") for name in ORDER])
    rounds: list[int] = []

    def counted(packets: pa.RecordBatch, *calls: Any) -> Iterator[TableRecords]:
        rounds.append(packets.num_rows)
        return heard(packets, *calls)

    monkeypatch.setattr(runner, "heard", counted)
    found = gathered(replays(bundles.to_batches(), ReplayOptions()))
    expected = tables_of(path)
    assert len(expected["connections"]) == 200
    assert len(rounds) <= sum(rounds) // FED_PACKETS + 2
    assert len(rounds) > 1, "a connection goes on in the next round"
    assert {name: sorted(map(repr, rows)) for name, rows in found.items()} == {
        name: sorted(map(repr, rows)) for name, rows in expected.items()
    }


def test_a_bundle_is_a_row(spark: SparkSession) -> None:
    rows = read_bundles(spark, [str(DATA / "hello.pcap")]).collect()
    assert len(rows) == len({row["connection"] for row in rows})
    assert all(len(row["packets"]) > 100 for row in rows)


def test_payloads_stay_in_the_file_where_the_replay_sees_it(spark: SparkSession) -> None:
    path = DATA / "hello.pcap"
    sizes = {
        octets: {row["file_octets"] for row in read_bundles(spark, [str(path)], options=options).collect()}
        for octets, options in (("", None), ("file", {"octets": "file"}), ("row", {"octets": "row"}))
    }
    assert sizes == {"": {path.stat().st_size}, "file": {path.stat().st_size}, "row": {-1}}
