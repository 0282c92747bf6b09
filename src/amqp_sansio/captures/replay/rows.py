"""The rows of a connection: those that wait to be taken, by table, and the open ones of each side of a session.

A row has the columns of `TableSchema.said` without the common ones; times are ns since 1970 UTC.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from functools import cache
from json.encoder import encode_basestring
from typing import Final, NamedTuple, TypeAlias

import attrs

from amqp_sansio.captures.json_values import compact, plain, struct
from amqp_sansio.captures.tables import COMMANDS, COMMON, TABLES, TableSchema
from amqp_sansio.kernel.serials import ById, MutableRangeSet, RangeSet
from amqp_sansio.kernel.value import ValueObject
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.spec.values import UnknownStruct

RowValues: TypeAlias = Sequence[object]


PLACE_BITS: Final = 48
"""Bits of the offset in a packet's number."""
_FILE_BITS: Final = 32
_PLACE: Final = (1 << PLACE_BITS) - 1
_FILE: Final = (1 << _FILE_BITS) - 1


def packet_number(order: int, file: int, offset: int) -> int:
    """Packs a packet's position into one number that grows with `order` and contains the file and the offset in it."""
    return order << PLACE_BITS + _FILE_BITS | file << PLACE_BITS | offset


def packet_place(number: int) -> tuple[int, int]:
    """Returns the file and the offset of a packet."""
    return number >> PLACE_BITS & _FILE, number & _PLACE


def text_of(octets: bytes | None) -> str | None:
    """Returns octets that are nearly always text as text; others as hex digits after 0x."""
    if octets is None:
        return None
    try:
        text = octets.decode()
    except UnicodeDecodeError:
        return "0x" + octets.hex()
    return text if text.isprintable() and not text.startswith("0x") else "0x" + octets.hex()


def fields_text(value: ValueObject, secrets: bool = True, begun: str = "") -> str:
    """Returns fields as the JSON of a column: `compact` of `fields`, in one step.

    `begun`: a member of the object, as JSON, that comes before the fields.
    """
    found = [begun] if begun else []
    for name, key, secret in _keys(value.FIELDS, value.SECRETS):
        each = getattr(value, name)
        if each is None or each is False:
            continue
        kind = type(each)
        if secret and not secrets:
            found.append(f"{key}{len(each)}")
        elif kind is int:
            found.append(f"{key}{each}")
        elif kind is bytes:
            found.append(f'{key}"{each.hex()}"')
        elif kind is str:
            found.append(key + encode_basestring(each))
        elif isinstance(each, Struct):
            found.append(key + struct_text(each))
        else:
            found.append(key + compact(plain(each)))
    return f"{{{','.join(found)}}}"


def struct_text(value: Struct) -> str:
    """Equals `compact` of `struct`, in one step."""
    if isinstance(value, UnknownStruct):
        return compact(struct(value))
    return fields_text(value, True, f'"struct":"{value.NAME}"')


@cache
def _keys(names: tuple[str, ...], secrets: frozenset[str]) -> tuple[tuple[str, str, bool], ...]:
    """Returns for each field its name, its key in JSON, and whether it is secret.

    The key lacks the "_" that Python's keywords get, such as `class_`.
    """
    return tuple([(name, f'"{name.rstrip("_")}":', name in secrets) for name in names])


def place(table: TableSchema, name: str) -> int:
    """Returns the index of a column in a row (see `TableSchema.said`)."""
    return table.said.index(name) - len(COMMON)


def passed(since: int, time: int) -> int | None:
    """Returns the nanoseconds between two times; None where the capture's clock went back meanwhile."""
    return time - since if time >= since else None


class Rows:
    """Collects the rows of one connection.

    `messages` are those that are finished; `transfers` those whose command's row is due: `columns.tables` makes rows of both.
    `by_table` holds the rows of all other tables, and of all other commands.
    """

    __slots__ = ("by_table", "commands", "messages", "transfers")

    def __init__(self) -> None:
        self.messages: Final[list[TransferRecord]] = []
        self.transfers: Final[list[TransferRecord]] = []
        self.by_table: Final[dict[str, list[RowValues]]] = {name: [] for name in TABLES if name != "messages"}
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


class TransferKind(NamedTuple):
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


class HeaderColumns(NamedTuple):
    """The contents of headers without the message-id; they repeat within a subscription."""

    exchange: str | None = None
    routing_key: str | None = None
    correlation: str | None = None
    content_type: str | None = None
    priority: int | None = None
    durable: bool | None = None
    redelivered: bool | None = None
    ttl: int | None = None


NOTHING: Final = HeaderColumns()
TransactionPair: TypeAlias = tuple[int | str | None, ...]  # as Done
"""The local transaction and the branch of a command."""
OUTSIDE: Final[TransactionPair] = (None, None)


@attrs.define(eq=False)
class Fate:
    """The rarer events of a message: rejection, release, provisional accepts."""

    rejected: int | None = None
    released: int | None = None
    code: int | None = None
    text: str | None = None
    transaction: int | None = None
    xid: str | None = None


class TransferRecord:
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
        kind: TransferKind,
        properties: HeaderColumns,
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
        demarcation: TransactionPair = OUTSIDE,
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


Read = tuple[HeaderColumns, bytes | None]
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
        return HeaderColumns(None, None, correlation, content_type), id_octets
    exchange, key, durable = delivery.exchange, delivery.routing_key, delivery.delivery_mode == 2
    more = delivery.priority, durable, delivery.redelivered, delivery.ttl
    return HeaderColumns(exchange, key, correlation, content_type, *more), id_octets


# --- the open commands and messages of one side of a session ------------------------------------------------------------------

OPEN_MESSAGES: Final = 32768
"""Messages of one side of a session that await something; beyond it the oldest is written as unknown."""
OPEN_COMMANDS: Final = 8192
"""The same for its other commands."""
GRACE_MESSAGES: Final = 256
"""Complete messages that wait for an optional accept; a later accept is not recorded."""
RANGES: Final = 8191
"""Ranges of ids of messages written in this way; beyond it, what is in doubt is unknown."""

RESULT_AT: Final = place(COMMANDS, "result_at")
RESULT: Final = place(COMMANDS, "result")
C_LAST: Final = place(COMMANDS, "last_octet_at")
C_COMPLETED: Final = place(COMMANDS, "completed_at")
C_LATENCY: Final = place(COMMANDS, "complete_latency_ns")
C_OUTCOME: Final = place(COMMANDS, "outcome")
C_CODE: Final = place(COMMANDS, "error_code")
C_TEXT: Final = place(COMMANDS, "error_text")


class Half:
    """One side of a session; `known`: everything it sent, and everything the other side sent about it, was observed."""

    __slots__ = ("awaited", "commands", "count", "evicted", "evicted_unsettled", "grace", "incomplete", "known", "rows",
                 "transfers", "unsettled")  # fmt: skip

    def __init__(self, rows: Rows, known: bool) -> None:
        self.rows: Final = rows
        self.known = known
        self.count = 0
        self.transfers = 0
        self.commands: ById[list[object]] = ById()
        """Rows of incomplete commands other than transfers."""
        self.awaited: dict[int, list[object]] = {}
        """Rows of complete commands whose result is awaited."""
        self.incomplete: ById[TransferRecord] = ById()
        self.unsettled: ById[TransferRecord] = ById()
        self.grace: deque[int] = deque()
        self.evicted = MutableRangeSet()
        """Ids of incomplete messages that were written as unknown."""
        self.evicted_unsettled = MutableRangeSet()
        """Ids of unsettled deliveries that were written as unknown."""

    def say(self, id: int | None, row: list[object]) -> None:
        """Adds a command that is not a transfer."""
        gone = row if id is None else self.commands.push(id, row, OPEN_COMMANDS)
        if gone is not None:
            self._leave(gone, UNKNOWN)

    def send(self, message: TransferRecord) -> None:
        """Adds a transfer."""
        id = message.id
        if id is None:
            self._end(message, UNKNOWN)
            return
        self.incomplete[id] = message
        if message.kind.explicit:
            self.unsettled[id] = message
        if len(self.incomplete) > OPEN_MESSAGES or len(self.unsettled) > OPEN_MESSAGES:
            self._evict()

    def send_all(self, messages: Sequence[TransferRecord], alike: bool) -> None:
        """Adds consecutive transfers; `alike`: they are of one kind, and their ids do not wrap."""
        id = messages[0].id
        if not alike or id is None or max(len(self.incomplete), len(self.unsettled)) + len(messages) > OPEN_MESSAGES:
            for message in messages:
                self.send(message)
            return
        self.incomplete.run(id, messages)
        if messages[0].kind.explicit:
            self.unsettled.run(id, messages)

    def _leave(self, row: list[object], outcome: str) -> None:
        """Writes the row of a command."""
        row[C_OUTCOME] = outcome
        if row[RESULT_AT] is None:
            row[RESULT] = None  # held the mark that a result is awaited
        self.rows.commands.append(row)

    def _evict(self) -> None:
        """Writes the oldest message as it is."""
        oldest = self.incomplete if len(self.incomplete) > OPEN_MESSAGES else self.unsettled
        id = next(iter(oldest))
        message = oldest[id]
        if message.doubtful:
            settles = message.kind.explicit and message.kind.direction == "S"
            evicted = self.evicted_unsettled if settles else self.evicted
            evicted.add(id)
            if evicted.range_count > RANGES:
                self.known = False
                evicted.clear()
        self.incomplete.drop(id)
        self.unsettled.drop(id)
        self._end(message, UNKNOWN)

    # Answers of the other side.

    def completed(self, ids: RangeSet, time: int) -> list[int]:
        """Notes completions by the other side; returns those that are new and no transfers."""
        if self.evicted.highs:
            self.evicted.discard(ids)
        incomplete = self.incomplete
        if incomplete:
            commands, messages = self.rows.transfers, self.rows.messages
            for message in incomplete.take(ids):
                message.completed = time
                message.done = COMPLETE
                commands.append(message)
                kind = message.kind
                if not kind.explicit or message.settled is not None:
                    if message.outcome is None:  # no accept was requested
                        message.settled = time
                        message.outcome = DONE
                    if not message.out:
                        message.out = True
                        messages.append(message)
                elif kind.direction == "C" or not kind.acquires:
                    assert message.id is not None
                    self.grace.append(message.id)
            while len(self.grace) > GRACE_MESSAGES:
                late = self.unsettled.drop(self.grace.popleft())
                if late is not None:
                    self._end(late, DONE)
        found = self.commands.among(ids) if self.commands else []
        for id in found:
            row = self.commands.remove(id)
            row[C_COMPLETED] = time
            row[C_LATENCY] = passed(row[C_LAST], time)  # type: ignore[arg-type]
            row[C_OUTCOME] = DONE
            if row[RESULT_AT] is None and row[RESULT] is not None:
                row[RESULT] = None
                if len(self.awaited) >= OPEN_COMMANDS:
                    self.rows.commands.append(self.awaited.pop(next(iter(self.awaited))))
                self.awaited[id] = row
            else:
                self.rows.commands.append(row)
        return found

    def result(self, id: int, time: int, text: str | None) -> None:
        """Notes the result of a command."""
        row = self.commands.get(id)
        if row is None:
            row = self.awaited.pop(id, None)
            if row is not None:
                self.rows.commands.append(row)
        if row is not None:
            row[RESULT_AT] = time
            row[RESULT] = text

    def refused(self, id: int, code: int | None, text: str | None) -> None:
        """Notes the refusal of a command."""
        row = self.commands.drop(id)
        if row is not None:
            row[C_CODE], row[C_TEXT] = code, text
            self._leave(row, REFUSED)
        message = self.incomplete.drop(id)
        if message is not None:
            self.unsettled.drop(id)
            message.conclude(self.rows, (REFUSED, code, text))
            message.outcome = REFUSED
            message.leave(self.rows)

    def settle(
        self, ids: RangeSet, how: str, time: int, transaction: int | None = None, xid: str | None = None,
        code: int | None = None, text: str | None = None, maybe: bool = False,
    ) -> list[TransferRecord]:  # fmt: skip
        """Notes that messages were accepted, rejected or released; returns those concerned.

        In a local transaction an accept is provisional, as is one that is only `maybe` in one: see `sealed` and `reopened`.
        """
        if self.evicted_unsettled.highs:
            self.evicted_unsettled.discard(ids)
        found = self.unsettled.take(ids)
        messages = self.rows.messages
        provisional = maybe or transaction is not None
        for message in found:
            if how == "accepted":
                message.accepted = time
                if xid is not None:
                    message.fated().xid = xid
                elif transaction is not None:
                    message.fated().transaction = transaction
                if provisional:
                    continue
            elif how == "rejected":
                fate = message.fated()
                fate.rejected, fate.code, fate.text = time, code, text
            else:
                message.fated().released = time
            message.settled = time  # `settle` and `leave` inlined
            message.outcome = how
            if message.done is not None and not message.out:
                message.out = True
                messages.append(message)
        return found

    def sealed(self, messages: Iterable[TransferRecord], time: int | None = None) -> None:
        """Notes the commit of the transaction in which messages were accepted; `time` None: there was none."""
        for message in messages:
            if message.out:
                continue
            when = message.accepted if time is None else time
            assert when is not None
            message.settle("accepted", when)
            if message.done is not None:
                message.leave(self.rows)

    def reopened(self, messages: Iterable[TransferRecord], rolled_back: bool) -> None:
        """Notes the rollback of the transaction in which messages were accepted: their recipient still holds them.

        Not `rolled_back`: the outcome will never be known.
        """
        for message in messages:
            if message.out:
                continue
            if rolled_back:
                message.accepted = None
                if message.fate is not None:
                    message.fate.transaction = None
            assert message.id is not None
            self.unsettled[message.id] = message

    # The end.

    def _end(self, message: TransferRecord, outcome: str) -> None:
        """Writes a message: nothing more comes about it."""
        if message.outcome is None:
            done = message.done is not None and message.kind.fleeting and message.accepted is None
            message.outcome = DONE if done else outcome
            if done and message.completed is not None:
                message.settle(DONE, message.completed)
        if message.done is None:
            message.conclude(self.rows, (outcome, None, None))
        message.leave(self.rows)

    def flush(self, outcome: str) -> None:
        """Writes every row: nothing more comes.  `outcome` is that of the open ones."""
        for row in self.commands.values():
            self._leave(row, outcome)
        self.rows.commands.extend(self.awaited.values())
        for message in [*self.incomplete.values(), *self.unsettled.values()]:
            if not message.out:
                self._end(message, outcome)
        self.commands.clear()
        self.awaited.clear()
        self.incomplete.clear()
        self.unsettled.clear()
        self.grace.clear()

    def doubtful(self) -> RangeSet | None:
        """Returns the ids of messages that may be lost (see `TransferRecord.doubtful`); None if unknown."""
        if not self.known:
            return None
        found = self.evicted.copy()
        found.update(self.evicted_unsettled.freeze())
        for id, message in [*self.incomplete.items(), *self.unsettled.items()]:
            if message.doubtful:
                found.add(id)
        return found.freeze()
