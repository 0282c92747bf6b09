"""Frames of published messages in the older dialects; parts that repeat between messages are encoded once."""

from __future__ import annotations

from struct import Struct
from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods.basic import Properties, Publish
from amqp_sansio.wire.encoding import put_short
from amqp_sansio.wire.method_codec import PROPERTIES_AT, MethodCodec
from amqp_sansio.wire.method_frames import CONTENT_BODY, CONTENT_HEADER, FRAME_END, OVERHEAD, frame_method, put_frame
from amqp_sansio.wire.primitives import put_u32

_CLASS: Final = 60
CLASS_AND_WEIGHT: Final = _CLASS << 16
_begin_header: Final = Struct(">BH").pack
put_header: Final = Struct(">IIQH").pack
"""The frame of a content header after its channel: size, class and weight, body size, flags."""
_put_header: Final = Struct(">IIQ").pack
"""The same without the flags."""
_put_body: Final = Struct(">BBH").pack
"""The end of that frame, and the head of a body frame up to its size."""
NO_PROPERTIES: Final = b"\0\0"
"""Flags without properties."""
END: Final = bytes([FRAME_END])


class Publishing:
    """Encodes publishes on a channel in frames of at most `max_frame` octets.

    Encodes the method's frame, and the header's up to its size, once for each exchange, key and flags, and keeps
    `limits.cached_commands` of them; encodes properties once for consecutive messages with the same (immutable) object.
    """

    __slots__ = (
        "_channel", "_codec", "_last", "_limits", "_max_frame", "_octets", "beginnings", "body_begins", "heads", "most",
        "write_flat", "write_table",
    )  # fmt: skip

    def __init__(self, codec: MethodCodec, channel: int, max_frame: int, limits: Limits) -> None:
        self._codec: Final = codec
        self._channel: Final = channel
        self._max_frame: Final = max_frame
        self.most: Final = max_frame - OVERHEAD
        """Payload octets of a frame."""
        self.body_begins: Final = _put_body(FRAME_END, CONTENT_BODY, channel)
        """The octets between the properties and the next frame's size."""
        self._limits: Final = limits
        self.heads: Final[dict[tuple[str, str, bool, bool, int], bytes]] = {}
        """What was encoded so far, by exchange, key, mandatory, immediate and ticket; `write` adds to it."""
        self.beginnings: Final[dict[tuple[str | None, str | None], tuple[int, bytes]]] = {}
        """What `begin` encoded so far, by content type and encoding, which come again with every message of a kind."""
        self._last: Properties | None = None
        self._octets = b""  # of the last properties
        self.write_table: Final = codec.methods.write_table
        """Encodes a field table; see `Profile.write`."""
        self.write_flat: Final = codec.methods.write_flat
        """Encodes a dict as a field table on the fast path; see `Profile.write_flat`."""

    @property
    def remembered(self) -> int:
        """The number of cached heads."""
        return len(self.heads)

    def begin(self, content_type: str | None, content_encoding: str | None) -> tuple[int, bytes]:
        """Returns the flags of the first two properties, and encodes them.  Raises one of `field_interpreter.UNWRITABLE`."""
        flags, octets = 0, b""
        if content_type is not None:
            flags, octets = 0x8000, put_short(content_type)
        if content_encoding is not None:
            flags, octets = flags | 0x4000, octets + put_short(content_encoding)
        if len(self.beginnings) >= self._limits.cached_commands:
            self.beginnings.clear()
        self.beginnings[content_type, content_encoding] = flags, octets
        return flags, octets

    def flags_of(self, properties: Properties) -> bytes:
        """Encodes the flags and properties.  Raises EncodeError as `MethodCodec.write_properties` does."""
        if properties is not self._last:
            self._octets = self._codec.write_properties(_CLASS, properties)
            self._last = properties
        return self._octets

    def write(
        self,
        exchange: str,
        routing_key: str,
        flags: bytes,
        body: bytes,
        mandatory: bool = False,
        immediate: bool = False,
        ticket: int = 0,
    ) -> bytes:
        """Encodes a message; `flags` are the encoded properties.

        Raises EncodeError, which names what cannot be encoded or does not fit into a frame.
        """
        method = self.heads.get((exchange, routing_key, mandatory, immediate, ticket))
        if method is None:
            method = self._remember(exchange, routing_key, mandatory, immediate, ticket)
        size, header, most = len(body), PROPERTIES_AT + len(flags), self.most
        if header > most:
            raise EncodeError("header", f"a frame of at most {self._max_frame} octets, not {header + OVERHEAD}")
        head = _put_header(header, CLASS_AND_WEIGHT, size)
        if not size:
            return b"".join((method, head, flags, END))
        if size <= most:
            return b"".join((method, head, flags, self.body_begins, put_u32(size), body, END))
        frames = [put_frame(CONTENT_BODY, self._channel, body[at : at + most]) for at in range(0, size, most)]
        return b"".join([method, head, flags, END, *frames])

    def _remember(self, exchange: str, routing_key: str, mandatory: bool, immediate: bool, ticket: int) -> bytes:
        publish = Publish(exchange, routing_key, mandatory, immediate, ticket)
        method = frame_method(self._channel, self._codec.methods.encode(publish), self._max_frame)
        method += _begin_header(CONTENT_HEADER, self._channel)
        if len(self.heads) >= self._limits.cached_commands:
            self.heads.clear()
        self.heads[exchange, routing_key, mandatory, immediate, ticket] = method
        return method
