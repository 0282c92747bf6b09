"""Reads any capture file packet by packet, also one that is still being written to a pipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from amqp_sansio.captures.errors import CaptureError
from amqp_sansio.captures.file_chunks import over_stream
from amqp_sansio.captures.packet import Packet, Warn
from amqp_sansio.captures.pcapng import PcapngWalk
from amqp_sansio.captures.source import open_capture
from amqp_sansio.captures.walk import ENDS

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
