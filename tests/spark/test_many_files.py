"""Ten thousand files: what the driver opens, lists and holds does not grow with them, but for one name and a few looks each."""

from __future__ import annotations

import builtins
import json
import os
import pickle
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.truth import OPTIONS, differing, generated, published, rotated, truth

from amqp_sansio.captures import reader
from amqp_sansio.captures.columns.place import MANIFEST
from amqp_sansio.captures.columns.store import NAMED_CAPTURES, manifest_of
from amqp_sansio.captures.source import files_of
from amqp_sansio.captures.splits import splits
from amqp_sansio.spark import source
from amqp_sansio.spark.analyze import run
from amqp_sansio.spark.source import CapturePartition, CaptureStream, cut_in_tasks, plan_of, read_bundles

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COUNTED = ((builtins, "open"), (reader, "mapped"), (os, "scandir"), (os, "listdir"), (os, "stat"))


@contextmanager
def counting(below: Path) -> Iterator[Counter[str]]:
    """Counts calls with a path in that folder."""
    found: Counter[str] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        for module, name in COUNTED:

            def counted(path: Any, *more: Any, name: str = name, call: Any = getattr(module, name), **named: Any) -> Any:
                if str(path).startswith(str(below)):
                    found[name] += 1
                return call(path, *more, **named)

            patch.setattr(module, name, counted)
        yield found


def folder_of(place: Path, count: int) -> Path:
    """So many tiny captures."""
    place.mkdir()
    (one,) = rotated(generated(place.parent / "one.pcap", 3000, 1), place.parent / "one", 1)
    for number in range(count):
        os.link(one, place / f"dump{number}.pcap")
    return place


@pytest.mark.parametrize("count", [500, 10_000])
def test_the_driver_opens_none_but_the_first_and_lists_the_folder_a_few_times(
    spark: SparkSession, tmp_path: Path, count: int
) -> None:
    """What `analyze` does before its first task, whatever the number of files."""
    folder = folder_of(tmp_path / "in", count)
    with counting(folder) as found:
        files = files_of([str(folder)])
        frame = read_bundles(spark, files, 8)
    assert len(files) == count
    assert found["open"] + found["mapped"] <= 2
    assert found["scandir"] + found["listdir"] <= 4
    assert found["stat"] <= 8 * count
    assert frame.rdd.getNumPartitions() <= -(-count // 512)
    assert len(pickle.dumps(files)) < (len(f"{folder}/dump{count}.pcap") + 10) * count


def test_a_batch_of_a_stream_lists_the_folder_once_and_opens_none(tmp_path: Path) -> None:
    """Offsets name the files of one batch, not those of all before it."""
    folder = folder_of(tmp_path / "in", 10_000)
    stream = CaptureStream(plan_of({"path": str(folder), "closed": "all", "form": "bundles", "octets": "row"}))
    start = stream.initialOffset()
    for _ in range(3):
        with counting(folder) as found:
            end = stream.latestOffset(start, stream.getDefaultReadLimit())
            made = stream.partitions(start, end)
        assert found["scandir"] + found["listdir"] == 1
        assert found["open"] + found["mapped"] == 0
        assert found["stat"] <= 16 * 8
        assert sum(len(each.splits) for each in made if isinstance(each, CapturePartition)) == 16
        assert len(json.dumps(end)) < 1000
        assert len(pickle.dumps(made)) < 10_000
        start = end


def test_a_manifest_names_some_captures_and_counts_the_rest(tmp_path: Path) -> None:
    names = [f"/captures/dump{number}.pcap" for number in range(10_000)]
    said = json.loads(manifest_of(None, [], names, OPTIONS, "spark"))  # type: ignore[arg-type]
    assert said["captures"] == names[:NAMED_CAPTURES]
    assert said["more_captures"] == 10_000 - NAMED_CAPTURES
    assert "more_captures" not in json.loads(manifest_of(None, [], names[:1000], OPTIONS, "spark"))  # type: ignore[arg-type]


@pytest.mark.parametrize("resync", [False, True])
def test_large_files_are_cut_in_tasks(spark: SparkSession, tmp_path: Path, resync: bool) -> None:
    """The driver opens none of them, and what tasks find is what it would."""
    files = list(map(str, rotated(generated(tmp_path / "x.pcap"), tmp_path / "in", 5)))
    with counting(tmp_path / "in") as found:
        made = cut_in_tasks(spark, files, 20_000, resync, here=0)
    assert found["open"] + found["mapped"] == 0
    large = {
        number: splits(path, number, 20_000, resync) for number, path in enumerate(files) if os.path.getsize(path) > 20_000
    }
    assert made == large
    assert len(large) >= 4
    assert cut_in_tasks(spark, files, 20_000, resync) == {}


def test_the_rows_of_many_files(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five hundred files, those that are large enough cut in tasks, give the rows of the plain replay in a few files."""
    files = rotated(generated(tmp_path / "x.pcap"), tmp_path / "in", 500)
    monkeypatch.setattr(
        source, "cut_in_tasks", lambda spark, files, octets, resync: cut_in_tasks(spark, files, octets, resync, 0)
    )
    outcome = run(spark, [str(tmp_path / "in")], str(tmp_path / "out"), OPTIONS, tasks=2, options={"split": "8000"})
    assert differing(truth(files), published(tmp_path / "out")) == {}
    assert outcome.files < 200
    assert (tmp_path / "out" / MANIFEST).stat().st_size < 100_000
