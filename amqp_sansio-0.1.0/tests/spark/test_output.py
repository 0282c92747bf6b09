"""A manifest after each batch; files are named after their batch, so that one that is done again takes its own place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from tests.spark.rows import violations

from amqp_sansio.captures.columns.late import LATE, LATE_SCHEMA, Late
from amqp_sansio.captures.columns.place import MANIFEST, Place, Written
from amqp_sansio.captures.columns.writer import Writer, unique, write_whole
from amqp_sansio.captures.replay.options import ReplayOptions
from amqp_sansio.spark import output
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.output import Output

PLAN = ReplayOptions(tables=("violations", "dtx"))


def written(rows: int, place: str, prefix: str) -> list[Written]:
    out = Writer(place, prefix)
    return [*out.add("violations", violations(rows)), *out.rest()]


@pytest.fixture(autouse=True)
def _without_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch is the number of its rows."""
    monkeypatch.setattr(output, "write_tables", written)


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


@pytest.mark.parametrize(
    ("name", "number"), [("x/b00000012-0f-3.parquet", 12), ("open-0000.parquet", -1), ("part-1.parquet", -1)]
)
def test_the_number_is_read_from_the_name(name: str, number: int) -> None:
    assert Output.number(name) == number


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


def test_a_batch_that_is_done_again_takes_its_own_place(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    first = output_of(place)
    first(frame(3), 0)
    first(frame(4), 1)
    output_of(place)(frame(5), 1)
    assert rows(place) == [3, 5]


def test_the_next_batch_takes_away_what_was_open(tmp_path: Path) -> None:
    place = place_in(tmp_path)
    output_of(place).publish(written(9, place.work, "open"), lambda file: True)
    assert rows(place) == [9]
    output_of(place)(frame(3), 0)
    assert rows(place) == [3]


def test_no_batch_begins_after_the_end(tmp_path: Path) -> None:
    stream = output_of(place_in(tmp_path))
    stream.close()
    with pytest.raises(PipelineError, match="being stopped"):
        stream(frame(3), 0)
    assert rows(stream.place) == []


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


def test_a_late_file_is_named_once_it_is_published_and_counts_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that is done again, because the stream was killed before Spark had noted it, tells it again."""
    monkeypatch.setattr(output, "write_tables", with_late)
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
    monkeypatch.setattr(output, "write_tables", written)
    later = output_of(place)
    later(frame(1), 1)
    assert later.late == [expected]
    assert list(Path(place.work, LATE).iterdir()) == []


def test_what_a_batch_that_failed_has_lost_is_not_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The tables are as they were; the batch is done again, by the next start."""
    monkeypatch.setattr(output, "write_tables", with_late)
    place = place_in(tmp_path)
    said: list[str] = []
    stream = Output(place, "captures", PLAN, said.append)
    with monkeypatch.context() as patch:
        patch.setattr(place, "publish", lambda *_: pytest.fail("killed"))
        with pytest.raises(pytest.fail.Exception):
            stream(frame(3), 0)
    assert said == []
    assert output_of(place).late == []
