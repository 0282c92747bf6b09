"""The lock of a folder of tables: one run writes there at a time, named in the file `_LOCK.json`.

On local file systems the kernel holds the lock for the process (flock), so a dead process holds none, and its file is taken
over.  pyarrow has no conditional write to an object store: there the lock is a file that is read, written, read back, and read
again before the manifest is written.  Two runs that begin within the same moment may then both do their work; one of them
publishes nothing.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import uuid
from datetime import UTC, datetime
from typing import IO, TYPE_CHECKING, Any, Final

from amqp_sansio.captures.errors import PlaceError

if TYPE_CHECKING:
    from amqp_sansio.captures.locations import Located

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of mounted file systems (FUSE, some network ones) without locks, which are treated like an object store."""
LOCK: Final = "_LOCK.json"
"""The file, directly in the folder; removed at the end of a run."""


class RunLock:
    """The lock of one run on one folder.  Raises PlaceError, which names the run that holds it."""

    def __init__(self, name: str, place: Located) -> None:
        self._name: Final = name
        self._place: Final = place
        self._path: Final = f"{place.path}/{LOCK}"
        self._file: IO[bytes] | None = None
        self._said = b""
        self.taken_over = False
        """Whether it was left by a run that died."""

    def acquire(self) -> None:
        """Takes the lock.  Raises PlaceError when a run that may be alive holds it, OSError when the folder cannot be
        written."""
        self._said = _about()
        if self._place.base or not self._hold():
            self._write()

    def confirm(self) -> None:
        """Raises PlaceError when another run has taken the lock meanwhile, which a kernel lock prevents."""
        if self._file is None and self._read() != self._said:
            raise self._refused(self._read())

    def release(self) -> None:
        """Releases the lock, if it is held."""
        if self._file is not None:
            os.unlink(self._path)
            self._file.close()
            self._file = None
        elif self._said and self._read() == self._said:
            self._place.system.delete_file(self._path)
        self._said = b""

    def _hold(self) -> bool:
        """Takes a kernel lock; returns False where that is impossible."""
        try:
            from fcntl import LOCK_EX, LOCK_NB, flock
        except ImportError:  # Windows
            return False
        while True:
            file = open(self._path, "a+b")  # noqa: SIM115 -- held until `release`
            try:
                flock(file, LOCK_EX | LOCK_NB)
                file.seek(0)
                before = file.read()
                there = os.path.exists(self._path) and os.path.samestat(os.stat(self._path), os.fstat(file.fileno()))
            except BlockingIOError:
                file.seek(0)
                before = file.read()
                file.close()
                raise self._refused(before) from None
            except OSError as error:
                file.close()
                if error.errno in _NO_LOCKS:
                    return False
                raise
            if there:
                break
            file.close()  # its holder has just removed it: the next run makes a new one
        self._file = file
        self.taken_over = bool(before)
        file.truncate(0)
        file.write(self._said)
        file.flush()
        return True

    def _write(self) -> None:
        before = self._read()
        if before:
            if _alive(before):
                raise self._refused(before)
            self.taken_over = True
        self._place.write(self._path, self._said)
        self.confirm()

    def _read(self) -> bytes:
        return self._place.read(self._path) or b""

    def _refused(self, holder: bytes) -> PlaceError:
        about = _parsed(holder)
        who = "another run" + (
            f" (process {about['process']} on {about['host']}, since {about['since']})"
            if {"process", "host", "since"} <= about.keys()
            else ""
        )
        help_ = f"; remove {LOCK} there if that run is dead" if self._place.base else ""
        return PlaceError(f"{self._name}: {who} is writing there{help_}")


def _about() -> bytes:
    about = {
        "run": uuid.uuid4().hex,
        "process": os.getpid(),
        "born": _born(os.getpid()),
        "host": platform.node(),
        "since": f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC",
    }
    return json.dumps(about).encode() + b"\n"


def _parsed(holder: bytes) -> dict[str, Any]:
    try:
        about = json.loads(holder)
    except ValueError:
        return {}
    return about if isinstance(about, dict) else {}


def _alive(holder: bytes) -> bool:
    """Whether the run that wrote this may be alive; only a process of this host can be known to be dead."""
    about = _parsed(holder)
    process = about.get("process")
    if about.get("host") != platform.node() or not isinstance(process, int):
        return True
    if os.name != "posix":  # on Windows `os.kill(process, 0)` is not a query: it sends a Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return about.get("born") == _born(process)


def _born(process: int) -> int | None:
    """Returns when the process began, in ticks since boot, where Linux reports it; process ids are reused."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stream:
            return int(stream.read().rpartition(b")")[2].split()[19])
    except (OSError, IndexError, ValueError):
        return None
