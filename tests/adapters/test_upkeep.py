"""The upkeep of a store: a check that reads all of it, a copy while it is in use, a compaction."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from tests.adapters.test_store import append, five

from amqp_sansio.adapters import upkeep
from amqp_sansio.adapters.store import FILE, Store, StoreError
from amqp_sansio.adapters.store_files import CLOSED, Mark


def test_a_check_tells_what_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path / "d")
    append(store, 1, 2, 3)
    store.close()
    found = upkeep.check(str(tmp_path / "d"))
    assert (found.virtual_hosts, found.queues, found.messages, found.snapshot_octets) == (1, 3, 0, 0)
    assert found.journal_octets > 0
    assert found.disk_octets >= found.journal_octets
    assert upkeep.check(str(tmp_path / "d")) == found


def test_a_check_tells_of_damage_anywhere(tmp_path: Path) -> None:
    store = Store(tmp_path)
    append(store, *range(1, 2000))
    store.close()
    octets = bytearray((tmp_path / FILE).read_bytes())
    octets[-4096 - 2000 : -2000] = bytes(4096)
    (tmp_path / FILE).write_bytes(octets)
    with pytest.raises(StoreError, match="damaged"):
        upkeep.check(str(tmp_path))


def test_where_there_is_no_store_none_is_made(tmp_path: Path) -> None:
    for work in (upkeep.check, upkeep.compact, lambda where: upkeep.backup(where, str(tmp_path / "copy"))):
        with pytest.raises(StoreError, match="there is no store in it"):
            work(str(tmp_path / "slip"))
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_a_store_that_is_in_use_is_whole_and_the_store_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "d")
    append(store, 1, 2)
    found = upkeep.backup(str(tmp_path / "d"), str(tmp_path / "copy"))
    assert found.queues == 2
    append(store, 3)
    with pytest.raises(StoreError, match="another process has it open"):
        upkeep.check(str(tmp_path / "d"))
    store.close()
    assert upkeep.check(str(tmp_path / "d")).queues == 3
    assert upkeep.check(str(tmp_path / "copy")).queues == 2
    with pytest.raises(StoreError, match="is not empty"):
        upkeep.backup(str(tmp_path / "d"), str(tmp_path / "copy"))


def test_a_backup_of_a_store_that_a_crash_left_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name, octets in five(tmp_path / "whole").items():
        (tmp_path / "d" / name).write_bytes(octets)
    assert upkeep.backup(str(tmp_path / "d"), str(tmp_path / "copy")).queues == 5
    assert upkeep.check(str(tmp_path / "d")).queues == 5
    assert Mark(tmp_path / "copy").read() == CLOSED


def test_a_compaction_leaves_a_snapshot_and_gives_the_rest_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    append(store, *range(1, 3000))
    with sqlite3.connect(":memory:"):
        store.append([(number, number.to_bytes(4) * 1000) for number in range(3000, 4000)])
    store._db.execute("DELETE FROM entry WHERE place >= ?", (3000 << 12,))
    store.close()
    before, after = upkeep.compact(str(tmp_path))
    assert before.disk_octets > 4_000_000
    assert (after.journal_octets, after.queues) == (0, before.queues)
    assert after.disk_octets < 2 * after.snapshot_octets + 100_000
