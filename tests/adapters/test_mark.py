"""The mark of a store: one word, whole or not there."""

from __future__ import annotations

import stat
from pathlib import Path

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
