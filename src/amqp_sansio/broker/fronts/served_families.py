"""The protocol families that a broker serves by default."""

from __future__ import annotations

from typing import Final

from amqp_sansio.broker.fronts.front import Front
from amqp_sansio.broker.fronts.sessions.front import SessionFront

FRONTS: Final[tuple[type[Front], ...]] = (SessionFront,)
"""One front for each family; its `CONNECTION` is the type of connection that it serves."""
