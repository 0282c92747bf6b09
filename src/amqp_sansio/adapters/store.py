"""Where the durable part of a broker is kept: journal entries and one snapshot in a directory, by sqlite3.

One process has a store at a time; others may copy it meanwhile (`upkeep.backup`).  What was appended is on the disk when the
call returns; whatever ends the process, and whenever, the next one finds all of it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, TypeVar
from urllib.request import pathname2url

from amqp_sansio.adapters.mark import CLOSED, NEW, OPEN, Mark, sync_directory
from amqp_sansio.adapters.mark import FILE as MARK
from amqp_sansio.adapters.wal import HEADER, damage
from amqp_sansio.broker.encoding import decode_entry
from amqp_sansio.broker.journal import Entry
from amqp_sansio.broker.snapshot import decode_snapshot
from amqp_sansio.errors import AmqpError, RestoreError

T = TypeVar("T")

FILE: Final = "broker.sqlite"
LOCK: Final = "broker.lock"
"""An empty database, locked by sqlite as long as a process has the store: so others can still read the store itself."""
APPLICATION: Final = 0x414D5150
"""What sqlite's application_id says in a store."""
VERSION: Final = 1
"""Of the tables.  One that adds or moves anything is another one."""
PIECE: Final = 256 * 1024 * 1024
"""Octets at most in one row: what is longer is kept in pieces, for sqlite takes no more than a billion."""
PIECES: Final = 1 << 12
"""Pieces that one entry may have, at most."""
SHRINK_PAGES: Final = 4096
"""Pages that one step of `shrink` gives back at most: 16 MiB."""
WAL_OCTETS: Final = 64 * 1024 * 1024
"""What the write-ahead log keeps on the disk after it was longer."""

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


class StoreError(AmqpError):
    """A store that cannot be opened, read or written.  `where` is its directory, `cause` says why."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"{where}: {cause}", made=(where, cause))
        self.where: Final = where
        self.cause: Final = cause

    @property
    def in_use(self) -> bool:
        """Whether nothing is wrong but that another process has the store."""
        return self.cause == _IN_USE


class Store:
    """The store in a directory, which is made when it is not there.

    May be used from any thread, by one at a time.  StoreError when it cannot be had: not writable, in use, or damaged.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory: Final = os.fspath(directory)
        path = Path(self.directory)
        self._log: Final = path / f"{FILE}-wal"
        self._mark: Final = Mark(path)
        try:
            _make(path)
            _touch(path / LOCK)
            with self._told("cannot be opened"):
                self._lock: Final = sqlite3.connect(path / LOCK, isolation_level=None, timeout=0.0, check_same_thread=False)
        except OSError as error:
            raise StoreError(self.directory, f"cannot be written: {error.strerror}") from None
        try:
            with self._told("cannot be opened"):
                self._lock.execute("BEGIN EXCLUSIVE")
            try:
                self._word = self._mark.read()
            except ValueError as error:
                raise StoreError(self.directory, f"the store is damaged: {error}; to go on without it, remove {MARK}") from None
            look_at(path, self._word)
            if self._word != NEW:
                with self._told("cannot be opened"):
                    self._compare(path / FILE, self._mark.confirmed())
            _touch(path / FILE)
            with self._told("cannot be opened"):
                self._db: Final = sqlite3.connect(path / FILE, isolation_level=None, timeout=0.0, check_same_thread=False)
            try:
                with self._told("cannot be opened"):
                    self._open()
                self._mark.prepare()
            except BaseException:
                self._db.close()
                raise
        except OSError as error:
            self._lock.close()
            raise StoreError(self.directory, f"cannot be written: {error.strerror}") from None
        except BaseException:
            self._lock.close()
            raise

    def _compare(self, file: Path, confirmed: int) -> None:
        """StoreError when a store that was used ends before what was confirmed; neither the file nor its log changes."""
        db = connect_to_read(file)
        try:
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
        finally:
            db.close()

    def _open(self) -> None:
        db = self._db
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        new = not application and not _tables(db)
        if not new and application != APPLICATION:
            raise StoreError(self.directory, f"{FILE} in it is no store of a broker")
        if not new and version != VERSION:
            raise StoreError(self.directory, f"this library reads stores of version {VERSION}, not {version}")
        if new:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")
        (mode,) = db.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StoreError(self.directory, f"sqlite keeps no write-ahead log there, but {mode}")
        for pragma in (
            "synchronous = FULL",  # a commit is on the disk when it returns, not in the log alone
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
        """The snapshot, None when there is none yet, and the entries after it.  StoreError, also later, for what is damaged."""
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
        """Octets of the entries that no snapshot has taken the place of.  StoreError."""
        return self._sum("entry")

    @property
    def snapshot_octets(self) -> int:
        """Octets of the snapshot, 0 when there is none.  StoreError."""
        return self._sum("snapshot")

    def _sum(self, table: str) -> int:
        with self._told("cannot be read"):
            (octets,) = self._db.execute(f"SELECT coalesce(sum(length(octets)), 0) FROM {table}").fetchone()
            return _typed(octets, int)

    def check(self) -> None:
        """Reads the whole file as sqlite does.  StoreError for the first thing that is wrong."""
        with self._told("cannot be read"):
            (found,) = self._db.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise StoreError(self.directory, f"the store is damaged: {found}")

    # --- writing --------------------------------------------------------------------------------------------------------------

    def append(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """Entries, as numbers and octets, in one transaction: all are on the disk when it returns.

        StoreError when they are not; then none of them counts.
        """
        with self._told("cannot be written"), self._transaction():
            self._db.executemany("INSERT INTO entry VALUES (?, ?)", _rows(entries))
        self._confirm(max([number for number, _ in entries], default=0))

    def compact(self, number: int, snapshot: bytes) -> None:
        """A snapshot instead of all entries up to `number`: after it, or if that fails before it, everything is there."""
        with self._told("cannot be written"), self._transaction():
            self._db.execute("DELETE FROM snapshot")
            self._db.executemany(
                "INSERT INTO snapshot VALUES (?, ?, ?)",
                [(at // PIECE, number, snapshot[at : at + PIECE]) for at in range(0, len(snapshot), PIECE)],
            )
            self._db.execute("DELETE FROM entry WHERE place < ?", ((number + 1) * PIECES,))
        self._confirm(number)

    def _confirm(self, number: int) -> None:
        """Everything up to that entry is committed: the mark says so before any client learns it."""
        self._confirmed = max(self._confirmed, number)
        try:
            self._mark.confirm(self._confirmed)
        except OSError as error:
            raise StoreError(self.directory, f"cannot be written: {error.strerror}") from None
        self._word = OPEN

    def shrink(self) -> bool:
        """Gives a part of what is free inside the file back to the disk, SHRINK_PAGES at most; False when nothing is left."""
        with self._told("cannot be written"):
            # `execute` makes one step of this pragma, which frees one page; a script makes all.
            self._db.executescript(f"PRAGMA incremental_vacuum({SHRINK_PAGES});")
            (free,) = self._db.execute("PRAGMA freelist_count").fetchone()
        return bool(free)

    def close(self) -> None:
        """The end: another process may have it.  Never raises."""
        with suppress(sqlite3.Error, OSError):
            if self._word == OPEN:
                (busy, log, done) = self._db.execute("PRAGMA wal_checkpoint(FULL)").fetchone()
                if not busy and log == done:  # the file has all of it: from now on the log may go
                    self._mark.write(CLOSED)
                    self._word = CLOSED
        with suppress(sqlite3.Error, OSError):
            self._db.close()
            if self._word == OPEN and not self._log.exists():  # sqlite takes it away when the file has all of it
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
        """Whatever sqlite, or what reads its octets, complains of: in one sentence."""
        try:
            yield
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
    """StoreError for what sqlite would pass over in silence; `word` is that of the mark.  OSError."""
    file, log = directory / FILE, directory / f"{FILE}-wal"
    if damage(log) is not None and (found := damage(log)) is not None:  # once more: somebody else may be writing it
        raise StoreError(str(directory), f"the store is damaged: {found}")
    octets = log.stat().st_size if log.exists() else 0
    if not (file.exists() and file.stat().st_size):
        if octets:
            raise StoreError(
                str(directory), f"the store is damaged: {log.name} is there, and the file {file.name} to it is not"
            )
        if word != NEW:
            raise StoreError(str(directory), f"the store is damaged: {file.name} is gone or empty, though it was used{_ANEW}")
    if word == OPEN and octets <= HEADER.size:
        raise StoreError(
            str(directory),
            f"the store is damaged: {log.name} is gone or empty, and it held what {file.name} does not have; to go on without"
            f" that, remove {MARK}",
        )


def connect_to_read(file: Path) -> sqlite3.Connection:
    """A connection that changes nothing: where it is the last one, the write-ahead log stays as well.  sqlite3.Error."""
    return sqlite3.connect(f"file:{pathname2url(str(file.absolute()))}?mode=ro", uri=True)


def _tables(db: sqlite3.Connection) -> int:
    (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    return int(tables)


def _last(db: sqlite3.Connection) -> int:
    """The number of the last entry that is in a store, in its journal or in its snapshot; 0 when there is none."""
    (entry,) = db.execute("SELECT coalesce(max(place), 0) FROM entry").fetchone()
    (snapshot,) = db.execute("SELECT coalesce(max(journal), 0) FROM snapshot").fetchone()
    return max(_typed(entry, int) // PIECES, _typed(snapshot, int))


def _typed(value: object, kind: type[T]) -> T:
    """What a row has.  RestoreError when damage has made something else of it: sqlite keeps any value in any column."""
    if not isinstance(value, kind):
        raise RestoreError("a row", f"{kind.__name__} belongs where {type(value).__name__} is")
    return value


def _touch(path: Path) -> None:
    """Makes a file that nobody else reads; one that is there is not opened: closing it would give up the locks on it."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _rows(entries: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    for number, octets in entries:
        for piece, at in enumerate(range(0, len(octets), PIECE)):
            yield number * PIECES + piece, octets[at : at + PIECE] if len(octets) > PIECE else octets


def _make(path: Path) -> None:
    """Makes the directory, and sees to it that its name is on the disk."""
    if path.is_dir():
        return
    path.mkdir(mode=0o700, parents=True)
    sync_directory(path.parent)
