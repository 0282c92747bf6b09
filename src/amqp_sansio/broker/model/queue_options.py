"""What a queue's arguments add to it, as in qpidd: last values by key, message numbers, fair shares of priorities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import attrs

from amqp_sansio.broker.model.message import ACQUIRED
from amqp_sansio.errors import DecodeError

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Envelope, Message, QueueEntry
    from amqp_sansio.spec.values import Map


class ReadHeaders:
    """The application headers of the message being enqueued, decoded once for all queues that need a key in them.

    Call `forget` afterwards: decoded headers take many times the memory of their octets.
    """

    __slots__ = ("_envelope", "_keys", "_map")

    def __init__(self) -> None:
        self._envelope: Envelope | None = None
        self._map: Map | None = None
        self._keys: Final[dict[str, str | None]] = {}  # by header, made once: that of a long list is a long text

    def key(self, message: Message, name: str) -> str | None:
        """Returns the header of that name as text; None when there is none."""
        if self._envelope is not message.envelope:
            try:
                self._map = message.application_headers
            except DecodeError:
                self._map = None
            self._envelope = message.envelope
            self._keys.clear()
        keys = self._keys
        if name not in keys:
            value = None if self._map is None else self._map.get(name)
            if isinstance(value, bytes):
                keys[name] = value.decode("utf-8", "surrogateescape")
            else:
                keys[name] = None if value is None else str(value)
        return keys[name]

    def forget(self) -> None:
        """Drops the decoded headers."""
        self._envelope = self._map = None
        self._keys.clear()


class LastValues:
    """The last message of each key of a queue: the application header `name`, as text.

    A message without that header has no key, and replaces none.
    """

    __slots__ = ("_headers", "_keys", "_last", "name")

    def __init__(self, name: str, headers: ReadHeaders) -> None:
        self.name: Final = name
        self._headers: Final = headers
        self._last: Final[dict[str, QueueEntry]] = {}
        self._keys: Final[dict[QueueEntry, str]] = {}

    def last_for(self, message: Message) -> QueueEntry | None:
        """Returns the last entry with the key of this message; None when there is none."""
        key = self._key(message)
        return None if key is None else self._last.get(key)

    def replaceable(self, message: Message) -> QueueEntry | None:
        """Returns the entry that this message replaces; None when there is none.

        An entry that a subscriber has acquired stays; when the subscriber releases it, the queue removes it.
        """
        last = self.last_for(message)
        return None if last is None or last.state == ACQUIRED else last

    def add(self, entry: QueueEntry) -> None:
        """Records an entry as the last one of its key."""
        key = self._key(entry.message)
        if key is not None:
            self._last[key] = entry
            self._keys[entry] = key

    def remove(self, entry: QueueEntry) -> None:
        """Records that an entry has left the queue."""
        key = self._keys.pop(entry, None)
        if key is not None and self._last.get(key) is entry:
            del self._last[key]

    def superseded(self, entry: QueueEntry) -> bool:
        """Returns whether another message with its key has arrived after it."""
        key = self._keys.get(entry)
        return key is not None and self._last.get(key) is not entry

    def _key(self, message: Message) -> str | None:
        return self._headers.key(message, self.name)


_MOST: Final = 2**32 - 1


class MessageNumbering:
    """Numbers from 1 on, in the application header `name` of each message; 0 follows 4294967295."""

    __slots__ = ("_last", "name")

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self._last = 0

    def numbered(self, message: Message) -> Envelope:
        """Returns the envelope of an arriving message with its number.

        Returns the original envelope when the headers cannot be read.
        """
        self._last = (self._last + 1) & _MOST
        e = message.envelope
        try:
            header = e.form.headed(e.header, self.name, self._last)
        except DecodeError:
            return e
        return attrs.evolve(e, header=header)

    def restored(self, message: Message) -> None:
        """Continues the numbers after that of a message from before a restart."""
        try:
            number = message.application_headers.get(self.name)
        except DecodeError:
            return
        if isinstance(number, int) and 0 <= number <= _MOST:
            self._last = int(number)


class Shares:
    """How many messages each priority level may give before the levels below it get a turn; 0: no limit.

    As in qpidd the turn goes down, and from the lowest level back to the highest.  It stays with a level that has messages and
    has not used up its share, whatever arrives on higher levels.
    """

    __slots__ = ("_before", "_taken", "_level", "_most")

    def __init__(self, most: Sequence[int]) -> None:
        """`most` are the shares, from the lowest level on."""
        self._most: Final = tuple(most)
        self._level = len(self._most) - 1
        self._taken = 0
        self._before = self._level, 0

    def order(self) -> list[int]:
        """Returns the levels in the order in which they may give the next message."""
        levels = len(self._most)
        first = self._level - 1 if self._used_up else self._level
        return [(first - step) % levels for step in range(levels)]

    def took(self, level: int) -> None:
        """Records that a message of that level was taken."""
        self._before = self._level, self._taken
        self._taken = self._taken + 1 if level == self._level and not self._used_up else 1
        self._level = level

    def undo(self) -> None:
        """Undoes the last `took`."""
        self._level, self._taken = self._before

    @property
    def _used_up(self) -> bool:
        return 0 < self._most[self._level] <= self._taken
