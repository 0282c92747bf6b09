"""The mark of a store: one word, whole or not there."""

from __future__ import annotations

import os
import random
import resource
import sqlite3
import stat
from pathlib import Path
from uuid import UUID

import pytest

from amqp_sansio.adapters.store_files import CLOSED, FRAME, HEADER, NEW, OPEN, TAG, Mark, damage, kept_tag, new_tag


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


def test_every_tag_is_another_one() -> None:
    assert new_tag() != new_tag()


def test_a_directory_keeps_its_tag(tmp_path: Path) -> None:
    made = kept_tag(tmp_path)
    assert kept_tag(tmp_path) == kept_tag(str(tmp_path)) == made
    assert [each.name for each in tmp_path.iterdir()] == [TAG]
    assert stat.S_IMODE((tmp_path / TAG).stat().st_mode) == 0o600


@pytest.mark.parametrize("octets", [b"", b"what", b"\xff\xfe"])
def test_what_is_no_tag_is_replaced(octets: bytes, tmp_path: Path) -> None:
    (tmp_path / TAG).write_bytes(octets)
    made = kept_tag(tmp_path)
    assert str(UUID(made)) == made
    assert kept_tag(tmp_path) == made


def test_a_directory_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        kept_tag(tmp_path / "none")


def log(folder: Path, transactions: int = 20) -> bytes:
    """One of so many transactions, each of two pages."""
    folder.mkdir()
    db = sqlite3.connect(folder / "db", isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("CREATE TABLE t (x)")
    for number in range(transactions):
        db.execute("INSERT INTO t VALUES (?)", (bytes([number]) * 3000,))
    octets = (folder / "db-wal").read_bytes()
    db.close()
    return octets


def frame_size(octets: bytes | bytearray) -> int:
    return FRAME.size + int(HEADER.unpack_from(octets)[2])


def told(folder: Path, octets: bytes) -> str | None:
    path = folder / "db-wal"
    path.write_bytes(octets)
    return damage(path)


def test_no_log_an_empty_one_and_a_whole_one_are_good(tmp_path: Path) -> None:
    octets = log(tmp_path / "made")
    assert damage(tmp_path / "nothing") is None
    assert told(tmp_path, b"") is None
    assert told(tmp_path, octets) is None
    assert told(tmp_path, octets[: HEADER.size]) is None


def test_what_a_crash_cuts_off_is_no_damage(tmp_path: Path) -> None:
    """The end is missing, or the last transaction is not all on the disk."""
    octets = log(tmp_path / "made")
    for cut in range(0, len(octets), 997):
        assert told(tmp_path, octets[:cut]) is None
    torn = bytearray(octets)
    torn[-5] ^= 1
    assert told(tmp_path, bytes(torn)) is None


def test_an_earlier_log_behind_this_one_is_no_damage(tmp_path: Path) -> None:
    """Frames with other salts: the log began anew from the front."""
    first, second = log(tmp_path / "first"), log(tmp_path / "second", 5)
    assert told(tmp_path, second + first[len(second) :]) is None


@pytest.mark.parametrize("seed", range(20))
def test_an_octet_that_is_changed_in_the_middle_is_found_with_its_frame(tmp_path: Path, seed: int) -> None:
    octets = bytearray(log(tmp_path / "made"))
    size = frame_size(octets)
    frames = (len(octets) - HEADER.size) // size
    number = random.Random(seed).randrange(frames - 6)
    begin = HEADER.size + number * size
    at = begin + random.Random(seed).choice([*range(FRAME.size), size - 1, size // 2])
    octets[at] ^= 1 << seed % 8
    found = told(tmp_path, bytes(octets))
    assert found is not None
    assert found.startswith(f"db-wal is damaged at octet {begin}, and ")
    assert told(tmp_path, bytes(octets[:begin])) is None  # what it says is to be done


def test_a_header_that_is_changed_is_found(tmp_path: Path) -> None:
    octets = bytearray(log(tmp_path / "made"))
    octets[13] ^= 1
    assert told(tmp_path, bytes(octets)) == "the header of db-wal does not match its checksum"
