"""A capture file read forward only, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final, TypeAlias

from amqp_sansio.captures.errors import CaptureError

Told: TypeAlias = Callable[[str, int], object]
"""Called with the name of a file and how many octets of it have been read."""
TELL_OCTETS: Final = 1024 * 1024
"""Octets between two such calls."""


class Source:
    """A file read once from start to end.  `name` is its name in messages, `offset` how many octets have been taken.

    `packet` is the number of the packet being read; the readers set it, and errors report it.  `told` is called now and then
    with the progress.
    """

    def __init__(self, name: str, stream: BinaryIO, told: Told | None = None) -> None:
        self.name: Final = name
        self.offset: int = 0
        self.packet: int = 0
        self._read: Final = stream.read
        self._told: Final = told
        self._tell_at: int = TELL_OCTETS

    def take(self, octets: int) -> bytes:
        """Returns the next octets; fewer than asked for only at the end of the file.  Raises CaptureError when it cannot be
        read."""
        try:
            data = self._read(octets)
            if len(data) < octets:
                self._read(1)  # raises what has ended the stream early, where it is damaged
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}") from error
        self.offset += len(data)
        if self._told is not None and self.offset >= self._tell_at:
            self._tell_at = self.offset + TELL_OCTETS
            self._told(self.name, self.offset)
        return data

    def error(self, rule: str, octet: int | None = None) -> CaptureError:
        """Returns an error at this position, or at `octet`."""
        return CaptureError(self.name, self.packet, self.offset if octet is None else octet, rule)
