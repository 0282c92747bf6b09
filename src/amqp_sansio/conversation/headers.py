"""Header segments of messages without properties, which contain only the routing key."""

from __future__ import annotations

from typing import Final

from amqp_sansio.wire.layouts.properties import write_properties

HEADERS: Final = 64
"""The most headers cached per session."""


class PlainHeaders:
    """Caches such headers by routing key, at most `HEADERS`."""

    __slots__ = ("_made",)

    def __init__(self) -> None:
        self._made: Final[dict[str | None, bytes]] = {}

    def __len__(self) -> int:
        return len(self._made)

    def of(self, routing_key: str | None) -> bytes:
        """Returns the header for a routing key.  Raises EncodeError for an invalid key."""
        try:
            header = self._made.get(routing_key)
        except TypeError:  # an unhashable value is no routing key; the encoder raises for it
            header = None
        if header is None:
            header = write_properties(routing_key=routing_key)
            if len(self._made) >= HEADERS:
                self._made.clear()
            self._made[routing_key] = header
        return header
