"""Caches similar deliveries of the older dialects: those to one consumer often differ in their tag alone."""

from __future__ import annotations

from typing import Final

from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Control, Method
from amqp_sansio.spec.methods.basic import Deliver
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.primitives import u64
from amqp_sansio.wire.reading import Reading

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
