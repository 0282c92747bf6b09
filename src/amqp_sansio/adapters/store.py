"""Where the durable part of a broker is kept: journal entries and one snapshot in a directory, by sqlite3.

One process has a store at a time, and nobody else reads it meanwhile.  What was appended is on the disk when the call returns;
whatever ends the process, and whenever, the next one finds all of it.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from amqp_sansio.adapters.wal import damage
from amqp_sansio.broker.encoding import decode_entry
from amqp_sansio.broker.operations import Entry
from amqp_sansio.broker.snapshot import decode_snapshot
from amqp_sansio.errors import AmqpError, RestoreError

FILE: Final = "broker.sqlite"
APPLICATION: Final = 0x414D5150
"""What sqlite's application_id says in a store."""
VERSION: Final = 1
"""Of the tables.  One that adds or moves anything is another one."""
PIECE: Final = 256 * 1024 * 1024
"""Octets at most in one row: what is longer is kept in pieces, for sqlite takes no more than a billion."""
PIECES: Final = 1 << 12
"""Pieces that one entry may have, at most."""
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
_BUSY: Final = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_DAMAGED: Final = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class StoreError(AmqpError):
    """A store that cannot be opened, read or written.  `where` is its directory, `cause` says why."""

    def __init__(self, where: str, cause: str) -> None:
        super().__init__(f"{where}: {cause}")
        self.where: Final = where
        self.cause: Final = cause

    def __reduce__(self) -> tuple[type[StoreError], tuple[str, str]]:
        return type(self), (self.where, self.cause)


class Store:
    """The store in a directory, which is made when it is not there.

    May be used from any thread, by one at a time.  StoreError when it cannot be had: not writable, in use, or damaged.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self.directory: Final = os.fspath(directory)
        path = Path(self.directory)
        try:
            _make(path)
            self._look_at(path / FILE, path / f"{FILE}-wal")
            os.close(os.open(path / FILE, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise StoreError(self.directory, f"cannot be written: {error.strerror}") from None
        with self._told("cannot be opened"):
            self._db: Final = sqlite3.connect(path / FILE, isolation_level=None, timeout=0.0, check_same_thread=False)
        try:
            with self._told("cannot be opened"):
                self._open()
        except BaseException:
            self._db.close()
            raise

    def _look_at(self, file: Path, log: Path) -> None:
        """StoreError for what sqlite would pass over without a word."""
        if damage(log) is not None and (found := damage(log)) is not None:  # once more: somebody else may be writing it
            raise StoreError(self.directory, f"the store is damaged: {found}")
        if log.exists() and log.stat().st_size and not (file.exists() and file.stat().st_size):
            raise StoreError(
                self.directory, f"the store is damaged: {log.name} is there, and the file {file.name} to it is not"
            )

    def _open(self) -> None:
        db = self._db
        db.execute("PRAGMA locking_mode = EXCLUSIVE")
        (application,) = db.execute("PRAGMA application_id").fetchone()
        (version,) = db.execute("PRAGMA user_version").fetchone()
        (tables,) = db.execute("SELECT count(*) FROM sqlite_master").fetchone()
        new = not application and not tables
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
        else:
            db.execute("BEGIN EXCLUSIVE")  # nobody else may have it, from now on
            db.execute("COMMIT")

    # --- reading --------------------------------------------------------------------------------------------------------------

    def load(self) -> tuple[dict[str, object] | None, Iterator[Entry]]:
        """The snapshot, None when there is none yet, and the entries after it.  StoreError, also later, for what is damaged."""
        with self._told("cannot be read"):
            rows = self._db.execute("SELECT octets FROM snapshot ORDER BY place").fetchall()
            octets = b"".join([octets for (octets,) in rows])
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
                pieces.append(octets)
            if pieces:
                yield decode_entry(b"".join(pieces))

    # --- writing --------------------------------------------------------------------------------------------------------------

    def append(self, entries: Sequence[tuple[int, bytes]]) -> None:
        """Entries, as numbers and octets, in one transaction: all are on the disk when it returns.

        StoreError when they are not; then none of them counts.
        """
        with self._told("cannot be written"), self._transaction():
            self._db.executemany("INSERT INTO entry VALUES (?, ?)", _rows(entries))

    def compact(self, number: int, snapshot: bytes) -> None:
        """A snapshot instead of all entries up to `number`: after it, or if that fails before it, everything is there."""
        with self._told("cannot be written"), self._transaction():
            self._db.execute("DELETE FROM snapshot")
            self._db.executemany(
                "INSERT INTO snapshot VALUES (?, ?, ?)",
                [(at // PIECE, number, snapshot[at : at + PIECE]) for at in range(0, len(snapshot), PIECE)],
            )
            self._db.execute("DELETE FROM entry WHERE place < ?", ((number + 1) * PIECES,))

    def shrink(self) -> None:
        """Gives what is free inside the file back to the disk."""
        with self._told("cannot be written"):
            self._db.execute("PRAGMA incremental_vacuum").fetchall()

    def close(self) -> None:
        """The end: another process may have it.  Never raises."""
        with suppress(sqlite3.Error):
            self._db.close()

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
                cause = "another process has it open"
            elif code in _DAMAGED:
                cause = f"the store is damaged: {error}"
            else:
                cause = f"{what}: {error}"
            raise StoreError(self.directory, cause) from None

    def __repr__(self) -> str:
        return f"<Store in {self.directory!r}>"


def _rows(entries: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, bytes]]:
    for number, octets in entries:
        for piece, at in enumerate(range(0, len(octets), PIECE)):
            yield number * PIECES + piece, octets[at : at + PIECE] if len(octets) > PIECE else octets


def _make(path: Path) -> None:
    """Makes the directory, and sees to it that its name is on the disk."""
    if path.is_dir():
        return
    path.mkdir(mode=0o700, parents=True)
    with suppress(OSError):  # not every system lets one open a directory
        parent = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(parent)
        finally:
            os.close(parent)
