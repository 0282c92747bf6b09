"""Which cores everybody runs on: this process, the clients that it starts, and the brokers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

PROCESSES: Final = Path("/proc")


def family(pid: int) -> Iterator[int]:
    """The threads of a process and of all processes under it, by their ids."""
    for thread in (PROCESSES / str(pid) / "task").iterdir():
        yield int(thread.name)
        with suppress(OSError):  # it has ended
            for child in (thread / "children").read_text().split():
                with suppress(OSError):
                    yield from family(int(child))


@contextmanager
def one_core() -> Iterator[bool]:
    """Meanwhile this process and everything under it share one core; whether the system can do that.

    Sending to a process on a sleeping core costs waking it, on a virtual machine by way of the machine's owner: several
    times what the client itself costs, and hardly the same from one minute to the next.  Where all share one core, waking
    somebody is no more than a change of process, for ours and for theirs.
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
