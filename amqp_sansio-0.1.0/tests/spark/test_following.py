"""What is open in the state of a stream comes out as rows, and a stream without state has none."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tests.spark.truth import DATA, OPTIONS, counted, truth, write

from amqp_sansio.captures.reader import read_packets
from amqp_sansio.spark.envelope import envelopes_in, unseal
from amqp_sansio.spark.following import followed, open_records
from amqp_sansio.spark.sources import stream_bundles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_state_that_nobody_has_written_to_tables_is_all_there_is(spark: SparkSession, tmp_path: Path) -> None:
    """A stream whose envelopes are thrown away still has in its state what is open."""
    folder = tmp_path / "in"
    folder.mkdir()
    # The end of the connection is not in the capture: everything about it as a whole is open.
    write(folder / "a.pcap", list(read_packets(str(DATA / "hello.pcap"), lambda text: None))[:30])
    seen: list[int] = []
    stream = followed(stream_bundles(spark, str(folder), {"closed": "all"}), OPTIONS)
    query = stream.writeStream.foreachBatch(lambda frame, number: seen.append(len(frame.collect())))
    query.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start().awaitTermination()
    assert seen
    batches = open_records(spark, str(tmp_path / "checkpoint"), OPTIONS).toArrow().to_batches()
    found = [(each.table, row) for each in envelopes_in(batches) for row in unseal(each.table, each.data).to_pylist()]
    expected = truth([folder / "a.pcap"])
    assert expected["connections"]
    assert counted([row for table, row in found if table == "connections"]) == expected["connections"]
