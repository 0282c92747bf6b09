"""The capabilities that the two sides of a connection announced beyond their version (RabbitMQ's extension)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Final

from amqp_sansio.kernel.value import Value

KEY: Final = "capabilities"
"""The key of the table of capabilities (booleans) in client-properties and server-properties."""


class Capabilities(Value):
    """The capabilities of each side, by name; empty until the side has announced them."""

    __slots__ = ("client", "server")
    FIELDS: ClassVar[tuple[str, ...]] = ("client", "server")
    __match_args__ = ("client", "server")

    def __init__(self, client: frozenset[str] = frozenset(), server: frozenset[str] = frozenset()) -> None:
        self.client: Final = client
        self.server: Final = server

    def of(self, role: str) -> frozenset[str]:
        """Returns the capabilities of one side, "client" or "server"."""
        return self.client if role == "client" else self.server

    def __repr__(self) -> str:
        return f"Capabilities(client={sorted(self.client)}, server={sorted(self.server)})"


def capabilities_of(properties: Mapping[str, object] | None) -> frozenset[str]:
    """Returns the capabilities that a side announces in its properties."""
    told = (properties or {}).get(KEY)
    return frozenset([str(name) for name, value in told.items() if value]) if isinstance(told, Mapping) else frozenset()
