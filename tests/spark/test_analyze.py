"""Batch: captures to tables equal to the plain replay, published whole or not at all."""

from __future__ import annotations

import gzip
import json
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from os import environ
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest
from pyspark.sql.functions import lit
from tests.captures import build
from tests.spark.truth import OPTIONS, counted, differing, generated, published, recordings, rotated, truth

from amqp_sansio.captures.columns import local
from amqp_sansio.captures.columns.place import MANIFEST, STREAM
from amqp_sansio.captures.columns.read import read_split
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.captures.splits import SplitError, splits
from amqp_sansio.captures.tables import DEFAULT_TABLES, TABLES
from amqp_sansio.spark import analyze as module
from amqp_sansio.spark.analyze import analyze, run
from amqp_sansio.spark.errors import PipelineError, told
from amqp_sansio.spark.passes import write_replayed
from amqp_sansio.spark.source import read_bundles

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SOAK = environ.get("AMQP_PROFILE") == "soak"
COMBINATIONS = list(product((40_000, 1 << 25), (1, 3, 8), ("true", "false"), (True, False), ("row", "file")))
"""Octets of a split, tasks, resynchronisation or index, files in order or not, where payloads are; batch rows differ with the
split."""
CHOSEN = COMBINATIONS if SOAK else Random(8).sample(COMBINATIONS, 3)
"""With this seed, every value of each at least once."""


@pytest.fixture(scope="module")
def cuts(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """One capture in three files: connections go on from one to the next."""
    folder = tmp_path_factory.mktemp("cuts")
    return rotated(generated(folder / "whole.pcap"), folder / "rotated", 3)


def names(paths: list[Path]) -> list[str]:
    return [str(path) for path in paths]


def test_real_recordings_give_the_tables_of_the_plain_replay(tmp_path: Path) -> None:
    """In this process; the next test holds Spark against it."""
    outcome = local.run(names(recordings()), str(tmp_path), OPTIONS)
    expected = truth(recordings())
    assert differing(expected, published(tmp_path)) == {}
    assert outcome.rows == {table: sum(rows.values()) for table, rows in expected.items()}
    assert sum(outcome.findings.values()) == outcome.rows["violations"]


def test_this_process_gives_the_rows_of_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Also of files that cannot be read, or not to their end; and says the same of them."""
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "cut.pcap").write_bytes(recordings()[0].read_bytes()[:-7])
    (tmp_path / "in" / "foreign.pcap").write_bytes(b"no capture")
    (tmp_path / "in" / "gone.pcap").symlink_to(tmp_path / "nothing")
    captures = [*names(recordings()), str(tmp_path / "in")]
    here = local.run(captures, str(tmp_path / "here"), OPTIONS)
    there = run(spark, captures, str(tmp_path / "there"), OPTIONS, tasks=2)
    assert differing(published(tmp_path / "here"), published(tmp_path / "there")) == {}
    assert [here.rows, here.findings, here.damage] == [there.rows, there.findings, there.damage]
    one, other = [json.loads((tmp_path / name / MANIFEST).read_text()) for name in ("here", "there")]
    assert [one.pop("engine"), other.pop("engine")] == ["local", "spark"]
    assert len(one["problems"]) == 3
    assert {**one, "tables": list(one["tables"])} == {**other, "tables": list(other["tables"])}
    for given, words in (("/nowhere.pcap", "no such file"), (__file__, "neither a pcap nor a pcapng file")):
        with pytest.raises(PipelineError, match=words) as ours:
            local.run([given], str(tmp_path / "here"))
        with pytest.raises(PipelineError, match=words) as theirs:
            run(spark, [given], str(tmp_path / "there"), OPTIONS)
        assert str(ours.value) == str(theirs.value)


@pytest.mark.parametrize(("split", "tasks", "resync", "in_order", "octets"), CHOSEN)
def test_the_tables_do_not_depend_on_how_the_work_is_cut(
    spark: SparkSession, cuts: list[Path], tmp_path: Path, split: int, tasks: int, resync: str, in_order: bool, octets: str
) -> None:
    settings = {"split": str(split), "resync": resync, "octets": octets}
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 500 if split < 1 << 20 else 10000)
    run(spark, names(cuts if in_order else cuts[::-1]), str(tmp_path), OPTIONS, tasks=tasks, options=settings)
    assert differing(truth(cuts), published(tmp_path)) == {}


def test_packed_files_among_others_give_the_same(spark: SparkSession, cuts: list[Path], tmp_path: Path) -> None:
    """Connections go on from payloads in the row to those in a file, and back."""
    folder = tmp_path / "in"
    folder.mkdir()
    mixed = [Path(shutil.copy(cuts[0], folder)), folder / "cut-001.pcap.gz", Path(shutil.copy(cuts[2], folder))]
    mixed[1].write_bytes(gzip.compress(cuts[1].read_bytes()))
    run(spark, names(mixed), str(tmp_path / "out"), OPTIONS, tasks=2, options={"octets": "file"})
    assert differing(truth(mixed), published(tmp_path / "out")) == {}


def test_a_file_that_is_changed_or_removed_behind_the_reader_is_one_clear_error(
    spark: SparkSession, cuts: list[Path], tmp_path: Path
) -> None:
    path = Path(shutil.copy(cuts[0], tmp_path))
    bundles = read_bundles(spark, [str(path)], 2).persist()
    assert bundles.where("file_octets < 0").count() == 0  # by itself: the session is local, and a small file is in memory
    for words in ("was changed while it was being analyzed", "cannot be opened any more: No such file or directory"):
        if "changed" in words:
            os.utime(path, ns=(0, 1))
        else:
            path.unlink()
        with pytest.raises(PipelineError) as raised, told("the analysis failed"):
            write_replayed(bundles, OPTIONS, 2, str(tmp_path / "out"), "part")
        assert re.fullmatch(rf"the analysis failed: {re.escape(str(path))}: [^\n]*{words}[^\n]*", str(raised.value))
    bundles.unpersist()


def test_a_file_that_grows_while_it_is_analyzed_is_read_again_with_its_payloads(
    spark: SparkSession, cuts: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was known of the file when its packets were found does not hold any more: then no payload is left in it."""
    expected = truth(cuts[:1])
    asked = []

    def read(
        spark: SparkSession,
        captures: Sequence[str],
        tasks: int,
        options: Mapping[str, str] | None,
        ports: Sequence[int],
    ) -> DataFrame:
        asked.append(options)
        bundles = read_bundles(spark, captures, tasks, options, ports)
        return bundles.withColumn("file_ns", bundles["file_ns"] - 1) if options is None else bundles

    monkeypatch.setattr(module, "read_bundles", read)
    run(spark, names(cuts[:1]), str(tmp_path), OPTIONS, tasks=1)
    assert asked == [None, {"octets": "row"}]
    assert differing(expected, published(tmp_path)) == {}
    changed = lit(1).cast("bigint")
    monkeypatch.setattr(module, "read_bundles", lambda *given: read_bundles(*given).withColumn("file_ns", changed))
    with pytest.raises(PipelineError, match="was changed while it was being analyzed"):
        run(spark, names(cuts[:1]), str(tmp_path), OPTIONS, tasks=1, options={"octets": "file"})
    assert differing(expected, published(tmp_path)) == {}


def test_where_resynchronisation_is_misled_the_index_is_taken(spark: SparkSession, tmp_path: Path) -> None:
    """A second section is not known to a split that was found without reading the file: the work is done again, exactly."""
    packets = build.records(build.conversation([b"x" * 200] * 100).segments)
    path = build.write(tmp_path / "two.pcapng", build.pcapng(packets[:200]) + build.pcapng(packets[200:], ">"))
    with pytest.raises(SplitError):
        list(chain(*map(read_split, splits(path, 0, 10_000, resync=True))))
    settings = {"split": "10000", "resync": "true"}
    run(spark, [path], str(tmp_path / "out"), OPTIONS, tasks=1, options=settings)
    assert differing(truth([Path(path)]), published(tmp_path / "out")) == {}
    assert not list((tmp_path / "out").glob(".work*"))


def test_the_manifest_tells_what_was_read_asked_for_and_written(spark: SparkSession, cuts: list[Path], tmp_path: Path) -> None:
    run(spark, names(cuts), str(tmp_path), ReplayOptions(tables=("connections", "dtx")), tasks=1)
    said = json.loads((tmp_path / MANIFEST).read_bytes())
    assert said["captures"] == names(cuts)
    assert list(said["tables"]) == ["connections", "dtx"]
    for table in said["tables"].values():
        assert table["rows"] == sum(file["rows"] for file in table["files"])
        assert all((tmp_path / file["path"]).stat().st_size == file["octets"] for file in table["files"])
    listed = {file["path"] for table in said["tables"].values() for file in table["files"]}
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet")} == listed


def test_without_a_folder_the_tables_are_frames(spark: SparkSession, cuts: list[Path]) -> None:
    tables = analyze(spark, names(cuts), tasks=2)
    expected = truth(cuts, ReplayOptions())
    assert list(tables) == [*DEFAULT_TABLES, "end_to_end"]
    assert {name: frame.count() for name, frame in tables.items()} == {name: sum(expected[name].values()) for name in tables}
    rows = [row.asDict(recursive=True) for row in tables["dtx"].collect()]
    assert counted(rows) == expected["dtx"]
    assert [field.name for field in tables["messages"].schema] == list(TABLES["messages"].names)


def test_with_a_folder_the_frames_are_what_was_published(spark: SparkSession, cuts: list[Path], tmp_path: Path) -> None:
    tables = analyze(spark, names(cuts), str(tmp_path), ReplayOptions(tables=("credit", "transactions", "frames")), tasks=2)
    assert [field.name for field in tables["frames"].schema] == list(TABLES["frames"].names)
    assert tables["credit"].count() > 0


@pytest.fixture
def before(tmp_path: Path) -> Iterator[Path]:
    """A folder with something published, which must not change."""
    (tmp_path / MANIFEST).write_text("{}")
    (tmp_path / "dtx").mkdir()
    (tmp_path / "dtx" / "x.parquet").write_text("")
    yield tmp_path
    assert sorted(path.name for path in tmp_path.rglob("*")) == [MANIFEST, "dtx", "x.parquet"]


def test_a_capture_that_is_not_there_is_reported_and_nothing_is_touched(spark: SparkSession, before: Path) -> None:
    with pytest.raises(PipelineError, match=r"nowhere\.pcap"):
        run(spark, ["/nowhere.pcap"], str(before), OPTIONS)


def test_a_file_that_is_no_capture_is_reported_and_nothing_is_touched(spark: SparkSession, before: Path) -> None:
    with pytest.raises(PipelineError, match=rf"{Path(__file__).name}.* neither a pcap nor a pcapng file"):
        run(spark, [__file__], str(before), OPTIONS)


def test_the_output_of_a_stream_is_not_replaced(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / STREAM).write_text("{}")
    with pytest.raises(PipelineError, match="holds what `watch` writes"):
        run(spark, names(recordings()), str(tmp_path), OPTIONS)


@pytest.mark.parametrize(
    ("cores", "octets", "tasks"),
    [
        (1, 0, 1),
        (1, 150_000_000, 2),
        (2, 5_000_000, 4),
        (1, 600_000_000, 8),
        (2, 150_000_000, 16),
        (2, 600_000_000, 32),
        (2, 2_400_000_000, 35),
    ],
)
def test_several_cores_have_more_tasks_where_there_are_octets_for_them(
    monkeypatch: pytest.MonkeyPatch, cores: int, octets: int, tasks: int
) -> None:
    monkeypatch.setattr(module, "cores_of", lambda spark: cores)
    monkeypatch.setattr(module, "octets_of", lambda captures: octets)
    assert module.tasks_for(None, []) == tasks  # type: ignore[arg-type]
