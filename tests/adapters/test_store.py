"""The store: what was appended is there, whatever happens to the process; nobody else has it; damage is told."""

from __future__ import annotations

import os
import pickle
import resource
import sqlite3
import stat
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from amqp_sansio.adapters import store as module
from amqp_sansio.adapters.store import FILE, Store, StoreError
from amqp_sansio.adapters.store_files import CLOSED, HEADER, Mark
from amqp_sansio.broker import Broker, BrokerConfig, Entry, encode_entry, encode_snapshot
from amqp_sansio.broker.journal import QueueDeclared

SECTOR = 512
"""Octets that a disk writes whole or not at all."""


def entry(number: int) -> Entry:
    return Entry(number, [QueueDeclared("", f"queue {number}")])


def files_of(folder: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in folder.iterdir()}


def append(store: Store, *numbers: int) -> None:
    store.append([(number, encode_entry(entry(number))) for number in numbers])


def five(folder: Path) -> dict[str, bytes]:
    """The files of a store with five entries, as a crash leaves them."""
    store = Store(folder)
    for number in range(1, 6):
        append(store, number)
    files = files_of(folder)
    store.close()
    return files


def loaded(store: Store) -> list[int]:
    snapshot, entries = store.load()
    assert snapshot is None
    return [each.number for each in entries]


def test_entries_come_back_in_their_order(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert loaded(store) == []
    append(store, 1, 2)
    append(store, 3)
    store.close()
    store = Store(tmp_path)
    assert [each.operations for each in store.load()[1]] == [entry(number).operations for number in (1, 2, 3)]
    append(store, 4)
    assert loaded(store) == [1, 2, 3, 4]
    store.close()


def test_a_snapshot_takes_the_place_of_entries(tmp_path: Path) -> None:
    store = Store(tmp_path)
    append(store, 1, 2, 3)
    snapshot = Broker(BrokerConfig(journal=True)).snapshot()
    store.compact(2, encode_snapshot(snapshot))
    found, entries = store.load()
    assert (found, [each.number for each in entries]) == (snapshot, [3])
    store.compact(3, encode_snapshot(snapshot))
    assert [*store.load()[1]] == []
    store.shrink()
    store.close()


def test_what_is_long_is_kept_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 10)
    store = Store(tmp_path)
    append(store, 1, 2, 3)
    snapshot = Broker(BrokerConfig(journal=True)).snapshot()
    store.compact(1, encode_snapshot(snapshot))
    found, entries = store.load()
    assert (found, [*entries]) == (snapshot, [entry(2), entry(3)])
    store.close()


def test_one_at_a_time(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with pytest.raises(StoreError, match="another process has it open"):
        Store(tmp_path)
    append(store, 1)
    with pytest.raises(StoreError, match="another process has it open"):
        Store(tmp_path)
    store.close()
    store = Store(tmp_path)
    assert loaded(store) == [1]
    store.close()


def test_nobody_else_reads_it(tmp_path: Path) -> None:
    store = Store(tmp_path / "new" / "one")
    append(store, 1)
    assert stat.S_IMODE(os.stat(tmp_path / "new" / "one").st_mode) == 0o700
    assert {stat.S_IMODE(os.stat(each).st_mode) for each in (tmp_path / "new" / "one").iterdir()} == {0o600}
    store.close()


def test_it_is_synced_before_it_returns(tmp_path: Path) -> None:
    store = Store(tmp_path)
    db = store._db
    assert db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    store.close()


def test_an_append_is_all_or_nothing(tmp_path: Path) -> None:
    store = Store(tmp_path)
    append(store, 1)
    with pytest.raises(StoreError, match="cannot be written: UNIQUE"):
        store.append([(2, b"x"), (1, b"x")])
    append(store, 2)
    assert loaded(store) == [1, 2]
    store.close()


def test_a_crash_in_mid_write_leaves_what_was_there(tmp_path: Path) -> None:
    """However much of the log is cut off: what is read is a beginning of what was appended."""
    files = five(tmp_path / "whole")
    wal = files[FILE + "-wal"]
    seen = set()
    for cut in range(0, len(wal) + 1, 1500):
        directory = tmp_path / str(cut)
        directory.mkdir()
        (directory / FILE).write_bytes(files[FILE])
        (directory / (FILE + "-wal")).write_bytes(wal[:cut])
        again = Store(directory)
        found = loaded(again)
        again.close()
        assert found == list(range(1, len(found) + 1))
        seen.add(len(found))
    assert len(seen) > 3


def test_a_log_that_sqlite_would_pass_over_is_reported_and_left_as_it_is(tmp_path: Path) -> None:
    files = five(tmp_path / "whole")
    wal = bytearray(files[FILE + "-wal"])
    wal[5000] ^= 1
    for name, database, text in (
        (
            "damaged",
            files[FILE],
            "the store is damaged: broker.sqlite-wal is damaged at octet 4152, and [0-9]+ transactions end",
        ),
        ("alone", b"", "broker.sqlite-wal is there, but its database broker.sqlite is missing"),
    ):
        directory = tmp_path / name
        directory.mkdir()
        (directory / FILE).write_bytes(database)
        log = bytes(wal) if database else files[FILE + "-wal"]
        (directory / (FILE + "-wal")).write_bytes(log)
        for _ in range(2):
            with pytest.raises(StoreError, match=text):
                Store(directory)
        assert (directory / (FILE + "-wal")).read_bytes() == log


def test_damage_is_reported(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append([(1, b"ENTRsomething")])
    store._db.execute("INSERT INTO snapshot VALUES (0, 0, ?)", (b"junk",))
    with pytest.raises(StoreError, match="the store is damaged: snapshot"):
        store.load()
    store._db.execute("DELETE FROM snapshot")
    with pytest.raises(StoreError, match="the store is damaged: journal entry"):
        loaded(store)
    store.close()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entry SET octets = 7 WHERE place = (SELECT max(place) FROM entry)",
        "UPDATE snapshot SET octets = 'text'",
        "UPDATE snapshot SET journal = 'text'",
    ],
)
def test_a_row_that_damage_made_another_type_of_is_reported(damage: str, tmp_path: Path) -> None:
    store = Store(tmp_path)
    append(store, 1)
    store.compact(1, encode_snapshot(Broker().snapshot()))
    append(store, 2)
    store.close()
    db = sqlite3.connect(tmp_path / FILE)
    db.execute(damage)
    db.commit()
    db.close()
    with pytest.raises(StoreError, match="the store is damaged: a row: "):  # either may find it
        store = Store(tmp_path)
        _, entries = store.load()
        list(entries)
    store.close()


def test_files_of_somebody_else(tmp_path: Path) -> None:
    db = sqlite3.connect(tmp_path / FILE)
    db.execute("CREATE TABLE mine (x)")
    db.close()
    with pytest.raises(StoreError, match="is not the store of a broker"):
        Store(tmp_path)
    other = tmp_path / "later"
    store = Store(other)
    store._db.execute("PRAGMA user_version = 9")
    store.close()
    with pytest.raises(StoreError, match="reads stores of version 1, not 9"):
        Store(other)
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="cannot be written"):
        Store(tmp_path / "file")


def test_a_store_that_is_closed_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed database"):
        append(store, 1)


def test_the_error_is_a_value(tmp_path: Path) -> None:
    error = StoreError("there", "no")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.where, again.cause) == ("there: no", "there", "no")


def test_what_is_free_goes_back_to_the_disk_in_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """sqlite frees one page for each time that its pragma is stepped: the file kept its size for ever."""
    monkeypatch.setattr(module, "SHRINK_PAGES", 100)
    store = Store(tmp_path)
    store.append([(number, bytes(4000)) for number in range(1, 1001)])
    snapshot = Broker(BrokerConfig(journal=True)).snapshot()
    store.compact(1000, encode_snapshot(snapshot))
    steps = 1
    while store.shrink():
        steps += 1
    assert 10 <= steps <= 12
    store.close()
    assert os.path.getsize(tmp_path / FILE) < 100_000


def test_the_octets_of_journal_and_snapshot(tmp_path: Path) -> None:
    store = Store(tmp_path)
    assert (store.journal_octets, store.snapshot_octets) == (0, 0)
    store.append([(1, bytes(100)), (2, bytes(50))])
    assert store.journal_octets == 150
    store.compact(1, bytes(70))
    assert (store.journal_octets, store.snapshot_octets) == (50, 70)
    store.close()


def copied(files: dict[str, bytes], folder: Path, without: str = "", **instead: bytes) -> Path:
    folder.mkdir()
    for name, octets in files.items():
        if name != without:
            (folder / name).write_bytes(instead.get(name.replace(".", "_").replace("-", "_"), octets))
    return folder


def test_a_store_whose_log_is_gone_or_empty_is_refused(tmp_path: Path) -> None:
    files = five(tmp_path / "whole")
    assert loaded(Store(copied(files, tmp_path / "all"))) == [1, 2, 3, 4, 5]
    log = f"{FILE}-wal"
    for name, broken in (
        ("gone", copied(files, tmp_path / "gone", log)),
        ("empty", copied(files, tmp_path / "empty", broker_sqlite_wal=b"")),
        ("header", copied(files, tmp_path / "header", broker_sqlite_wal=files[log][:32])),
    ):
        with pytest.raises(StoreError, match=r"broker\.sqlite-wal is gone or empty, .* remove broker\.mark") as told:
            Store(broken)
        assert str(broken) in str(told.value), name
        os.unlink(broken / "broker.mark")  # as it says
        Store(broken).close()


def test_a_log_that_was_cut_below_what_was_confirmed_is_refused_and_one_above_is_not(tmp_path: Path) -> None:
    """A kill during the fifth commit leaves any part of it, under the mark of the fourth; less than four is damage."""
    store, log = Store(tmp_path / "whole"), f"{FILE}-wal"
    seen: list[dict[str, bytes]] = []
    for number in range(1, 6):
        append(store, number)
        seen.append(files_of(tmp_path / "whole"))
    store.close()
    whole, known = seen[-1][log], len(seen[3][log])
    assert whole.startswith(seen[3][log])
    found: list[int] = []
    for cut in sorted({*range(100, len(whole), 1100), known - 1, known, known + 1, len(whole)}):
        place = copied(seen[3], tmp_path / str(cut), broker_sqlite_wal=whole[:cut])
        if cut < known:
            with pytest.raises(StoreError, match=r"the store is damaged"):
                Store(place)
            assert (place / log).read_bytes() == whole[:cut]  # nothing is lost by looking
            with pytest.raises(StoreError, match=r"the store is damaged") as told:
                Store(place)
            if "end with entry" in told.value.cause:
                left = int(told.value.cause.split("end with entry ")[1].split(",")[0])
                assert told.value.cause == (
                    f"the store is damaged: broker.sqlite and broker.sqlite-wal end with entry {left}, and entries up to 4 were"
                    f" confirmed; to go on without the last {4 - left}, remove broker.mark"
                )
                os.unlink(place / "broker.mark")  # as it says
                again = Store(place)
                assert loaded(again) == [*range(1, left + 1)]
                again.close()
                found.append(left)
        else:
            again = Store(place)
            assert loaded(again) == [1, 2, 3, 4, 5][: 5 if cut == len(whole) else 4]
            again.close()
    assert set(found) >= {1, 2, 3}


def test_a_log_that_was_cut_at_half_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path / "whole")
    for number in range(1, 201):
        append(store, number)
    files = files_of(tmp_path / "whole")
    store.close()
    log = f"{FILE}-wal"
    half = copied(files, tmp_path / "half", broker_sqlite_wal=files[log][: len(files[log]) // 2])
    with pytest.raises(StoreError, match=r"end with entry [0-9]+, and entries up to 200 were confirmed; to go on without the"):
        Store(half)
    former = copied(files, tmp_path / "former", broker_sqlite_wal=files[log][: len(files[log]) // 2], broker_mark=b"open\n")
    Store(former).close()  # an earlier version wrote no number: nobody can tell


def test_a_kill_at_any_point_of_a_commit_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Right before and right after the mark is moved, also where a snapshot has taken the place of the entries."""
    seen: list[tuple[int, dict[str, bytes]]] = []
    confirm = Mark.confirm

    def watched(mark: Mark, number: int) -> None:
        for behind in (False, True):
            if behind:
                confirm(mark, number)
            seen.append((number, files_of(tmp_path / "d")))

    monkeypatch.setattr(Mark, "confirm", watched)
    snapshot = encode_snapshot(Broker(BrokerConfig(journal=True)).snapshot())
    store = Store(tmp_path / "d")
    append(store, 1, 2)
    append(store, 3)
    store.compact(2, snapshot)  # what is behind it stays confirmed
    store.compact(5, snapshot)
    append(store, 6)
    store.close()
    store = Store(tmp_path / "d")
    store.compact(4, snapshot)
    store.close()
    monkeypatch.undo()
    assert [number for number, _ in seen[::2]] == [2, 3, 3, 5, 6, 6]
    for number, (_, files) in enumerate(seen):
        Store(copied(files, tmp_path / str(number))).close()


def torn(random: Random, before: bytes, after: bytes) -> bytes:
    """A file while it is written: of what was not synced yet, any sectors are on the disk, and any length."""
    length = random.choice([len(before), len(after), random.randint(*sorted((len(before), len(after))))])
    sectors = [random.choice([before, after])[at : at + SECTOR].ljust(SECTOR, b"\0") for at in range(0, length, SECTOR)]
    return b"".join(sectors)[:length]


@pytest.mark.parametrize("seed", range(2))
def test_a_power_cut_loses_nothing_that_was_confirmed(seed: int, tmp_path: Path) -> None:
    """sqlite syncs the log at a commit, the file before the log begins anew, and then the header of the log before what follows
    it; the mark is synced the first time only.

    A power cut leaves any sectors of what was written since, and a mark of any commit, or a torn one.
    """
    random, log, mark = Random(seed), f"{FILE}-wal", "broker.mark"
    store = Store(tmp_path / "whole")
    store._db.execute("PRAGMA wal_autocheckpoint = 8")  # so that the log begins anew several times
    append(store, 1)
    states = [files_of(tmp_path / "whole")]
    ends = [1]
    for _ in range(14):
        more = random.randint(1, 40)
        append(store, *range(ends[-1] + 1, ends[-1] + 1 + more))
        ends.append(ends[-1] + more)
        states.append(files_of(tmp_path / "whole"))
    store.close()
    assert len({each[log][16:24] for each in states}) > 2  # salts: it began anew
    marks = [each[mark] for each in states]
    found: set[bool] = set()
    for number, (before, after) in enumerate(pairwise(states), 1):
        last, next_ = ends[number - 1], ends[number]
        synced = after[log][: HEADER.size] + before[log][HEADER.size :]
        for cut in range(4):
            committed = cut % 2 == 1
            files = (
                {FILE: torn(random, before[FILE], after[FILE]), log: after[log]}
                if committed
                else {FILE: before[FILE], log: torn(random, synced, after[log])}
            )
            files[mark] = torn_mark(random, marks[: number + committed])
            again = Store(copied(files, tmp_path / f"{number} {cut}"))
            left = loaded(again)
            assert left in ([*range(1, last + 1)], [*range(1, next_ + 1)])
            assert len(left) == next_ or not committed
            append(again, len(left) + 1)
            again.close()
            found.add(len(left) == next_)
    assert found == {False, True}


def torn_mark(random: Random, marks: list[bytes]) -> bytes:
    one, other, at = random.choice(marks), random.choice(marks), random.randrange(40)
    return one[:at] + other[at:]


def test_an_open_store_needs_no_further_file_descriptor(tmp_path: Path) -> None:
    """Strangers may hold all that the process may have, before anything was ever stored."""
    snapshot = encode_snapshot(Broker(BrokerConfig(journal=True)).snapshot())
    for name in ("new", "used"):
        store = Store(tmp_path)
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))  # no more than are open: at 0 no thread of this process may poll
        try:
            append(store, 1, 2)
            store.compact(1, snapshot)
            append(store, 3)
            store.shrink()
            assert [each.number for each in store.load()[1]] == [2, 3], name
            store.compact(3, snapshot)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        store.close()


def test_a_mark_that_no_store_ever_wrote_is_refused_and_may_be_removed(tmp_path: Path) -> None:
    files = five(tmp_path / "whole")
    odd = copied(files, tmp_path / "odd", broker_mark=b"\xff" * 50)
    with pytest.raises(StoreError, match=r"damaged: broker\.mark says neither .*; to go on without it, remove broker\.mark$"):
        Store(odd)
    os.unlink(odd / "broker.mark")
    again = Store(odd)
    assert loaded(again) == [1, 2, 3, 4, 5]
    again.close()


def test_a_store_that_is_empty_though_it_was_used_is_refused(tmp_path: Path) -> None:
    crashed = five(tmp_path / "crashed")
    store = Store(tmp_path / "closed")
    append(store, 1)
    store.close()
    closed = {each.name: each.read_bytes() for each in (tmp_path / "closed").iterdir()}
    for number, files in enumerate((crashed, closed)):
        files.pop(f"{FILE}-wal", None)
        for kind, broken in (
            ("gone", copied(files, tmp_path / f"gone {number}", FILE)),
            ("empty", copied(files, tmp_path / f"empty {number}", broker_sqlite=b"")),
        ):
            with pytest.raises(StoreError, match=r"is gone or empty, though it was used; to begin anew, remove broker\.mark"):
                Store(broken)
            os.unlink(broken / "broker.mark")
            assert loaded(Store(broken)) == [], kind


def test_a_clean_end_at_any_point_of_it_is_no_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash right before, and right after, the mark says that all is well: both times everything is there."""
    seen: list[dict[str, bytes]] = []
    write = Mark.write

    def watched(mark: Mark, word: str) -> None:
        for _ in range(2):
            seen.append(files_of(tmp_path / "d"))
            if len(seen) % 2:
                write(mark, word)

    monkeypatch.setattr(Mark, "write", watched)
    store = Store(tmp_path / "d")
    append(store, 1)
    append(store, 2)
    store.close()
    monkeypatch.undo()
    assert len(seen) == 2  # CLOSED, before the log goes
    for number, files in enumerate(seen):
        again = Store(copied(files, tmp_path / str(number)))
        assert loaded(again) == [1, 2]
        again.close()


class Late:
    """The connection of a store whose reader goes away right before it is closed."""

    def __init__(self, db: sqlite3.Connection, reader: sqlite3.Connection) -> None:
        self.execute, self.db, self.reader = db.execute, db, reader

    def close(self) -> None:
        self.reader.close()
        self.db.close()


def test_a_reader_that_goes_at_the_last_moment_leaves_a_clean_end(tmp_path: Path) -> None:
    """A backup kept the log from going into the file; sqlite puts it there as the last one closes, and takes it away."""
    store = Store(tmp_path)
    append(store, 1)
    reader = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    reader.execute("BEGIN")
    reader.execute("SELECT * FROM entry").fetchall()
    append(store, 2)
    store._db = Late(store._db, reader)  # type: ignore[misc, assignment]
    store.close()
    assert not (tmp_path / f"{FILE}-wal").exists()
    assert Mark(tmp_path).read() == CLOSED
    again = Store(tmp_path)
    assert loaded(again) == [1, 2]
    again.close()


def test_a_snapshot_marks_the_store_as_used_too(tmp_path: Path) -> None:
    """As an entry does: what is on the disk may not go without a word."""
    store = Store(tmp_path / "whole")
    store.compact(0, encode_snapshot(Broker(BrokerConfig(journal=True)).snapshot()))
    files = files_of(tmp_path / "whole")
    store.close()
    with pytest.raises(StoreError, match=r"broker\.sqlite-wal is gone or empty"):
        Store(copied(files, tmp_path / "gone", f"{FILE}-wal"))


def test_a_store_without_tables_though_it_was_used_is_refused(tmp_path: Path) -> None:
    """Somebody has put an empty database in its place: sqlite can tell no difference from a new one."""
    store = Store(tmp_path / "d")
    append(store, 1)
    store.close()
    os.unlink(tmp_path / "d" / FILE)
    empty = sqlite3.connect(tmp_path / "d" / FILE)
    empty.execute("VACUUM")
    empty.close()
    assert (tmp_path / "d" / FILE).stat().st_size
    with pytest.raises(StoreError, match=r"broker\.sqlite is empty, though it was used; to begin anew, remove broker\.mark"):
        Store(tmp_path / "d")
    os.unlink(tmp_path / "d" / "broker.mark")
    Store(tmp_path / "d").close()


def test_the_name_of_a_directory_that_is_made_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(module, "sync_directory", synced.append)
    Store(tmp_path / "d").close()
    Store(tmp_path / "d").close()
    assert synced == [tmp_path]


def test_a_check_tells_what_is_there(tmp_path: Path) -> None:
    store = Store(tmp_path / "d")
    append(store, 1, 2, 3)
    store.close()
    found = module.check(str(tmp_path / "d"))
    assert (found.virtual_hosts, found.queues, found.messages, found.snapshot_octets) == (1, 3, 0, 0)
    assert found.journal_octets > 0
    assert found.disk_octets >= found.journal_octets
    assert module.check(str(tmp_path / "d")) == found


def test_a_check_tells_of_damage_anywhere(tmp_path: Path) -> None:
    store = Store(tmp_path)
    append(store, *range(1, 2000))
    store.close()
    octets = bytearray((tmp_path / FILE).read_bytes())
    octets[-4096 - 2000 : -2000] = bytes(4096)
    (tmp_path / FILE).write_bytes(octets)
    with pytest.raises(StoreError, match="damaged"):
        module.check(str(tmp_path))


def test_where_there_is_no_store_none_is_made(tmp_path: Path) -> None:
    for work in (module.check, module.compact, lambda where: module.backup(where, str(tmp_path / "copy"))):
        with pytest.raises(StoreError, match="there is no store in it"):
            work(str(tmp_path / "slip"))
    assert list(tmp_path.iterdir()) == []


def test_a_backup_of_a_store_that_is_in_use_is_whole_and_the_store_goes_on(tmp_path: Path) -> None:
    store = Store(tmp_path / "d")
    append(store, 1, 2)
    found = module.backup(str(tmp_path / "d"), str(tmp_path / "copy"))
    assert found.queues == 2
    append(store, 3)
    with pytest.raises(StoreError, match="another process has it open"):
        module.check(str(tmp_path / "d"))
    store.close()
    assert module.check(str(tmp_path / "d")).queues == 3
    assert module.check(str(tmp_path / "copy")).queues == 2
    with pytest.raises(StoreError, match="is not empty"):
        module.backup(str(tmp_path / "d"), str(tmp_path / "copy"))


def test_a_backup_of_a_store_that_a_crash_left_loses_nothing(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    for name, octets in five(tmp_path / "whole").items():
        (tmp_path / "d" / name).write_bytes(octets)
    assert module.backup(str(tmp_path / "d"), str(tmp_path / "copy")).queues == 5
    assert module.check(str(tmp_path / "d")).queues == 5
    assert Mark(tmp_path / "copy").read() == CLOSED


def test_a_compaction_leaves_a_snapshot_and_gives_the_rest_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    append(store, *range(1, 3000))
    with sqlite3.connect(":memory:"):
        store.append([(number, number.to_bytes(4) * 1000) for number in range(3000, 4000)])
    store._db.execute("DELETE FROM entry WHERE place >= ?", (3000 << 12,))
    store.close()
    before, after = module.compact(str(tmp_path))
    assert before.disk_octets > 4_000_000
    assert (after.journal_octets, after.queues) == (0, before.queues)
    assert after.disk_octets < 2 * after.snapshot_octets + 100_000
