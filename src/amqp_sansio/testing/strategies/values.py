"""Strategies of values of every wire type, with edge cases, and of controls, commands and structs.

The classes and their fields come from the tables of the generated code; every field may be present or absent, so that all
combinations occur.
"""

from __future__ import annotations

import uuid
from decimal import Decimal
from typing import Any, Final, TypeVar

from hypothesis import strategies as st

from amqp_sansio.kernel.serials import RangeSet
from amqp_sansio.spec import values as v
from amqp_sansio.spec.base import Command, Control, Struct
from amqp_sansio.spec.file import FileProperties
from amqp_sansio.spec.message import DeliveryProperties, FragmentProperties, MessageProperties
from amqp_sansio.spec.stream import StreamProperties
from amqp_sansio.wire.layouts.fields import FIELDS
from amqp_sansio.wire.types import LATIN


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


def scalars() -> st.SearchStrategy[v.Value]:
    """Generates values of every type that contains no others, native or typed."""
    fixed: list[st.SearchStrategy[v.Value]] = [
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


_TEXTS = st.lists(TEXT, max_size=4).map(tuple)
_FIELDS: dict[str, st.SearchStrategy[Any]] = {
    "uint8": U8,
    "uint16": U16,
    "uint32": U32,
    "uint64": U64,
    "sequence-no": U32,
    "datetime": signed(64),
    "str8": TEXT,
    "str16": st.one_of(TEXT, st.integers(256, 300).map(lambda n: "x" * n)),
    "vbin8": st.binary(max_size=255),
    "vbin16": st.one_of(st.binary(max_size=40), st.integers(256, 300).map(bytes)),
    "vbin32": st.binary(max_size=300),
    "uuid": st.uuids().map(lambda u: uuid.UUID(int=u.int)),
    "sequence-set": range_sets(),
    "texts": st.one_of(_TEXTS, st.builds(v.TextArray, st.sampled_from([0x84, 0x85, 0x90]), st.just(("a", "b")))),
    "fragments": st.sampled_from([v.Array(0xF0), v.NullArray(), v.RawArray(0x22, b"\x22\0\0\0\x01abcd")]),
}


def things(kind: type[Any], inner: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Any]:
    """Generates controls, commands or structs of a class, each field present or absent; `inner` draws the values in maps."""
    parts: list[st.SearchStrategy[Any]] = []
    for _, wire in FIELDS[kind]:
        if wire == "bit":
            parts.append(st.booleans())
            continue
        if wire == "map":
            strategy: st.SearchStrategy[Any] = maps(inner if inner is not None else scalars())
        elif wire == "array":
            strategy = st.lists(U32.map(v.Uint32), max_size=3).map(lambda items: v.Array(0x22, items))
        elif wire == "struct32":
            strategy = structs(st.none())
        elif "." in wire:
            strategy = things(BY_NAME[wire])
        else:
            strategy = _FIELDS[wire]
        parts.append(st.none() | strategy)
    return st.builds(kind, *parts)


BY_NAME: Final[dict[str, type[Any]]] = {
    getattr(kind, "NAME" if issubclass(kind, Struct) else "VERB"): kind for kind in FIELDS if kind.__name__ != "CommandFragment"
}
"""Every control, command and struct by its name."""
_T = TypeVar("_T")


def classes(base: type[_T]) -> list[type[_T]]:
    """Returns all classes of the vocabulary below `base`."""
    return [kind for kind in BY_NAME.values() if issubclass(kind, base)]


CODED: Final = [kind for kind in classes(Struct) if kind.__name__ != "ReplyTo"]
CONTROLS: Final = classes(Control)
COMMANDS: Final = classes(Command)
_UNKNOWN: Final = st.builds(v.UnknownStruct, st.integers(0x70, 0x7F), U8, st.binary(max_size=20))
_HEADERS: Final = (DeliveryProperties, FragmentProperties, MessageProperties, FileProperties, StreamProperties)


def controls() -> st.SearchStrategy[Control]:
    """Generates every control with every combination of fields."""
    return st.one_of([things(kind) for kind in CONTROLS])


def commands() -> st.SearchStrategy[Command]:
    """Generates every command with every combination of fields."""
    return st.one_of([things(kind) for kind in COMMANDS])


def header_structs() -> st.SearchStrategy[Struct]:
    """Generates structs that a header segment may hold, known or unknown."""
    return st.one_of(*[things(kind) for kind in _HEADERS], _UNKNOWN)


def headers(max_size: int = 3) -> st.SearchStrategy[tuple[Struct, ...]]:
    """Generates header segments of at most `max_size` structs, each kind once."""
    return st.lists(header_structs(), max_size=max_size, unique_by=type).map(tuple)


def structs(inner: st.SearchStrategy[Any] | None = None) -> st.SearchStrategy[Struct]:
    """Generates coded structs, known and unknown."""
    known = st.one_of([st.deferred(lambda kind=kind: things(kind, inner)) for kind in CODED])  # type: ignore[misc]
    return st.one_of(known, _UNKNOWN)


def values(inside: st.SearchStrategy[Struct] | None = None) -> st.SearchStrategy[v.Value]:
    """Generates values of every type that a map may hold; `inside` draws the structs among them (default: all)."""
    if inside is None:
        inside = structs(st.none())
    return st.recursive(
        st.one_of(scalars(), inside),
        lambda inner: st.one_of(
            maps(inner),
            st.lists(inner, max_size=4).map(v.List),
            st.lists(TEXT.map(v.Str8), max_size=4).map(lambda items: v.Array(0x85, items)),
            st.lists(maps(inner), max_size=3).map(lambda items: v.Array(0xA8, items)),
            st.lists(inside, max_size=2).map(lambda items: v.Array(0xAB, items)),
            st.sampled_from([v.NullMap(), v.NullList(), v.NullArray(), v.NullStruct()]),
        ),
        max_leaves=6,
    )
