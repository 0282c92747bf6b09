"""Properties of contents that are alike: a header that is like the one before it is not read again."""

from __future__ import annotations

from typing import Final

from amqp_sansio.spec.base import Struct
from amqp_sansio.wire.method_codec import MethodCodec
from amqp_sansio.wire.reading import Reading


class RepeatedProperties:
    """Reads the properties in content headers as its codec does; those of the last header, which are immutable, are kept."""

    __slots__ = ("_codec", "_header", "_last", "_reading")

    def __init__(self, codec: MethodCodec, reading: Reading) -> None:
        self._codec: Final = codec
        self._reading: Final = reading
        self._header = b""
        self._last: Struct | None = None

    def read(self, header: bytes) -> Struct | None:
        """As `MethodCodec.read_properties`, DecodeError included."""
        if header == self._header:
            return self._last
        properties = self._codec.read_properties(header, self._reading)
        self._header, self._last = header, properties
        return properties
