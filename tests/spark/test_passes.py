"""The pass over packets costs one exchange and one sort."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

from tests.captures.packets import gathered, tables_of
from tests.spark.truth import DATA

from amqp_sansio.captures.columns.bundles import bundled
from amqp_sansio.captures.columns.read import read_file
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.passes import replayed, replays
from amqp_sansio.spark.sources import read_bundles, read_packets

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_one_exchange(spark: SparkSession) -> None:
    """Grouping by connection is satisfied by the order that the replay wants anyway; the latest times want one more sort."""
    packets = read_packets(spark, [str(DATA / "hello.pcap")])
    with redirect_stdout(StringIO()) as plan:
        replayed(packets, ReplayOptions(), 3).explain()
    assert plan.getvalue().count("Exchange") == 1
    assert plan.getvalue().count("Sort ") == 2


def test_bundles_are_replayed_connection_by_connection() -> None:
    path = str(DATA / "hello.pcap")
    found = gathered(replays(bundled(read_file(path)), ReplayOptions()))
    expected = tables_of(path)
    assert {name: sorted(map(repr, rows)) for name, rows in found.items()} == {
        name: sorted(map(repr, rows)) for name, rows in expected.items()
    }


def test_a_bundle_is_a_row(spark: SparkSession) -> None:
    rows = read_bundles(spark, [str(DATA / "hello.pcap")]).collect()
    assert len(rows) == len({row["connection"] for row in rows})
    assert all(len(row["packets"]) > 100 for row in rows)


def test_payloads_stay_in_the_file_where_whoever_replays_sees_it(spark: SparkSession) -> None:
    path = DATA / "hello.pcap"
    sizes = {
        octets: {row["file_octets"] for row in read_bundles(spark, [str(path)], options=options).collect()}
        for octets, options in (("", None), ("file", {"octets": "file"}), ("row", {"octets": "row"}))
    }
    assert sizes == {"": {path.stat().st_size}, "file": {path.stat().st_size}, "row": {-1}}
