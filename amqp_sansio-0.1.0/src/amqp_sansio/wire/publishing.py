"""What is published in the older dialects, as frames: what repeats from one message to the next is written once."""

from __future__ import annotations

from struct import Struct
from typing import Final

from amqp_sansio.errors import EncodeError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.methods.basic import Properties, Publish
from amqp_sansio.wire.method_codec import PROPERTIES_AT, MethodCodec
from amqp_sansio.wire.method_frames import CONTENT_BODY, CONTENT_HEADER, FRAME_END, OVERHEAD, frame_method, put_frame

_CLASS: Final = 60
_put_header: Final = Struct(">BHIIQ").pack
"""Of the frame of a content header, what stands before its flags: type, channel, size; class and weight; size of the body."""
_put_body: Final = Struct(">BBHI").pack
"""The end of that frame, and the head of one with a body."""
_END: Final = bytes([FRAME_END])


class Head:
    """What precedes the messages with one exchange, key and flags: the method's frame, and the properties of the last one."""

    __slots__ = ("method", "octets", "properties")

    def __init__(self, method: bytes) -> None:
        self.method: Final = method
        self.properties: Properties | None = None
        self.octets = b""


class Publishing:
    """Writes what is published on a channel in frames of at most `max_frame` octets.

    The method's frame is written once for each exchange, key and flags, `limits.cached_commands` of them at a time; properties
    once for messages in a row with the same, which are immutable.
    """

    __slots__ = ("_channel", "_codec", "_heads", "_limits", "_max_frame")

    def __init__(self, codec: MethodCodec, channel: int, max_frame: int, limits: Limits) -> None:
        self._codec: Final = codec
        self._channel: Final = channel
        self._max_frame: Final = max_frame
        self._limits: Final = limits
        self._heads: Final[dict[tuple[str, str, bool, bool, int | None], Head]] = {}

    @property
    def remembered(self) -> int:
        """How many heads are."""
        return len(self._heads)

    def write(
        self,
        exchange: str,
        routing_key: str,
        properties: Properties,
        body: bytes,
        mandatory: bool = False,
        immediate: bool = False,
        ticket: int | None = None,
    ) -> list[bytes]:
        """The octets of a message, in parts.  EncodeError names what cannot be written or fits into no frame."""
        head = self._heads.get((exchange, routing_key, mandatory, immediate, ticket))
        if head is None or head.properties is not properties:
            head = self._prepare(Publish(exchange, routing_key, mandatory, immediate, ticket), properties)
        channel, octets, size = self._channel, head.octets, len(body)
        parts = [head.method, _put_header(CONTENT_HEADER, channel, PROPERTIES_AT + len(octets), _CLASS << 16, size), octets]
        most = self._max_frame - OVERHEAD
        if not size:
            parts.append(_END)
        elif size <= most:
            parts += (_put_body(FRAME_END, CONTENT_BODY, channel, size), body, _END)
        else:
            parts.append(_END)
            parts += [put_frame(CONTENT_BODY, channel, body[at : at + most]) for at in range(0, size, most)]
        return parts

    def _prepare(self, publish: Publish, properties: Properties) -> Head:
        key = publish.exchange, publish.routing_key, publish.mandatory, publish.immediate, publish.ticket
        known = self._heads.get(key)
        head = known or Head(frame_method(self._channel, self._codec.methods.encode(publish), self._max_frame))
        octets = self._codec.write_header(_CLASS, 0, properties)[PROPERTIES_AT:]
        if (size := PROPERTIES_AT + len(octets) + OVERHEAD) > self._max_frame:
            raise EncodeError("header", f"a frame of at most {self._max_frame} octets, not {size}")
        if known is None:
            if len(self._heads) >= self._limits.cached_commands:
                self._heads.clear()
            self._heads[key] = head
        head.octets, head.properties = octets, properties
        return head
