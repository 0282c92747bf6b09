"""How many sessions of each identity outlive their connections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.fronts.sessions.holder import Key


class Kept:
    """Counts them by virtual host and identity, up to `most` of each (BrokerLimits.kept_sessions)."""

    __slots__ = ("_counts", "_most")

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._counts: Final[dict[tuple[str, str], int]] = {}

    def has_room(self, key: Key) -> bool:
        """Whether one more session of that identity may outlive its connection."""
        return self._counts.get(key[:2], 0) < self._most

    def begins(self, key: Key) -> None:
        """A session that outlives its connection begins, whether there is room or not."""
        whose = key[:2]
        self._counts[whose] = self._counts.get(whose, 0) + 1

    def ends(self, key: Key) -> None:
        """Such a session is over."""
        whose = key[:2]
        self._counts[whose] -= 1
        if not self._counts[whose]:
            del self._counts[whose]
