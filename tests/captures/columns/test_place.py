"""What is published is whole or not there, whatever fails, and the manifest comes last."""

from __future__ import annotations

import json
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark.rows import violations

from amqp_sansio.captures.columns.lock import LOCK
from amqp_sansio.captures.columns.place import MANIFEST, Place, Written
from amqp_sansio.captures.columns.store import manifest_of
from amqp_sansio.captures.columns.writer import Writer
from amqp_sansio.captures.errors import LocationError, PlaceError
from amqp_sansio.captures.replay.options import ReplayOptions

OPTIONS = ReplayOptions(tables=("violations",))


def write(place: Place, *rows: int) -> list[Written]:
    out = Writer(place.work, "part")
    files = [out.add("violations", violations(count, broker=f"b{number}")) for number, count in enumerate(rows)]
    return [*[each for some in files for each in some], *out.rest()]


def publish(place: Place, files: list[Written], kept: list[Written] | None = None) -> list[Written]:
    manifest = manifest_of(place, [*files, *(kept or [])], [], OPTIONS, "local")
    return place.publish(files, manifest, kept or [])


def opened(folder: object) -> Place:
    place = Place(str(folder))
    place.open()
    return place


def run(folder: object, *rows: int) -> Place:
    """A whole run."""
    place = opened(folder)
    publish(place, write(place, *rows))
    place.discard()
    return place


def rows_of(place: Place) -> list[int]:
    """By the manifest, every file of which is there."""
    files = place.published()
    assert {place.relative(file.path) for file in files} <= set(place.files())
    return [file.rows for file in files]


def test_nothing_can_be_seen_before_it_is_published(tmp_path: Path) -> None:
    place = opened(tmp_path / "out")
    files = write(place, 3)
    assert place.files() == []
    assert [each.name for each in (tmp_path / "out").iterdir() if each.name[0] not in "._"] == []
    publish(place, files)
    place.discard()
    assert len(place.files()) == 1
    assert sorted(each.name for each in (tmp_path / "out").iterdir()) == [MANIFEST, "violations"]
    assert rows_of(place) == [3]


def test_what_is_discarded_leaves_what_was_there(tmp_path: Path) -> None:
    first = run(tmp_path, 3)
    before = first.read(MANIFEST)
    second = opened(tmp_path)
    write(second, 4)
    second.discard()
    assert rows_of(second) == [3]
    assert second.read(MANIFEST) == before
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, "violations"]


def test_a_later_run_takes_the_place_of_an_earlier_one(tmp_path: Path) -> None:
    for rows in (3, 4):
        place = run(tmp_path, rows)
        assert rows_of(place) == [rows]
        assert len(place.files()) == 1
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, "violations"]


def test_a_later_run_with_fewer_tables_leaves_none_of_the_others(tmp_path: Path) -> None:
    """What stands beside the manifest is of one run; what is no table of ours is left alone."""
    (tmp_path / "notes").mkdir()
    (tmp_path / "messages").mkdir()
    (tmp_path / "messages" / "old.parquet").write_text("")
    run(tmp_path, 3)
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, "notes", "violations"]


class Failing:
    """A file system whose step number `step`, counted over everything that changes something, fails."""

    CHANGES = ("create_dir", "delete_dir", "delete_file", "move", "open_output_stream")

    def __init__(self, system: Any, step: int, error: Callable[[], BaseException]) -> None:
        self._system, self.left, self._error = system, step, error

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._system, name)
        if name not in self.CHANGES:
            return method

        def counted(*given: Any, **named: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                raise self._error()
            return method(*given, **named)

        return counted


def fail_at_every_step(folder: str, error: Callable[[], BaseException], stride: int = 1) -> tuple[int, int]:
    """A second run fails at each step of publishing in turn, or at one in `stride`: how many times the old tables were there
    afterwards, and how often the new ones."""
    old = new = 0
    for step in range(1, 100, stride):
        run(folder, 3, 4)
        place = opened(folder)
        files = write(place, 5, 6, 7)
        whole, failing = place._place, Failing(place._system, step, error)
        place._system = failing  # type: ignore[misc]
        place._place = whole._replace(system=failing)  # type: ignore[misc]
        failed = False
        try:
            publish(place, files)
        except (PlaceError, KeyboardInterrupt):
            failed = True
        left, place._system, place._place = failing.left, whole.system, whole  # type: ignore[misc]
        place.discard()
        if left > 0:
            assert not failed
            break
        assert failed
        assert rows_of(place) in ([3, 4], [5, 6, 7]), f"step {step}"
        if rows_of(place) == [3, 4]:
            old += 1
            assert len(place.files()) == 2, f"step {step}"
        else:
            new += 1
    return old, new


@pytest.mark.parametrize("error", [lambda: OSError(28, "No space left on device"), KeyboardInterrupt])
def test_a_failure_at_any_step_leaves_the_old_tables_or_the_new_ones(
    tmp_path: Path, error: Callable[[], BaseException]
) -> None:
    """Up to the manifest the old tables are there as they were, without a file of the new ones; behind it the new ones are."""
    old, new = fail_at_every_step(str(tmp_path), error)
    assert old >= 3 + 2  # three files are moved, the manifest is written and moved
    assert new >= 2 or error is KeyboardInterrupt
    place = run(tmp_path, 1)
    assert rows_of(place) == [1]
    assert len(place.files()) == 1


def test_a_failure_at_any_step_on_an_object_store(s3: dict[str, str]) -> None:
    """Nothing is deleted there before the manifest of the new tables is written."""
    stride = 1 if os.environ.get("AMQP_PROFILE") == "soak" else 2
    old, new = fail_at_every_step(f"s3://tables/{uuid.uuid4().hex}", lambda: OSError("the store is down"), stride)
    assert old >= (3 + 1) // stride
    assert new >= 2 // stride


def test_a_killed_publication_is_no_part_of_the_tables_and_cleared_by_the_next_run(tmp_path: Path) -> None:
    """A kill leaves files that the manifest does not name, the work and the lock."""
    run(tmp_path, 3)
    place = opened(tmp_path)
    for file in write(place, 5, 6)[:1]:
        place._move(file.path, f"{tmp_path}/{place.relative(file.path)}")
    lock = (tmp_path / LOCK).read_bytes()
    place._lock._file.close()  # type: ignore[union-attr]  # what the kernel does when the process dies
    assert rows_of(place) == [3]
    assert len(place.files()) == 2
    again = opened(tmp_path)
    assert again._lock.taken_over
    assert (tmp_path / LOCK).read_bytes() != lock
    assert len(again.files()) == 1
    again.discard()
    assert sorted(os.listdir(tmp_path)) == [MANIFEST, "violations"]


def test_two_runs_into_one_folder(tmp_path: Path) -> None:
    """The second is refused and hears who writes; what the first one has written is not touched."""
    first = opened(tmp_path)
    files = write(first, 3)
    with pytest.raises(PlaceError, match=rf"another run \(process {os.getpid()} on .*, since .* UTC\) is writing there"):
        opened(tmp_path)
    publish(first, files)
    first.discard()
    assert rows_of(first) == [3]
    opened(tmp_path).discard()


def test_files_that_are_kept_stay_where_they_are(tmp_path: Path) -> None:
    place = opened(tmp_path)
    first = publish(place, write(place, 3, 4))
    everything = publish(place, write(place, 5), first[:1])
    assert [file.rows for file in everything] == [3, 5]
    assert rows_of(place) == [file.rows for file in sorted(everything)]
    assert len(place.files()) == 2
    place.discard()


def test_one_sentence_reports_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PlaceError, match=r"file/out: cannot be written: Not a directory"):
        opened(tmp_path / "file" / "out")
    with pytest.raises(LocationError, match="no file system is known for nothing:"):
        Place("nothing://out")


@pytest.mark.parametrize("path", ["../x.parquet", "/etc/x.parquet"])
def test_a_manifest_does_not_lead_out_of_its_folder(tmp_path: Path, path: str) -> None:
    (tmp_path / MANIFEST).write_text(json.dumps({"tables": {"dtx": {"files": [{"path": path, "rows": 1, "octets": 1}]}}}))
    with pytest.raises(PlaceError, match="outside of its folder"):
        Place(str(tmp_path)).published()
    (tmp_path / MANIFEST).write_text("[]")
    with pytest.raises(PlaceError, match="is not a manifest"):
        Place(str(tmp_path)).published()


def test_what_a_killed_run_has_left_is_cleared_away(tmp_path: Path) -> None:
    (tmp_path / ".work-dead" / "violations").mkdir(parents=True)
    living = opened(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([Path(living.work).name, LOCK])


def test_the_last_number_of_a_folder(tmp_path: Path) -> None:
    place = Place(str(tmp_path))
    assert place.last_number("commits") == -1
    (tmp_path / "commits").mkdir()
    for name in ("0", "9", "10", ".10.crc"):
        (tmp_path / "commits" / name).write_text("")
    assert place.last_number("commits") == 10
    assert place.relative(f"{tmp_path}/violations/x.parquet") == "violations/x.parquet"
    assert place.relative(f"{place.work}/violations/x.parquet") == "violations/x.parquet"


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are octets on Linux")
def test_a_file_of_somebody_else_may_have_a_name_that_is_not_utf_8(tmp_path: Path) -> None:
    run(tmp_path, 2)
    for folder in (tmp_path, tmp_path / "violations"):
        Path(os.fsdecode(bytes(folder) + b"/na\xffme")).touch()
    place = run(tmp_path, 3)
    assert [each.rows for each in place.published()] == [3]


@pytest.mark.parametrize("folder", ["s3://", "s3://///", "dbfs:/", "gs:/", "foo://"])
def test_a_uri_of_nothing_is_no_folder_of_this_machine(folder: str) -> None:
    with pytest.raises(LocationError):
        Place(folder)
