"""Lets contenders take turns within each round, so that a drift of the machine affects all of them alike; compares ratios."""

from __future__ import annotations

import gc
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

Timed: TypeAlias = Callable[[], int]
"""Does the work and returns how many messages it handled."""
Fresh: TypeAlias = Callable[[], Timed]
"""Prepares one round, untimed."""

MICROSECONDS: Final = 1e6


def once(timed: Timed, expected: int) -> float:
    """Returns the microseconds per message of one round."""
    gc.collect()
    started = time.process_time()  # of this process alone: other load on the machine counts little
    handled = timed()
    passed = time.process_time() - started
    if handled != expected:
        raise SystemExit(f"bench: {timed} handled {handled} messages of {expected}: the comparison is void")
    return passed / handled * MICROSECONDS


def rounds(contenders: Mapping[str, Fresh], messages: int, count: int, label: str) -> dict[str, list[float]]:
    """Returns the microseconds per message of each contender in each of `count` rounds, after a warm-up round."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for number in range(count + 1):
        progress(f"{label}: round {number}/{count}")
        for name, fresh in contenders.items():
            passed = once(fresh(), messages)
            if number:
                times[name].append(passed)
    progress("")
    return times


def ratio(slower: Iterable[float], faster: Iterable[float]) -> float:
    """Returns the median over the rounds of `slower` divided by `faster`."""
    return statistics.median(a / b for a, b in zip(slower, faster, strict=True))


def progress(text: str) -> None:
    """Overwrites one line of progress, on a terminal only."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()
