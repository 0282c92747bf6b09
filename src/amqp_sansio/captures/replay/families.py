"""The classes that write the rows of each family of dialects; the only module that knows them all."""

from __future__ import annotations

from typing import Final

from amqp_sansio.captures.replay.history import History
from amqp_sansio.captures.replay.sessions import Sessions

HISTORIES: Final[dict[str, type[History]]] = {"sessions": Sessions}
"""By the name of the family (`Checker.FAMILY`).  A family without an entry gets the rows common to all."""
