"""Sets of command ids (sequence-set) and of octets (byte-ranges): types without a code, which only fields have."""

from __future__ import annotations

from typing import Final

from amqp_sansio.errors import DecodeError, EncodeError
from amqp_sansio.errors.core import too_large
from amqp_sansio.kernel.serials import RangeSet, serial_add, serial_le, serial_lt
from amqp_sansio.spec.values import ByteRanges
from amqp_sansio.wire.codec import Reading
from amqp_sansio.wire.primitives import PAIRS32, PAIRS64, get_pair32, put_pair32, put_pair64, put_set_of_one, put_u16, u16

EMPTY: Final = RangeSet()


def read_set(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[RangeSet, int]:
    """Decodes a sequence-set.  Joins unordered, overlapping or adjacent ranges (531 if `canonical`); a reversed one is 531."""
    size: int = u16(b, p)[0]
    start = p + 2
    stop = start + size
    if stop > end:
        raise DecodeError("sequence-set", p, too_large(size, max(0, end - start)))
    if size == 8:
        low, high = get_pair32(b, start)
        if not serial_le(low, high):
            raise DecodeError("sequence-set", start, f"the range {low} to {high} is turned round", 531)
        return RangeSet.span(low, high), stop
    if size % 8:
        raise DecodeError("sequence-set", p, f"a range takes 8 octets; {size} is no multiple")
    if size // 8 > reading.ranges:
        raise DecodeError("sequence-set", p, f"limit ranges is {reading.ranges}; {size // 8} came", 506)
    pairs = list(PAIRS32.iter_unpack(b[start:stop]))
    for low, high in pairs:
        if not serial_le(low, high):
            raise DecodeError("sequence-set", start, f"the range {low} to {high} is turned round", 531)
    if reading.canonical:
        before = pairs[0][1] if pairs else 0
        for low, high in pairs[1:]:
            if not serial_lt(serial_add(before, 1), low):
                raise DecodeError("sequence-set", start, f"the range {low} to {high} does not stand apart behind {before}", 531)
            before = high
    ids = RangeSet(pairs)
    ranges = ids.ranges
    if len(ranges) < len(pairs):  # joined ranges may span more than half of all numbers, where order is undefined
        for low, high in ranges:
            if not serial_le(low, high):
                raise DecodeError("sequence-set", start, f"the ids from {low} to {high} span half of all numbers or more", 531)
    return ids, stop


def encode_set(ids: RangeSet) -> bytes:
    """Encodes a sequence-set.  Raises EncodeError beyond 8191 ranges, or when a range spans half of all serial numbers."""
    ranges = ids.ranges
    if len(ranges) == 1:  # nearly always
        ((low, high),) = ranges
        if (high - low) & 0x80000000 == 0:
            return put_set_of_one(8, low, high)
    for low, high in ranges:
        if not serial_le(low, high):
            raise EncodeError("sequence-set", f"the range {low} to {high} spans half of all numbers or more")
    if len(ranges) > 8191:
        raise EncodeError("sequence-set", f"holds at most 8191 ranges; {len(ranges)} given")
    return put_u16(8 * len(ranges)) + b"".join([put_pair32(low, high) for low, high in ranges])


def read_byte_ranges(b: bytes, p: int, end: int, reading: Reading, depth: int) -> tuple[ByteRanges, int]:
    """Decodes byte-ranges: pairs of inclusive offsets, ascending and not adjacent (531 otherwise)."""
    size: int = u16(b, p)[0]
    start = p + 2
    stop = start + size
    if stop > end:
        raise DecodeError("byte-ranges", p, too_large(size, max(0, end - start)))
    if size % 16:
        raise DecodeError("byte-ranges", p, f"a range takes 16 octets; {size} is no multiple")
    ranges = tuple(PAIRS64.iter_unpack(b[start:stop]))
    why = _wrong(ranges)
    if why:
        raise DecodeError("byte-ranges", start, why, 531)
    return ranges, stop


def encode_byte_ranges(ranges: ByteRanges) -> bytes:
    """Encodes byte-ranges.  Raises EncodeError beyond 4095, and for reversed, unordered or adjacent ones, or beyond 64 bits."""
    if len(ranges) > 4095:
        raise EncodeError("byte-ranges", f"holds at most 4095 ranges; {len(ranges)} given")
    why = _wrong(ranges)
    if why:
        raise EncodeError("byte-ranges", why)
    return put_u16(16 * len(ranges)) + b"".join([put_pair64(low, high) for low, high in ranges])


def _wrong(ranges: ByteRanges) -> str:
    before = -2
    for low, high in ranges:
        if not 0 <= low <= high < 1 << 64:
            return f"{low} to {high} is no range of 64-bit offsets"
        if low <= before + 1:
            return f"the range {low} to {high} does not stand apart behind the one before it"
        before = high
    return ""
