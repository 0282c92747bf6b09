"""Frames of published messages in the older dialects; parts that repeat between messages are encoded once."""

from __future__ import annotations

from struct import Struct
from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods.basic import Properties, Publish
from amqp_sansio.wire.method_codec import PROPERTIES_AT, MethodCodec
from amqp_sansio.wire.method_frames import CONTENT_BODY, CONTENT_HEADER, FRAME_END, OVERHEAD, frame_method, put_frame
from amqp_sansio.wire.primitives import put_u32

_CLASS: Final = 60
CLASS_AND_WEIGHT: Final = _CLASS << 16
_begin_header: Final = Struct(">BH").pack
put_header: Final = Struct(">IIQH").pack
"""Of the frame of a content header, what stands behind its channel: size, class and weight, size of the body, flags."""
_put_header: Final = Struct(">IIQ").pack
"""The same without the flags."""
_put_body: Final = Struct(">BBH").pack
"""The end of that frame, and the head of one with a body up to its size."""
NO_PROPERTIES: Final = b"\0\0"
"""Flags of none."""
END: Final = bytes([FRAME_END])


class Publishing:
    """Writes what is published on a channel in frames of at most `max_frame` octets.

    The method's frame, and the header's up to its size, are written once for each exchange, key and flags,
    `limits.cached_commands` of them at a time; properties once for messages in a row with the same object, which is immutable.
    """

    __slots__ = (
        "_channel", "_codec", "_last", "_limits", "_max_frame", "_octets", "body_begins", "heads", "most", "write_flat",
        "write_table",
    )  # fmt: skip

    def __init__(self, codec: MethodCodec, channel: int, max_frame: int, limits: Limits) -> None:
        self._codec: Final = codec
        self._channel: Final = channel
        self._max_frame: Final = max_frame
        self.most: Final = max_frame - OVERHEAD
        """Octets of the payload of a frame."""
        self.body_begins: Final = _put_body(FRAME_END, CONTENT_BODY, channel)
        """What stands between the octets of properties and the size of a body."""
        self._limits: Final = limits
        self.heads: Final[dict[tuple[str, str, bool, bool, int], bytes]] = {}
        """What was written so far, by exchange, key, mandatory, immediate and ticket; `write` adds to it."""
        self._last: Properties | None = None
        self._octets = b""  # of the last properties
        self.write_table: Final = codec.methods.write_table
        """The octets of a field table; see `Profile.write`."""
        self.write_flat: Final = codec.methods.write_flat
        """Those of a dict, written quickly; see `Profile.write_flat`."""

    @property
    def remembered(self) -> int:
        """How many heads are."""
        return len(self.heads)

    def flags_of(self, properties: Properties) -> bytes:
        """The flags and octets of properties.  EncodeError as `MethodCodec.write_properties`."""
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
        """The octets of a message, of which `flags` are those of its properties.

        EncodeError names what cannot be written or fits into no frame.
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
