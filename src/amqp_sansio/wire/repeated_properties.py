"""Caches similar properties of contents: equal headers, and headers that begin like the ones before."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import DecodeError
from amqp_sansio.spec.base import Struct
from amqp_sansio.wire.layouts.basic_properties import Beginning, read_basic_properties
from amqp_sansio.wire.method_codec import PROPERTIES_AT, MethodCodec
from amqp_sansio.wire.reading import Reading
from amqp_sansio.wire.types import BAD

_MOST: Final = 256
"""The most beginnings remembered; when there are more, it forgets all and starts over."""


class RepeatedProperties:
    """Decodes the properties of content headers as its codec does.

    Keeps the properties of the last header, which are immutable, and, for each kind of message, the flags and the first
    properties, which tend to repeat.
    """

    __slots__ = ("_begin", "_beginnings", "_codec", "_header", "_last", "_read_flat", "_read_table", "_reading")

    def __init__(self, codec: MethodCodec, reading: Reading) -> None:
        self._codec: Final = codec
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
        if header[:2] == self._codec.basic:
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
        """Returns the first properties of this header. Raises one of `types.BAD` when the codec has to decode it."""
        key = header[PROPERTIES_AT : PROPERTIES_AT + 3]
        begin = self._beginnings.get(key)
        if begin is None or header[PROPERTIES_AT : begin.end] != begin.octets:
            begin = Beginning(header, PROPERTIES_AT)
            if len(self._beginnings) >= _MOST:
                self._beginnings.clear()
            self._beginnings[key] = begin
        self._begin = begin
        return begin
