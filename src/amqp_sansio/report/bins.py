"""Statistics in bounded memory: histograms of latencies with growing bins, steps of time, the heaviest of many names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from heapq import nsmallest
from typing import Any, Final, Generic, NamedTuple, TypeVar

import numpy as np
import pyarrow as pa

PER_OCTAVE: Final = 64
"""Bins of a histogram per doubling of latency: percentiles are exact to 1.1 %."""
_BINS: Final = 64 * PER_OCTAVE
COARSE: Final = 4
"""Bars of a chart per doubling of latency."""
STEPS: Final = 240
"""Steps of a time axis."""
MOST_NAMES: Final = 20_000
"""The most names counted at a time; beyond it the lighter half is dropped (and the page says so)."""

Key = TypeVar("Key")


class Spread(NamedTuple):
    """Statistics of some latencies, in ns: their number, the least, percentiles, the greatest."""

    number: int
    least: int
    p50: int
    p90: int
    p99: int
    p999: int
    most: int


class Latencies:
    """A histogram of latencies in ns; negative ones count as 0 (clocks of several captures)."""

    def __init__(self) -> None:
        self._bins: Final = np.zeros(_BINS + 1, dtype=np.int64)  # the first bin: 0 ns
        self._least = 2**63 - 1
        self._most = 0
        self.below = 0
        """The number of negative ones."""

    def add(self, values: Any) -> None:
        """Adds integers, as a numpy array without nulls."""
        if not len(values):
            return
        self.below += int(np.count_nonzero(values < 0))
        values = np.maximum(values.astype(np.int64), 0)
        self._least = min(self._least, int(values.min()))
        self._most = max(self._most, int(values.max()))
        places = np.floor(np.log2(np.maximum(values, 1)) * PER_OCTAVE).astype(np.int64) + 1
        places[values == 0] = 0
        self._bins[:] += np.bincount(np.minimum(places, _BINS), minlength=_BINS + 1)

    @property
    def count(self) -> int:
        """The number of latencies."""
        return int(self._bins.sum())

    def percentile(self, share: float) -> int:
        """Returns the least latency, in ns, that `share` (0 to 1) of them do not exceed; 0 when there are none."""
        total = self.count
        if not total:
            return 0
        place = int(np.searchsorted(np.cumsum(self._bins), max(1, int(np.ceil(share * total)))))
        middle = 0 if place == 0 else round(2 ** ((place - 0.5) / PER_OCTAVE))
        return min(max(middle, self._least), self._most)

    def spread(self) -> Spread | None:
        """Returns the statistics; None when there are none."""
        if not self.count:
            return None
        p50, p90, p99, p999 = [self.percentile(each) for each in (0.5, 0.9, 0.99, 0.999)]
        return Spread(self.count, self._least, p50, p90, p99, p999, self._most)

    def coarse(self) -> tuple[list[float], list[int]]:
        """Returns edges in ns (one more than counts) and counts, COARSE per doubling, from the first that is not empty to the
        last; 0 ns counts as 1."""
        counts = self._bins[1:].reshape(-1, PER_OCTAVE // COARSE).sum(axis=1)
        counts[0] += self._bins[0]
        there = np.flatnonzero(counts)
        if not len(there):
            return [], []
        first, last = int(there[0]), int(there[-1])
        return [float(2 ** (n / COARSE)) for n in range(first, last + 2)], counts[first : last + 1].tolist()


class Axis:
    """Time from `start` to `end` (ns) in at most STEPS equal steps."""

    def __init__(self, start: int, end: int, steps: int = STEPS) -> None:
        self.start: Final = start
        self.steps: Final = steps
        self.step: Final = max(1, -(-(max(end, start) - start + 1) // steps))
        """The length of a step in ns."""

    def places(self, times: Any) -> Any:
        """Returns the step of each time; times outside count to the first or last step."""
        return np.clip((times.astype(np.int64) - self.start) // self.step, 0, self.steps - 1)

    def count(self, times: Any) -> Any:
        """Returns how many times fall into each step."""
        return np.bincount(self.places(times), minlength=self.steps)

    def seconds(self) -> list[float]:
        """Returns the end of each step, in seconds since the start."""
        return [self.step * (n + 1) / 1e9 for n in range(self.steps)]


class HeaviestKeys(Generic[Key]):
    """The heaviest of many keys, by two weights (the first decides)."""

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most: Final = most
        self._of: dict[Key, list[int]] = {}
        self.forgot = False
        """Whether there were too many keys, so that weights are lower bounds, and light keys are missing."""

    def add(self, key: Key, weight: int, other: int = 0) -> None:
        """Adds weight to a key."""
        found = self._of.get(key)
        if found is None:
            if len(self._of) >= self._most:
                self._of = {kept: [first, second] for kept, first, second in self.top(self._most // 2)}
                self.forgot = True
            self._of[key] = [weight, other]
        else:
            found[0] += weight
            found[1] += other

    def __len__(self) -> int:
        return len(self._of)

    def __getitem__(self, key: Key) -> int:
        found = self._of.get(key)
        return found[0] if found else 0

    def top(self, number: int | None = None) -> list[tuple[Key, int, int]]:
        """Returns the heaviest (by default all): key and both weights; equal ones by name."""
        order = sorted(self._of.items(), key=lambda item: (-item[1][0], -item[1][1], str(item[0])))
        return [(key, first, second) for key, (first, second) in order[:number]]


def grouped(rows: pa.Table, keys: Sequence[str], *sums: str) -> Iterator[tuple[Any, ...]]:
    """Yields for each value of the columns `keys` the values, how many rows have them, and the sums of other columns."""
    named: Final = [*keys, "count_all", *[f"{name}_sum" for name in sums]]
    for row in rows.group_by(list(keys)).aggregate([([], "count_all"), *[(name, "sum") for name in sums]]).to_pylist():
        yield tuple([row[name] for name in named])


def first(rows: Iterable[dict[str, Any]], number: int, keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Returns the first rows in the order of these columns, nulls first, whatever order they come in."""
    return nsmallest(number, rows, key=lambda row: rank(row, keys))


def rank(row: dict[str, Any], keys: tuple[str, ...]) -> tuple[Any, ...]:
    """Returns the columns of a row as a sort key; "-name" reverses a number; nulls come first (last when reversed)."""
    found: list[Any] = []
    for key in keys:
        value = row[key.removeprefix("-")]
        if key.startswith("-"):
            found.append(0 if value is None else -value)
        else:
            found.append((value is not None, value))
    return tuple(found)
