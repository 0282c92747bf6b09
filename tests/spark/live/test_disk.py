"""Files that are there whole or not at all, and a lock."""

from __future__ import annotations

import errno
import fcntl
import os
import sys
from pathlib import Path

import pytest

from amqp_sansio.spark.errors import LiveError, LiveSetupError
from amqp_sansio.spark.live import disk


def test_what_is_put_is_got(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    assert disk.get_json(path) is None
    disk.put_json(path, {"a": 1})
    disk.put_json(path, {"a": 2})
    assert disk.get_json(path) == {"a": 2}
    assert list(tmp_path.iterdir()) == [path]
    path.write_text("[]")
    with pytest.raises(LiveSetupError, match="or not a file of amqp-sansio"):
        disk.get_json(path)
    path.write_text("{")
    with pytest.raises(LiveSetupError, match="cannot be read"):
        disk.get_json(path)


@pytest.mark.parametrize(("code", "text"), [(errno.ENOSPC, "the disk is full"), (errno.EIO, "Input/output error")])
def test_a_disk_that_fails_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, text: str) -> None:
    path = tmp_path / "a.json"
    disk.put_json(path, {"a": 1})

    def fail(file: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(disk, "sync", fail)
    with pytest.raises(LiveError, match=text):
        disk.put_json(path, {"a": 2})
    assert disk.get_json(path) == {"a": 1}


def test_a_folder_that_cannot_be(tmp_path: Path) -> None:
    assert disk.folder(tmp_path / "a" / "b", "spool").is_dir()
    (tmp_path / "file").write_text("")
    with pytest.raises(LiveSetupError, match="cannot be made a folder"):
        disk.folder(tmp_path / "file" / "b", "spool")


def test_a_lock_is_for_one_at_a_time(tmp_path: Path) -> None:
    one, two = disk.FolderLock(tmp_path, "spool"), disk.FolderLock(tmp_path, "spool")
    one.take()
    one.take()
    with pytest.raises(LiveError, match="used by another query"):
        two.take(0.0)
    two.take(60.0, sleep=lambda seconds: one.release())
    two.release()
    two.release()


def test_where_nothing_can_be_locked_a_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(file: object, how: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", flock)
    with pytest.raises(LiveSetupError, match=r"has no locks: No locks available \(option journal\)"):
        disk.FolderLock(tmp_path, "journal").take()


def test_without_fcntl_an_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fcntl", None)
    with pytest.raises(LiveSetupError, match=r"this system has no file locks \(fcntl\) \(option journal\)"):
        disk.FolderLock(tmp_path, "journal").take()


def test_folders_that_cannot_be_opened_are_not_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disk.sync_folder(tmp_path)
    monkeypatch.delattr(os, "O_DIRECTORY")
    disk.sync_folder(tmp_path / "nowhere")
