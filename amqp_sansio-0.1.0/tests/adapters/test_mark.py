"""The mark of a store: one word, whole or not there."""

from __future__ import annotations

import os
import resource
import stat
from pathlib import Path

import pytest

from amqp_sansio.adapters.mark import CLOSED, NEW, OPEN, Mark


def test_a_word_is_there_until_another_one_is(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    assert mark.read() == NEW
    for word in (OPEN, CLOSED, OPEN):
        mark.write(word)
        assert Mark(tmp_path).read() == word
    assert [each.name for each in tmp_path.iterdir()] == [mark.path.name]
    assert stat.S_IMODE(mark.path.stat().st_mode) == 0o600


def test_what_no_mark_ever_said_is_refused(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    for octets in (b"", b"clos", b"\0" * 7, b"\xff" * 50, b"open 1\n"):
        mark.path.write_bytes(octets)
        with pytest.raises(ValueError, match=r"^broker\.mark says neither that the store is open nor that it is closed$"):
            mark.read()


def test_the_number_that_was_confirmed_comes_back(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    assert mark.confirmed() == 0
    for number in (1, 7, 10**19, 3):
        mark.confirm(number)
        assert (Mark(tmp_path).read(), Mark(tmp_path).confirmed()) == (OPEN, number)
    mark.write(CLOSED)
    assert (mark.read(), mark.confirmed()) == (CLOSED, 0)
    mark.confirm(8)
    assert (mark.read(), mark.confirmed()) == (OPEN, 8)
    mark.close()


def test_a_number_that_is_torn_is_none(tmp_path: Path) -> None:
    """A power cut may leave the first octets of a number and the last ones of the one before; a mark of old has none."""
    mark = Mark(tmp_path)
    mark.confirm(1234)
    old = mark.path.read_bytes()
    mark.confirm(5_000_000_000)
    new = mark.path.read_bytes()
    mark.close()
    torn = {new[:cut] + old[cut:] for cut in range(len(new))} - {old, new}
    assert len(torn) > 10
    for octets in (b"open\n", *torn):
        mark.path.write_bytes(octets)
        assert (mark.read(), mark.confirmed()) == (OPEN, 0)


def test_the_first_number_needs_no_file_descriptor(tmp_path: Path) -> None:
    """Strangers may hold all that the process may have."""
    mark = Mark(tmp_path)
    mark.prepare()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (0, hard))
    try:
        for number in (1, 2, 3):
            mark.confirm(number)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert (mark.read(), mark.confirmed()) == (OPEN, 3)
    mark.close()
    assert [each.name for each in tmp_path.iterdir()] == [mark.path.name]


def test_what_was_prepared_and_not_needed_is_gone(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    mark.prepare()
    mark.close()
    assert [*tmp_path.iterdir()] == []


def test_a_first_number_that_cannot_be_written_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What failed before the file had its name is not taken for the mark afterwards."""
    mark = Mark(tmp_path)
    with monkeypatch.context() as patched, pytest.raises(OSError, match="no space"):
        patched.setattr(os, "fsync", full)
        mark.confirm(1)
    assert mark.read() == NEW
    mark.confirm(2)
    assert (mark.read(), mark.confirmed()) == (OPEN, 2)
    mark.close()


def full(handle: int) -> None:
    raise OSError("no space")


def test_only_the_first_number_is_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each commit moves the mark: a second sync would double its time."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    mark = Mark(tmp_path)
    mark.confirm(1)
    begun = len(synced)
    assert begun
    for number in range(2, 100):
        mark.confirm(number)
    assert (len(synced), mark.confirmed()) == (begun, 99)
    mark.close()
