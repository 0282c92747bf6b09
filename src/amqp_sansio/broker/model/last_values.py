"""The latest message per key of a last-value queue."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.message import ACQUIRED
from amqp_sansio.errors import DecodeError

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Entry, Envelope, Message
    from amqp_sansio.spec.values import Map


class ReadHeaders:
    """The application headers of the message being enqueued, decoded once for all queues that need a key in them.

    Drop them afterwards: they take many times the memory of their octets.
    """

    __slots__ = ("_envelope", "_keys", "_map")

    def __init__(self) -> None:
        self._envelope: Envelope | None = None
        self._map: Map | None = None
        self._keys: Final[dict[str, str | None]] = {}  # by header: a list as a key is as long as the header

    def key(self, message: Message, name: str) -> str | None:
        """Returns the header of that name as text, made once for all queues; None when there is none."""
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
        """Drops the headers."""
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
        self._last: Final[dict[str, Entry]] = {}
        self._keys: Final[dict[Entry, str]] = {}

    def before(self, message: Message) -> Entry | None:
        """Returns the entry whose place this message takes; None when there is none."""
        key = self._key(message)
        return None if key is None else self._last.get(key)

    def replaced_by(self, message: Message) -> Entry | None:
        """Returns that entry unless a subscriber has acquired it: then it is removed when released."""
        older = self.before(message)
        return None if older is None or older.state == ACQUIRED else older

    def came(self, entry: Entry) -> None:
        """Records an entry as the last one of its key."""
        key = self._key(entry.message)
        if key is not None:
            self._last[key] = entry
            self._keys[entry] = key

    def gone(self, entry: Entry) -> None:
        """Records that an entry has left the queue."""
        key = self._keys.pop(entry, None)
        if key is not None and self._last.get(key) is entry:
            del self._last[key]

    def passed(self, entry: Entry) -> bool:
        """Returns whether another message with its key arrived after it."""
        key = self._keys.get(entry)
        return key is not None and self._last.get(key) is not entry

    def _key(self, message: Message) -> str | None:
        return self._headers.key(message, self.name)
