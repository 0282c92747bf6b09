"""Rows that wait to be taken, by table: what `Table.said` names, without the common columns; times are ns since 1970 UTC."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from amqp_sansio.captures.json_values import text_of
from amqp_sansio.captures.schema import Table
from amqp_sansio.captures.tables import COMMON, TABLES
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties

Row: TypeAlias = Sequence[object]


def place(table: Table, name: str) -> int:
    """The index of a column in a row (see `Table.said`)."""
    return table.said.index(name) - len(COMMON)


def passed(since: int, time: int) -> int | None:
    """The nanoseconds between; None where the capture's clock went back meanwhile."""
    return time - since if time >= since else None


class Rows:
    """Where rows of one connection collect.

    `messages` are those that have left; `transfers` those of which the row of the command goes out: `columns.messages` makes
    rows of both.  `by_table` holds the rows of all other tables, and of all other commands.
    """

    __slots__ = ("by_table", "commands", "connections", "controls", "credit", "dtx", "frames", "messages", "sessions",
                 "transactions", "transfers", "violations")  # fmt: skip

    def __init__(self) -> None:
        self.messages: Final[list[Message]] = []
        self.transfers: Final[list[Message]] = []
        self.by_table: Final[dict[str, list[Row]]] = {name: [] for name in TABLES if name != "messages"}
        self.connections: Final = self.by_table["connections"]
        self.sessions: Final = self.by_table["sessions"]
        self.commands: Final = self.by_table["commands"]
        self.credit: Final = self.by_table["credit"]
        self.transactions: Final = self.by_table["transactions"]
        self.dtx: Final = self.by_table["dtx"]
        self.violations: Final = self.by_table["violations"]
        self.controls: Final = self.by_table["controls"]
        self.frames: Final = self.by_table["frames"]

    def clear(self) -> None:
        """Drops all of them."""
        self.messages.clear()
        self.transfers.clear()
        for rows in self.by_table.values():
            rows.clear()

    def full(self, rows: int) -> bool:
        """Whether there are `rows` rows of a table that grows with the traffic."""
        return max(len(self.messages), len(self.transfers), len(self.commands), len(self.frames)) >= rows


OPEN: Final = "open"
UNKNOWN: Final = "unknown"
DONE: Final = "completed"
REFUSED: Final = "refused"

Done = tuple[str, int | None, str | None]
COMPLETE: Final[Done] = (DONE, None, None)
"""How a transfer is complete: outcome of its command, error code and text."""


class Kind(NamedTuple):
    """What the transfers of one subscription, or of one publisher to one exchange, have in common."""

    direction: str
    session: str | None
    channel: int
    destination: str | None
    queue: str | None
    explicit: bool
    """An accept is asked for."""
    acquires: bool
    sync: bool
    whole: bool
    octets: int
    """Size of the command segment."""

    @property
    def fleeting(self) -> bool:
        """Nothing need ever settle it: published (some brokers accept, some do not), or looked at without acquiring it."""
        return self.direction == "C" or not self.acquires


class Properties(NamedTuple):
    """What headers say, without the message-id: within a subscription it repeats."""

    exchange: str | None = None
    routing_key: str | None = None
    correlation: str | None = None
    content_type: str | None = None
    priority: int | None = None
    durable: bool | None = None
    redelivered: bool | None = None
    ttl: int | None = None


NOTHING: Final = Properties()
Demarcation = tuple[int | None, str | None]
"""The local transaction and the branch to which a command belongs."""
OUTSIDE: Final[Demarcation] = (None, None)


class Fate:
    """What happens to few messages: rejection, release, accepts that are provisional."""

    __slots__ = ("code", "rejected", "released", "text", "transaction", "xid")

    def __init__(self) -> None:
        self.rejected: int | None = None
        self.released: int | None = None
        self.code: int | None = None
        self.text: str | None = None
        self.transaction: int | None = None
        self.xid: str | None = None


class Message:
    """A transfer: times in ns since 1970 UTC, filled in as events come; it leaves when nothing more is awaited.

    `first` is its first octet, `content` the first of its header or body, `last` the last; `id_octets` the message-id;
    `packet` the number of its last packet and `start` its offset in the stream.
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
        """When its recipient said that it is complete; None also where that is not known."""
        self.settled: int | None = None
        self.outcome: str | None = None
        self.fate: Fate | None = None
        self.done: Done | None = None
        """How it was complete; None: not yet."""
        self.out = False
        """It has left."""

    @property
    def doubtful(self) -> bool:
        """Whether somebody may have lost it, if nothing more comes: published and not complete, acquired and not settled."""
        if self.out or self.outcome is not None:
            return False
        return self.done is None if self.kind.direction == "C" else self.acquired is not None

    def conclude(self, rows: Rows, done: Done) -> None:
        """Nobody will say any more that it is complete: the row of its command goes out."""
        self.done = done
        rows.transfers.append(self)

    def settle(self, how: str, time: int) -> None:
        """Its fate is sealed."""
        self.settled = time
        self.outcome = how

    def fated(self) -> Fate:
        """Its fate, where something is to be noted."""
        if self.fate is None:
            self.fate = Fate()
        return self.fate

    def leave(self, rows: Rows) -> None:
        """It goes out as it stands."""
        if not self.out:
            self.out = True
            rows.messages.append(self)


Read = tuple[Properties, bytes | None]
"""The properties, and the 16 octets of the message-id."""


def properties_of(structs: Iterable[Struct]) -> Read:
    """What the structs of a header say; of several of one kind the last counts."""
    delivery = NOTHING
    correlation = content_type = id_octets = None
    for each in structs:
        if isinstance(each, DeliveryProperties):
            durable = each.delivery_mode == 2
            delivery = Properties(
                each.exchange, each.routing_key, None, None, each.priority, durable, each.redelivered, each.ttl
            )
        elif isinstance(each, MessageProperties):
            id = each.message_id
            correlation, content_type = text_of(each.correlation_id), each.content_type
            id_octets = None if id is None else id.bytes
    exchange, key, _, _, priority, durable_, redelivered, ttl = delivery
    return Properties(exchange, key, correlation, content_type, priority, durable_, redelivered, ttl), id_octets
