"""The cores of this process, the clients that it starts, and the brokers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PROCESSES: Final = Path("/proc")


def family(pid: int) -> Iterator[int]:
    """Yields the ids of all threads of a process and its descendants."""
    for thread in (PROCESSES / str(pid) / "task").iterdir():
        yield int(thread.name)
        with suppress(OSError):  # the process has ended
            for child in (thread / "children").read_text().split():
                with suppress(OSError):
                    yield from family(int(child))


@contextmanager
def one_core() -> Iterator[bool]:
    """Confines this process and its descendants to one core; yields whether the system supports that.

    Sending to a process on a sleeping core includes the cost of waking it, on a virtual machine through the hypervisor: several
    times the cost of the client itself, and changing from minute to minute.  On one core a wake is just a context switch, for
    ours and for theirs.
    """
    if not hasattr(os, "sched_setaffinity") or not (PROCESSES / "self" / "task").exists():
        yield False
        return
    before = os.sched_getaffinity(0)
    _run_on({max(before)})
    try:
        yield True
    finally:
        _run_on(before)


def _run_on(cores: Iterable[int]) -> None:
    for thread in list(family(os.getpid())):
        with suppress(OSError):
            os.sched_setaffinity(thread, cores)
