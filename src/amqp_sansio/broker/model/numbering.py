"""The numbers that a queue gives to what comes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from amqp_sansio.broker.model.message import Envelope
from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.message import MessageProperties
from amqp_sansio.spec.values import Map
from amqp_sansio.wire.headers import decode_headers, encode_headers
from amqp_sansio.wire.octets import u32

if TYPE_CHECKING:
    from amqp_sansio.broker.model.message import Message

_MOST: Final = 2**32 - 1


class Numbering:
    """1 and up, in the application header `name` of each message; behind 4294967295 comes 0."""

    __slots__ = ("_last", "name")

    def __init__(self, name: str) -> None:
        self.name: Final = name
        self._last = 0

    def numbered(self, message: Message) -> Envelope:
        """The envelope of a message that comes now, with its number; its own, when nobody can read the headers."""
        self._last = (self._last + 1) & _MOST
        e = message.envelope
        try:
            header = _headed(e.header, self.name, self._last)
        except DecodeError:
            return e
        return Envelope(
            header, e.exchange, e.routing_key, e.priority, e.persistent, e.redelivered, e.user_id, e.ttl, e.discard_unroutable,
            e.immediate, e.empty_body,
        )  # fmt: skip

    def restored(self, message: Message) -> None:
        """A message is there from before a restart: the numbers go on behind its own."""
        try:
            number = message.application_headers.get(self.name)
        except DecodeError:
            return
        if isinstance(number, int) and 0 <= number <= _MOST:
            self._last = int(number)


def _headed(header: bytes, name: str, value: int) -> bytes:
    """A header segment with one application header more; all else as it was."""
    parts: list[bytes] = []
    found = MessageProperties()
    p = at = 0
    for struct in decode_headers(header, 0, len(header)):
        q = p + 4 + u32(header, p)[0]
        if type(struct) is MessageProperties and not at:
            found, at = struct, len(parts)  # never the first: that is delivery-properties
        else:
            parts.append(header[p:q])
        p = q
    headers = Map({**(found.application_headers or {}), name: value})
    made = MessageProperties(
        found.content_length, found.message_id, found.correlation_id, found.reply_to, found.content_type,
        found.content_encoding, found.user_id, found.app_id, headers,
    )  # fmt: skip
    parts.insert(at or len(parts), encode_headers([made]))
    return b"".join(parts)
