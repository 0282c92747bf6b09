"""One connection of a stream, without a JVM: what comes out does not depend on where it was put to sleep."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import pandas as pd
import pyarrow as pa
import pytest
from pyspark.sql.streaming.tws_tester import TwsTester
from tests.captures import build
from tests.captures.build import Talk
from tests.captures.clocks import CLOCKS
from tests.captures.packets import Row, batch, by_connection, gathered, packet_rows, replayed
from tests.spark.truth import DATA, OPTIONS, counted, truth, write

from amqp_sansio.captures.columns import bundles
from amqp_sansio.captures.columns.bundles import BUNDLES_ARROW, ORDER, bundled, opened
from amqp_sansio.captures.reader import read_packets
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark.envelope import SCHEMA, envelopes_in, unseal
from amqp_sansio.spark.follower import HELD_OCTETS, REMEMBERED, STATE, Follower, awake, followed, in_order, open_records
from amqp_sansio.spark.source import stream_bundles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module", params=["tx.pcap", "sasl_python.pcap", "jms/xa.pcap"])
def packets(request: pytest.FixtureRequest) -> list[Row]:
    """The packets of one connection."""
    return max(by_connection(packet_rows(str(DATA / request.param))).values(), key=len)


def frame(rows: list[Row], random: Random) -> pd.DataFrame:
    """Bundles of these packets, in any order."""
    some = [rows[at : at + 9] for at in range(0, len(rows), 9)]
    made = pa.Table.from_batches([each for part in some for each in bundled([batch(part)])]).to_pandas()
    return made.sample(frac=1, random_state=random.randrange(1000))


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


@pytest.mark.parametrize("clock", CLOCKS)
def test_a_clock_that_is_wrong_changes_nothing(packets: list[Row], clock: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Bundles of one file come in any order; their packets stay in that of the file."""
    scale = 600 / len(packets)  # the clocks are those of longer recordings
    rows = [{**row, "ts_ns": CLOCKS[clock](int(number * scale), int(str(row["ts_ns"])))} for number, row in enumerate(packets)]
    monkeypatch.setattr(bundles, "BUNDLE_PACKETS", 9)
    made = pa.Table.from_batches(bundles.bundled([batch(rows)])).to_pandas().sample(frac=1, random_state=1)
    assert len(made) > 4
    tester = TwsTester(Follower(OPTIONS))
    settled = rows_of([tester.testInPandas((1,), made)])
    state = tester.peekValueState(STATE, (1,))
    assert state is not None
    still_open = [row for each in awake(OPTIONS, [state[0]]) for row in unseal(each.table, each.data).to_pylist()]
    assert settled + counted(still_open) == whole(rows)


def test_nobody_has_anything_open_in_no_state() -> None:
    assert list(awake(OPTIONS, [])) == []


# State that expires.

NO_PORTS = ReplayOptions()
HOUR_NS = 3_600_000_000_000
HOUR_MS = 3_600_000


def said(frames: list[pd.DataFrame], table: str) -> list[Row]:
    """The rows of a table in envelopes."""
    batches = [pa.RecordBatch.from_pandas(each, schema=SCHEMA, preserve_index=False) for each in frames if len(each)]
    return [row for each in envelopes_in(batches) if each.table == table for row in unseal(each.table, each.data).to_pylist()]


class Stream:
    """A task that lives as long as the stream, with a clock on the wall of its own, in ms."""

    def __init__(self, hours: float = 2.0, options: ReplayOptions = NO_PORTS) -> None:
        self.options = options
        self.follower = Follower(options, hours)
        self.tester = TwsTester(self.follower, timeMode="ProcessingTime")
        self.frames: list[pd.DataFrame] = []
        self.wall = 0

    def hear(self, key: int, rows: list[Row]) -> None:
        self.frames.append(self.tester.testInPandas((key,), frame(rows, Random(1))))

    def later(self, hours: float) -> None:
        """So much later a batch comes: its timers."""
        self.wall += int(hours * HOUR_MS)
        self.frames.append(self.tester.setProcessingTime(self.wall))

    def anew(self) -> None:
        """The task of another batch has seen nothing yet."""
        self.follower._latest = 0

    def state(self, key: int) -> tuple[bytes, int, int] | None:
        return self.tester.peekValueState(STATE, (key,))

    @property
    def timers(self) -> int:
        timers = self.tester.handle._timers
        return sum(len(list(timers.listTimers(key))) for key in timers.getAllKeysWithTimers())


def talk(payloads: Talk | None = None, hours: float = 0.0) -> list[Row]:
    """Packets of a made conversation, so many hours later than they begin by themselves."""
    made = payloads or build.conversation([b"x"] * 4)
    return shifted(rows_in(build.pcap(build.records(made.segments))), hours)


def rows_in(octets: bytes) -> list[Row]:
    with TemporaryDirectory() as folder:
        return packet_rows(build.write(Path(folder) / "made.pcap", octets))


def shifted(rows: list[Row], hours: float) -> list[Row]:
    return [{**row, "ts_ns": int(str(row["ts_ns"])) + int(hours * HOUR_NS)} for row in rows]


def foreign(hours: float = 0.0) -> list[Row]:
    made = Talk().open().say(True, b"GET / HTTP/1.1\r\n\r\n").say(False, b"HTTP/1.1 200 OK\r\n\r\n")
    return talk(made, hours)


def test_state_of_idle_pairs_goes_and_the_rest_stays() -> None:
    """Pairs whose connections are over, and pairs without AMQP, are forgotten; one that was heard lately is not."""
    stream = Stream(hours=2)
    for key in range(5):
        stream.hear(key, talk())
    for key in range(5, 10):
        stream.hear(key, foreign())
    stream.hear(10, foreign(hours=1.9))
    assert sum(stream.state(key) is not None for key in range(11)) == stream.timers == 11
    stream.later(2.1)
    assert sum(stream.state(key) is not None for key in range(11)) == stream.timers == 11, "nothing has gone by in the captures"
    stream.hear(11, talk(hours=2.5))
    stream.later(1)
    assert [key for key in range(12) if stream.state(key) is not None] == [10, 11]
    assert stream.timers == 2
    assert not said(stream.frames, "violations")


def test_an_idle_connection_ends_with_a_note_and_goes_on_from_its_middle() -> None:
    """Its rows are written; what it says when it wakes accuses nobody."""
    rows = talk(build.conversation([b"x"] * 20))
    half = len(rows) // 2
    stream = Stream(hours=2)
    stream.hear(1, rows[:half])
    stream.hear(2, talk(hours=3))
    stream.later(2.1)
    (note,) = said(stream.frames, "violations")
    assert (note["level"], note["rule"]) == ("note", "capture.idle")
    silent = "nothing was captured of the connection for more than 2 h"
    assert note["text"] == f"{silent}: it is taken for over, and heard from its middle if it goes on"
    assert (note["file_offset"], note["file_id"]) == (rows[half - 1]["offset"], 0)
    (first,) = [each for each in said(stream.frames, "connections") if each["ending"] == "open"]
    assert (first["connection"], first["notes"], first["from_start"]) == (note["connection"], 1, True)
    state = stream.state(1)
    assert state is not None
    assert state[0] == b""
    assert not list(awake(NO_PORTS, [state[0]]))
    before = len(stream.frames)
    stream.hear(1, shifted(rows[half : half + 10], 8))
    state = stream.state(1)
    assert state is not None
    assert stream.timers == 2
    ended = [row for each in awake(NO_PORTS, [state[0]]) for row in unseal(each.table, each.data).to_pylist()
             if each.table in ("connections", "violations")]  # fmt: skip
    (woken,) = [row for row in ended if "from_start" in row]
    assert not woken["from_start"]
    assert woken["connection"] != note["connection"]
    assert woken["frames_by_client"], woken
    found = [row for row in ended if "level" in row] + said(stream.frames[before:], "violations")
    assert {row["level"] for row in found} <= {"note"}


@pytest.mark.parametrize("part", range(1, 8))
def test_a_real_client_that_wakes_is_not_accused(packets: list[Row], part: int) -> None:
    """Wherever in a recording the silence is, what is found in front of it and behind it are notes."""
    cut = len(packets) * part // 8
    stream = Stream(hours=2, options=OPTIONS)
    stream.hear(1, packets[:cut])
    stream.hear(2, talk(hours=1_000_000))
    stream.later(2.1)
    stream.anew()
    stream.hear(1, shifted(packets[cut:], 5))
    state = stream.state(1)
    assert state is not None
    rest = [row for each in awake(OPTIONS, [state[0]]) if each.table == "violations"
            for row in unseal(each.table, each.data).to_pylist()]  # fmt: skip
    found = said(stream.frames, "violations") + rest
    assert {row["level"] for row in found} == {"note"}, found
    assert [row["rule"] for row in found].count("capture.idle") == 1


def test_what_comes_late_of_a_pair_that_expired_is_counted() -> None:
    """Rows of it were written: what is older than they are is named with its file."""
    rows = talk(build.conversation([b"x"] * 20))
    stream = Stream(hours=2)
    stream.hear(1, [*rows[:10], *rows[15:30]])
    stream.hear(2, talk(hours=3))
    stream.later(2.1)
    stream.hear(1, shifted(rows[10:15], -1))
    (late,) = said(stream.frames, "late")
    assert (late["packets"], late["first_ns"]) == (5, int(str(rows[10]["ts_ns"])) - HOUR_NS)
    assert late["octets"] == sum(len(bytes(row["payload"])) for row in rows[10:15] if isinstance(row["payload"], bytes))
    stream.hear(1, shifted(rows[30:35], 9))
    assert len(said(stream.frames, "late")) == 1, "what goes on is in time"


def test_a_beginning_that_comes_behind_the_rest_is_counted() -> None:
    """Without its beginning the rest was not known for AMQP, and nothing was written of it; what is no AMQP is not counted."""
    rows = talk(build.conversation([b"x"] * 20))
    stream = Stream()
    stream.hear(1, shifted(rows[40:], 1))
    stream.hear(2, foreign(hours=1))
    assert not said(stream.frames, "messages")
    stream.hear(2, foreign())
    stream.hear(1, rows[:40])
    (late,) = said(stream.frames, "late")
    assert (late["packets"], late["first_ns"]) == (40, rows[0]["ts_ns"])


def test_what_was_taken_for_over_is_forgotten_much_later() -> None:
    """Then it is heard only with its port."""
    stream = Stream(hours=2)
    stream.hear(1, talk()[:20])
    stream.hear(2, talk(hours=3))
    stream.later(2.1)
    stream.hear(2, talk(hours=20))
    stream.later(2 * REMEMBERED + 1)
    assert stream.state(1) == (b"", talk()[19]["ts_ns"], build.SERVER_PORT)
    stream.hear(2, talk(hours=1 + 2 * REMEMBERED))
    stream.later(2 * REMEMBERED)
    assert stream.state(1) is None


def test_what_cannot_be_read_does_not_go_on_from_its_middle() -> None:
    """Behind TLS or another version of AMQP nothing could be told from a breach: a note ends it, and it is forgotten."""
    stream = Stream(hours=2)
    made = Talk().open().say(True, b"AMQP\0\0\x09\x01").say(False, bytes.fromhex("0100000000000c000a000a") + b"x" * 40)
    stream.hear(1, talk(made))
    stream.hear(2, talk(hours=3))
    stream.later(2.1)
    assert "capture.idle" in [row["rule"] for row in said(stream.frames, "violations")]
    assert stream.state(1) is None


def test_a_stream_that_was_stopped_for_days_forgets_nothing(packets: list[Row]) -> None:
    """The clock on the wall has gone on, the captures have not: nothing is over, and the rows are those of the batch."""
    stream = Stream(hours=0.5, options=OPTIONS)
    for start in range(0, len(packets), 16):
        stream.anew()
        stream.later(24 * 9)  # behind a stop, before anything was read
        stream.hear(1, packets[start : start + 16])
        stream.later(24 * 9)
        assert stream.timers == 1
    state = stream.state(1)
    assert state is not None
    still_open = counted([row for each in awake(OPTIONS, [state[0]]) for row in unseal(each.table, each.data).to_pylist()])
    assert rows_of(stream.frames) + still_open == whole(packets)


def test_a_task_that_has_read_nothing_looks_again_soon() -> None:
    """It does not know how late it is; an eighth of the hours later it may."""
    stream = Stream(hours=2)
    stream.hear(1, talk())
    stream.anew()
    stream.later(2.1)
    assert list(stream.tester.handle._timers.listTimers((1,))) == [stream.wall + HOUR_MS // 4 + 1]
    stream.hear(2, talk(hours=3))
    stream.later(0.3)
    assert stream.state(1) is None


def test_a_stream_that_forgets_nothing_has_no_timers() -> None:
    tester = TwsTester(Follower(OPTIONS))
    tester.testInPandas((1,), frame(talk(), Random(1)))
    state = tester.peekValueState(STATE, (1,))
    assert state is not None
    assert len(state) == 1


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


@pytest.fixture(scope="module")
def tx_packets() -> list[Row]:
    """The packets of one connection."""
    return max(by_connection(packet_rows(str(DATA / "tx.pcap"))).values(), key=len)


@pytest.mark.parametrize("held", [1, 3000, 1 << 20])
def test_bundles_are_put_in_order_and_nothing_of_them_is_lost(tx_packets: list[Row], held: int) -> None:
    """Of several files, in several frames; with room in memory for none, some and all of them."""
    made = [*bundled(batch([row | {"file_id": n % 2} for row in tx_packets[n : n + 5]]) for n in range(0, len(tx_packets), 5))]
    made += [each for n in range(0, len(tx_packets), 7) for each in bundled([batch(tx_packets[n : n + 7])])]
    rows = pa.Table.from_batches(made).to_pylist()
    Random(1).shuffle(rows)
    frames = [pa.Table.from_pylist(part, schema=BUNDLES_ARROW).to_pandas() for part in (rows[:3], rows[3:])]
    found = pa.Table.from_batches(list(in_order(frames, held)), BUNDLES_ARROW).to_pylist()
    assert len(rows) > 3
    assert found == sorted(rows, key=lambda row: [row[name] for name in ORDER])


def test_packets_of_bundles_in_order_are_those_of_the_connection(tx_packets: list[Row]) -> None:
    frames = [pa.Table.from_batches(bundled([batch(part)])).to_pandas() for part in (tx_packets[9:], tx_packets[:9])]
    assert [row for part in opened(in_order(frames)) for row in part.to_pylist()] == tx_packets


def test_no_frames_are_no_bundles() -> None:
    assert list(in_order([])) == []


def test_what_is_too_much_waits_where_spark_says(tx_packets: list[Row], monkeypatch: pytest.MonkeyPatch) -> None:
    """A place that is not there is refused as soon as a file is needed, and not before."""
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/nowhere/at-all,/elsewhere")
    frame = pa.Table.from_batches(bundled([batch(tx_packets)])).to_pandas()
    assert len(list(in_order([frame]))) == len(frame)
    with pytest.raises(FileNotFoundError, match="/nowhere/at-all"):
        list(in_order([frame], 1))
    assert HELD_OCTETS < 64 * 1024 * 1024
