"""Write-ahead logs of sqlite: damage in the middle is found, what a crash leaves is not taken for it."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from amqp_sansio.adapters.wal import FRAME, HEADER, damage


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
