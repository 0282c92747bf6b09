"""Header segments: structs one behind the other, without a count."""

from __future__ import annotations

from amqp_sansio.errors import DecodeError
from amqp_sansio.limits import Limits
from amqp_sansio.spec.base import Struct
from amqp_sansio.wire.octets import u32


def walk_headers(b: bytes, start: int, end: int, limits: Limits) -> None:
    """Checks that b[start:end] is a row of structs: their sizes and room for their codes, nothing inside them.

    DecodeError 503 names the struct (counted from 0) or the limit: `header_octets`, `header_structs`.
    """
    p = start
    count = 0
    while p < end:
        if end - p < 4:
            raise DecodeError(f"header struct {count}", p, "a struct begins with a size of 4 octets")
        size = u32(b, p)[0]
        if 0 < size < 2:
            raise DecodeError(f"header struct {count}", p, "a struct of any size but 0 begins with its class and code")
        p += 4 + size
        count += 1
        if p > end:
            raise DecodeError(f"header struct {count - 1}", p - 4 - size, f"its size, {size}, goes beyond the segment")
    if count > limits.header_structs:
        raise DecodeError("header segment", start, f"limit header_structs is {limits.header_structs}; {count} came")
    if end - start > limits.header_octets:
        raise DecodeError("header segment", start, f"limit header_octets is {limits.header_octets}; {end - start} came")


def decode_headers(b: bytes, start: int, end: int) -> tuple[Struct, ...]:
    """The structs of a header segment that was walked.  HeaderError for a field that cannot be read."""
    raise NotImplementedError
