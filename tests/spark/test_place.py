"""What is published is whole or not there, and the manifest comes last."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.spark.rows import violations

from amqp_sansio.captures.columns.store import MANIFEST
from amqp_sansio.spark.errors import PipelineError
from amqp_sansio.spark.place import Place
from amqp_sansio.spark.writer import Writer, Written


def write(place: Place, rows: int) -> list[Written]:
    out = Writer(place.work, "part")
    return [*out.add("violations", violations(rows)), *out.rest()]


def opened(folder: Path) -> Place:
    place = Place(str(folder))
    place.open()
    return place


def test_nothing_can_be_seen_before_it_is_published(tmp_path: Path) -> None:
    place = opened(tmp_path / "out")
    write(place, 3)
    assert place.files() == []
    assert [each.name for each in (tmp_path / "out").iterdir() if not each.name.startswith(".")] == []
    place.publish(["violations"], b"{}")
    assert len(place.files()) == 1
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [MANIFEST, "violations"]
    assert place.published()[0].rows == 3


def test_what_is_discarded_leaves_what_was_there(tmp_path: Path) -> None:
    first = opened(tmp_path)
    write(first, 3)
    first.publish(["violations"], b"one")
    second = opened(tmp_path)
    write(second, 4)
    second.discard()
    assert [file.rows for file in second.published()] == [3]
    assert second.read(MANIFEST) == b"one"
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, "violations"]


def test_a_later_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    for rows, manifest in ((3, b"one"), (4, b"two")):
        place = opened(tmp_path)
        write(place, rows)
        place.publish(["violations"], manifest)
        assert [file.rows for file in place.published()] == [rows]
        assert place.read(MANIFEST) == manifest
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, "violations"]


def test_a_later_run_with_fewer_tables_leaves_none_of_the_others(tmp_path: Path) -> None:
    """What stands beside the manifest is of one run; what is no table of ours is left alone."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "old.parquet").write_text("")
    place = opened(tmp_path)
    write(place, 3)
    place.publish(["violations"], b"{}")
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, "notes", "violations"]


def test_a_failure_while_publishing_leaves_no_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = opened(tmp_path)
    write(place, 3)
    place.publish(["violations"], b"one")
    again = opened(tmp_path)
    write(again, 4)
    with pytest.raises(PipelineError, match="cannot be written"):
        again.publish(["violations", "nothing"], b"two")
    assert again.read(MANIFEST) is None


def test_a_folder_that_cannot_be_made_is_said_in_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PipelineError, match=r"file/out: cannot be written: "):
        opened(tmp_path / "file" / "out")
    with pytest.raises(PipelineError, match="no such place"):
        Place("nothing://out")
    with pytest.raises(PipelineError, match=r"file/out: cannot be written: Not a directory"):
        Place(str(tmp_path / "file" / "out")).make()


def test_files_of_a_batch_are_adopted_and_dropped_by_name(tmp_path: Path) -> None:
    place = opened(tmp_path)
    (file,) = place.adopt(write(place, 3), "b00000007")
    assert file.path.endswith("/violations/capture_date=2023-11-14/broker=north/b00000007-0000.parquet")
    place.adopt(write(place, 2), "b00000008")
    place.drop(lambda name: name.startswith("b00000007"))
    assert [each.rows for each in place.published()] == [2]


def test_what_a_killed_run_has_left_is_cleared_away(tmp_path: Path) -> None:
    dead, living = opened(tmp_path), opened(tmp_path)
    write(dead, 1)
    living.clear()
    assert os.listdir(tmp_path) == [Path(living.work).name]


def test_the_last_number_of_a_folder(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    assert place.last_number("commits") == -1
    (tmp_path / "commits").mkdir()
    for name in ("0", "9", "10", ".10.crc"):
        (tmp_path / "commits" / name).write_text("")
    assert place.last_number("commits") == 10
    assert place.relative(f"{tmp_path}/violations/x.parquet") == "violations/x.parquet"
    assert place.relative(f"{place.work}/violations/x.parquet") == "violations/x.parquet"
