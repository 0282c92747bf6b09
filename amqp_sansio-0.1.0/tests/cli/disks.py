"""A disk that is soon full: a small tmpfs where mounting is allowed, else a limit of how large a file may be."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Final, Self


class Tmpfs:
    """A file system of its own, of so many octets, at a path that is made for it."""

    def __init__(self, path: Path, octets: int) -> None:
        self.path: Final = path
        self.mounted = False
        self._octets: Final = octets

    def __enter__(self) -> Self:
        self.path.mkdir()
        self.mounted = _mount("-t", "tmpfs", "-o", f"size={self._octets}", "tmpfs", str(self.path))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.mounted:
            subprocess.run(["umount", str(self.path)], check=True, timeout=60)

    def grow(self) -> None:
        """There is room again."""
        if self.mounted:
            assert _mount("-o", f"remount,size={self._octets + 64 * 1024 * 1024}", str(self.path))


def _mount(*arguments: str) -> bool:
    try:
        return subprocess.run(["mount", *arguments], capture_output=True, check=False, timeout=60).returncode == 0
    except OSError:  # there is no such program
        return False


def limited(octets: int) -> Callable[[], None]:
    """What a process does before it begins, so that no file of its grows beyond so many octets."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (octets, octets))

    return limit
