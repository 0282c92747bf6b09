"""Small files become larger ones, and nobody who reads sees anything else than the same rows."""

from __future__ import annotations

import json
import os
import uuid
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.captures.columns.test_place import Failing, opened, publish, rows_of
from tests.spark.rows import violations

from amqp_sansio.captures.columns import compact as module
from amqp_sansio.captures.columns.compact import batch_of, compact, groups_of
from amqp_sansio.captures.columns.place import MANIFEST, STREAM, Place, Written
from amqp_sansio.captures.columns.writer import Writer
from amqp_sansio.captures.errors import PipelineError


def published(folder: object, files: int = 6, prefix: str = "part") -> Place:
    """Tables of so many files, each of which has as many rows as its number says."""
    place = opened(folder)
    written: list[Written] = []
    for number in range(1, files + 1):
        writer = Writer(place.work, prefix.format(number))
        written += [*writer.add("violations", violations(number, broker=f"b{number % 2}")), *writer.rest()]
    publish(place, written)
    place.discard()
    return place


def texts(place: Place) -> list[tuple[object, ...]]:
    """All rows, with the folder that they are in."""
    found = []
    for file in place.published():
        with place._system.open_input_file(file.path) as stream:
            rows = pq.read_table(stream).to_pylist()
        found += [(file.folder, *row.values()) for row in rows]
    return sorted(found, key=str)


def test_one_file_for_each_day_and_broker_with_the_same_rows(tmp_path: Path) -> None:
    place = published(tmp_path)
    before, manifest = texts(place), json.loads((tmp_path / MANIFEST).read_bytes())
    found = compact(str(tmp_path))
    assert (found.files_before, found.files) == (6, 2) == (6, len(place.files()))
    assert found.octets == sum(file.octets for file in place.published()) < found.octets_before
    assert texts(place) == before
    after = json.loads((tmp_path / MANIFEST).read_bytes())
    assert after["tables"]["violations"]["rows"] == manifest["tables"]["violations"]["rows"] == 21
    assert {**after, "tables": 0} == {**manifest, "tables": 0}
    names = set(place.files())
    assert compact(str(tmp_path)).files == 2
    assert set(place.files()) == names


def test_a_file_is_not_larger_than_was_asked_for_and_a_large_one_stays() -> None:
    files = [Written("t", "f", f"{n:02}", 1, octets) for n, octets in enumerate([10, 20, 30, 49, 50, 20, 20])]
    groups = groups_of(files, 100, 2)
    assert [[each.octets for each in group] for group in groups] == [[10, 20, 30], [49, 20, 20]]
    assert [len(group) for group in groups_of(files, 100, 3)] == [3, 3]
    assert groups_of(files, 100, 4) == groups_of(files[:1], 100, 1) == []
    one = [*files[:3], Written("other", "f", "x", 1, 1), Written("t", "g", "x", 1, 1)]
    assert groups_of(one, 100, 2) == [files[:3]]


def test_repeated_merges_write_each_row_a_few_times() -> None:
    """A thousand files that come one after the other: each octet is written once more for each factor of 16."""
    files: list[Written] = []
    written = 0
    for number in range(1000):
        files.append(Written("t", "f", f"{number:05}", 1, 1000))
        for group in groups_of(files, few=16, alike=True):
            octets = sum(each.octets for each in group)
            written += octets
            files = [file for file in files if file not in group]
            files.append(Written("t", "f", f"{number:05}m", len(group), octets))
    assert len(files) < 16 * 4
    assert written <= 3 * 1_000_000


@pytest.mark.parametrize("place", ["disk", "store"])
def test_a_failure_at_any_step_leaves_the_rows(
    tmp_path: Path, s3: dict[str, str], monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Before the manifest every old file is there; behind it every new one."""
    failed = 0
    stride = 2 if place == "store" and os.environ.get("AMQP_PROFILE") != "soak" else 1
    for step in range(1, 100, stride):
        folder = f"s3://tables/{uuid.uuid4().hex}" if place == "store" else str(tmp_path / str(step))
        before = texts(published(folder, 4))
        failing: list[Failing] = []

        class Wrong(Place):
            def open(self) -> None:
                super().open()
                self._system = Failing(self._system, step, lambda: OSError("no more"))  # type: ignore[misc]  # noqa: B023
                failing.append(self._system)  # noqa: B023
                self._place = self._place._replace(system=self._system)  # type: ignore[misc]

            def discard(self) -> None:
                self._system = failing[0]._system  # type: ignore[misc]  # noqa: B023
                self._place = self._place._replace(system=self._system)  # type: ignore[misc]
                super().discard()

        with monkeypatch.context() as patch:
            patch.setattr(module, "Place", Wrong)
            try:
                compact(folder)
            except PipelineError:
                failed += 1
        assert texts(Place(folder)) == before, step
        if failing[0].left > 0:
            break
    assert failed >= 4 // stride


def test_a_run_that_is_writing_there_is_left_alone(tmp_path: Path) -> None:
    published(tmp_path)
    holder = opened(tmp_path)
    with pytest.raises(PipelineError, match=rf"another run \(process {os.getpid()} on .*\) is writing there"):
        compact(str(tmp_path))
    assert len(rows_of(holder)) == 6
    holder.discard()


def test_where_no_tables_are_nothing_is_made(tmp_path: Path) -> None:
    with pytest.raises(PipelineError, match="no tables were published there"):
        compact(str(tmp_path / "none"))
    assert not (tmp_path / "none").exists()


def test_of_a_stream_the_latest_batch_and_what_is_open_stay(tmp_path: Path) -> None:
    """The stream may do its latest batch again, and takes away what was open: neither may be in a file with other rows."""
    place = published(tmp_path, 8, "b{:08d}-x")
    place.open()
    open_rows = Writer(place.work, "open")
    more = [*open_rows.add("violations", violations(1, broker="b0")), *open_rows.rest()]
    publish(place, more, place.published())
    place.discard()
    (tmp_path / STREAM).write_text("{}")
    before = texts(place)
    compact(str(tmp_path))
    assert texts(place) == before
    assert sorted(batch_of(path) for path in place.files()) == [-1, 6, 7, 8]
