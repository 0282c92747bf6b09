"""One connection of a stream, without a JVM: what comes out does not depend on where it was put to sleep."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from random import Random

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester
from tests.captures.packets import Row, batch, by_connection, gathered, packet_rows, replayed
from tests.spark.truth import DATA, OPTIONS, counted

from amqp_sansio.captures.columns.bundles import bundled
from amqp_sansio.spark.envelope import SCHEMA, envelopes_in, unseal
from amqp_sansio.spark.follower import STATE, Follower, awake


@pytest.fixture(autouse=True)
def thawed() -> Iterator[None]:
    """Nothing of this process stays frozen, as it does in a worker."""
    yield
    gc.unfreeze()


@pytest.fixture(scope="module", params=["tx.pcap", "sasl_python.pcap", "jms/xa.pcap"])
def packets(request: pytest.FixtureRequest) -> list[Row]:
    """The packets of one connection."""
    return max(by_connection(packet_rows(str(DATA / request.param))).values(), key=len)


def frame(rows: list[Row], random: Random) -> pd.DataFrame:
    """Bundles of these packets, in any order."""
    some = [rows[at : at + 9] for at in range(0, len(rows), 9)]
    bundles = pa.Table.from_batches([each for part in some for each in bundled([batch(part)])]).to_pandas()
    return bundles.sample(frac=1, random_state=random.randrange(1000))


def rows_of(frames: list[pd.DataFrame]) -> Counter[str]:
    """The records in envelopes, as a bag."""
    batches = [pa.RecordBatch.from_pandas(each, schema=SCHEMA, preserve_index=False) for each in frames if len(each)]
    return counted([row for each in envelopes_in(batches) for row in unseal(each.table, each.data).to_pylist()])


def whole(packets: list[Row]) -> Counter[str]:
    return counted([row for rows in gathered(replayed(packets, OPTIONS)).values() for row in rows])


@pytest.mark.parametrize("step", [1, 7, 40, 10_000])
def test_what_is_settled_and_what_is_open_are_what_one_replay_gives(packets: list[Row], step: int) -> None:
    """Bundles of a batch come in any order; the state sleeps between the batches."""
    tester = TwsTester(Follower(OPTIONS))
    frames, random = [], Random(step)
    for start in range(0, len(packets), step):
        frames.append(tester.testInPandas((1,), frame(packets[start : start + step], random)))
    state = tester.peekValueState(STATE, (1,))
    assert state is not None
    envelopes = list(awake(OPTIONS, [state[0]]))
    still_open = counted([row for each in envelopes for row in unseal(each.table, each.data).to_pylist()])
    assert rows_of(frames) + still_open == whole(packets)


def test_nobody_has_anything_open_in_no_state() -> None:
    assert list(awake(OPTIONS, [])) == []
