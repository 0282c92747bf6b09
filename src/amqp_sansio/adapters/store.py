"""The durable state of a broker in a directory: journal entries and one snapshot, in a sqlite3 database.

One process at a time opens a store; others may copy it meanwhile (`backup`).  What `append` stored is on the disk when
it returns, and survives whatever ends the process.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar
from urllib.request import pathname2url

import attrs

from amqp_sansio.adapters.store_files import CLOSED, HEADER, MARK, NEW, OPEN, Mark, damage, sync_directory
from amqp_sansio.broker import Broker, BrokerConfig, encode_snapshot
from amqp_sansio.broker.encoding import decode_entry
from amqp_sansio.broker.journal import Entry
from amqp_sansio.broker.snapshot import decode_snapshot
from amqp_sansio.errors import AmqpError, RestoreError

T = TypeVar("T")

FILE: Final = "broker.sqlite"
LOCK: Final = "broker.lock"
"""An empty database that sqlite locks while a process has the store, so that others can still read the store itself."""
APPLICATION: Final = 0x414D5150
"""sqlite's application_id of a store."""
VERSION: Final = 1
"""Version of the layout of the tables.  Any change of the layout gets a new one."""
PIECE: Final = 256 * 1024 * 1024
"""The most octets in one row.  A longer entry is split into pieces, because sqlite limits a value to a billion octets."""
PIECES: Final = 1 << 12
"""The most pieces of one entry."""
SHRINK_PAGES: Final = 4096
"""The most pages that one step of `shrink` returns to the disk: 16 MiB."""
WAL_OCTETS: Final = 64 * 1024 * 1024
"""The size to which sqlite truncates a write-ahead log that has grown longer."""

_LAYOUT: Final = f"""
BEGIN IMMEDIATE;
CREATE TABLE entry (place INTEGER PRIMARY KEY, octets BLOB NOT NULL);
CREATE TABLE snapshot (place INTEGER PRIMARY KEY, journal INTEGER NOT NULL, octets BLOB NOT NULL);
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
COMMIT;
"""
_ANEW: Final = f"; to begin anew, remove {MARK}"
_IN_USE: Final = "another process has it open"
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


_FILES: Final = (FILE, f"{FILE}-wal")


class StoreError(AmqpError):
    """A store cannot be opened, read or written.  `where` is its directory, `cause` the reason."""

    where: str
    cause: str

    def _text(self) -> str:
        return f"{self.where}: {self.cause}"

    @property
    def in_use(self) -> bool:
        """Whether the only problem is that another process has the store open."""
        return self.cause == _IN_USE


class Store:
    """The store in a directory, which is created when it does not exist.

    Any thread may use it, one at a time.  Raises StoreError when the directory is not writable, the store in use, or damaged.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory: Final = os.fspath(directory)
        path = Path(self.directory)
        self._log: Final = path / f"{FILE}-wal"
        self._mark: Final = Mark(path)
        with self._told("cannot be opened"), ExitStack() as opened:
            _make(path)
            _touch(path / LOCK)
            self._lock: Final = _connect(path / LOCK)
            opened.callback(self._lock.close)
            self._lock.execute("BEGIN EXCLUSIVE")
            try:
                self._word = self._mark.read()
            except ValueError as error:
                raise StoreError(self.directory, f"the store is damaged: {error}; to go on without it, remove {MARK}") from None
            look_at(path, self._word)
            if self._word != NEW:
                self._compare(path / FILE, self._mark.confirmed())
            _touch(path / FILE)
            self._db: Final = _connect(path / FILE)
            opened.callback(self._db.close)
            self._open()
            self._mark.prepare()
            opened.pop_all()

    def _compare(self, file: Path, confirmed: int) -> None:
        """Raises StoreError when a used store ends before the last confirmed entry; changes neither the file nor its log."""
        with closing(connect_to_read(file)) as db:
            (application,) = db.execute("PRAGMA application_id").fetchone()
            (version,) = db.execute("PRAGMA user_version").fetchone()
            if not application and not _tables(db):
                raise StoreError(self.directory, f"the store is damaged: {FILE} is empty, though it was used{_ANEW}")
            if (application, version) == (APPLICATION, VERSION) and (last := _last(db)) < confirmed:
                raise StoreError(
                    self.directory,
                    f"the store is damaged: {FILE} and {self._log.name} end with entry {last}, and entries up to {confirmed}"
                    f" were confirmed; to go on without the last {confirmed - last}, remove {MARK}",
                )

    def _open(self) -> None:
        db = self._db
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        new = not application and not _tables(db)
        if not new and application != APPLICATION:
            raise StoreError(self.directory, f"{FILE} in it is not the store of a broker")
        if not new and version != VERSION:
            raise StoreError(self.directory, f"this library reads stores of version {VERSION}, not {version}")
        if new:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreError(self.directory, f"sqlite cannot keep a write-ahead log there ({mode}): use a local disk")
        for pragma in (
            "synchronous = FULL",  # a commit is on the disk when it returns, in the database as in the log
            "fullfsync = ON",
            "checkpoint_fullfsync = ON",
            f"journal_size_limit = {WAL_OCTETS}",
        ):
            db.execute(f"PRAGMA {pragma}")
        if new:
            db.executescript(_LAYOUT)
        self._confirmed = _last(db)

    # --- reading --------------------------------------------------------------------------------------------------------------

    def load(self) -> tuple[dict[str, object] | None, Iterator[Entry]]:
        """Returns the snapshot (None when there is none) and the entries after it.

        Raises StoreError for damage, also while the entries are iterated.
        """
        with self._told("cannot be read"):
            rows = self._db.execute("SELECT octets FROM snapshot ORDER BY place").fetchall()
            octets = b"".join([_typed(octets, bytes) for (octets,) in rows])
            snapshot = decode_snapshot(octets) if rows else None
        return snapshot, self._entries()

    def _entries(self) -> Iterator[Entry]:
        with self._told("cannot be read"):
            pieces: list[bytes] = []
            number = 0
            for place, octets in self._db.execute("SELECT place, octets FROM entry ORDER BY place"):
                if place // PIECES != number and pieces:
                    yield decode_entry(b"".join(pieces))
                    pieces = []
                number = place // PIECES
                pieces.append(_typed(octets, bytes))
            if pieces:
                yield decode_entry(b"".join(pieces))

    @property
    def journal_octets(self) -> int:
        """Octets of the entries that no snapshot has replaced.  Raises StoreError."""
        return self._sum("entry")

    @property
    def snapshot_octets(self) -> int:
        """Octets of the snapshot, 0 when there is none.  Raises StoreError."""
        return self._sum("snapshot")

    def _sum(self, table: str) -> int:
        with self._told("cannot be read"):
            (octets,) = self._db.execute(f"SELECT coalesce(sum(length(octets)), 0) FROM {table}").fetchone()
            return _typed(octets, int)

    def check(self) -> None:
        """Runs sqlite's integrity check over the whole file.  Raises StoreError for the first error found."""
        with self._told("cannot be read"):
            (found,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise StoreError(self.directory, f"the store is damaged: {found}")

    # --- writing --------------------------------------------------------------------------------------------------------------

    def append(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """Appends entries (number and octets) in one transaction: all are on the disk when it returns.

        Raises StoreError when they are not; then none of them is stored.
        """
        with self._told("cannot be written"), self._transaction():
            self._db.executemany("INSERT INTO entry VALUES (?, ?)", _rows(entries))
        self._confirm(max([number for number, _ in entries], default=0))

    def compact(self, number: int, snapshot: bytes) -> None:
        """Replaces all entries up to `number` by a snapshot.  Atomic: if it fails, the entries are still there."""
        with self._told("cannot be written"), self._transaction():
            self._db.execute("DELETE FROM snapshot")
            self._db.executemany(
                "INSERT INTO snapshot VALUES (?, ?, ?)",
                [(at // PIECE, number, snapshot[at : at + PIECE]) for at in range(0, len(snapshot), PIECE)],
            )
            self._db.execute("DELETE FROM entry WHERE place < ?", ((number + 1) * PIECES,))
        self._confirm(number)

    def _confirm(self, number: int) -> None:
        """Records in the mark that everything up to that entry is committed, before any client learns it."""
        self._confirmed = max(self._confirmed, number)
        with self._told("cannot be written"):
            self._mark.confirm(self._confirmed)
        self._word = OPEN

    def shrink(self) -> bool:
        """Returns free space inside the file to the disk, at most SHRINK_PAGES; False when none is left."""
        with self._told("cannot be written"):
            # `execute` makes one step of this pragma, which frees one page; a script runs it to its end.
            self._db.executescript(f"PRAGMA incremental_vacuum({SHRINK_PAGES});")
            (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        return bool(free)

    def close(self) -> None:
        """Closes the store, so that another process may open it.  Never raises."""
        with suppress(sqlite3.Error, OSError):
            if self._word == OPEN:
                (busy, log, done) = self._db.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
                if not busy and log == done:  # the database file holds everything, so the log may go
                    self._mark.write(CLOSED)
                    self._word = CLOSED
        with suppress(sqlite3.Error, OSError):
            self._db.close()
            if self._word == OPEN and not self._log.exists():  # sqlite removes the log when the file holds everything
                self._mark.write(CLOSED)
        with suppress(OSError):
            self._mark.close()
        with suppress(sqlite3.Error):
            self._lock.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
            raise

    @contextmanager
    def _told(self, what: str) -> Iterator[None]:
        """Turns errors of sqlite, of decoding and of the operating system into one StoreError."""
        try:
            yield
        except OSError as error:
            raise StoreError(self.directory, f"cannot be written: {error.strerror}") from None
        except RestoreError as error:
            raise StoreError(self.directory, f"the store is damaged: {error}") from None
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code in _BUSY:
                cause = _IN_USE
            elif code in _DAMAGED:
                cause = f"the store is damaged: {error}"
            else:
                cause = f"{what}: {error}"
            raise StoreError(self.directory, cause) from None

    def __repr__(self) -> str:
        return f"<Store in {self.directory!r}>"


def look_at(directory: Path, word: str) -> None:
    """Raises StoreError for damage that sqlite would silently ignore; `word` is that of the mark.  Raises OSError."""
    file, log = directory / FILE, directory / f"{FILE}-wal"
    if damage(log) is not None and (found := damage(log)) is not None:  # twice, because another process may be writing the log
        raise StoreError(str(directory), f"the store is damaged: {found}")
    octets = log.stat().st_size if log.exists() else 0
    if not (file.exists() and file.stat().st_size):
        if octets:
            raise StoreError(
                str(directory), f"the store is damaged: {log.name} is there, but its database {file.name} is missing"
            )
        if word != NEW:
            raise StoreError(str(directory), f"the store is damaged: {file.name} is gone or empty, though it was used{_ANEW}")
    if word == OPEN and octets <= HEADER.size:
        raise StoreError(
            str(directory),
            f"the store is damaged: {log.name} is gone or empty, and it held what {file.name} does not have; to go on without"
            f" that, remove {MARK}",
        )


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file, isolation_level=None, timeout=0.0, check_same_thread=False)


def connect_to_read(file: Path) -> sqlite3.Connection:
    """Opens a read-only connection, which never removes the write-ahead log.  Raises sqlite3.Error."""
    return sqlite3.connect(f"file:{pathname2url(str(file.absolute()))}?mode=ro", uri=True)


def _tables(db: sqlite3.Connection) -> int:
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(tables)


def _last(db: sqlite3.Connection) -> int:
    """Returns the number of the last entry in the journal or the snapshot; 0 when there is none."""
    (entry,) = db.execute("SELECT coalesce(max(place), 0) FROM entry").fetchone()
    (snapshot,) = db.execute("SELECT coalesce(max(journal), 0) FROM snapshot").fetchone()
    return max(_typed(entry, int) // PIECES, _typed(snapshot, int))


def _typed(value: object, kind: type[T]) -> T:
    """Returns a value of a row.  Raises RestoreError when damage has changed its type: sqlite keeps any value in any column."""
    if not isinstance(value, kind):
        raise RestoreError("a row", f"{kind.__name__} belongs where {type(value).__name__} is")
    return value


def _touch(path: Path) -> None:
    """Creates a file that nobody reads.  An existing one is not opened, because closing it would release the locks on it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _rows(entries: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    for number, octets in entries:
        for piece, at in enumerate(range(0, len(octets), PIECE)):
            yield number * PIECES + piece, octets[at : at + PIECE] if len(octets) > PIECE else octets


def _make(path: Path) -> None:
    """Creates the directory and flushes its name to the disk."""
    if path.is_dir():
        return
    path.mkdir(mode=0o700, parents=True)
    sync_directory(path.parent)


@attrs.frozen(kw_only=True)
class Content:
    """Summary of the contents of a store."""

    virtual_hosts: int
    queues: int
    messages: int
    """Messages on all queues; one that is on several counts in each."""
    journal_octets: int
    """Octets of the entries that no snapshot has replaced."""
    snapshot_octets: int
    disk_octets: int
    """Octets of its files."""


def check(directory: str) -> Content:
    """Reads a whole store and rebuilds its broker.  Raises StoreError for damage, and while a broker has it open."""
    with _existing(directory) as store:
        store.check()
        return _content(store, _broker(store))


def compact(directory: str) -> tuple[Content, Content]:
    """Replaces the journal by a new snapshot and returns free space to the disk.  Returns the contents before and after.

    Raises StoreError for damage, and while a broker has it open.
    """
    with _existing(directory) as store:
        broker = _broker(store)
        before = _content(store, broker)
        snapshot = broker.snapshot()
        number = snapshot["journal"]
        assert isinstance(number, int)
        store.compact(number, encode_snapshot(snapshot))
        while store.shrink():
            pass
    with _existing(directory) as store:
        return before, _content(store, broker)


def backup(directory: str, target: str) -> Content:
    """Copies a store, even while a broker has it open, as it is at one moment, into a new or empty directory.

    Checks the copy as `check` does before it returns.  Raises StoreError.
    """
    _must_exist(directory)
    place = Path(target)
    try:
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(place.iterdir()):
            raise StoreError(target, "is not empty: a backup goes into a new directory")
        os.close(os.open(place / FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    except OSError as error:
        raise StoreError(target, f"cannot be written: {error.strerror}") from None
    try:
        alone: Store | None = Store(directory)  # finds what sqlite would silently ignore
    except StoreError as error:
        if not error.in_use:
            raise
        alone = None
    try:
        _copy(Path(directory) / FILE, place / FILE)
    except sqlite3.Error as error:
        raise StoreError(directory, f"cannot be copied: {error}") from None
    finally:
        if alone is not None:
            alone.close()
    try:
        Mark(place).write(CLOSED)
    except OSError as error:
        raise StoreError(target, f"cannot be written: {error.strerror}") from None
    return check(target)


def _copy(source: Path, target: Path) -> None:
    """Copies all pages as of one moment; writers go on meanwhile, in the write-ahead log."""
    with closing(connect_to_read(source)) as origin, closing(sqlite3.connect(target)) as copy:
        origin.backup(copy)


def _existing(directory: str) -> closing[Store]:
    """Opens a store for the duration of a block.  Raises StoreError when there is none."""
    _must_exist(directory)
    return closing(Store(directory))


def _must_exist(directory: str) -> None:
    """Raises StoreError when there is no store, so that a mistyped name does not create one."""
    if not any((Path(directory) / name).exists() for name in (*_FILES, LOCK, MARK)):
        raise StoreError(directory, "there is no store in it")


def _broker(store: Store) -> Broker:
    snapshot, entries = store.load()
    try:
        return Broker.restore(snapshot, entries, config=BrokerConfig(journal=True, epoch=time.time() - time.monotonic()))
    except RestoreError as error:
        raise StoreError(store.directory, f"the store is damaged: {error}") from None


def _content(store: Store, broker: Broker) -> Content:
    place = Path(store.directory)
    hosts = broker._hosts.values()
    return Content(
        virtual_hosts=len(hosts),
        queues=sum([len(host.queues) for host in hosts]),
        messages=sum([queue.available for host in hosts for queue in host.queues.values()]),
        journal_octets=store.journal_octets,
        snapshot_octets=store.snapshot_octets,
        disk_octets=sum([(place / name).stat().st_size for name in _FILES if (place / name).exists()]),
    )
