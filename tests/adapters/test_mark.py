"""The mark of a store: one word, whole or not there."""

from __future__ import annotations

import os
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


def test_what_is_no_word_counts_as_open(tmp_path: Path) -> None:
    mark = Mark(tmp_path)
    for octets in (b"", b"clos", b"\0" * 7):
        mark.path.write_bytes(octets)
        assert mark.read() == OPEN


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
    """A power cut may leave half of it; a mark of an earlier version has none."""
    mark = Mark(tmp_path)
    mark.confirm(1234)
    whole = mark.path.read_bytes()
    mark.close()
    for octets in (b"open\n", *[whole[:cut] for cut in range(len(whole))], whole.replace(b"1234", b"1235"), whole + b"x"):
        mark.path.write_bytes(octets)
        assert (mark.read(), mark.confirmed()) == (OPEN, 0)


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
