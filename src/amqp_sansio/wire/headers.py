"""Header segments: consecutive structs, without a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Generic, TypeAlias, TypeVar

from amqp_sansio.errors import DecodeError, HeaderError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.wire.encoding import encode_struct32
from amqp_sansio.wire.layouts.structs import (
    DECODERS,
    WRITERS,
    read_message_delivery_properties,
    read_message_message_properties,
)
from amqp_sansio.wire.primitives import struct_head, u32
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.types import BAD, decode_struct32

HEADER_WRITERS: Final[dict[type, Callable[..., bytes]]] = {
    kind: WRITERS[kind] for kind in (DeliveryProperties, MessageProperties)
}
"""Fast writers for what a message nearly always carries; they raise one of `field_interpreter.UNWRITABLE`."""


def walk_headers(b: bytes, start: int, end: int, limits: Limits) -> None:
    """Checks that b[start:end] is a sequence of structs with valid sizes and codes; does not look inside them.

    Raises DecodeError: 503 with the index of the struct, from 0, or 506 for the limit `header_octets` or `header_structs`.
    """
    p = start
    count = 0
    while p < end:
        if end - p < 4:
            raise DecodeError(f"header struct {count}", p, f"its size takes 4 octets, {end - p} are left")
        size = u32(b, p)[0]
        if size == 1:
            raise DecodeError(f"header struct {count}", p, "a struct of any size but 0 begins with its class and code")
        p += 4 + size
        if p > end:
            raise DecodeError(f"header struct {count}", p - 4 - size, f"its size, {size}, goes beyond the segment")
        count += 1
    if count > limits.header_structs:
        raise DecodeError("header segment", start, f"limit header_structs is {limits.header_structs}; {count} came", 506)
    if end - start > limits.header_octets:
        raise DecodeError("header segment", start, f"limit header_octets is {limits.header_octets}; {end - start} came", 506)


def decode_headers(b: bytes, start: int, end: int, reading: Reading = DEFAULT_READING) -> tuple[Struct, ...]:
    """Decodes the structs of a header segment in order, including unknown and repeated ones.

    Raises HeaderError (503) for an unreadable field, and for what `walk_headers` would have refused.
    """
    try:  # nearly always one or two known structs, whose readers refuse sizes that are too small
        size, key, flags = struct_head(b, start)
        middle = start + 4 + size
        if middle == end:
            return (DECODERS[key](b, start + 8, end, flags, reading, 0),)
        size, second, more = struct_head(b, middle)
        if middle + 4 + size == end:
            if key == _DELIVERY and second == _MESSAGE:  # skips the table lookup
                delivery = read_message_delivery_properties(b, start + 8, middle, flags, reading, 0)
                return delivery, read_message_message_properties(b, middle + 8, end, more, reading, 0)
            decode = DECODERS[second]
            return DECODERS[key](b, start + 8, middle, flags, reading, 0), decode(b, middle + 8, end, more, reading, 0)
    except (KeyError, *BAD, DecodeError):
        pass  # the slow path decodes it, or reports the exact error
    return _slowly(b, start, end, reading)


def _slowly(b: bytes, start: int, end: int, reading: Reading) -> tuple[Struct, ...]:
    structs: list[Struct] = []
    p = start
    try:
        while p < end:
            struct, p = decode_struct32(b, p, end, 0, reading)
            structs.append(struct)
        return tuple(structs)
    except DecodeError as why:
        raise HeaderError(why.what, why.octet, why.rule, 503) from None


_DELIVERY: Final = next(key for key, decode in DECODERS.items() if decode is read_message_delivery_properties)
_MESSAGE: Final = next(key for key, decode in DECODERS.items() if decode is read_message_message_properties)
# The fields that differ between messages have fixed widths and precede those of variable width.
_PRIORITY, _MODE, _TTL, _TIMESTAMP, _EXPIRATION = 0x0800, 0x1000, 0x2000, 0x4000, 0x8000
_LENGTH, _ID = 0x0100, 0x0200


def masked(header: bytes) -> tuple[bytes, bytes | None, int, int]:
    """Returns a walked header segment without what differs between similar messages, its message-id, and two offsets.

    Leaves out timestamp and expiration of delivery properties that come first, and content-length and message-id of message
    properties that come first or second.  The message-id is None when it is not left out.  If two headers are equal without
    these, either both can be decoded or neither.  The offsets are those of the first octet left out and of the message-id; 0, 0
    when there is no message-id, or something before it is left out as well.
    """
    size, key, flags = struct_head(header, 0)
    at = 4 + size
    start, rest = b"", 0
    if key == _DELIVERY and at <= len(header):
        if flags & (_TIMESTAMP | _EXPIRATION):
            low = 8 + (flags & _PRIORITY and 1) + (flags & _MODE and 1) + (flags & _TTL and 8)
            high = low + (flags & _TIMESTAMP and 8) + (flags & _EXPIRATION and 8)
            if high > at:
                return header, None, 0, 0
            start, rest = header[:low], high
        if at + 8 > len(header):
            return (start + header[rest:] if rest else header), None, 0, 0
        size, key, flags = struct_head(header, at)
    elif at < len(header) and struct_head(header, at)[1] != _DELIVERY:
        return header, None, 0, 0
    else:
        at = 0
    if key != _MESSAGE or not flags & _ID:
        return (start + header[rest:] if rest else header), None, 0, 0
    low = at + (16 if flags & _LENGTH else 8)
    high = low + 16
    if high > at + 4 + size:
        return header, None, 0, 0
    begin = 0 if rest else at + 8
    return start + header[rest : at + 8] + header[high:], header[low:high], begin, low if begin else 0


def encode_headers(structs: Iterable[Struct]) -> bytes:
    """Encodes a header segment of these structs.  Raises EncodeError."""
    return b"".join([encode_struct32(struct) for struct in structs])


T = TypeVar("T")

REMEMBERED: Final = 1024
"""How many headers are remembered by what they share with others."""
REMEMBERED_OCTETS: Final = 512
"""The largest header, in octets, that is remembered."""


Sift: TypeAlias = Callable[[tuple[Struct, ...]], tuple[T, bytes | None]]
"""Extracts what the caller wants from the structs of a header, and the message-id; must ignore times and lengths."""


class Headers(Generic[T]):
    """Decodes headers; those that only differ in message-id, times and content-length are decoded once."""

    __slots__ = ("_last", "_reading", "_remembered", "sift")

    def __init__(self, reading: Reading, sift: Sift[T]) -> None:
        self._reading: Final = reading
        self.sift: Final = sift
        self._remembered: dict[bytes, tuple[T, bytes | None]] = {}
        self._last: tuple[int, int, bytes, int, bytes, T] | None = None
        """The last header decoded.

        Its size, where the variable part begins, what precedes it, where its message-id is, what follows that, and the result.
        """

    def read(self, header: bytes) -> tuple[T, bytes | None] | None:
        """Returns what `sift` extracts from a header, and its message-id; None when it cannot be decoded."""
        last = self._last
        if last is not None:  # nearly always, the previous one differs in nothing else
            size, begin, before, low, behind, said = last
            if len(header) == size and header[:begin] == before and header[low + 16 :] == behind:
                return said, header[low : low + 16]
        key, id, begin, low = masked(header)
        found = self._remembered.get(key)
        if found is None:
            try:
                found = self.sift(decode_headers(header, 0, len(header), self._reading))
            except DecodeError:
                return None
            if len(key) <= REMEMBERED_OCTETS:
                if len(self._remembered) >= REMEMBERED:
                    self._remembered.clear()
                self._remembered[key] = found
        if id is None:
            return found
        if begin:
            self._last = len(header), begin, header[:begin], low, header[low + 16 :], found[0]
        return found[0], id
