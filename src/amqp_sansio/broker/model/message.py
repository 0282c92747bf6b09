"""Messages in a broker: one object each, its entries on however many queues, in sorted lines; and cursors, which browse."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, Final

import attrs

from amqp_sansio.errors import DecodeError
from amqp_sansio.errors.core import many
from amqp_sansio.spec.values import Map

if TYPE_CHECKING:
    from amqp_sansio.broker.model.queue import Queue


NO_HEADERS: Final = Map()
DEFAULT_PRIORITY: Final = 4
"""The default of a message whose publisher gave none; a form may define another."""


@attrs.frozen
class NeutralProperties:
    """The properties that families have in common, as the publisher gave them; decoded on demand.

    None, "" or an empty map: the publisher did not set it.
    """

    exchange: str = ""
    """The exchange to which it was published."""
    routing_key: str = ""
    persistent: bool = False
    """Whether delivery-mode makes it survive a failure, on a durable queue."""
    priority: int | None = None
    """As the publisher set it, even above 9."""
    redelivered: bool = False
    ttl: int | None = None
    """In milliseconds."""
    timestamp: int | None = None
    """POSIX time in the publisher's unit, seconds or milliseconds."""
    expiration: int | None = None
    """A moment in the same unit."""
    message_id: str = ""
    """As text, whatever type the form uses."""
    correlation_id: bytes | None = None
    reply_to: tuple[str, str] | None = None
    """An exchange and a routing key."""
    content_type: str | None = None
    content_encoding: str | None = None
    user_id: bytes = b""
    """The publisher by its own claim."""
    app_id: bytes | None = None
    headers: Map = NO_HEADERS
    """The application headers, which headers exchanges and selectors match."""


def length_of(octets: bytes | None) -> str:
    """Returns octets in a repr: only their length."""
    return f"{octets}" if octets is None else f"<{len(octets)} octets>"


class Form:
    """The form of one family, one object for all its messages; compared by identity.

    A base class rather than a protocol: each message makes calls to it.  `header` is always the `Envelope.header` of a message
    in this form.
    """

    def __init__(self, name: str) -> None:
        self.name: Final = name
        """The name of the family, by which a journal identifies the form of the octets that it keeps."""

    def properties(self, header: bytes) -> NeutralProperties:
        """Returns all properties in the header.  Raises DecodeError when it cannot be read."""
        raise NotImplementedError

    def headers(self, header: bytes) -> Map:
        """Returns the application headers alone, an empty map when there are none.  Raises DecodeError."""
        raise NotImplementedError

    def marked(self, header: bytes) -> bytes:
        """Returns the header with the redelivered mark, otherwise unchanged.  Raises DecodeError."""
        raise NotImplementedError

    def headed(self, header: bytes, name: str, value: int) -> bytes:
        """Returns the header with one more application header, otherwise unchanged.  Raises DecodeError."""
        raise NotImplementedError

    def envelope(self, header: bytes, empty_body: bool) -> Envelope:
        """Returns the envelope of a header that was stored as it was to be delivered.  Raises DecodeError.

        `empty_body`: there was a body, of 0 octets.
        """
        raise NotImplementedError

    def written(self, properties: NeutralProperties) -> bytes:
        """Encodes the properties of a message from another family; drops those that this form cannot express.

        Never raises: the client here is not to blame for another family's publisher.
        """
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<Form of {self.name}>"


@attrs.define
class Envelope:
    """The contents of a message header, decoded once; messages with the same header to the same exchange share it.

    It has what the model needs of every message; all else stays in the publisher's octets, which `form` can read.
    """

    form: Final[Form]
    """The form in which the header is written: that of its publisher's family."""
    header: Final[bytes] = attrs.field(repr=length_of)
    """The header, in the octets in which it is delivered to its publisher's family."""
    exchange: Final[str] = ""
    """The exchange to which the message was published."""
    routing_key: Final[str] = ""
    priority: Final[int] = DEFAULT_PRIORITY
    """0 to 9."""
    persistent: Final[bool] = False
    redelivered: Final[bool] = False
    """Whether it arrived marked as redelivered, and so is delivered with the mark."""
    user_id: Final[bytes] = b""
    """The publisher by its own claim; b"" without one."""
    ttl: Final[int | None] = None
    """In milliseconds; None: for ever."""
    discard_unroutable: Final[bool] = False
    immediate: Final[bool] = False
    empty_body: Final[bool] = False
    """Whether it arrived with an explicit body of 0 octets instead of none, and is delivered with one."""
    _redelivered_header: bytes = attrs.field(default=b"", init=False, eq=False, repr=False)
    _others: dict[tuple[Form, bool], bytes] | None = attrs.field(default=None, init=False, eq=False, repr=False)

    @property
    def redelivered_header(self) -> bytes:
        """The header with the redelivered mark, made when first needed."""
        if not self._redelivered_header:
            self._redelivered_header = self.header if self.redelivered else self.form.marked(self.header)
        return self._redelivered_header

    def header_in(self, form: Form, redelivered: bool) -> bytes:
        """Returns the header in the form of another family, with the redelivered mark or as it came; made when first needed."""
        if form is self.form:
            return self.redelivered_header if redelivered else self.header
        if self._others is None:
            self._others = {}
        made = self._others.get((form, redelivered))
        if made is None:
            try:
                said = self.form.properties(self.redelivered_header if redelivered else self.header)
            except DecodeError:  # restored from disk: only what the model decoded is known
                said = NeutralProperties(
                    self.exchange, self.routing_key, self.persistent, self.priority, redelivered or self.redelivered, self.ttl
                )
            made = self._others[form, redelivered] = form.written(said)
        return made


class Message:
    """A message.  Its `Envelope` holds what the header says; the header is decoded again only on demand.

    `number` is its name in the journal: a serial of the broker, 1 and up.  `expires` is on the broker's clock.
    """

    __slots__ = ("arrived", "body", "envelope", "expires", "number", "publisher", "size", "stored")

    def __init__(
        self,
        number: int,
        envelope: Envelope,
        body: bytes,
        expires: float | None = None,
        publisher: int = 0,
        arrived: float = 0.0,
    ) -> None:
        self.number: Final = number
        self.envelope: Final = envelope
        self.body: Final = body
        self.size: Final = len(envelope.header) + len(body)
        """Octets of header and body."""
        self.expires = expires
        """When it expires; None: never, or its time has not begun (`Traffic.begin_ttl`)."""
        self.publisher: Final = publisher
        """The number of the connection that published it; 0 when unknown, as after a restart."""
        self.arrived: Final = arrived
        """The moment of the last tick before it arrived, on the broker's clock; 0 when unknown, as after a restart."""
        self.stored = 0
        """How many places the journal knows it in: durable queues and prepared branches.  At 0 it must be stored first."""

    @property
    def application_headers(self) -> Map:
        """The headers that a headers exchange matches; an empty map when there are none.  Raises DecodeError."""
        envelope = self.envelope
        return envelope.form.headers(envelope.header)

    def __repr__(self) -> str:
        e = self.envelope
        where = f"to {e.exchange!r} with key {e.routing_key!r}"
        return f"<Message {self.number}: {many(len(self.body), 'octet')} {where}, priority {e.priority}>"


class Intake:
    """Numbers the messages of a broker, which fronts make from publishes.

    `epoch` is POSIX time at moment 0 of the broker's clock, in seconds; with it a front writes the expiration of a message with
    a ttl into its header.  `last` is the last number assigned.
    """

    __slots__ = ("epoch", "last")

    def __init__(self, epoch: float | None = None, last: int = 0) -> None:
        self.epoch: Final = epoch
        self.last = last

    def made(self, envelope: Envelope, body: bytes, now: float = 0.0, publisher: int = 0) -> Message:
        """Makes an arriving message; `publisher` is the number of the connection, 0 when it has none."""
        ttl = envelope.ttl
        self.last += 1
        return Message(self.last, envelope, body, None if ttl is None else now + ttl / 1000, publisher, now)

    def copy(self, message: Message, envelope: Envelope | None = None) -> Message:
        """Returns a copy of a message with its own number, and with another envelope if given."""
        self.last += 1
        envelope = message.envelope if envelope is None else envelope
        return Message(self.last, envelope, message.body, message.expires, message.publisher, message.arrived)

    def restored(self, number: int, envelope: Envelope, body: bytes, expires: float | None = None) -> Message:
        """Returns a message as it was stored.  Later numbers continue after the highest."""
        self.last = max(self.last, number)
        return Message(number, envelope, body, expires)


HELD: Final = 0
"""Written to the journal and not journalled yet, or held back by a transaction.

Its place is kept: no later entry of its priority level overtakes it.
"""
AVAILABLE: Final = 1
ACQUIRED: Final = 2
GONE: Final = 3
"""No longer on the queue."""

STATES: Final = ("held", "available", "acquired", "gone")
"""The names of the states, for people."""


class QueueEntry:
    """A message in one queue: its position within its priority level, and its state.

    Only its queue changes these.
    """

    __slots__ = ("message", "position", "queue", "redelivered", "released", "state")

    def __init__(self, queue: Queue, message: Message, position: int, state: int) -> None:
        self.queue: Final = queue
        self.message: Final = message
        self.position: Final = position
        """Grows with every message that arrives at the queue; a released message keeps it."""
        self.state = state
        self.released = 0
        """The number of its last release, if a `Cursor` asked for releases; 0: none."""
        self.redelivered = message.envelope.redelivered
        """Whether another subscriber may have had the message before."""

    def header_in(self, form: Form) -> bytes:
        """Returns the header as it must be delivered now, in a family's form; in the publisher's own, the octets unchanged."""
        envelope = self.message.envelope
        if envelope.form is form and not self.redelivered:
            return envelope.header
        return envelope.header_in(form, self.redelivered)

    def __repr__(self) -> str:
        again = ", redelivered" if self.redelivered else ""
        place = f"on {self.queue.name!r} at {self.position}"
        return f"<QueueEntry: message {self.message.number} {place}, {STATES[self.state]}{again}>"


BLOCK: Final = 512
"""The entries of a block when it is appended to; one with insertions is halved at twice as many."""

_position: Final = attrgetter("position")


class BlockList:
    """Entries sorted by `key`, by default their position.  No block is empty."""

    __slots__ = ("_blocks", "_key")

    def __init__(self, key: Callable[[QueueEntry], int] = _position) -> None:
        self._blocks: list[list[QueueEntry]] = []
        self._key: Final = key

    def _first(self, block: list[QueueEntry]) -> int:
        return self._key(block[0])

    @property
    def head(self) -> QueueEntry | None:
        """The first entry."""
        return self._blocks[0][0] if self._blocks else None

    def append(self, entry: QueueEntry) -> None:
        """Appends an entry with the highest key so far."""
        blocks = self._blocks
        if blocks and len(blocks[-1]) < BLOCK:
            blocks[-1].append(entry)
        else:
            blocks.append([entry])

    def insert(self, entry: QueueEntry) -> None:
        """Inserts an entry by its key."""
        blocks = self._blocks
        if not blocks:
            blocks.append([entry])
            return
        key = self._key
        place = key(entry)
        at = max(bisect_right(blocks, place, key=self._first) - 1, 0)
        block = blocks[at]
        if key(block[-1]) < place:
            block.append(entry)
        else:
            block.insert(bisect_left(block, place, key=key), entry)
        if len(block) > 2 * BLOCK:
            blocks[at : at + 1] = [block[:BLOCK], block[BLOCK:]]

    def remove(self, entry: QueueEntry) -> None:
        """Removes an entry, which must be present."""
        blocks = self._blocks
        block = blocks[0]
        if block[0] is entry:
            at = 0
            del block[0]
        else:
            place = self._key(entry)
            at = bisect_right(blocks, place, key=self._first) - 1
            block = blocks[at]
            del block[bisect_left(block, place, key=self._key)]
        if not block:
            del blocks[at]

    def after(self, place: int) -> QueueEntry | None:
        """Returns the first entry with a higher key than `place`."""
        blocks = self._blocks
        key = self._key
        at = max(bisect_right(blocks, place, key=self._first) - 1, 0)
        if at < len(blocks):
            block = blocks[at]
            if key(block[-1]) > place:
                return block[bisect_right(block, place, key=key)]
            if at + 1 < len(blocks):
                return blocks[at + 1][0]
        return None

    def __iter__(self) -> Iterator[QueueEntry]:
        for block in self._blocks:
            yield from block

    def __bool__(self) -> bool:
        return bool(self._blocks)


class Cursor:
    """Visits every available message once, higher levels first, including messages that arrive later.

    With `released` it sees a message again after each release, even one that was acquired when it came by; without, it does
    not.  Like subscribers that acquire, a cursor waits at held entries.

    `lines` are those of the queue by position, `released` those by number of release; `releases` is how many there were so far.
    """

    __slots__ = ("_lines", "_released", "_seen", "_seen_again", "_since")

    def __init__(
        self, lines: list[BlockList | None], released: list[BlockList | None] | None = None, releases: int = 0
    ) -> None:
        self._lines: Final = lines
        self._released: Final = released
        self._since: Final = releases
        self._seen: Final = [-1] * len(lines)
        self._seen_again: Final = [releases] * len(lines)

    @property
    def sees_released(self) -> bool:
        """Whether it sees a message again after each release."""
        return self._released is not None

    def places(self) -> list[tuple[int, int]]:
        """Returns each level that ever had a message, with the position of the last one seen."""
        return [(level, seen) for level, seen in enumerate(self._seen) if self._lines[level] is not None]

    def peek(self) -> tuple[int, QueueEntry] | None:
        """Returns the next unseen message, with its level; None when there is none now."""
        for level in range(len(self._lines) - 1, -1, -1):
            line = self._lines[level]
            if line is not None:
                entry = line.after(self._seen[level])
                if self._released is not None:
                    entry = self._first(level, line, entry)
                if entry is not None and entry.state == AVAILABLE:
                    return level, entry
        return None

    def _first(self, level: int, line: BlockList, entry: QueueEntry | None) -> QueueEntry | None:
        """Returns the next entry by position or the next released one, whichever has the lower position.

        An entry released since the cursor began is seen as released, so the search by position skips it, once.
        """
        assert self._released is not None
        again = self._released[level]
        released = again.after(self._seen_again[level]) if again is not None else None
        while entry is not None and entry.released > self._since and entry is not released:
            self._seen[level] = entry.position
            entry = line.after(entry.position)
        if released is not None and (entry is None or released.position < entry.position):
            return released
        return entry

    def see(self, level: int, entry: QueueEntry) -> None:
        """Marks a message from `peek` as seen."""
        if self._released is not None and entry.released > self._since:
            self._seen_again[level] = entry.released
        else:
            self._seen[level] = entry.position
