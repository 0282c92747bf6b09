"""Caches of what repeats in the older dialects: deliveries that differ in their tags, and properties that begin alike."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Control, Method, Struct
from amqp_sansio.spec.methods.basic import Deliver
from amqp_sansio.wire.layouts.basic_properties import Beginning, read_basic_properties
from amqp_sansio.wire.method_codec import PROPERTIES_AT, MethodCodec
from amqp_sansio.wire.primitives import u64
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.types import BAD

_DELIVER: Final = b"\x00\x3c\x00\x3c"
_TAG: Final = 5
"""Where the delivery tag is in a basic.deliver with an empty consumer tag."""


class RepeatedDeliveries:
    """Decodes methods as its codec does, but does not decode a basic.deliver again that only differs in its tag.

    Remembers `limits.cached_commands` of them; when there are more, it forgets all and starts over.
    """

    __slots__ = ("_known", "_limits", "_reading", "codec")

    def __init__(self, codec: MethodCodec, reading: Reading, limits: Limits) -> None:
        self.codec: Final = codec
        self._reading: Final = reading
        self._limits: Final = limits
        self._known: Final[dict[bytes, tuple[str, bool, str, str]]] = {}
        """Consumer tag, redelivered, exchange and routing key, by the octets without the tag."""

    @property
    def remembered(self) -> int:
        """The number of remembered deliveries."""
        return len(self._known)

    def read(self, payload: bytes) -> Method | Control:
        """Decodes a method with class and method number. Raises DecodeError as `MethodCodec.read` does."""
        if payload[:4] != _DELIVER or len(payload) < _TAG:
            return self.codec.read(payload, self._reading)
        at = _TAG + payload[4]
        key = payload[:at] + payload[at + 8 :]
        known = self._known.get(key)
        if known is not None:
            tag: int = u64(payload, at)[0]
            return Deliver(known[0], tag, known[1], known[2], known[3])
        method = self.codec.read(payload, self._reading)
        if isinstance(method, Deliver):
            if len(self._known) >= self._limits.cached_commands:
                self._known.clear()
            self._known[key] = method.consumer_tag, method.redelivered, method.exchange, method.routing_key
        return method


_MOST: Final = 256
"""The most beginnings remembered; when there are more, it forgets all and starts over."""


class RepeatedProperties:
    """Decodes the properties of content headers as its codec does.

    Keeps the properties of the last header, which are immutable, and, for each kind of message, the flags and the first
    properties, which tend to repeat.
    """

    __slots__ = ("_basic", "_begin", "_beginnings", "_codec", "_header", "_last", "_read_flat", "_read_table", "_reading")

    def __init__(self, codec: MethodCodec, reading: Reading) -> None:
        self._codec: Final = codec
        self._basic: Final = codec.basic
        self._reading: Final = reading
        self._read_table: Final = codec.methods.read_table
        self._read_flat: Final = codec.methods.read_flat(reading)
        self._header = b""
        self._last: Struct | None = None
        self._begin = Beginning(bytes(PROPERTIES_AT + 2), PROPERTIES_AT)
        """The first properties of the last header: nearly always, the next ones begin the same way."""
        self._beginnings: Final[dict[bytes, Beginning]] = {}
        """By the flags and the octet after them."""

    @property
    def remembered(self) -> int:
        """The number of remembered beginnings."""
        return len(self._beginnings)

    def read(self, header: bytes) -> Struct | None:
        """Does the same as `MethodCodec.read_properties`, including DecodeError."""
        if header == self._header:
            return self._last
        properties: Struct | None = None
        if header.startswith(self._basic):
            try:
                begin = self._begin
                if header[PROPERTIES_AT : begin.end] != begin.octets:
                    begin = self._another(header)
                properties = read_basic_properties(header, begin, len(header), self._reading, self._read_table, self._read_flat)
            except (DecodeError, *BAD):
                pass  # the codec names the cause
        if properties is None:
            properties = self._codec.read_properties(header, self._reading)
        self._header, self._last = header, properties
        return properties

    def _another(self, header: bytes) -> Beginning:
        """Returns the first properties of this header.  Raises one of `types.BAD` when the codec has to decode it."""
        key = header[PROPERTIES_AT : PROPERTIES_AT + 3]
        begin = self._beginnings.get(key)
        if begin is None or header[PROPERTIES_AT : begin.end] != begin.octets:
            begin = Beginning(header, PROPERTIES_AT)
            if len(self._beginnings) >= _MOST:
                self._beginnings.clear()
            self._beginnings[key] = begin
        self._begin = begin
        return begin
