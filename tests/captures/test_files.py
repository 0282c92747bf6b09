"""Which files are meant."""

from __future__ import annotations

import errno
import os
import random
from pathlib import Path
from typing import Any, NoReturn

import pytest

from amqp_sansio.captures import files as module
from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import CLOSED, TakenFiles, closed_in, found, is_remote, named, names_in, order, resolved, there

ROTATED = ["dump", "dump1", "dump2", "dump10", "dump10_2024", "eth.pcapng.2", "eth.pcapng.10"]


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).write_bytes(b"x")


def test_numbers_in_names_count_as_numbers() -> None:
    names = list(ROTATED)
    random.Random(1).shuffle(names)
    assert sorted(names, key=order) == ROTATED
    assert order("dump2.gz") == order("dump2.zst") == order("dump2")
    assert order("dump02") != order("dump2")
    assert order("²") < order("³")


def test_paths_folders_and_patterns_each_file_once_in_order(tmp_path: Path) -> None:
    fill(tmp_path, *ROTATED, ".hidden", "_temporary", "late.part", "dump.done")
    (tmp_path / "deeper").mkdir()
    every = [str(tmp_path / name) for name in ROTATED]
    assert found([str(tmp_path)]) == every
    assert found([str(tmp_path / "eth*"), str(tmp_path), every[0], f"file://{every[1]}"]) == every
    assert found(reversed(every)) == every


@pytest.mark.parametrize(
    ("name", "words"),
    [("no", "no such file"), ("no*", "no file matches this pattern"), ("empty", "the folder has no capture in it")],
)
def test_what_is_not_there_is_reported(name: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(CaptureError, match=words):
        found([str(tmp_path / name)])


def test_a_folder_that_cannot_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(folder: str) -> NoReturn:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), folder)

    monkeypatch.setattr(os, "scandir", forbidden)  # root may read all of them
    with pytest.raises(CaptureError, match=f"{tmp_path}: cannot be read: Permission denied"):
        named([str(tmp_path)])


def test_pipes_are_no_captures(tmp_path: Path) -> None:
    """One that is named is refused; one in a folder is passed over, so nobody waits for a writer."""
    fill(tmp_path, "a.pcap")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "gone")
    assert [Path(path).name for path in found([str(tmp_path)])] == ["a.pcap", "link"]
    assert [Path(path).name for path in found([str(tmp_path / "*")])] == ["a.pcap"]
    with pytest.raises(CaptureError, match="pipe: is a pipe or a device"):
        found([str(tmp_path / "pipe")])


def test_a_link_that_leads_nowhere_hides_no_other_file(tmp_path: Path) -> None:
    fill(tmp_path, "dump1")
    (tmp_path / "dump2").symlink_to("dump2")
    (tmp_path / "dump3").symlink_to("nothing")
    (tmp_path / "dump4").symlink_to("dump1")
    (tmp_path / "dump5").symlink_to(".")
    assert names_in(str(tmp_path)) == ["dump1", "dump2", "dump3", "dump4"]


def test_a_path_is_a_path_a_known_uri_stays_one_and_every_other_is_refused() -> None:
    assert resolved("/a/b:c") == "/a/b:c"
    assert resolved("file:/a") == resolved("file:///a") == "/a"
    assert resolved("s3a://bucket/x") == "s3a://bucket/x"
    assert [is_remote(path) for path in ("/a", "file:/a", "s3://bucket/x")] == [False, False, True]
    with pytest.raises(CaptureError, match="dbfs:/x: dbfs: exists on Databricks only"):
        found(["dbfs:/x"])


def test_a_file_is_closed_when_it_is_not_the_last_or_is_done_or_is_there(tmp_path: Path) -> None:
    assert [closed_in(str(tmp_path), word) for word in CLOSED] == [[], [], []]
    fill(tmp_path, "x9", "x10", "x11.gz", "x12", "x10.done", "x11.done", "x13.tmp")
    assert closed_in(str(tmp_path), "newest") == ["x9", "x10", "x11.gz"]
    assert closed_in(str(tmp_path), "done") == ["x10", "x11.gz"]
    assert closed_in(str(tmp_path), "all") == ["x9", "x10", "x11.gz", "x12"]
    with pytest.raises(CaptureError, match="cannot be read"):
        closed_in(str(tmp_path / "no"), "all")
    with pytest.raises(ValueError, match="newest or done or all"):
        closed_in(str(tmp_path), "old")


def test_a_file_that_gets_compressed_stays_the_same(tmp_path: Path) -> None:
    fill(tmp_path, "x1.gz", "x2", "x2.gz", "x3")
    assert names_in(str(tmp_path)) == ["x1.gz", "x2", "x3"]
    assert there(str(tmp_path / "x1")) == str(tmp_path / "x1.gz")
    assert there(str(tmp_path / "x2")) == str(tmp_path / "x2")
    assert there(str(tmp_path / "x7")) == str(tmp_path / "x7")


def test_files_of_a_folder_are_named_as_the_folder_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "x.pcap").write_bytes(b"x")
    monkeypatch.chdir(tmp_path)
    assert named(["some", "some/*", "some/x.pcap"]) == ["some/x.pcap"] * 3
    assert named([str(tmp_path / "some")]) == [str(tmp_path / "some" / "x.pcap")]


NOTHING = {"last": "", "floor": "", "taken": ""}


def test_what_was_taken_stays_so_in_an_offset_and_whatever_its_ending_of_compression() -> None:
    taken = TakenFiles(NOTHING)
    assert taken.without(["x1", "x2", "x10"]) == ["x1", "x2", "x10"]
    taken.add(["x1", "x10"], ["x1", "x2", "x10"])
    again = TakenFiles({"last": "x10", **taken.told()})
    assert again.without(["x1.gz", "x2", "x10.zst", "x11"]) == ["x2", "x11"]
    assert "\udcff" not in again  # a name that is no UTF-8


def test_an_offset_of_before_tells_the_last_name_only() -> None:
    assert TakenFiles({"last": "x2"}).without(["x1", "x2", "x3"]) == ["x3"]
    assert TakenFiles({"last": ""}).without(["x1"]) == ["x1"]


@pytest.mark.parametrize("deletes", [False, True])
def test_names_are_bounded_and_none_is_taken_twice(monkeypatch: pytest.MonkeyPatch, deletes: bool) -> None:
    """What is older than all that is remembered counts as taken, also in a folder whose old files go."""
    monkeypatch.setattr(module, "TAKEN_NAMES", 8)
    offset: dict[str, Any] = NOTHING
    for number in range(10, 60):
        taken = TakenFiles(offset)
        there = [f"x{each}" for each in range(number - 2 if deletes else 10, number + 1)]
        new = f"x{number}"
        assert (taken.without([new])) == [new]
        taken.add([new], there)
        offset = {"last": new, **taken.told()}
        assert len(offset["taken"]) <= 8 * 8
        every = [f"x{each}" for each in range(10, number + 1)]
        assert TakenFiles(offset).without(sorted(every, key=order)) == []
    assert TakenFiles(offset).without(["x1", "x59a"]) == ["x59a"]
