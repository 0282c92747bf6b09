"""Reads a capture file, or a split of one: in stretches, some megabytes of octets with their records and any fault after them;
or packet by packet, also from a pipe that is still being written to.

Files are mapped into memory; compressed files, and those that cannot be mapped, are read through a window.  After damage,
reading goes on where records are found again.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from mmap import ACCESS_READ, mmap
from typing import BinaryIO, Final, NamedTuple, TypeAlias

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.files import is_remote
from amqp_sansio.captures.pcap import HEADER_OCTETS, MAGICS, RECORD_OCTETS, pcap_walk
from amqp_sansio.captures.pcapng import MAGIC, MAX_BLOCK_OCTETS, PcapngWalk
from amqp_sansio.captures.source import no_capture, open_capture
from amqp_sansio.captures.walk import CHAIN_REACH, ENDS, Octets, Packet, Walk, Warn

STRETCH_OCTETS: Final = 4 * 1024 * 1024
"""Octets of the file in one stretch, not counting the last record."""
WINDOW_OCTETS: Final = 2 * STRETCH_OCTETS
"""Octets of a stream that are read ahead; more only for a record that does not fit."""
PART_OCTETS: Final = 64 * 1024
"""The most octets of one read, after which those of a live stream are handed on."""
LEAST_OCTETS: Final = HEADER_OCTETS + RECORD_OCTETS
"""Octets of a live stream to wait for: fewer hold no packet, and the walk of a pcap file needs its first record."""
SEARCH_OCTETS: Final = CHAIN_REACH + MAX_BLOCK_OCTETS + STRETCH_OCTETS
"""Octets of a stream that are read ahead after damage, to find the next record."""


class Stretch(NamedTuple):
    """Packet records at `positions` of `octets`, whose first octet is at offset `base` of the file.

    `problem` is the fault after them with its offset in the file; reading continues at `next` in the file, with `after`.
    """

    octets: Octets
    base: int
    walk: Walk
    positions: list[int]
    next: int
    after: Walk
    problem: tuple[int, str] | None = None


def _nothing(problem: tuple[int, str]) -> Stretch:
    return Stretch(b"", 0, PcapngWalk(), [], 0, PcapngWalk(), problem)


def mapped(path: str) -> mmap | None:
    """Maps the file into memory; None when it cannot be mapped (a pipe, an empty file, a URI).  Raises CaptureError if it
    cannot be opened."""
    if is_remote(path):
        return None
    try:
        if stat.S_ISFIFO(os.stat(path).st_mode):
            return None  # not even opened: the writer of a pipe would lose its reader
        with open(path, "rb") as stream:
            return mmap(stream.fileno(), 0, access=ACCESS_READ)
    except ValueError as error:
        if "\0" in path:
            raise CaptureError(path, 0, 0, f"cannot be opened: {error}") from error
        return None
    except OSError as error:
        if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError):
            raise CaptureError(path, 0, 0, f"cannot be opened: {error.strerror}") from error
        return None


def beginning(octets: Octets, end: int) -> tuple[Walk, int]:
    """Returns the walk for a file that starts with these octets, and where it begins.  Raises ValueError, with the reason, for
    no capture."""
    magic = bytes(octets[:4])
    if magic == MAGIC:
        return PcapngWalk(), 0
    if magic not in MAGICS:
        raise ValueError(no_capture(magic))
    walk, problem = pcap_walk(octets, end)
    if walk is None:
        raise ValueError(problem)
    return walk, HEADER_OCTETS


def over_map(octets: mmap, walk: Walk, at: int, stop: int) -> Iterator[Stretch]:
    """Yields the stretches from the record at `at` to the first one that starts at `stop` or after it."""
    end = len(octets)
    while at < stop:
        run = walk.run(octets, at, min(stop, at + STRETCH_OCTETS), end, True)
        after = walk if run.changed is None else run.changed
        problem = None
        following = run.next
        if run.problem is not None:
            problem = (run.next, run.problem)
            if run.resume is not None:
                following = run.resume
            else:
                found = after.find(octets, run.next + 1, end, True)
                following = end if found is None else found
        yield Stretch(octets, 0, walk, run.positions, following, after, problem)
        at, walk = following, after


def over_stream(stream: BinaryIO, live: bool = False) -> Iterator[Stretch]:
    """Yields the stretches of a whole file, read once from its start; if it is not a capture, only a problem.

    `live`: records are not held back until a stretch is full, because a program may still write them.
    """
    window = _Window(stream, live)
    window.fill(WINDOW_OCTETS)
    try:
        walk, at = beginning(window.octets, len(window.octets))
    except ValueError as error:
        yield _nothing(window.trouble or (0, str(error)))
        return
    while True:
        final = window.final
        end = len(window.octets)
        run = walk.run(window.octets, at, min(end, at + STRETCH_OCTETS), end, final)
        after = walk if run.changed is None else run.changed
        problem, following = None, run.next
        if run.problem is not None:
            problem = (window.base + run.next, run.problem)
            following = run.resume if run.resume is not None else run.next + 1
        ended = final and window.trouble is not None and (run.problem is not None or run.next >= end)
        yield Stretch(
            window.octets, window.base, walk, run.positions, window.base + following, after, None if ended else problem
        )
        if ended:  # the stream broke here: report that, not the record that it cut
            yield Stretch(b"", 0, after, [], window.base + end, after, window.trouble)
            return
        if run.over:
            return
        walk, at = after, following
        if run.problem is not None and run.resume is None:
            window.drop(at)
            at = window.search(walk)
        if final and at >= len(window.octets):
            return
        if run.more or at >= len(window.octets) - (0 if live else STRETCH_OCTETS):
            window.drop(at)
            at = 0
            window.fill(max(WINDOW_OCTETS, 2 * len(window.octets)) if run.more and not run.positions else WINDOW_OCTETS)


class _Window:
    """A window of a stream: `octets`, the first of which is at offset `base`.  `trouble` is the error that ended it early."""

    def __init__(self, stream: BinaryIO, live: bool) -> None:
        self.octets = b""
        self.base = 0
        self.final = False
        self.trouble: tuple[int, str] | None = None
        self._live: Final = live
        self._read: Final[Callable[[int], bytes]] = getattr(stream, "read1", stream.read) if live else stream.read

    def fill(self, octets: int) -> None:
        """Reads until there are `octets` octets, or the stream ends; of a live one, what is there, LEAST_OCTETS at least."""
        parts, length = [self.octets], len(self.octets)
        while length < octets and not self.final:
            try:
                part = self._read(min(octets - length, PART_OCTETS))
            except OSError as error:
                self.trouble = (self.base + length, f"cannot be read: {error.strerror or error}")
                part = b""
            if not part:
                self.final = True
            parts.append(part)
            length += len(part)
            if self._live and length >= LEAST_OCTETS:
                break
        if len(parts) > 1:
            self.octets = b"".join(parts)

    def drop(self, octets: int) -> None:
        """Drops the first `octets` octets."""
        self.octets = self.octets[octets:]
        self.base += octets

    def search(self, walk: Walk) -> int:
        """Returns where the next record starts in the window, reading on as needed; the window's end when there is none."""
        while True:
            self.fill(SEARCH_OCTETS)
            end = len(self.octets)
            found = walk.find(self.octets, 0, end, self.final)
            # Starts within the first octets have been tried against all that they could need.
            if found is not None and (self.final or found < STRETCH_OCTETS):
                return found
            if self.final:
                return end
            self.drop(STRETCH_OCTETS)


def over_file(path: str) -> Iterator[Stretch]:
    """Yields the stretches of a whole file of any kind; for one that cannot be opened, or is not a capture, only a problem."""
    try:
        octets = mapped(path)
        if octets is not None:
            walk, at = beginning(octets, len(octets))
            yield from over_map(octets, walk, at, len(octets))
            return
    except CaptureError as error:
        yield _nothing((0, error.rule))
        return
    except ValueError:  # compressed, or no capture: reading it as a stream tells
        pass
    try:
        stream = open_capture(path)
    except CaptureError as error:
        yield _nothing((0, error.rule))
        return
    with stream:
        yield from over_stream(stream)


Told: TypeAlias = Callable[[str, int], object]
"""Called with the name of a file and how many octets of it have been read."""
TELL_OCTETS: Final = 1024 * 1024
"""The fewest octets between two such calls."""


def read_packets(path: str, warn: Warn, told: Told | None = None) -> Iterator[Packet]:
    """Yields the packets of the pcap or pcapng file at `path`, compressed or not, in file order, in constant memory.

    Raises CaptureError when it cannot be opened or read, is empty, is not a capture, or is damaged, after the packets before
    the fault.  `warn` is called for what does not stop the reading, such as a truncated last record; `told` with the progress.
    """
    number = reached = 0
    truncated: tuple[int, str] | None = None
    in_blocks = False  # it is a pcapng file
    with open_capture(path) as stream:
        for octets, base, walk, positions, following, _, problem in over_stream(stream, live=True):
            if truncated is not None:
                units = "blocks" if in_blocks else "records"
                raise CaptureError(path, number + 1, truncated[0], f"{truncated[1]}, and other {units} begin within them")
            in_blocks = isinstance(walk, PcapngWalk)
            for at in positions:
                number += 1
                try:
                    packet = walk.packet(octets, at, number, base + at)
                except ValueError as error:
                    raise CaptureError(path, number, base + at, str(error)) from None
                yield packet
            if told is not None and following - reached >= TELL_OCTETS:
                reached = following
                told(path, reached)
            if problem is not None:
                octet, text = problem
                if not octet and text.startswith(ENDS):
                    raise CaptureError(path, 0, 0, f"{ENDS} its first section header")
                if not text.startswith(ENDS):
                    raise CaptureError(path, number + bool(octet), octet, text)
                truncated = problem
    if truncated is not None:
        where = f"after packet {number}" if in_blocks else f"packet {number + 1}"
        warn(f"{where}, octet {truncated[0]}: {truncated[1]}")
