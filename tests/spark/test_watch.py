"""Stream: whatever is cut, killed and started again, stream output and open state are what the batch gives."""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
import pytest
from tests.captures import build
from tests.captures.packets import packet_rows
from tests.spark.rows import violations
from tests.spark.truth import OPTIONS, differing, generated, published, rotated, truth
from tests.waiting import awaited

from amqp_sansio.captures.columns.compact import batch_of
from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA, Late
from amqp_sansio.captures.columns.place import MANIFEST, STREAM, Place, Written
from amqp_sansio.captures.columns.store import PublishedTables
from amqp_sansio.captures.columns.writer import Writer, unique, write_whole
from amqp_sansio.captures.replay.options import IDLE_HOURS, MOST_IDLE_HOURS, ReplayOptions
from amqp_sansio.captures.tables import TABLES
from amqp_sansio.spark import watch as watch_module
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.follower import STATE
from amqp_sansio.spark.watch import MARKER, Output, Watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


ROOT = Path(__file__).resolve().parents[2]
SOAK = os.environ.get("AMQP_PROFILE") == "soak"
FILES = 24 if SOAK else 3
ONE_AT_A_TIME = {"maxFilesPerTrigger": "1", "closed": "all"}


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One capture in several files: connections go on from one to the next, some are open at the end."""
    folder = tmp_path_factory.mktemp("cuts")
    return rotated(generated(folder / "whole.pcap", 400_000 if SOAK else 150_000), folder / "rotated", FILES)


@pytest.mark.parametrize("octets", ["row", pytest.param("file", marks=pytest.mark.soak)])
def test_a_stream_that_goes_on_gives_what_the_batch_gives_at_every_stop(
    spark: SparkSession, cuts: list[Path], tmp_path: Path, octets: str
) -> None:
    """After each stop, what was settled and what is open are together the tables of the files read so far."""
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    for arrived, upto in ((cuts[:1], 1), (cuts[1:], FILES), ([], FILES)):
        for path in arrived:
            shutil.copy(path, folder)
        options = {**ONE_AT_A_TIME, "octets": octets}
        Watch(spark, str(folder), str(out), str(checkpoint), OPTIONS, options=options).run(once=True)
        expected = truth([folder / path.name for path in cuts[:upto]])
        assert differing(expected, published(out)) == {}
        assert (out / MANIFEST).is_file()


def test_a_stream_without_end_is_stopped_without_its_state_and_completed_later(
    spark: SparkSession, cuts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was settled before the stop is published, whatever more there is to come; what is open comes with `once`."""
    out = tmp_path / "out"

    def stream() -> Watch:
        return Watch(spark, str(cuts[0].parent), str(out), str(tmp_path / "checkpoint"), OPTIONS, options=ONE_AT_A_TIME)

    watch = stream()
    with monkeypatch.context() as patch:
        patch.setattr(watch_module, "open_records", lambda *_: pytest.fail("the state was read"))
        stopped(watch, out)
    assert (out / MANIFEST).is_file()
    whole, so_far = truth(cuts), published(out)
    assert all(so_far[name] <= whole[name] for name in TABLES)
    assert sum(map(len, so_far.values()))
    stream().run(once=True)
    assert differing(whole, published(out)) == {}


def stopped(watch: Watch, out: Path) -> None:
    """Runs a stream until it has published something, and stops it."""
    running = threading.Thread(target=watch.run, kwargs={"trigger": "0 seconds"})
    running.start()
    awaited(lambda: files(out), lambda: not running.is_alive())
    watch.stop()
    running.join()


def test_spark_connect_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(watch_module, "is_connect", lambda spark: True)
    with pytest.raises(PipelineError, match=r"^watch does not run through Spark Connect: give it a master"):
        Watch(None, str(tmp_path), str(tmp_path / "out"), str(tmp_path / "state"))  # type: ignore[arg-type]


def test_a_checkpoint_that_spark_cannot_write_is_refused(spark: SparkSession, tmp_path: Path, s3: dict[str, str]) -> None:
    """Spark's own Hadoop writes it, and has no connector for S3 here."""
    with pytest.raises(PipelineError, match=r"^s3a://tables/state: this Spark has no file system for s3a:"):
        Watch(spark, str(tmp_path), str(tmp_path / "out"), "s3a://tables/state")


def test_where_resynchronisation_is_misled_the_stream_goes_on_with_the_index(spark: SparkSession, tmp_path: Path) -> None:
    """A second section is not known to a split that was found without reading the file: the batch is done again, exactly."""
    packets = build.records(build.conversation([b"x" * 200] * 100).segments)
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    path = build.write(folder / "two.pcapng", build.pcapng(packets[:200]) + build.pcapng(packets[200:], ">"))
    options = {"closed": "all", "split": "10000", "resync": "true"}
    Watch(spark, str(folder), str(out), str(tmp_path / "checkpoint"), OPTIONS, options=options).run(once=True)
    assert differing(truth([Path(path)]), published(out)) == {}


@pytest.fixture
def one_task(spark: SparkSession) -> Iterator[SparkSession]:
    """A session in which one task replays all connections, whatever other tests have set."""
    name = "spark.sql.shuffle.partitions"
    before = spark.conf.get(name)
    spark.conf.set(name, "1")
    yield spark
    spark.conf.set(name, str(before))


def test_state_of_idle_pairs_goes_from_the_checkpoint(one_task: SparkSession, tmp_path: Path) -> None:
    """Pairs of one day are forgotten on the next; a connection that sleeps over it gives a note, and nobody is accused.

    One task sees all packets: one that sees none in a batch does not know how late it is, and forgets nothing in it.
    """
    spark = one_task
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()

    def of(client: int) -> list[build.Segment]:
        return build.conversation([b"x"] * 8, base=build.Segment(True, 0, client_port=client)).segments

    def day(number: int, *parts: list[build.Segment]) -> None:
        packets = build.records([each for part in parts for each in part])
        later = [replace(each, time=each.time + number * 86_400_000_000_000) for each in packets]
        build.write(folder / f"day{number}.pcap", build.pcap(later))

    def held() -> int:
        # The timers of a batch have run out when the next one begins: 36 ms.
        stream = Watch(spark, str(folder), str(out), str(checkpoint), OPTIONS, options=ONE_AT_A_TIME, idle_hours=1e-5)
        stream.run(once=True)
        return spark.read.format("statestore").option("stateVarName", STATE).load(str(checkpoint)).count()

    sleeper = of(50000)
    day(1, *map(of, range(40000, 40020)), sleeper[:20])
    day(2, *map(of, range(41000, 41008)))
    assert held() == 8 + 1, "those of the second day, and that one sleeps"
    day(3, *map(of, range(42000, 42008)), sleeper[20:])
    assert held() == 8 + 1, "those of the third day, and the one that woke"
    rows = {table: [json.loads(row) for row in found.elements()] for table, found in published(out).items()}
    assert len(rows["connections"]) == 20 + 8 + 8 + 2
    assert [row["from_start"] for row in rows["connections"]].count(False) == 1
    assert len(rows["messages"]) == 37 * 8
    assert {row["level"] for row in rows["violations"]} == {"note"}
    assert [row["rule"] for row in rows["violations"]].count("capture.idle") == 1


def test_what_cannot_be_amqp_leaves_no_state(spark: SparkSession, tmp_path: Path) -> None:
    """By ports and first octets, before it is shuffled, as in a batch; what has a port that was asked for is heard."""
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()
    segments = []
    for port in (80, 8080):
        web = build.Talk(build.Segment(True, 0, client_port=40000 + port, server_port=port)).open()
        segments += web.say(True, b"GET / HTTP/1.1").say(False, b"HTTP/1.1 204").close().segments
    ours = build.conversation().segments
    path = Path(build.write(folder / "a.pcap", build.pcap(build.records([*segments, *ours]))))
    plan = attrs.evolve(OPTIONS, ports=(8080,))
    Watch(spark, str(folder), str(out), str(checkpoint), plan, options=ONE_AT_A_TIME, idle_hours=0).run(once=True)
    assert spark.read.format("statestore").option("stateVarName", STATE).load(str(checkpoint)).count() == 2
    assert differing(truth([path], plan), published(out)) == {}


def test_a_checkpoint_without_idle_hours_forgets_nothing(spark: SparkSession, cuts: list[Path], tmp_path: Path) -> None:
    """As earlier versions wrote it: it goes on with 0 and is refused with another number, in one sentence."""
    folder, out, checkpoint = tmp_path / "in", tmp_path / "out", tmp_path / "checkpoint"
    folder.mkdir()

    def run(*names: Path, hours: float = IDLE_HOURS) -> None:
        for path in names:
            shutil.copy(path, folder)
        watch = Watch(spark, str(folder), str(out), str(checkpoint), OPTIONS, options=ONE_AT_A_TIME, idle_hours=hours)
        watch.run(once=True)

    run(cuts[0], hours=0)
    for place in (out / STREAM, checkpoint / MARKER):
        marked = json.loads(place.read_text())
        assert marked["plan"].pop("idle_hours") == 0
        place.write_text(json.dumps(marked))
    with pytest.raises(PipelineError, match=r"^the stream began with another idle_hours \(0\): continue with the same, or"):
        run()
    run(cuts[1], hours=0)
    assert differing(truth([folder / path.name for path in cuts[:2]]), published(out)) == {}


@pytest.mark.parametrize("hours", [-1.0, float("nan"), float("inf"), MOST_IDLE_HOURS + 1])
def test_hours_that_are_none(spark: SparkSession, tmp_path: Path, hours: float) -> None:
    with pytest.raises(ValueError, match="hours are not between 0 and 100000"):
        Watch(spark, str(tmp_path), str(tmp_path / "out"), str(tmp_path / "checkpoint"), idle_hours=hours)


@pytest.mark.parametrize(
    "name", [pytest.param("cut-2", id="later", marks=pytest.mark.soak), pytest.param("cut-0b", id="earlier")]
)
def test_a_file_that_comes_too_late_is_named_with_what_it_lost(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """It holds seconds before what was judged of its connection: said once its batch is published, and kept in the manifest,
    also by the next start, whether its name comes behind those that were taken or before them.  Files that come in order are
    not named, nor is one with what nobody has heard of before."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    talk = build.records(build.conversation([b"x" * 200] * 60).segments, step=50_000_000)
    early = build.records(build.conversation([b"y"], build.Segment(True, 0, client_port=40001)).segments)
    third = len(talk) // 3
    parts = [talk[:third], talk[2 * third :], talk[third : 2 * third], early, talk[-1:]]
    said: list[str] = []

    def stream() -> PublishedTables:
        watch = Watch(spark, str(folder), str(out), str(tmp_path / "state"), OPTIONS, options=ONE_AT_A_TIME, warn=said.append)
        return watch.run(once=True)

    def arrive(*numbers: int) -> None:
        for number in numbers:
            stem = name if number == 2 else f"cut-{number}"
            build.write(folder / f"{stem}.pcap", build.pcap(parts[number], nano=True))

    arrive(0, 1)
    assert stream().late == []
    assert "late" not in json.loads((out / MANIFEST).read_bytes())
    assert said == []
    arrive(2)
    (late,) = stream().late
    octets = sum(len(row["payload"]) for row in packet_rows(f"{folder}/{name}.pcap") if isinstance(row["payload"], bytes))
    assert (late.capture, late.packets, late.octets) == (f"{folder}/{name}.pcap", third, octets)
    assert (late.first_ns, late.last_ns) == (parts[2][0].time, parts[2][-1].time)
    assert said == [str(late)]
    arrive(3, 4)
    assert stream().late == [late]
    assert said == [str(late)]
    manifest = json.loads((out / MANIFEST).read_bytes())
    assert (manifest["problems"], len(manifest["late"])) == ([str(late)], 1)


def test_a_stream_of_schema_version_1_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Its marks name no version, or another one than ours; nothing is written."""
    out, checkpoint = tmp_path / "out", tmp_path / "checkpoint"
    for place, name in ((out, STREAM), (checkpoint, MARKER)):
        place.mkdir()
        (place / name).write_text('{"stream": "x", "folder": "y", "plan": {}}')
        with pytest.raises(
            PipelineError, match=f"{place}: the stream writes tables of schema 1, and this version writes 2: continue with"
        ):
            Watch(spark, str(tmp_path / "in"), str(out), str(checkpoint)).run(once=True)
        (place / name).unlink()
    assert sorted(path.name for path in out.iterdir()) == []


def test_a_stream_with_other_options_or_folders_is_refused(spark: SparkSession, cuts: list[Path], tmp_path: Path) -> None:
    folder, out, checkpoint = str(cuts[0].parent), str(tmp_path / "out"), str(tmp_path / "checkpoint")
    Watch(spark, folder, out, checkpoint, ReplayOptions(tables=("dtx",)), options=ONE_AT_A_TIME).run(once=True)
    with pytest.raises(PipelineError, match="began with another tables, body_head"):
        Watch(spark, folder, out, checkpoint, ReplayOptions(tables=("dtx", "credit"), body_head=3)).run(once=True)
    with pytest.raises(PipelineError, match="not of the same stream"):
        Watch(spark, folder, str(tmp_path / "other"), checkpoint, ReplayOptions(tables=("dtx",)), options=ONE_AT_A_TIME).run(
            once=True
        )
    with pytest.raises(PipelineError, match="not of the same stream"):
        Watch(spark, folder, out, str(tmp_path / "another"), ReplayOptions(tables=("dtx",)), options=ONE_AT_A_TIME).run(
            once=True
        )
    (tmp_path / "tables" / "dtx").mkdir(parents=True)
    (tmp_path / "tables" / MANIFEST).write_text("{}")
    with pytest.raises(PipelineError, match="not of a stream"):
        Watch(
            spark,
            folder,
            str(tmp_path / "tables"),
            str(tmp_path / "third"),
            ReplayOptions(tables=("dtx",)),
            options=ONE_AT_A_TIME,
        ).run(once=True)


def files(out: Path) -> int:
    """How many there are; folders that vanish meanwhile count for nothing."""
    return sum(name.endswith(".parquet") for _, _, names in os.walk(out) for name in names)


PLAN = ReplayOptions(tables=("violations", "dtx"))


def written(rows: int, place: str, prefix: str) -> list[Written]:
    out = Writer(place, prefix)
    return [*out.add("violations", violations(rows)), *out.rest()]


@pytest.fixture
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is the number of its rows."""
    monkeypatch.setattr(watch_module, "write_tables", written)


def place_in(folder: Path) -> Place:
    place = Place(str(folder))
    place.open()
    return place


def output_of(place: Place) -> Output:
    return Output(place, "captures", PLAN)


def rows(place: Place) -> list[int]:
    """By the manifest, which names every file that is there and no other."""
    files = place.published()
    assert sorted(place.relative(file.path) for file in files) == place.files()
    return [file.rows for file in files if file.table == "violations"]


def frame(count: int) -> Any:
    return count


@pytest.mark.usefixtures("_without_spark")
@pytest.mark.parametrize(
    ("name", "number"), [("x/b00000012-0f-3.parquet", 12), ("open-0000.parquet", -1), ("part-1.parquet", -1)]
)
def test_the_number_is_read_from_the_name(name: str, number: int) -> None:
    assert batch_of(name) == number


@pytest.mark.usefixtures("_without_spark")
def test_after_each_batch_the_manifest_names_what_is_there(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    stream = output_of(place)
    for batch, count in enumerate((3, 4, 5)):
        stream(frame(count), batch)
        manifest = json.loads(place.read(MANIFEST) or b"")
        assert manifest["captures"] == ["captures"]
        assert manifest["tables"]["violations"]["rows"] == sum(rows(place))
        assert [file.rows for file in place.published() if file.table == "dtx"] == [0]
    assert rows(place) == [3, 4, 5]
    assert (stream.batches, stream.last) == (3, 2)


@pytest.mark.usefixtures("_without_spark")
def test_a_batch_that_is_done_again_takes_its_own_place(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    first = output_of(place)
    first(frame(3), 0)
    first(frame(4), 1)
    output_of(place)(frame(5), 1)
    assert rows(place) == [3, 5]


@pytest.mark.usefixtures("_without_spark")
def test_the_next_batch_takes_away_what_was_open(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    output_of(place).publish(written(9, place.work, "open"), lambda file: True)
    assert rows(place) == [9]
    output_of(place)(frame(3), 0)
    assert rows(place) == [3]


@pytest.mark.usefixtures("_without_spark")
def test_no_batch_begins_after_the_end(tmp_path: Path) -> None:
    stream = output_of(place_in(tmp_path))
    stream.close()
    with pytest.raises(PipelineError, match="being stopped"):
        stream(frame(3), 0)
    assert rows(stream.place) == []


@pytest.mark.usefixtures("_without_spark")
def test_the_manifest_stays_short_however_many_batches_there_are(tmp_path: Path) -> None:
    """Small files are merged as it goes; what a batch that is done again takes away is never among them."""
    place = place_in(tmp_path)
    stream = output_of(place)
    for batch in range(40):
        stream(frame(1), batch)
    assert sum(rows(place)) == 40
    assert len(rows(place)) < 16
    output_of(place)(frame(5), 39)
    assert sum(rows(place)) == 39 + 5


def with_late(rows: int, place: str, prefix: str) -> list[Written]:
    """Two tasks tell of one late file, each of so many packets as the batch has rows."""
    told = [{"capture": "late.pcap", "packets": rows, "octets": 10, "first_ns": 4, "last_ns": 5}]
    batch = pa.RecordBatch.from_pylist(told, LATE_SCHEMA)
    tasks = [write_whole([batch], LATE_SCHEMA, place, LATE, unique(prefix)) for _ in range(2)]
    return [*written(rows, place, prefix), *tasks[0], *tasks[1]]


@pytest.mark.usefixtures("_without_spark")
def test_a_late_file_is_named_once_it_is_published_and_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that is done again, because the stream was killed before Spark had noted it, tells it again."""
    monkeypatch.setattr(watch_module, "write_tables", with_late)
    place = place_in(tmp_path)
    said: list[str] = []
    expected = Late(batch=0, capture="late.pcap", packets=6, octets=20, first_ns=4, last_ns=5)
    for count in (3, 3):
        stream = Output(place, "captures", PLAN, said.append)
        stream(frame(count), 0)
        assert stream.late == [expected]
        assert json.loads(place.read(MANIFEST) or b"")["problems"] == [str(expected)]
        assert said.pop() == str(expected)
        assert said == []
        assert rows(place) == [3]
    monkeypatch.setattr(watch_module, "write_tables", written)
    later = output_of(place)
    later(frame(1), 1)
    assert later.late == [expected]
    assert list(Path(place.work, LATE).iterdir()) == []


@pytest.mark.usefixtures("_without_spark")
def test_what_a_batch_that_failed_has_lost_is_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are as they were; the batch is done again, by the next start."""
    monkeypatch.setattr(watch_module, "write_tables", with_late)
    place = place_in(tmp_path)
    said: list[str] = []
    stream = Output(place, "captures", PLAN, said.append)
    with monkeypatch.context() as patch:
        patch.setattr(place, "publish", lambda *_: pytest.fail("killed"))
        with pytest.raises(pytest.fail.Exception):
            stream(frame(3), 0)
    assert said == []
    assert output_of(place).late == []
