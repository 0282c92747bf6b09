"""The options of a replay."""

from __future__ import annotations

from typing import Final

import attrs

from amqp_sansio.captures.tables import DEFAULT_TABLES, TABLES

IDLE_HOURS: Final = 24.0
"""Hours without a packet after which the state of a pair of addresses and ports expires in a stream, unless said otherwise."""
MOST_IDLE_HOURS: Final = 100_000.0
"""The highest value: eleven years."""


@attrs.frozen(kw_only=True)
class ReplayOptions:
    """`ports` are server ports that count in any case, also from the middle; `broker` is its name (None: address and port).
    `brokers` names single ones, by address and port: several addresses of one broker get one name.

    `tables` are those wanted; `body_head` is how many octets of each message's body are kept (0: none); `strict` reports every
    departure from the letter.  ValueError for a table that is none, and for a negative number.
    """

    ports: tuple[int, ...] = ()
    broker: str | None = None
    brokers: tuple[tuple[str, str], ...] = ()
    tables: tuple[str, ...] = DEFAULT_TABLES
    body_head: int = 0
    strict: bool = False

    def broker_of(self, server: str) -> str:
        """What the broker at an address and port is called."""
        return dict(self.brokers).get(server, self.broker or server)

    def __attrs_post_init__(self) -> None:
        unknown = [name for name in self.tables if name not in TABLES]
        if unknown:
            raise ValueError(f"no such table: {', '.join(unknown)}; there are {', '.join(TABLES)}")
        if self.body_head < 0:
            raise ValueError(f"{self.body_head} octets of a body cannot be kept")
