"""Splits of large capture files: parts that can be read independently, each ending exactly where the next one starts.

There are two ways to find them.  The index visits every record header of the file; it is exact and takes a second for some two
gigabytes.  Resynchronisation searches for the next record at each place where a split should begin, in milliseconds for any
file; it is verified when the split before has been read, which must end there.

A split has the latest time before it, so that a clock that steps back keeps file order across the borders.
"""

from __future__ import annotations

from collections.abc import Iterator
from mmap import mmap
from typing import Final, NamedTuple

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import is_remote, size_of
from amqp_sansio.captures.reader import Stretch, beginning, mapped, over_file, over_map
from amqp_sansio.captures.walk import NO_TIME, Walk

SPLIT_OCTETS: Final = 32 * 1024 * 1024
"""Default octets of a split."""
LEAST_SPLIT_OCTETS: Final = 4096
"""The smallest size of a split."""

INDEX: Final = "read it with an exact index (resync off)"
"""The remedy for a SplitError, which ends its text."""


class SplitError(CaptureError):
    """A split does not end where the next one starts: resynchronisation was misled, or the file has changed; or the clock goes
    back there, so that the next one does not know the latest time.

    What was read after that place must not be used; with an exact index (`resync` off) the file is read correctly.  `octet` and
    `walk` are where and how the split ended.
    """

    def __init__(self, file: str, octet: int, rule: str, walk: Walk) -> None:
        super().__init__(file, 0, octet, rule)
        self.walk: Final = walk
        self.before = 0
        """Time of the last packet before it, ns since 1970 UTC, for a reader that continues there."""
        self.latest = NO_TIME
        """The latest time of all packets before it."""

    def __reduce__(self) -> tuple[type[SplitError], tuple[str, int, str, Walk]]:
        return type(self), (self.file, self.octet, self.rule, self.walk)


class Split(NamedTuple):
    """Part of a file: the records that start at or after `start` and before `stop`.

    `walk` is how to read them (None: determined at the file's start); the next split continues at `stop` with `following`, None
    for the last one.  `before` is the time of the packet before it, in case the first record is damaged; `latest` the latest
    time of all packets before it, as far as known: of all with the index, else of the first packet of each split.  There
    `reached` is the one that the next split counts on: a later time in this one is an error.

    Plain values, because it is sent to its reader.
    """

    path: str
    file_id: int
    start: int = 0
    walk: Walk | None = None
    stop: int | None = None
    following: Walk | None = None
    before: int = 0
    latest: int = NO_TIME
    reached: int | None = None

    def landed(self, at: int, walk: Walk) -> None:
        """Checks where and how reading has ended.  Raises SplitError when the next split does not start there."""
        if self.stop is not None and (at != self.stop or walk != self.following):
            how = f"ends at octet {at}" if at != self.stop else "ends with other interfaces"
            text = f"the split from octet {self.start} on {how} where the next one starts at {self.stop}"
            raise SplitError(self.path, at, f"{text}: {INDEX}", walk)

    def passed(self, latest: int) -> None:
        """Checks the latest time up to its end.  Raises SplitError when the next split knows only an earlier one."""
        if self.reached is not None and latest > self.reached:
            assert self.stop is not None
            assert self.following is not None
            text = f"the split from octet {self.start} on has later times than the next one begins with"
            raise SplitError(self.path, self.stop, f"{text}: {INDEX}", self.following)


def splits(path: str, file_id: int, octets: int = SPLIT_OCTETS, resync: bool = False) -> list[Split]:
    """Returns the splits of a file, each of about `octets` octets.

    With `resync` they are found without reading the file.  A compressed, small or unreadable file is one split; its reader
    reports the fault.
    """
    whole = [Split(path, file_id)]
    if is_remote(path) or size_of(path) <= octets:  # not opened: there may be very many
        return whole
    try:
        mapping = mapped(path)
        if mapping is None or len(mapping) <= octets:
            return whole
        walk, at = beginning(mapping, len(mapping))
    except (CaptureError, ValueError):
        return whole
    return _found(mapping, octets, resync, whole[0], at, walk)


def over_split(split: Split) -> Iterator[Stretch]:
    """Yields the stretches of a split.  Raises SplitError after the last one when the next split does not start where they end.

    Raises CaptureError when the file cannot be opened any more, or has become shorter than the split.
    """
    if split.walk is None and split.stop is None:
        yield from over_file(split.path)
        return
    mapping = mapped(split.path)
    size = 0 if mapping is None else len(mapping)
    if mapping is None or size <= split.start or (split.stop is not None and split.stop > size):
        raise CaptureError(split.path, 0, size, f"the file has {size} octets; it had more when its splits were made")
    walk, at = split.walk, split.start
    if walk is None:
        try:
            walk, at = beginning(mapping, size)
        except ValueError as error:
            raise CaptureError(split.path, 0, 0, str(error)) from error
    for stretch in over_map(mapping, walk, at, size if split.stop is None else split.stop):
        yield stretch
        at, walk = stretch.next, stretch.after
    split.landed(at, walk)


def reindexed(split: Split, error: SplitError, octets: int = SPLIT_OCTETS) -> list[Split]:
    """Returns splits for the rest of the file after `split`, whose reading ended with `error`, by an exact index."""
    at, walk = error.octet, error.walk
    mapping = mapped(split.path)
    if mapping is None or at >= len(mapping):
        return []
    rest = split._replace(start=at, walk=walk, before=error.before, latest=error.latest)
    return _found(mapping, octets, False, rest, at, walk)


def _found(mapping: mmap, octets: int, resync: bool, first: Split, at: int, walk: Walk) -> list[Split]:
    end = len(mapping)
    found = [first._replace(stop=None, following=None)]
    octets = max(octets, LEAST_SPLIT_OCTETS)
    peak = first.latest
    if resync:
        walk, packets = _settled(mapping, at, walk)
        peak = _later(peak, mapping, walk, packets)
    border = (at // octets + 1) * octets
    while border < end:
        if resync:
            place = walk.find(mapping, border, end, True)
            if place is None:
                break
            at = place
        else:
            stop: int | None = border
            while stop is not None:
                for stretch in over_map(mapping, walk, at, stop):
                    peak = _later(peak, mapping, stretch.walk, stretch.positions)
                    at, walk = stretch.next, stretch.after
                # A damaged record belongs to the split before it: every split but the first begins with a good one.
                probe = walk.run(mapping, at, at + 1, end, True)
                stop = None if probe.problem is None or at >= end else probe.next + 1
            if at >= end:
                break
        found[-1] = found[-1]._replace(stop=at, following=walk)
        split = Split(first.path, first.file_id, at, walk, latest=peak)
        if resync:
            peak = _later(peak, mapping, walk, walk.run(mapping, at, at + 1, end, True).positions)
            found[-1] = found[-1]._replace(reached=peak)
        found.append(split)
        border = (at // octets + 1) * octets
    return found


def _later(peak: int, mapping: mmap, walk: Walk, positions: list[int]) -> int:
    """Returns the latest time up to and including these packets."""
    from amqp_sansio.captures.columns.heads import records

    return int(records(mapping, walk, positions, peak).latest[-1]) if positions else peak


def _settled(mapping: mmap, at: int, walk: Walk) -> tuple[Walk, list[int]]:
    """Returns the walk after the first packet of a file, and the position of that packet."""
    for stretch in over_map(mapping, walk, at, len(mapping)):
        if stretch.positions:
            return stretch.walk, stretch.positions[:1]
        walk = stretch.after
    return walk, []
