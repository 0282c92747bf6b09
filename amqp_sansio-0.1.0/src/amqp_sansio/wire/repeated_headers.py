"""Headers of many commands that are alike: a third person needs their fields and the lengths of the bodies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Generic, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.base import Struct
from amqp_sansio.wire.headers import decode_headers, masked
from amqp_sansio.wire.reading import Reading

T = TypeVar("T")

REMEMBERED: Final = 1024
"""Headers remembered by what they have in common with others."""
REMEMBERED_OCTETS: Final = 512
"""Octets of a header that may be remembered."""


Sift: TypeAlias = Callable[[tuple[Struct, ...]], tuple[T, bytes | None]]
"""What is wanted of the structs of a header, and the message-id; times and lengths are not to be looked at."""


class Headers(Generic[T]):
    """Reads headers; those that differ in message-id, times and content-length only are read once."""

    __slots__ = ("_last", "_reading", "_remembered", "sift")

    def __init__(self, reading: Reading, sift: Sift[T]) -> None:
        self._reading: Final = reading
        self.sift: Final = sift
        self._remembered: dict[bytes, tuple[T, bytes | None]] = {}
        self._last: tuple[int, int, bytes, int, bytes, T] | None = None
        """Of the last one that was read: its size, where what may differ begins, what stands before, where its message-id
        stands, what stands behind, what it says."""

    def read(self, header: bytes) -> tuple[T, bytes | None] | None:
        """What `sift` says of such a header, and its message-id; None when it cannot be read."""
        last = self._last
        if last is not None:  # nearly always the one before differs in nothing else
            size, begin, before, low, behind, said = last
            if len(header) == size and header[:begin] == before and header[low + 16 :] == behind:
                return said, header[low : low + 16]
        key, id, begin, low = masked(header)
        found = self._remembered.get(key)
        if found is None:
            try:
                found = self.sift(decode_headers(header, 0, len(header), self._reading))
            except DecodeError:
                return None
            if len(key) <= REMEMBERED_OCTETS:
                if len(self._remembered) >= REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = found
        if id is None:
            return found
        if begin:
            self._last = len(header), begin, header[:begin], low, header[low + 16 :], found[0]
        return found[0], id
