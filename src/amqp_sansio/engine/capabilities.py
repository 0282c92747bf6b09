"""The capabilities of both sides of a connection: what each supports beyond its version (0-8 to 0-9-1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

KEY: Final = "capabilities"
"""The key of the table of capabilities (booleans) in client-properties and server-properties."""


class Capabilities(NamedTuple):
    """The capabilities of each side, by name; empty until the side has announced them."""

    client: frozenset[str] = frozenset()
    server: frozenset[str] = frozenset()

    def of(self, role: str) -> frozenset[str]:
        """Returns the capabilities of one side, "client" or "server"."""
        return self.client if role == "client" else self.server

    def __repr__(self) -> str:
        return f"Capabilities(client={sorted(self.client)}, server={sorted(self.server)})"


def capabilities_of(properties: Mapping[str, object] | None) -> frozenset[str]:
    """Returns the capabilities that a side announces in its properties."""
    told = (properties or {}).get(KEY)
    return frozenset([str(name) for name, value in told.items() if value]) if isinstance(told, Mapping) else frozenset()
