"""Atomic and durable files: written aside, synced, renamed, and the folder synced."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from amqp_sansio.spark.errors import LiveError, LiveSetupError

PART: Final = ".part"
"""The ending of a file that does not count yet."""
LOCK: Final = "lock"
LOCK_SECONDS: Final = 30.0
"""Seconds that a killed process may take to disappear."""
LOOK_SECONDS: Final = 0.1


@contextmanager
def as_live_error(path: Path) -> Iterator[None]:
    """Turns an error of the operating system about a file into a LiveError; nothing is lost by it."""
    try:
        yield
    except OSError as error:
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        what = "the disk is full" if full else error.strerror or str(error)
        raise LiveError(f"{path}: {what}; nothing was taken from the broker or told to it") from error


def folder(path: Path, option: str) -> Path:
    """Creates a folder unless it exists.  Raises LiveSetupError, which names `option`, when that fails."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LiveSetupError(f"{path}: cannot be made a folder: {error.strerror} (option {option})") from error
    return path


def sync_folder(path: Path) -> None:
    """Makes the names in a folder durable."""
    if not hasattr(os, "O_DIRECTORY"):  # Windows cannot open folders, and journals names itself
        return
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync(file: BinaryIO) -> None:
    """Makes what was written durable."""
    file.flush()
    os.fsync(file.fileno())


def put(path: Path, octets: bytes) -> None:
    """Writes a file atomically, in place of an existing one.  Raises LiveError."""
    part = path.with_name(path.name + PART)
    with as_live_error(path):
        with part.open("wb") as file:
            file.write(octets)
            sync(file)
        part.replace(path)
        sync_folder(path.parent)


def put_json(path: Path, value: dict[str, Any]) -> None:
    """Writes plain values as JSON, atomically.  Raises LiveError."""
    put(path, json.dumps(value, indent=1).encode() + b"\n")


def get_json(path: Path) -> dict[str, Any] | None:
    """Reads plain values; None when there is no such file.  Raises LiveSetupError when it cannot be read."""
    try:
        found = json.loads(path.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise LiveSetupError(f"{path}: cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise LiveSetupError(f"{path}: is damaged, or not a file of amqp-sansio")
    return found


class FolderLock:
    """Exclusive use of a folder by one process, until it releases the lock or ends in any way."""

    def __init__(self, path: Path, option: str) -> None:
        self.path: Final = path
        self._option: Final = option
        self._file: BinaryIO | None = None

    def take(self, seconds: float = LOCK_SECONDS, sleep: Callable[[float], None] = time.sleep) -> None:
        """Takes the lock; waits for a holder that is about to end.  Raises LiveError when it does not, LiveSetupError without
        locks."""
        if self._file is not None:
            return
        try:
            import fcntl
        except ImportError:
            raise LiveSetupError(f"{self.path}: this system has no file locks (fcntl) (option {self._option})") from None
        until = time.monotonic() + seconds
        with as_live_error(self.path):
            file = (self.path / LOCK).open("ab")
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() >= until:
                    file.close()
                    raise LiveError(
                        f"{self.path}: is used by another query; each needs one of its own (option {self._option})"
                    ) from None
                sleep(LOOK_SECONDS)
            except OSError as error:
                file.close()
                raise LiveSetupError(
                    f"{self.path}: is on a file system that has no locks: {error.strerror} (option {self._option})"
                ) from error
            else:
                self._file = file
                return

    def __enter__(self) -> Self:
        self.take()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def release(self) -> None:
        """Releases the lock."""
        if self._file is not None:
            self._file.close()
            self._file = None
