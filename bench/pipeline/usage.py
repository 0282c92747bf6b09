"""The resources of a process and its descendants: CPU seconds, and the memory of each Python worker, from /proc (Linux)."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Final

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PROC: Final = Path("/proc")
PERIOD: Final = 0.05
"""Seconds between two samples."""


def _stat(process: int) -> tuple[int, float] | None:
    """Returns parent and CPU seconds of a process, including those of its ended children."""
    try:
        words = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return int(words[1]), sum(map(int, words[11:15])) / _TICKS


def own_seconds(root: int) -> dict[int, float]:
    """Returns the CPU seconds of every process of the tree under `root`, without those of its children."""
    found = {}
    for process, _ in below(root):
        try:
            words = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        found[process] = sum(map(int, words[11:13])) / _TICKS
    return found


def below(root: int) -> Iterator[tuple[int, float]]:
    """Yields every process of the tree under `root`, including itself, with its CPU seconds."""
    known = {int(entry.name): _stat(int(entry.name)) for entry in _PROC.iterdir() if entry.name.isdigit()}
    children: dict[int, list[int]] = {}
    for process, stat in known.items():
        if stat is not None:
            children.setdefault(stat[0], []).append(process)
    waiting = [root]
    while waiting:
        process = waiting.pop()
        stat = known.get(process)
        if stat is not None:
            yield process, stat[1]
            waiting += children.get(process, ())


def cpu_seconds(root: int | None = None) -> float:
    """Returns the CPU seconds of a process (None: this one) and everything it has started, ended or not."""
    return sum(seconds for _, seconds in below(os.getpid() if root is None else root))


def anonymous_octets(process: int) -> int:
    """Returns RssAnon: the process's private memory, without mapped files."""
    try:
        status = (_PROC / str(process) / "status").read_text()
    except OSError:
        return 0
    for line in status.splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


def is_worker(process: int) -> bool:
    """Returns whether it is a Python worker of Spark, or the daemon that forks them, in any module."""
    try:
        return b"pyspark.worker" in (_PROC / str(process) / "cmdline").read_bytes()
    except OSError:
        return False


class Peak:
    """The peak memory of any Python worker, in octets, while it is entered."""

    def __init__(self) -> None:
        self.octets = 0
        self._over: Final = threading.Event()
        self._thread: Final = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        while not self._over.wait(PERIOD):
            workers = [process for process, _ in below(os.getpid()) if is_worker(process)]
            self.octets = max([self.octets, *map(anonymous_octets, workers)])

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
