"""Headers of messages without properties: they say where the message goes and no more."""

from __future__ import annotations

from typing import Final

from amqp_sansio.wire.layouts.properties import write_properties

HEADERS: Final = 64
"""Headers that a session remembers by their routing keys."""


class PlainHeaders:
    """Makes each of them once, as long as there are not too many (`HEADERS`)."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: Final[dict[str | None, bytes]] = {}

    def __len__(self) -> int:
        return len(self._made)

    def of(self, routing_key: str | None) -> bytes:
        """The header for a routing key.  EncodeError for what is none."""
        try:
            header = self._made.get(routing_key)
        except TypeError:  # what cannot be hashed is no routing key: the encoder says so
            header = None
        if header is None:
            header = write_properties(routing_key=routing_key)
            if len(self._made) >= HEADERS:
                self._made.clear()
            self._made[routing_key] = header
        return header
