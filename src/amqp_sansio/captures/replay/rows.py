"""Rows that wait to be taken, by table: the columns of `Table.said` without the common ones; times are ns since 1970 UTC."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

import attrs

from amqp_sansio.captures.json_values import text_of
from amqp_sansio.captures.schema import Table
from amqp_sansio.captures.tables import COMMON, TABLES
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties

Row: TypeAlias = Sequence[object]


def place(table: Table, name: str) -> int:
    """Returns the index of a column in a row (see `Table.said`)."""
    return table.said.index(name) - len(COMMON)


def passed(since: int, time: int) -> int | None:
    """Returns the nanoseconds between two times; None where the capture's clock went back meanwhile."""
    return time - since if time >= since else None


class Rows:
    """Collects the rows of one connection.

    `messages` are those that are finished; `transfers` those whose command's row is due: `columns.messages` makes rows of both.
    `by_table` holds the rows of all other tables, and of all other commands.
    """

    __slots__ = ("by_table", "commands", "messages", "transfers")

    def __init__(self) -> None:
        self.messages: Final[list[Message]] = []
        self.transfers: Final[list[Message]] = []
        self.by_table: Final[dict[str, list[Row]]] = {name: [] for name in TABLES if name != "messages"}
        self.commands: Final = self.by_table["commands"]

    def clear(self) -> None:
        """Drops all rows."""
        self.messages.clear()
        self.transfers.clear()
        for rows in self.by_table.values():
            rows.clear()

    def full(self, rows: int) -> bool:
        """Whether a table that grows with the traffic has at least `rows` rows."""
        return max(len(self.messages), len(self.transfers), len(self.commands), len(self.by_table["frames"])) >= rows


UNKNOWN: Final = "unknown"
DONE: Final = "completed"
REFUSED: Final = "refused"

# Not of a fixed length: those the compiled build copies for each message, and columns look for the same object.
Done: TypeAlias = tuple[str | int | None, ...]
"""How a transfer is complete: outcome of its command, error code and text."""
COMPLETE: Final[Done] = (DONE, None, None)


class Kind(NamedTuple):
    """The common properties of the transfers of one subscription, or of one publisher to one exchange."""

    direction: str
    session: str | None
    channel: int
    destination: str | None
    queue: str | None
    explicit: bool
    """Whether an accept is requested."""
    acquires: bool
    sync: bool
    whole: bool
    octets: int
    """Size of the command segment."""

    @property
    def fleeting(self) -> bool:
        """Whether it need never be settled: it was published (only some brokers accept), or browsed without acquiring."""
        return self.direction == "C" or not self.acquires


class Properties(NamedTuple):
    """The contents of headers without the message-id; they repeat within a subscription."""

    exchange: str | None = None
    routing_key: str | None = None
    correlation: str | None = None
    content_type: str | None = None
    priority: int | None = None
    durable: bool | None = None
    redelivered: bool | None = None
    ttl: int | None = None


NOTHING: Final = Properties()
Demarcation: TypeAlias = tuple[int | str | None, ...]  # as Done
"""The local transaction and the branch of a command."""
OUTSIDE: Final[Demarcation] = (None, None)


@attrs.define(eq=False)
class Fate:
    """The rarer events of a message: rejection, release, provisional accepts."""

    rejected: int | None = None
    released: int | None = None
    code: int | None = None
    text: str | None = None
    transaction: int | None = None
    xid: str | None = None


class Message:
    """A transfer, updated as events come (times in ns since 1970 UTC), and written when nothing more is awaited.

    `first` is the time of its first octet, `content` of the first of its header or body, `last` of the last; `id_octets` the
    message-id; `packet` the number of its last packet and `start` its offset in the stream.
    """

    __slots__ = (
        "accepted", "acquired", "body", "completed", "content", "demarcation", "done", "fate", "first", "head", "header", "id",
        "id_octets", "kind", "last", "out", "outcome", "packet", "properties", "settled", "start",
    )  # fmt: skip

    def __init__(
        self,
        kind: Kind,
        properties: Properties,
        id_octets: bytes | None,
        id: int | None,
        header: int,
        body: int,
        first: int,
        content: int | None,
        last: int,
        acquired: int | None,
        start: int,
        packet: int,
        demarcation: Demarcation = OUTSIDE,
        head: bytes | None = None,
    ) -> None:
        self.kind: Final = kind
        self.properties: Final = properties
        self.id_octets: Final = id_octets
        self.id: Final = id
        self.header: Final = header
        self.body: Final = body
        self.first: Final = first
        self.content: Final = content
        self.last: Final = last
        self.acquired = acquired
        self.start: Final = start
        self.packet: Final = packet
        self.demarcation: Final = demarcation
        self.head: Final = head
        self.accepted: int | None = None
        self.completed: int | None = None
        """When its recipient completed it; None also where that is unknown."""
        self.settled: int | None = None
        self.outcome: str | None = None
        self.fate: Fate | None = None
        self.done: Done | None = None
        """How it was completed; None: not yet."""
        self.out = False
        """Whether it was written."""

    @property
    def doubtful(self) -> bool:
        """Whether it may be lost if nothing more comes: published and incomplete, or acquired and unsettled."""
        if self.out or self.outcome is not None:
            return False
        return self.done is None if self.kind.direction == "C" else self.acquired is not None

    def conclude(self, rows: Rows, done: Done) -> None:
        """Writes the row of its command: its completion is known, or never will be."""
        self.done = done
        rows.transfers.append(self)

    def settle(self, how: str, time: int) -> None:
        """Settles it."""
        self.settled = time
        self.outcome = how

    def fated(self) -> Fate:
        """Returns its fate, created on first use."""
        if self.fate is None:
            self.fate = Fate()
        return self.fate

    def leave(self, rows: Rows) -> None:
        """Writes it as it is."""
        if not self.out:
            self.out = True
            rows.messages.append(self)


Read = tuple[Properties, bytes | None]
"""The properties, and the 16 octets of the message-id."""


def properties_of(structs: Iterable[Struct]) -> Read:
    """Returns the properties in the structs of a header; the last of each kind counts."""
    delivery = correlation = content_type = id_octets = None
    for each in structs:
        if isinstance(each, DeliveryProperties):
            delivery = each
        elif isinstance(each, MessageProperties):
            id = each.message_id
            correlation, content_type = text_of(each.correlation_id), each.content_type
            id_octets = None if id is None else id.bytes
    if delivery is None:
        return Properties(None, None, correlation, content_type), id_octets
    exchange, key, durable = delivery.exchange, delivery.routing_key, delivery.delivery_mode == 2
    more = delivery.priority, durable, delivery.redelivered, delivery.ttl
    return Properties(exchange, key, correlation, content_type, *more), id_octets
