"""The data source `amqp_capture`: mostly without Spark, by its own classes."""

from __future__ import annotations

import json
import os
import pickle
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyspark.sql import datasource as asked
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxFiles
from pyspark.sql.types import BinaryType, IntegerType, LongType, ShortType, StringType, StructField, StructType
from tests.captures import build
from tests.captures.columns.plainly import Row, plain_rows, rows_of

from amqp_sansio.captures import files
from amqp_sansio.captures.columns.bundles import opened
from amqp_sansio.captures.columns.read import ColumnFilter
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.splits import SplitError
from amqp_sansio.captures.tables import PACKET_NAMES, PACKETS, ddl
from amqp_sansio.spark import source as module
from amqp_sansio.spark.source import (
    TASK,
    CapturePartition,
    CaptureReader,
    CaptureSource,
    CaptureStream,
    Newest,
    PushingReader,
    filter_of,
    fit,
    plan_of,
    register,
    with_task,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


MADE = build.records(build.conversation([b"x" * 200] * 100).segments)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three rotated files, the last one small."""
    build.write(tmp_path / "x1.pcap", build.pcap(MADE[:200]))
    build.write(tmp_path / "x2.pcapng", build.pcapng(MADE[200:390]))
    build.write(tmp_path / "x10.pcap", build.pcap(MADE[390:]))
    return tmp_path


def whole() -> StructType:
    """The schema of all columns, made without a session."""
    kinds = {
        "string": StringType(),
        "int": IntegerType(),
        "bigint": LongType(),
        "smallint": ShortType(),
        "binary": BinaryType(),
    }
    return StructType([StructField(column.name, kinds[column.type.value], column.nullable) for column in PACKETS])


def plainly(folder: Path) -> list[Row]:
    names = ["x1.pcap", "x2.pcapng", "x10.pcap"]
    return [row for number, name in enumerate(names) for row in plain_rows(str(folder / name), number)[0]]


def read(reader: CaptureReader | CaptureStream, partitions: Any) -> list[Row]:
    """As Spark does: everything travels by pickle."""
    rows: list[Row] = []
    for partition in pickle.loads(pickle.dumps(partitions)):
        there: CaptureReader | CaptureStream = pickle.loads(pickle.dumps(reader))
        packets, notes = rows_of(there.read(partition))
        rows += packets + notes
    return rows


@pytest.mark.parametrize("resync", ["true", "false"])
def test_partitions_hold_every_packet_once(folder: Path, resync: str) -> None:
    for split in ("4096", "20000", "100000000"):
        reader = CaptureReader(plan_of({"path": str(folder), "split": split, "resync": resync}))
        partitions = reader.partitions()
        assert read(reader, partitions) == plainly(folder)
        assert len(partitions) == 1 if split == "100000000" else len(partitions) > 2
        assert "Split(path=" in repr(partitions[0])


def test_small_files_share_partitions(folder: Path) -> None:
    for number in range(20, 60):
        build.write(folder / f"x{number}", build.pcap(MADE[:3]))
    size = (folder / "x20").stat().st_size
    reader = CaptureReader(plan_of({"path": str(folder / "x[2-5][0-9]"), "split": str(max(4 * size, 4096))}))
    partitions = reader.partitions()
    assert 1 < len(partitions) <= 10
    assert len(read(reader, partitions)) == 120


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "a path is missing"),
        ({"path": "x", "columns": "nonsense"}, "no such column"),
        ({"path": "x", "split": "-1"}, "split is a number"),
        ({"path": "x", "split": "0"}, "split is a number"),
        ({"path": "x", "resync": "perhaps"}, "resync is false or true"),
        ({"path": "x", "closed": "maybe"}, "closed is newest or done or all"),
        ({"path": "x", "octets": "disk"}, "octets is row or file or cached"),
        ({"path": "x", "ports": "5672,x"}, "ports are numbers below 65536, between commas, not '5672,x'"),
        ({"path": "x", "ports": "65536"}, "ports are numbers below 65536"),
    ],
)
def test_wrong_options_are_reported(options: dict[str, str], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        plan_of(options)


def test_options_and_schemas_choose_columns(folder: Path) -> None:
    source = CaptureSource({"path": str(folder), "columns": "ts_ns,payload"})
    assert source.schema() == "`ts_ns` bigint NOT NULL, `payload` binary NOT NULL"
    assert CaptureSource({}).schema() == ddl(PACKETS)
    assert CaptureSource.name() == "amqp_capture"
    wanted = StructType().add("seq", LongType()).add("file_id", IntegerType())
    reader = source.reader(wanted)
    assert type(reader) is CaptureReader
    rows = [row for part in reader.partitions() for batch in reader.read(part) for row in batch.to_pylist()]
    assert rows == [{"seq": row["seq"], "file_id": row["file_id"]} for row in plainly(folder)]
    assert list(rows[0]) == ["seq", "file_id"]
    with pytest.raises(ValueError, match="seq is bigint, not int"):
        source.reader(StructType().add("seq", IntegerType()))
    with pytest.raises(ValueError, match="no such column"):
        source.reader(StructType().add("sequence", IntegerType()))


def test_several_paths_come_as_a_list(folder: Path) -> None:
    paths = json.dumps([str(folder / "x10.pcap"), str(folder / "x1.pcap")])
    reader = CaptureReader(plan_of({"paths": paths}))
    assert {(row["file_id"], os.path.basename(row["capture"])) for row in read(reader, reader.partitions())} == {
        (0, "x1.pcap"),
        (1, "x10.pcap"),
    }
    with pytest.raises(CaptureError, match="no such file"):
        CaptureReader(plan_of({"path": str(folder / "x3")})).partitions()


def test_a_wrong_landing_fails_the_task(folder: Path) -> None:
    octets = build.pcapng(MADE) + build.pcapng(MADE, ">")
    path = build.write(folder / "two.pcapng", octets)
    reader = CaptureReader(plan_of({"path": path, "split": "8192", "resync": "true"}))
    with pytest.raises(SplitError, match="resync off"):
        read(reader, reader.partitions())


COLUMN = ("sport",)


@pytest.mark.parametrize(
    ("spark", "ours"),
    [
        (asked.EqualTo(COLUMN, 5), ColumnFilter("sport", "=", 5)),
        (asked.Not(asked.EqualTo(COLUMN, 5)), ColumnFilter("sport", "=", 5, True)),
        (asked.GreaterThan(COLUMN, 5), ColumnFilter("sport", ">", 5)),
        (asked.GreaterThanOrEqual(COLUMN, 5), ColumnFilter("sport", ">=", 5)),
        (asked.LessThan(COLUMN, 5), ColumnFilter("sport", "<", 5)),
        (asked.LessThanOrEqual(COLUMN, 5), ColumnFilter("sport", "<=", 5)),
        (asked.In(COLUMN, (5, 6)), ColumnFilter("sport", "in", (5, 6))),
        (asked.In(COLUMN, (5, None)), None),
        (asked.IsNull(("note",)), ColumnFilter("note", "null")),
        (asked.IsNotNull(("note",)), ColumnFilter("note", "null", None, True)),
        (asked.Not(asked.IsNotNull(("note",))), ColumnFilter("note", "null")),
        (asked.EqualTo(("payload",), b""), None),
        (asked.EqualTo(("a", "b"), 5), None),
        (asked.EqualNullSafe(COLUMN, None), None),
        (asked.StringStartsWith(("src",), "10."), None),
    ],
)
def test_filters_of_spark_become_ours(spark: asked.Filter, ours: ColumnFilter | None) -> None:
    assert filter_of(spark) == ours


def test_only_the_pushing_reader_takes_filters(folder: Path) -> None:
    assert not hasattr(CaptureReader, "pushFilters") or CaptureReader.pushFilters is asked.DataSourceReader.pushFilters
    reader = CaptureSource({"path": str(folder), "pushdown": "true"}).reader(whole())
    assert isinstance(reader, PushingReader)
    left = list(reader.pushFilters([asked.EqualTo(COLUMN, 5672), asked.StringContains(("src",), "1")]))
    assert left == [asked.StringContains(("src",), "1")]
    assert read(reader, reader.partitions()) == [row for row in plainly(folder) if row["sport"] == 5672]


def stream_of(folder: Path, **options: str) -> CaptureStream:
    return CaptureStream(plan_of({"path": str(folder), **options}))


def test_a_stream_takes_closed_files_once(folder: Path) -> None:
    stream = stream_of(folder)
    limit = stream.getDefaultReadLimit()
    assert limit == ReadMaxFiles(16)
    start = stream.initialOffset()
    end = stream.latestOffset(start, limit)
    assert (end["files"], end["last"]) == (2, "x2.pcapng")  # the newest is still written to
    assert stream.latestOffset(end, limit) == end
    rows = read(stream, stream.partitions(start, end))
    (folder / "x11.pcap").write_bytes(b"")
    later = pickle.loads(pickle.dumps(stream)).latestOffset(json.loads(json.dumps(end)), ReadAllAvailable())
    rows += read(stream, stream.partitions(end, later))
    assert rows == plainly(folder)
    # All at once, as after a restart that has lost the offsets between.
    assert read(stream, stream.partitions(start, later)) == plainly(folder)
    assert stream.partitions(later, later) == []
    stream.commit(later)
    stream.stop()


@pytest.mark.parametrize("octets", ["row", "file"])
def test_a_stream_of_bundles_holds_the_packets_of_a_stream(folder: Path, octets: str) -> None:
    plain, stream = stream_of(folder, closed="all"), stream_of(folder, closed="all", form="bundles", octets=octets)
    start = stream.initialOffset()
    parts = stream.partitions(start, stream.latestOffset(start, ReadMaxFiles(9)))
    bundles = [batch for part in pickle.loads(pickle.dumps(parts)) for batch in stream.read(part)]
    sizes = {batch.column("file_octets")[0].as_py() for batch in bundles}
    assert (sizes == {-1}) == (octets == "row")
    found = [row for batch in opened(bundles) for row in batch.to_pylist()]
    assert 0 < sum(batch.num_rows for batch in bundles) < len(found)
    want = [row for part in parts for batch in plain.read(part) for row in batch.to_pylist()]
    assert sorted(found, key=_place) == sorted(want, key=_place)


def _place(row: Row) -> tuple[object, object]:
    return row["file_id"], row["offset"]


def test_a_stream_takes_no_more_than_its_limit_and_no_more_than_there_was(folder: Path) -> None:
    stream = stream_of(folder, closed="all", maxFilesPerTrigger="1")
    offset = stream.initialOffset()
    stream.prepareForTriggerAvailableNow()
    build.write(folder / "x99.pcap", build.pcap(MADE[:5]))
    seen = []
    while (following := stream.latestOffset(offset, stream.getDefaultReadLimit())) != offset:
        seen.append(following["last"])
        offset = following
    assert seen == ["x1.pcap", "x2.pcapng", "x10.pcap"]
    empty = folder / "empty"
    empty.mkdir()
    nothing = stream_of(empty)
    nothing.prepareForTriggerAvailableNow()
    build.write(empty / "a", b"x")
    build.write(empty / "b", b"x")
    assert nothing.latestOffset(nothing.initialOffset(), ReadAllAvailable()) == nothing.initialOffset()


def test_a_batch_is_the_same_files_whatever_comes_late_or_is_compressed(folder: Path) -> None:
    stream = stream_of(folder, closed="all")
    start = stream.initialOffset()
    end = stream.latestOffset(start, ReadMaxFiles(9))
    build.write(folder / "x3.pcap", build.pcap(MADE[:5]))
    want = plainly(folder)
    assert read(stream, stream.partitions(start, end)) == want
    os.rename(folder / "x1.pcap", folder / "x1.pcap.gz")
    assert len(read(stream, stream.partitions(start, end))) == len(want)
    assert json.loads(stream.latestOffset(end, ReadMaxFiles(9))["names"]) == ["x3.pcap"]
    (folder / "x1.pcap.gz").unlink()
    notes = [row for row in read(stream, stream.partitions(start, end)) if row["note"]]
    assert ["No such file" in row["note"] for row in notes] == [True]
    with pytest.raises(CaptureError, match="not there any more"):
        stream.partitions(start, {**end, "files": 9})


def test_a_file_that_comes_late_is_taken_whatever_its_name(folder: Path) -> None:
    """Its name sorts before one that was taken; after a restart, too, and each file once."""
    stream = stream_of(folder, closed="all")
    os.rename(folder / "x2.pcapng", folder / "x2.pcapng.part")
    start = stream.initialOffset()
    first = stream.latestOffset(start, ReadMaxFiles(9))
    os.rename(folder / "x2.pcapng.part", folder / "x2.pcapng")
    build.write(folder / "x11.pcap", build.pcap(MADE[:3]))
    again = stream_of(folder, closed="all")
    second = again.latestOffset(json.loads(json.dumps(first)), ReadMaxFiles(9))
    assert (second["files"], second["last"], json.loads(second["names"])) == (4, "x11.pcap", ["x2.pcapng", "x11.pcap"])
    assert again.latestOffset(second, ReadMaxFiles(9)) == second
    os.rename(folder / "x2.pcapng", folder / "x2.pcapng.gz")
    assert again.latestOffset(second, ReadMaxFiles(9)) == second, "compressed it is the same file"
    # Late alone: the last name stays the last one.
    build.write(folder / "x3.pcap", build.pcap(MADE[:2]))
    third = again.latestOffset(second, ReadMaxFiles(9))
    assert (third["files"], third["last"], json.loads(third["names"])) == (5, "x11.pcap", ["x3.pcap"])
    # All at once, as after a restart that has lost the offsets between.
    (part,) = again.partitions(first, third)
    assert isinstance(part, CapturePartition)
    assert {os.path.basename(each.path) for each in part.splits} == {"x2.pcapng.gz", "x3.pcap", "x11.pcap"}


def test_a_stream_that_stops_at_what_was_there_leaves_what_comes_late(folder: Path) -> None:
    stream = stream_of(folder, closed="all")
    stream.prepareForTriggerAvailableNow()
    build.write(folder / "x3.pcap", build.pcap(MADE[:2]))
    os.rename(folder / "x1.pcap", folder / "x1.pcap.gz")
    end = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert json.loads(end["names"]) == ["x1.pcap.gz", "x2.pcapng", "x10.pcap"]
    stream.prepareForTriggerAvailableNow()
    assert json.loads(stream.latestOffset(end, ReadAllAvailable())["names"]) == ["x3.pcap"]


def test_a_checkpoint_of_before_goes_on_behind_its_last_name(folder: Path) -> None:
    """It does not tell which files were taken: those up to the last one were; what comes late from now on is taken."""
    before = {"files": 2, "last": "x2.pcapng", "names": '["x1.pcap", "x2.pcapng"]'}
    stream = stream_of(folder, closed="all")
    end = stream.latestOffset(before, ReadAllAvailable())
    assert json.loads(end["names"]) == ["x10.pcap"]
    build.write(folder / "x3.pcap", build.pcap(MADE[:2]))
    assert json.loads(stream.latestOffset(end, ReadAllAvailable())["names"]) == ["x3.pcap"]


def test_the_names_that_a_stream_remembers_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is older than all that it remembers counts as taken, as no file is taken twice."""
    monkeypatch.setattr(files, "TAKEN_NAMES", 8)
    stream, seen = stream_of(tmp_path, closed="all"), []
    offset = stream.initialOffset()
    for number in range(10, 60):
        build.write(tmp_path / f"x{number}.pcap", b"")
        offset = stream.latestOffset(offset, ReadMaxFiles(9))
        seen += json.loads(offset["names"])
        assert len(offset["taken"]) <= 8 * 8
    assert seen == [f"x{number}.pcap" for number in range(10, 60)]
    build.write(tmp_path / "x1.pcap", b"")
    assert stream.latestOffset(offset, ReadMaxFiles(9)) == offset
    build.write(tmp_path / "x59a.pcap", b"")
    assert stream.latestOffset(offset, ReadMaxFiles(9))["files"] == 51


def test_a_stream_reads_one_folder(folder: Path) -> None:
    with pytest.raises(ValueError, match="one folder"):
        CaptureStream(plan_of({"paths": json.dumps([str(folder), str(folder)])}))
    assert isinstance(CaptureSource({"path": str(folder)}).streamReader(whole()), CaptureStream)
    assert isinstance(CapturePartition([]), asked.InputPartition)


def test_in_spark(spark: SparkSession, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    register(spark)
    want = plainly(folder)
    frame = spark.read.format("amqp_capture").option("split", "8192").option("resync", "true").load(str(folder))
    rows = [{**row.asDict(), "payload": bytes(row["payload"])} for row in frame.collect()]
    assert sorted(rows, key=lambda row: (row["file_id"], row["offset"])) == want
    assert tuple(frame.columns) == PACKET_NAMES
    assert frame.rdd.getNumPartitions() > 3
    # Filters are taken over: none is left in the plan.
    pushed = spark.read.format("amqp_capture").option("pushdown", "true").option("columns", "sport,seq").load(str(folder))
    chosen = pushed.where("sport = 5672 and seq > 0")
    assert chosen.count() == sum(row["sport"] == 5672 for row in want)
    assert "sport" not in chosen._jdf.queryExecution().executedPlan().toString().partition("Filter")[2].split("\n")[0]
    # The same as a stream.
    place = tmp_path_factory.mktemp("stream")
    stream = spark.readStream.format("amqp_capture").option("closed", "all").option("maxFilesPerTrigger", "2").load(str(folder))
    query = (
        stream.writeStream.format("parquet")
        .option("path", str(place / "out"))
        .option("checkpointLocation", str(place / "check"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    got = [{**row.asDict(), "payload": bytes(row["payload"])} for row in spark.read.parquet(str(place / "out")).collect()]
    assert sorted(got, key=lambda row: (row["file_id"], row["offset"])) == want
    assert len(list((place / "check" / "commits").glob("[0-9]*"))) == 2


def test_whether_files_fit_into_memory_is_known_on_linux_only(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_such_file(*_: object, **__: object) -> None:
        raise FileNotFoundError

    paths = [str(path) for path in sorted(folder.iterdir())]
    assert fit(paths)
    monkeypatch.setattr(module, "open", no_such_file, raising=False)
    assert not fit(paths)


def test_payloads_stay_in_files_that_fit_into_memory(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(path) for path in sorted(folder.iterdir())]
    assert fit(paths)
    files = list(enumerate(paths))
    asked = {"path": str(folder), "form": "bundles"}
    for octets, large, expected in (
        ("row", False, False),
        ("file", True, True),
        ("cached", False, True),
        ("cached", True, False),
    ):
        monkeypatch.setattr(module, "size_of", lambda path, large=large: 1 << (60 if large else 1))
        parts = plan_of({**asked, "octets": octets}).partitions(files)
        assert {part.in_file for part in parts} == {expected}
    assert plan_of(asked).octets == "row"


def test_the_newest_file_grows_or_not(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="cannot be read"):
        Newest(str(tmp_path / "nothing"))
    newest = Newest(str(tmp_path))
    assert newest.growing() is None
    (tmp_path / "a.pcap").write_bytes(b"1")
    assert newest.growing() == "a.pcap"
    newest = Newest(str(tmp_path))
    assert newest.growing() is None
    with open(tmp_path / "a.pcap", "ab") as stream:
        stream.write(b"2")
    assert newest.growing() == "a.pcap"


def test_a_connection_goes_to_the_task_that_was_chosen_or_to_that_of_its_number() -> None:
    bundles = pa.RecordBatch.from_pydict({"connection": [5, -7, 1 << 62, 5], "packets": [b"a", b"b", b"c", b"d"]})
    found = with_task(bundles, {5: 3}, 4)
    assert found.column(TASK).to_pylist() == [3, 1, 0, 3]
    assert found.drop_columns([TASK]).equals(bundles)
