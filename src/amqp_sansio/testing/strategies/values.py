"""Strategies of values of every wire type, with edge cases."""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, Final

from hypothesis import strategies as st

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import values as v
from amqp_sansio.spec.values import Value
from amqp_sansio.wire.scalars import LATIN


def unsigned(bits: int) -> st.SearchStrategy[int]:
    """Generates unsigned numbers, often edge cases."""
    top = (1 << bits) - 1
    return st.one_of(st.integers(0, top), st.sampled_from([0, 1, top >> 1, (top >> 1) + 1, top - 1, top]))


def signed(bits: int) -> st.SearchStrategy[int]:
    """Generates two's complement numbers, often edge cases."""
    top = (1 << bits - 1) - 1
    return st.one_of(st.integers(-top - 1, top), st.sampled_from([0, -1, top, -top, -top - 1]))


U8, U16, U32, U64 = (unsigned(bits) for bits in (8, 16, 32, 64))
TEXT: Final = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
"""Generates text that UTF-8 can encode."""
LATIN_TEXT: Final = st.binary(max_size=40).map(lambda octets: octets.decode(LATIN))


def _decimals(bits: int) -> st.SearchStrategy[Decimal]:
    return st.builds(lambda m, s: Decimal((int(m < 0), tuple(map(int, str(abs(m)))), -s)), signed(bits), U8)


def scalars() -> st.SearchStrategy[Value]:
    """Generates values of every type that contains no others, native or typed."""
    fixed: list[st.SearchStrategy[Value]] = [
        st.binary(min_size=len_, max_size=len_).map(kind)
        for kind, len_ in [
            (v.Bin8, 1),
            (v.Bin16, 2),
            (v.Bin32, 4),
            (v.Bin64, 8),
            (v.Bin128, 16),
            (v.Bin256, 32),
            (v.Bin512, 64),
            (v.Bin1024, 128),
            (v.Bin40, 5),
            (v.Bin72, 9),
        ]
    ]
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(2, 255).map(v.Boolean),
        signed(64),
        st.integers(1 << 63, (1 << 64) - 1),
        signed(8).map(v.Int8),
        U8.map(v.Uint8),
        signed(16).map(v.Int16),
        U16.map(v.Uint16),
        signed(32).map(v.Int32),
        U32.map(v.Uint32),
        U64.map(v.Uint64),
        signed(64).map(v.Datetime),
        st.just(v.Bit()),
        st.floats(allow_nan=False),
        st.floats(width=32, allow_nan=False).map(v.Float),
        _decimals(64),
        _decimals(32).map(v.Dec32),
        TEXT,
        TEXT.map(v.Str8),
        LATIN_TEXT.map(v.Str8Latin),
        LATIN_TEXT.map(v.Str16Latin),
        TEXT.map(v.Str8Utf16),
        TEXT.map(v.Str16Utf16),
        st.binary(min_size=1, max_size=1).map(lambda octet: v.Char(octet.decode(LATIN))),
        st.characters(exclude_categories=["Cs"]).map(v.CharUtf32),
        st.binary(max_size=40),
        st.binary(max_size=40).map(v.Vbin8),
        st.binary(max_size=40).map(v.Vbin32),
        st.uuids().map(lambda u: uuid.UUID(int=u.int)),
        st.builds(v.OpaqueValue, st.sampled_from([0x87, 0x9F, 0xA1]), st.binary(max_size=20)),
        st.builds(v.OpaqueValue, st.just(0x2F), st.binary(min_size=4, max_size=4)),
        *fixed,
    )


def maps(inner: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[v.Map]:
    """Generates maps with values from `inner` (default: scalars)."""
    return st.dictionaries(TEXT, scalars() if inner is None else inner, max_size=4).map(v.Map)


def range_sets() -> st.SearchStrategy[RangeSet]:
    """Generates sets that span less than half the circle, around any origin."""
    gaps = st.lists(st.tuples(st.integers(2, 1000), st.integers(0, 1000)), max_size=6)

    def build(origin: int, steps: list[tuple[int, int]]) -> RangeSet:
        ranges = []
        for gap, width in steps:
            low = (origin + gap) & 0xFFFFFFFF
            high = (low + width) & 0xFFFFFFFF
            ranges.append((low, high))
            origin = high
        return RangeSet(ranges)

    return st.builds(build, U32, gaps)
