"""A transfer to a session that is not settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from amqp_sansio.broker.model.entry import Entry


class Unsettled:
    """A transfer to the session that it may still refer to."""

    __slots__ = ("acquired", "entry", "explicit")

    def __init__(self, entry: Entry, acquired: bool, explicit: bool) -> None:
        self.entry: Final = entry
        self.acquired = acquired
        self.explicit: Final = explicit
        """Whether accept, reject or release ends it; else its completion does."""
