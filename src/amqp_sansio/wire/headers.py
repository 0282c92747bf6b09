"""Header segments: structs one behind the other, without a count."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from amqp_sansio.errors import DecodeError, HeaderError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.spec.message import DeliveryProperties, MessageProperties
from amqp_sansio.wire.layouts.structs import DECODERS, WRITERS
from amqp_sansio.wire.octets import struct_head, u32
from amqp_sansio.wire.reading import DEFAULT_READING, Reading
from amqp_sansio.wire.types import BAD, decode_struct32, encode_struct32

HEADER_WRITERS: Final[dict[type, Callable[..., bytes]]] = {
    kind: WRITERS[kind] for kind in (DeliveryProperties, MessageProperties)
}
"""The quick way to write what a message nearly always carries; raises what `explain.UNWRITABLE` holds."""


def walk_headers(b: bytes, start: int, end: int, limits: Limits) -> None:
    """Checks that b[start:end] is a row of structs: their sizes and room for their codes, nothing inside them.

    DecodeError 503 names the struct (counted from 0); 506 the limit: `header_octets`, `header_structs`.
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
    """The structs of a header segment, in their order: unknown ones and double ones too.

    HeaderError (503) for a field that cannot be read, and for what `walk_headers` would have refused.
    """
    try:  # nearly always one or two structs that are known; their readers refuse sizes that are too small
        size, key, flags = struct_head(b, start)
        middle = start + 4 + size
        if middle == end:
            return (DECODERS[key](b, start + 8, end, flags, reading, 0),)
        size, second, more = struct_head(b, middle)
        if middle + 4 + size == end:
            decode = DECODERS[second]
            return DECODERS[key](b, start + 8, middle, flags, reading, 0), decode(b, middle + 8, end, more, reading, 0)
    except (KeyError, *BAD, DecodeError):
        pass  # said exactly, or read after all, by the other way
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


def encode_headers(structs: Iterable[Struct]) -> bytes:
    """A header segment of these structs.  EncodeError."""
    return b"".join([encode_struct32(struct) for struct in structs])
