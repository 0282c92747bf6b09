"""The octets of a capture file, read forward only, so that memory does not grow with the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import BinaryIO, Final, TypeAlias

from amqp_sansio.captures.errors import CaptureError

Told: TypeAlias = Callable[[str, int], object]
"""Hears the name of a file and how many octets of it are read."""
TELL_OCTETS: Final = 1024 * 1024
"""Octets between two calls of it."""


class Source:
    """A file read once from start to end.  `name` is how messages call it, `offset` how many octets have been taken.

    `packet` is the number of the packet that is being read; the readers set it, and errors name it.
    `told` hears now and then how far it is.
    """

    def __init__(self, name: str, stream: BinaryIO, told: Told | None = None) -> None:
        self.name: Final = name
        self.offset: int = 0
        self.packet: int = 0
        self._read: Final = stream.read
        self._told: Final = told
        self._tell_at: int = TELL_OCTETS

    def take(self, octets: int) -> bytes:
        """The next octets: fewer than asked for only at the end of the file.  CaptureError when it cannot be read."""
        try:
            data = self._read(octets)
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror or error}") from error
        self.offset += len(data)
        if self._told is not None and self.offset >= self._tell_at:
            self._tell_at = self.offset + TELL_OCTETS
            self._told(self.name, self.offset)
        return data

    def error(self, rule: str, octet: int | None = None) -> CaptureError:
        """An error at this place, or at `octet`."""
        return CaptureError(self.name, self.packet, self.offset if octet is None else octet, rule)
