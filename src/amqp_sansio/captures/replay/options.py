"""The options of a replay."""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.captures.tables import DEFAULT_TABLES, TABLES

IDLE_HOURS: Final = 24.0
"""Default hours without a packet after which a stream drops the state of a pair of addresses and ports."""
MOST_IDLE_HOURS: Final = 100_000.0
"""The highest value: eleven years."""


@attrs.frozen(kw_only=True)
class ReplayOptions:
    """Settings of a replay.  Connections to the server `ports` always count as AMQP, even from the middle; `broker` names the
    broker (None: address and port).

    `brokers` names single ones, by address and port, so that several addresses of one broker get one name.  `tables` are the
    wanted ones; `body_head` is how many octets of each message's body are kept (0: none); `strict` reports every deviation from
    the specification.  Raises ValueError for an unknown table or a negative number.
    """

    ports: tuple[int, ...] = ()
    broker: str | None = None
    brokers: tuple[tuple[str, str], ...] = ()
    tables: tuple[str, ...] = DEFAULT_TABLES
    body_head: int = 0
    strict: bool = False

    def broker_of(self, server: str) -> str:
        """Returns the name of the broker at an address and port."""
        return dict(self.brokers).get(server, self.broker or server)

    def __attrs_post_init__(self) -> None:
        unknown = [name for name in self.tables if name not in TABLES]
        if unknown:
            raise ValueError(f"no such table: {', '.join(unknown)}; there are {', '.join(TABLES)}")
        if self.body_head < 0:
            raise ValueError(f"{self.body_head} octets of a body cannot be kept")
